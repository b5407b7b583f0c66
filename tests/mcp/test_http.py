"""`/mcp` over HTTP: tokens, isolation of owners, limits of agents, origins, rate limit, malformed messages."""

from __future__ import annotations

import asyncio
import json

import pytest

from horae.mcp_server.catalogue import TOOLS
from horae.mcp_server.server import PROBLEM
from horae.model.accounts.principal import LOCAL, LOCAL_OWNER, Principal, Role
from horae.service.accounts.approvals import digest_of
from horae.web.request_context import WebSettings
from tests.mcp.mcp_http_server import McpHttpServer, serve_mcp, tool_call
from tests.mcp.tool_client import PROTOCOL_MODES, ZONE

LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
async def test_every_tool_works_over_http(mode: str) -> None:
    async with serve_mcp() as server, server.connect(await server.create_token("ada"), mode=mode) as tools:
        listed = await tools.client.list_tools()
        assert [each.name for each in listed.tools] == list(TOOLS)
        made = await tools("schedule_task", when="every day at 09:00", do="x", name="walk")
        assert made["zone"] == ZONE
        task_id = made["task"]["id"]
        started = await tools("run_task_now", id=task_id)
        for tool, arguments in {
            "list_tasks": {},
            "get_task": {"id": task_id},
            "explain_task": {"id": task_id},
            "update_task": {"id": task_id, "name": "stroll"},
            "pause_task": {"id": task_id, "reason": "rain"},
            "resume_task": {"id": task_id},
            "list_runs": {},
            "preview_schedule": {"when": "every day at 09:00"},
            "whoami": {},
            "cancel_task": {"id": task_id},
            "get_run": {"id": started["run_id"]},
        }.items():
            await tools(tool, **arguments)


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
async def test_tasks_of_other_owners_answer_like_unknown_ones(mode: str) -> None:
    async with serve_mcp() as server:
        ada, bob = await server.create_token("ada"), await server.create_token("bob")
        async with server.connect(ada, mode=mode) as ada_tools, server.connect(bob, mode=mode) as bob_tools:
            made = await ada_tools("schedule_task", when="every 1h", do="x", name="secret plan", key="plan")
            task_id = made["task"]["id"]
            run_id = (await ada_tools("run_task_now", id=task_id))["run_id"]
            assert (await bob_tools("list_tasks"))["tasks"] == []
            assert (await bob_tools("list_runs"))["runs"] == []
            for tool in ("get_task", "explain_task", "pause_task", "resume_task", "cancel_task", "run_task_now"):
                for name in (task_id, "plan"):
                    arguments = {"id": name, "reason": "x"} if tool == "pause_task" else {"id": name}
                    foreign = await bob_tools.raw(tool, **arguments)
                    absent = await bob_tools.raw(tool, **(arguments | {"id": "nothing"}))
                    assert foreign.is_error
                    assert str(foreign).replace(name, "nothing") == str(absent), tool
            assert await bob_tools.refused("update_task", id=task_id, name="mine") == "no_such_task"
            assert await bob_tools.refused("get_run", id=run_id) == "no_such_run"
            assert (await bob_tools("schedule_task", when="every 1h", do="y", key="plan"))["change"] == "new"
            assert (await ada_tools("get_task", id="plan"))["task"]["id"] == task_id


@pytest.mark.parametrize("token", [None, "", "nonsense", f"horae_{'0' * 32}_{'0' * 64}", "x" * 5000])
async def test_request_without_a_valid_token_answers_401(token: str | None) -> None:
    async with serve_mcp() as server:
        for body in (LISTING, tool_call("whoami"), b"{", b""):
            status, headers, _ = await server.post(body, token)
            assert status == 401
            assert headers["WWW-Authenticate"].startswith("Bearer")


async def test_revoked_token_is_refused() -> None:
    async with serve_mcp() as server:
        text = await server.create_token("ada")
        assert (await server.post(tool_call("whoami"), text))[0] == 200
        (token,) = (await server.service.tokens.page(LOCAL, "ada")).items
        await server.service.tokens.revoke(LOCAL, token.id)
        assert (await server.post(tool_call("whoami"), text))[0] == 401


async def test_token_in_the_query_is_ignored() -> None:
    async with serve_mcp() as server:
        text = await server.create_token("ada")
        server.url += f"?token={text}&access_token={text}"
        assert (await server.post(tool_call("whoami"), None))[0] == 401


async def test_agent_sees_its_own_tasks_has_limits_and_labels_its_tasks() -> None:
    async with serve_mcp() as server:
        owner, agent = await server.create_token("ada"), await server.create_token("ada", agent="helper")
        async with server.connect(owner) as ada_tools, server.connect(agent) as agent_tools:
            await ada_tools("schedule_task", when="every 1h", do="x", name="private")
            assert (await agent_tools("list_tasks"))["tasks"] == []
            assert await agent_tools.refused("cancel_task", id="private") == "no_such_task"
            assert await agent_tools.refused("schedule_task", when="every 1m, 3 times", do="x") == "interval_too_short"
            await server.service.agents.put(LOCAL, "helper", {"longest_life": "30d"}, "ada")
            assert await agent_tools.refused("schedule_task", when="every 1h", do="x") == "life_too_long"
            for number in range(10):
                await agent_tools("schedule_task", when="every 1h, 3 times", do="x", name=f"job {number}")
            assert await agent_tools.refused("schedule_task", when="every 1h, 3 times", do="x") == "too_many_tasks"
            identity = await agent_tools("whoami")
            assert (identity["agent"], identity["active_tasks_left"], identity["admin"]) == ("helper", 0, False)
            (token,) = [each for each in (await server.service.tokens.page(LOCAL, "ada")).items if each.agent]
            labels = (await ada_tools("get_task", id="job 0"))["task"]["labels"]
            assert labels == {"horae/agent": "helper", "horae/via": "mcp", "horae/token": token.id}


async def test_http_task_of_an_agent_needs_approval_again_after_an_edit() -> None:
    async with serve_mcp() as server:
        ada = Principal("ada", actor="tok_x", zone=ZONE)
        owner, agent = await server.create_token("ada"), await server.create_token("ada", agent="helper")
        async with server.connect(owner) as ada_tools, server.connect(agent) as agent_tools:
            calling = {"http": {"url": "https://example.com/hook"}}
            made = await agent_tools("schedule_task", when="every 1h, 3 times", do=calling, name="hook")
            assert (made["awaiting_approval"], made["task"]["state"]) == (True, "paused")
            assert made["warnings"][0]["code"] == "awaiting_approval"
            task_id = made["task"]["id"]
            assert await agent_tools.refused("resume_task", id=task_id) == "awaiting_approval"
            assert await agent_tools.refused("run_task_now", id=task_id) == "awaiting_approval"
            why = await agent_tools("explain_task", id=task_id)
            assert (why["reason"], why["sentence"].endswith(f"horae approve {task_id}")) == ("awaiting_approval", True)
            assert [each["tool"] for each in why["suggested_calls"]] == ["get_task"]
            task = (await server.service.tasks.get(ada, task_id)).task
            assert made["approval_digest"] == digest_of(task)
            await server.service.approvals.approve(ada, task_id, made["approval_digest"])
            assert (await agent_tools("get_task", id=task_id))["task"]["state"] == "active"
            other = {"http": {"url": "https://example.com/other"}}
            edited = await agent_tools("update_task", id=task_id, do=other)
            assert (edited["awaiting_approval"], edited["task"]["state"]) == (True, "paused")
            assert (await ada_tools("list_tasks"))["tasks"][0]["awaiting_approval"]


async def test_viewer_reads_and_changes_nothing() -> None:
    async with serve_mcp() as server, server.connect(await server.create_token("eve", role=Role.VIEWER)) as tools:
        assert (await tools("list_tasks"))["tasks"] == []
        assert await tools.refused("schedule_task", when="every 1h", do="x") == "not_allowed"


async def test_audit_trail_has_the_request_id() -> None:
    async with serve_mcp() as server:
        async with server.connect(await server.create_token("ada"), **{"X-Request-Id": "req-of-mine"}) as tools:
            made = await tools("schedule_task", when="every 1h", do="x")
        rows = (await server.service.audit.page(LOCAL)).items
        (row,) = [each for each in rows if each.subject == made["task"]["id"]]
        assert (row.via, row.request, row.action) == ("mcp", "req-of-mine", "task.create")


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("https://evil.example", None, 403),
        ("http://evil.example", "evil.example", 403),
        ("http://127.0.0.1.evil.example", None, 403),
        ("null", None, 403),
        ("http://localhost:3000", None, 200),
        ("http://localhost:3000", "evil.example", 403),
        ("https://console.example", None, 200),
        (None, "horae.example", 200),
    ],
)
async def test_only_local_and_configured_origins_are_allowed(origin: str | None, host: str | None, status: int) -> None:
    async with serve_mcp(WebSettings(origins=("https://console.example",))) as server:
        headers = {name: value for name, value in (("Origin", origin), ("Host", host)) if value is not None}
        assert (await server.post(tool_call("whoami"), await server.create_token("ada"), **headers))[0] == status


async def test_rate_limit_answers_429() -> None:
    async with serve_mcp() as server:
        token = await server.create_token("ada")
        await server.service.accounts.put(LOCAL, "ada", quotas={"requests_per_minute": 3})
        answers = [await server.post(tool_call("whoami"), token) for _ in range(4)]
        assert [status for status, _, _ in answers] == [200, 200, 200, 429]
        _, headers, problem = answers[-1]
        assert int(headers["Retry-After"]) > 0
        assert problem["code"] == "too_many_requests"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"", 400),
        (b"[" * 10_000 + b"]" * 10_000, 400),
        (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list"}', 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami","arguments":{"x":NaN}}}', 400),
        (b" " * (1_048_576 + 1), 413),
        (b'"a text"', 400),
        (b'{"jsonrpc":"1.0"}', 400),
    ],
)
async def test_malformed_message_is_refused(body: bytes, status: int) -> None:
    async with serve_mcp() as server:
        assert (await server.post(body, await server.create_token("ada")))[0] == status


async def test_lone_surrogates_and_control_characters_are_handled() -> None:
    async with serve_mcp() as server:
        token = await server.create_token("ada")
        for text in ("\\ud800", "\\u0000", "\\u202e", "\\u001b[2J"):
            for field in ("name", "do", "when", "key", "zone", "id"):
                fields = {"name": '"n"', "do": '"d"', "when": '"every 1h"', field: f'"a{text}b"'}
                arguments = ",".join(f'"{name}":{value}' for name, value in fields.items())
                tool = "get_task" if field == "id" else "schedule_task"
                body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{{arguments}}}}}}}'
                status, _, answer = await server.post(body.encode(), token)
                assert status in (200, 400), (text, field)
                assert "broke" not in json.dumps(answer), (text, field)


async def test_get_is_not_allowed() -> None:
    async with serve_mcp() as server:
        assert await server.get(await server.create_token("ada")) == 405
        assert await server.get(None) == 405


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
async def test_disconnected_client_ends_its_wait(mode: str) -> None:
    async with serve_mcp() as server:
        token = await server.create_token("ada")

        async def wait() -> None:
            async with server.connect(token, mode=mode) as other:
                await other("run_task_now", id="slow", wait_seconds=60)

        async with server.connect(token) as tools:
            await tools("schedule_task", when="every 10h", do="x", name="slow")
            waiting = asyncio.create_task(wait())
            await server.clock.has_waiter.wait()
            waiting.cancel()
            async with asyncio.timeout(30):
                await server.clock.has_no_waiter.wait()
            assert (await tools("whoami"))["owner"] == "ada"


async def test_answer_is_in_the_language_of_the_request() -> None:
    chinese = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}
    async with serve_mcp() as server, server.connect(await server.create_token("ada"), **chinese) as tools:
        assert "时区" in await tools.line("whoami")


async def _check_unknown_tool(server: McpHttpServer) -> None:
    token = await server.create_token("ada")
    status, _, answer = await server.post(tool_call("drop_database"), token)
    assert (status, answer["error"]["code"]) == (200, -32602)
    assert "result" not in answer
    assert "drop_database" in answer["error"]["message"]
    status, _, answer = await server.post(tool_call("list_tasks", q="colour:red"), token)
    assert (status, answer["result"]["isError"]) == (200, True), "a refusal of a tool stays a result"


async def test_unknown_tool_is_an_error_of_the_protocol() -> None:
    async with serve_mcp() as server:
        await _check_unknown_tool(server)


async def schedule_as(server: McpHttpServer, owner: str, zone: str | None) -> tuple[str, list[str]]:
    """Return the resolved zone and the warning codes, or the code of the refusal."""
    if zone is not None or owner != LOCAL_OWNER:
        await server.service.accounts.put(LOCAL, owner, zone=zone or "")
    token = (await server.service.tokens.make(LOCAL, owner=owner, name="test"))[1]
    async with server.connect(token) as tools:
        result = await tools.raw("schedule_task", when="every day at 9am", do="look")
        if result.is_error:
            return (result.meta or {})[PROBLEM]["code"], []
        made = result.structured_content or {}
        return made["zone"], [each["code"] for each in made["warnings"]]


@pytest.mark.parametrize(
    ("owner", "zone", "found", "is_assumed"),
    [
        ("ada", ZONE, ZONE, False),
        ("ada", None, "zone_needed", False),
        (LOCAL_OWNER, ZONE, ZONE, False),
        (LOCAL_OWNER, None, "UTC", True),
    ],
)
async def test_zone_is_that_of_the_owner_and_for_the_local_owner_that_of_the_machine(
    owner: str, zone: str | None, found: str, *, is_assumed: bool
) -> None:
    async with serve_mcp() as server:
        resolved, warnings = await schedule_as(server, owner, zone)
        assert resolved == found
        assert ("no_zone" in warnings) is is_assumed


async def test_answers_over_http_warn_that_no_node_is_alive() -> None:
    async with serve_mcp() as server, server.connect(await server.create_token("ada")) as tools:
        assert (await tools("whoami"))["engine_running"] is False
        await tools("schedule_task", when="every 1h", do="look", name="mail")
        started = await tools("run_task_now", id="mail")
        assert [each["code"] for each in started["warnings"]] == ["no_engine"]
