"""Commands at a router: an admin logs in once for each deployment, and the owner that a command names chooses the context."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from tests.router.deployments import Cluster


def run(cluster: Cluster, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    folder = cluster.folder / "router"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "LC_", "XDG_"))}
    return subprocess.run(
        [sys.executable, "-m", "horae", *words],
        cwd=folder,
        env={**inherited, "HOME": str(folder), "LANG": "C.UTF-8"},
        input=typed,
        capture_output=True,
        text=True,
        check=False,
    )


def answer(cluster: Cluster, *words: str, typed: str = "") -> Any:
    done = run(cluster, *words, "--json", typed=typed)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_owner_chooses_the_context_of_its_deployment(shared_cluster: Cluster) -> None:
    cluster = shared_cluster
    url, add = cluster.router.url, ("add", "every 1h", "--say", "hello")
    assert answer(cluster, "login", url, "--token-stdin", typed=cluster.tokens["north"])["name"].endswith("-north")
    missing = run(cluster, *add, "--owner", "user:bob", "--json")
    assert (missing.returncode, json.loads(missing.stderr)["code"]) == (3, "no_context_of_deployment")
    assert "horae login" in missing.stderr
    login = answer(cluster, "login", url, "--token-stdin", typed=cluster.tokens["south"])
    assert login["name"].endswith("-south")

    tasks = {owner: answer(cluster, *add, "--owner", owner)["task"]["id"] for owner in ("user:ada", "user:bob")}
    owners = {
        name: {each["name"] for each in answer(cluster, "owner", "ls", "--server", name)} for name in contexts(cluster)
    }
    assert [sorted(each & set(tasks)) for each in owners.values()] == [["user:ada"], ["user:bob"]]
    for owner, task in tasks.items():
        assert task in {each["id"] for each in answer(cluster, "ls", "--owner", owner)}

    # An owner that is new is made where the map says: the default is north, though the context in use is that of south.
    answer(cluster, "owner", "add", "user:new")
    assert "user:new" in {each["name"] for each in answer(cluster, "owner", "ls", "--server", contexts(cluster)[0])}
    assert answer(cluster, "owner", "show", "user:new")["name"] == "user:new"


def contexts(cluster: Cluster) -> list[str]:
    return [each["name"] for each in answer(cluster, "context", "ls")]
