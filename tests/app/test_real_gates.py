"""Gates that are real programs and real HTTP servers; their rights, secrets and approvals."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from horae import Horae, Refusal
from horae.mcp_server.local import local_agent
from horae.model.accounts.principal import LOCAL
from horae.model.gate import GATE_STATE_KIND, Gate
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.service.accounts.approval_policy import STRICT_POLICY, ApprovalPolicy, digest_of
from horae.service.tasks.task_request import Options, TaskRequest
from horae.wire.tasks.targets import target_from_shorthand

SHELL = {"command": {"allow": ["sh"]}}
LOOPBACK = {"http": {"allow_networks": ["127.0.0.0/8"]}}


async def run_once(app: Horae, task_id: str) -> Run:
    return await (await (await app.get(task_id)).run_now()).wait("20s")


def shell(script: str) -> dict[str, Any]:
    return {"command": ["sh", "-c", script]}


async def test_program_is_a_gate() -> None:
    check = """echo checking; test "$HORAE_GATE_STATE" = null && run=true || run=false
    echo "{\\"run\\": $run, \\"data\\": [1, 2], \\"state\\": 7, \\"reason\\": \\"seen it\\"}" """
    async with Horae("memory://", zone="UTC", targets=SHELL) as app:
        task = await app.schedule(shell('printf %s "$HORAE_GATE"'), "in 1d", gate=shell(check))
        first = await run_once(app, task.id)
        assert (first.state, first.value["output"]) == (RunState.SUCCEEDED, "[1,2]")
        second = await run_once(app, task.id)
        assert (second.reason, second.error) == (Reason.GATE_CLOSED, "seen it")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("echo broken >&2; exit 3", "exit code 3"),
        ("true", "no last line"),
        ("echo '{\"run\": true}'; echo done", "no verdict"),
        ("sleep 600", "no answer within 0.5 s"),
        ("head -c 200000 /dev/zero | tr '\\0' x; echo", "too large"),
    ],
    ids=["exit code", "silent", "verdict is not last", "slow", "too large"],
)
async def test_program_that_gives_no_verdict(script: str, words: str) -> None:
    app, skipped = Horae("memory://", zone="UTC", targets=SHELL), asyncio.Event()
    app.on("run.skipped")(lambda _event: skipped.set())
    async with app:
        gate = {**shell(script), "timeout": "500ms" if "sleep" in script else "30s"}
        task = await app.schedule(shell("true"), "in 1d", gate=gate)
        await task.run_now()
        async with asyncio.timeout(20):
            await skipped.wait()
        (run,) = await task.runs()
        assert (run.state, run.reason) == (RunState.SKIPPED, Reason.GATE_FAILED)
        assert words in (run.error or "")


@pytest.mark.parametrize(("size", "reason"), [(32_000, None), (33_000, Reason.GATE_CHECKED)])
async def test_last_line_of_a_program_has_at_most_32_kilobytes(size: int, reason: Reason | None) -> None:
    script = f"""printf '{{"run": true, "data": "'; head -c {size} /dev/zero | tr '\\0' x; echo '"}}' """
    async with Horae("memory://", zone="UTC", targets=SHELL) as app:
        task = await app.schedule(shell("true"), "in 1d", gate=shell(script))
        run = await (await task.run_now(gate_only=reason is not None)).wait("20s")
        assert run.reason is reason
        assert "too large" in (run.error or "too large")


async def test_http_server_is_a_gate() -> None:
    received: list[tuple[str, dict[str, Any]]] = []

    async def check(request: web.Request) -> web.Response:
        received.append(("check", await request.json()))
        assert "Horae-Callback" not in request.headers
        # The answer names a secret; it must stay text.
        return web.json_response({"run": True, "data": {"secret": "tok"}, "state": {"secret": "tok"}})

    async def work(request: web.Request) -> web.Response:
        received.append(("work", await request.json()))
        return web.Response()

    site = web.Application()
    site.router.add_post("/check", check)
    site.router.add_post("/work", work)
    async with TestServer(site) as server, Horae("memory://", zone="UTC", targets=LOOPBACK) as app:
        await app.service.secrets.set(LOCAL, "tok", "hush-hush")
        url = {name: str(server.make_url(name)) for name in ("/check", "/work")}
        check_spec = {"url": url["/check"], "method": "POST"}
        work_spec = {"url": url["/work"], "method": "POST"}
        task = await app.schedule({"http": work_spec}, "in 1d", {"a": 1}, gate={"http": check_spec})
        assert (await run_once(app, task.id)).state is RunState.SUCCEEDED
        assert (await run_once(app, task.id)).state is RunState.SUCCEEDED
        reference = {"secret": "tok"}
        assert received == [
            ("check", {"a": 1, "state": None}),
            ("work", {"a": 1, "gate": reference}),
            ("check", {"a": 1, "state": reference}),
            ("work", {"a": 1, "gate": reference}),
        ]
        record = await app.store.get_record(GATE_STATE_KIND, task.id)
        assert record is not None
        assert json.loads(record.body) == reference


async def test_gate_obeys_the_allow_lists_of_targets() -> None:
    async with Horae("memory://", zone="UTC", targets=SHELL, engine=False) as app:
        for gate, code in (
            ({"command": ["rm", "-r", "/"]}, "command_not_allowed"),
            ({"command": "rm -r /"}, "command_shell"),
            ({"http": "http://127.0.0.1/"}, "address_not_public"),
            ({"say": "hi"}, "unknown_field"),
            ({"target": {"kind": "event", "say": "hi"}}, "bad_choice"),
            ({}, "missing_field"),
            ({"command": ["sh"], "timeout": "11m"}, "bad_duration"),
            ({"command": ["sh", "{horae.nothing}"]}, "unknown_placeholder"),
        ):
            with pytest.raises(Refusal) as refused:
                await app.schedule({"say": "hi"}, "in 1d", gate=gate)
            assert refused.value.code == code, gate


async def test_gate_of_an_agent_needs_approval_and_grants() -> None:
    async with Horae("memory://", zone="UTC", targets=SHELL, engine=False) as app:
        await app.service.secrets.set(LOCAL, "tok", "hush-hush")
        agent = local_agent("helper", "UTC")
        spec = {"argv": ["sh"], "environment": {"TOKEN": {"secret": "tok"}}}
        request = TaskRequest(
            "hook",
            "every 1h",
            target_from_shorthand("say", "hi"),
            options=Options(gate=Gate("command", json.dumps(spec))),
            zone="UTC",
        )
        with pytest.raises(Refusal, match="tok"):
            await app.service.tasks.create(agent, request)
        await app.service.secrets.grant(LOCAL, "tok", "helper")
        task = await app.service.tasks.create(agent, request)
        assert STRICT_POLICY.awaits_approval(task)
        ungated = task._replace(policies=type(task.policies)())
        assert not STRICT_POLICY.awaits_approval(ungated)
        assert digest_of(task) != digest_of(ungated)
        function = task.policies.__class__(gate=Gate("function", '{"name":"check"}'))
        assert not ApprovalPolicy(frozenset({"check"})).needs_approval(task._replace(policies=function))
