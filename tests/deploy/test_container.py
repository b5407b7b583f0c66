"""Container image: built without a registry, run without privileges; tasks survive the container."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.deploy.base_image import lay_out
from tests.deploy.network_namespace import NetworkNamespace
from tests.deploy.podman import Podman
from tests.docs.pages import ROOT

LIBRARIES: Final = ("horae[server]", "hatchling", "pip")
LIMITS: Final = (
    "--read-only",
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--memory=512m",
    "--pids-limit=128",
)
LONGEST_START: Final = 120
PORT: Final = 9672
"""In a namespace of its own, where no other process has it."""
URL: Final = f"http://127.0.0.1:{PORT}"
ASK_UNTIL_READY: Final = """
import json, sys, time, urllib.request
url, until = sys.argv[1], time.monotonic() + float(sys.argv[2])
while True:
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=10) as answer:
            assert json.load(answer)["status"] == "ready"
            break
    except OSError:
        if time.monotonic() > until:
            raise
        time.sleep(0.1)
"""
ASK: Final = """
import json, sys, urllib.request
asked = json.load(sys.stdin)
data = None if asked["body"] is None else json.dumps(asked["body"]).encode()
request = urllib.request.Request(asked["url"], data, asked["headers"])
with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as answer:
    print(answer.read().decode())
"""


@pytest.fixture
def network() -> Iterator[NetworkNamespace]:
    with NetworkNamespace() as made:
        yield made


@pytest.fixture
def podman(network: NetworkNamespace) -> Iterator[Podman]:
    made = Podman(network.inside)
    yield made
    made.clean()


class Container:
    def __init__(self, podman: Podman, network: NetworkNamespace) -> None:
        self._podman = podman
        self._network = network

    def run(self) -> None:
        published = ("-p", f"127.0.0.1:{PORT}:4672", "-v", "horae:/data")
        self._podman("run", "-d", "--name", "horae", *LIMITS, *published, "localhost/horae")
        self.until_ready()

    def until_ready(self) -> None:
        try:
            self._network.run_python(ASK_UNTIL_READY, f"{URL}/readyz", str(LONGEST_START))
        except AssertionError as failed:
            failed.add_note(self._podman("logs", "horae", check=False))
            raise

    def ask(self, path: str, body: Any = None) -> Any:
        token = self._podman("exec", "horae", "python", "-c", "print(open('/data/horae.db.token').read().strip())")
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        asked = json.dumps({"url": URL + path, "body": body, "headers": headers})
        return json.loads(self._network.run_python(ASK, stdin=asked))


@pytest.mark.long
def test_task_added_through_the_api_survives_a_new_container(
    podman: Podman, network: NetworkNamespace, tmp_path: Path
) -> None:
    lay_out(tmp_path / "base", LIBRARIES)
    (tmp_path / "Basefile").write_text("FROM scratch\nCOPY base /\n")
    podman.build("base", tmp_path / "Basefile", tmp_path)
    podman.build(
        "horae",
        ROOT / "Containerfile",
        ROOT,
        BASE="localhost/base",
        EXTRAS="server",
        VENV_OPTIONS="--system-site-packages --without-pip",
        PIP_OPTIONS="--no-index --no-deps --no-build-isolation",
    )
    horae = Container(podman, network)
    horae.run()
    made = horae.ask("/v1/tasks", {"name": "report", "when": "every 1h", "zone": "UTC", "say": "hello"})
    assert (
        podman("exec", "horae", "python", "-c", "import os; print(os.getuid(), os.access('/opt', os.W_OK))")
        == "65532 False"
    )
    assert podman("exec", "horae", "horae", "ls", "--quiet") == made["id"]
    health = json.loads(podman("image", "inspect", "--format", "{{json .HealthCheck}}", "localhost/horae"))
    podman("exec", "horae", *health["Test"][1:])

    # Restart the same container, then start another one on its volume.
    podman("restart", "-t", "30", "horae")
    horae.until_ready()
    assert horae.ask(f"/v1/tasks/{made['id']}")["name"] == "report"
    podman("rm", "-f", "-t", "30", "horae")
    horae.run()
    assert horae.ask(f"/v1/tasks/{made['id']}")["name"] == "report"


# --- compose -----------------------------------------------------------------------------------------------------------


def compose() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
    return found


def test_compose_runs_engines_and_api_separately_on_one_database() -> None:
    services = compose()["services"]
    assert set(services) == {"api", "worker", "db"}
    assert services["api"]["environment"] == services["worker"]["environment"]
    assert "--no-engine" in services["api"]["command"]
    assert services["worker"]["command"][0] == "worker"
    for name in ("api", "worker"):
        assert services[name]["depends_on"] == {"db": {"condition": "service_healthy"}}
        assert services[name]["read_only"] is True
        assert services[name]["cap_drop"] == ["ALL"]
    for each in services.values():
        for volume in each["volumes"]:
            assert volume.partition(":")[0] in compose()["volumes"]


def test_compose_publishes_no_public_port_and_contains_no_password() -> None:
    services = compose()["services"]
    published = [port for each in services.values() for port in each.get("ports", ())]
    assert published == ["127.0.0.1:4672:4672"]
    assert "ports" not in services["db"]
    for each in (services["api"]["environment"]["HORAE_STORE"], services["db"]["environment"]["POSTGRES_PASSWORD"]):
        assert "${HORAE_DB_PASSWORD:?" in each
