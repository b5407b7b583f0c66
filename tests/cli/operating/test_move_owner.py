"""`horae move --owner` between two deployments: moved, tried, given up, refused, in both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.operating.deployment import Deployment

WHEN = {"kind": "every", "interval": "PT1H", "zone": "UTC"}
TARGET = {"kind": "event", "topic": "tea"}


@pytest.fixture
def south(deployment: Deployment) -> str:
    folder = deployment.folder / "south"
    folder.mkdir()
    url = f"sqlite:///{folder}/horae.db"
    deployment.ok("--store", url, "secret", "set", "OTHER", "-", "--owner", "cyd", stdin="x")
    return url


def add(deployment: Deployment, owner: str) -> str:
    return deployment.add(when=WHEN, target=TARGET, name=f"tea of {owner}", owner=owner)


def owned(deployment: Deployment, url: str, owner: str) -> list[str]:
    return [task["id"] for task in deployment.answer("--store", url, "ls", "--owner", owner)]


def test_owner_moves_with_its_secret_sealed_by_the_other_key(deployment: Deployment, south: str) -> None:
    ada, bob = add(deployment, "ada"), add(deployment, "bob")
    deployment.ok("secret", "set", "KEY", "-", "--owner", "ada", stdin="a value")
    planned = deployment.answer("move", deployment.url, south, "--owner", "ada", "--dry-run")
    assert (planned["owner"], planned["dry_run"], planned["parts"]) == ("ada", True, [])
    moved = deployment.answer("move", deployment.url, south, "--owner", "ada", "--place", "https://south.example.com")
    assert (moved["owner"], moved["resumed"], moved["moved_before"]) == ("ada", False, False)
    assert {part["part"]: part["number"] for part in moved["parts"]}["tasks"] == 1
    assert owned(deployment, deployment.url, "ada") == []
    assert owned(deployment, deployment.url, "bob") == [bob]
    assert owned(deployment, south, "ada") == [ada]
    names = deployment.answer("--store", south, "secret", "ls")
    assert {(each["name"], each["owner"]) for each in names} == {("KEY", "ada"), ("OTHER", "cyd")}
    keys = [Path(folder, "horae.key").read_bytes() for folder in (deployment.folder, deployment.folder / "south")]
    assert keys[0] != keys[1]
    refused = deployment.horae("add", "every 2h", "--say", "tea", "--owner", "ada")
    assert refused.returncode == 5
    assert "https://south.example.com" in refused.stderr
    again = deployment.answer("move", deployment.url, south, "--owner", "ada")
    assert again["moved_before"]


def test_begun_move_is_given_up(deployment: Deployment, south: str) -> None:
    ada = add(deployment, "ada")
    deployment.ok("secret", "set", "KEY", "-", "--owner", "ada", stdin="a value")
    wrong_key = deployment.folder / "wrong.key"
    wrong_key.write_bytes(b"not a key")
    wrong_key.chmod(0o600)
    refused = deployment.horae("move", deployment.url, south, "--owner", "ada", "--to-key-file", str(wrong_key))
    assert refused.returncode != 0
    assert deployment.horae("add", "every 2h", "--say", "tea", "--owner", "ada").returncode == 5
    answer = deployment.answer("move", deployment.url, south, "--owner", "ada", "--abort")
    assert answer["given_up"]
    assert owned(deployment, deployment.url, "ada") == [ada]
    assert owned(deployment, south, "ada") == []
    assert deployment.answer("show", ada)["task"]["state"] == "active"
    assert "已放弃迁移" not in deployment.ok("ls")


def test_refusals_and_messages_in_both_languages(deployment: Deployment, south: str) -> None:
    add(deployment, "ada")
    absent = deployment.horae("move", deployment.url, f"sqlite:///{deployment.folder}/none.db", "--owner", "ada")
    assert absent.returncode == 3
    assert deployment.horae("move", deployment.url, south, "--abort").returncode == 2
    assert (
        "没有正在进行的迁移"
        in deployment.horae("move", deployment.url, south, "--owner", "ada", "--abort", "--lang", "zh").stderr
    )
    done = deployment.horae("move", deployment.url, south, "--owner", "ada", "--lang", "zh")
    assert done.returncode == 0
    assert "切换:ada 从现在起属于新的部署" in done.stderr.replace("：", ":")
