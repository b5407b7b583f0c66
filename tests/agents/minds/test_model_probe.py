"""Check of the model endpoint by `horae doctor`: whether it answers, and takes the key, for each kind of mind."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from horae.agents.model_proxy import EndpointState, ProbeResult, probe_model
from horae.agents.settings import read_settings
from horae.clock import SystemClock
from horae.doctor.store_checks import check_model
from horae.model.accounts.principal import LOCAL
from horae.runtime.deployment_examiner import DeploymentExaminer, deployment_of
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.settings import read_settings as read_process_settings
from tests.servers.model_stub import running_stub
from tests.servers.ports import HOST, ReservedPort

KEY = "sk-host"


class OneSecret:
    def __init__(self, value: str | None = KEY) -> None:
        self.value = value

    async def reveal(self, owner: str, name: str) -> str | None:
        return self.value if (owner, name) == ("local", "MODEL_KEY") else None


async def probe(secret: str | None = KEY, **table: Any) -> ProbeResult | None:
    return await probe_model(read_settings(table), OneSecret(secret))


@pytest.mark.parametrize("mind", ["openai", "claude"])
async def test_endpoint_is_asked_with_the_key_of_its_kind(mind: str) -> None:
    program = ["horae-agent", "--mind", mind, "--model", "stub-1"]
    async with running_stub(key=KEY) as stub:
        table: dict[str, Any] = {"program": program, "model_url": f"{stub.url}/v1", "model_key": "MODEL_KEY"}
        found = await probe(**table)
        assert found == ProbeResult(EndpointState.ANSWERS, stub.url.removeprefix("http://"))
        assert check_model(found).grade == "ok"
        wrong = await probe("sk-other", **table)
        assert wrong is not None
        assert (wrong.state, wrong.problem) == (EndpointState.KEY_REFUSED, "status 401")
        missing = await probe(None, **table)
        assert missing is not None
        assert missing.state is EndpointState.KEY_REFUSED
        assert "MODEL_KEY" in check_model(missing).sentence("en")
        assert not stub.received, "no model was asked"


async def test_unreachable_endpoints_are_named(tmp_path: Path) -> None:
    with ReservedPort() as port:
        gone = await probe(model_url=f"http://{HOST}:{port.number}")
    assert gone is not None
    assert (gone.state, gone.place) == (EndpointState.UNREACHABLE, f"{HOST}:{port.number}")
    check = check_model(gone)
    assert check.grade == "error"
    assert "could not be connected to" in check.sentence("en")
    no_socket = await probe(model_socket=str(tmp_path / "model.sock"))
    assert no_socket is not None
    assert no_socket.state is EndpointState.UNREACHABLE
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "model.sock"))
        listener.listen()
        answers = await probe(model_socket=str(tmp_path / "model.sock"))
    assert answers is not None
    assert answers.state is EndpointState.ANSWERS


async def test_minds_without_a_model_are_not_probed() -> None:
    assert await probe(program=["horae-agent", "--mind", "echo"]) is None
    assert await probe(program=["horae-agent", "--mind=openai", "--base-url", "http://10.0.0.1/v1"]) is None
    lost = await probe(program=["sh", "-c", "exec horae-agent --mind claude"])
    assert lost == ProbeResult(EndpointState.MISSING, "claude")
    assert "model_url" in check_model(lost).sentence("zh")


async def test_report_of_a_deployment_has_the_model(tmp_path: Path) -> None:
    url, clock = f"sqlite:///{tmp_path}/horae.db", SystemClock()
    async with running_stub(key=KEY) as stub:
        file = tmp_path / "horae.toml"
        file.write_text(f'[targets.agent]\nmodel_url = "{stub.url}"\nmodel_key = "MODEL_KEY"\n')
        settings = read_process_settings({}, (file,))
        store = make_store(url)
        await store.open()
        try:
            service = make_service(url, store, clock, "UTC", TargetKinds(settings))
            await service.secrets.set(LOCAL, "MODEL_KEY", KEY)
            examiner = DeploymentExaminer(deployment_of(url, settings, "UTC"), clock)
            found = {each.code: each.grade for each in await examiner.examine(service)}
        finally:
            await store.close()
    assert found["model"] == "ok"
