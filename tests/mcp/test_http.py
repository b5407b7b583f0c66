"""`/mcp` over a real socket: tokens, owners apart from each other, agents within their limits, and what must not come in."""

from __future__ import annotations

import asyncio
import json

import pytest

from horae.mcp_server.catalogue import TOOLS
from horae.mcp_server.server import PROBLEM
from horae.model.accounts.principal import LOCAL, LOCAL_OWNER, Principal, Role
from horae.service.accounts.approvals import digest_of
from horae.web.request_context import WebSettings
from tests.mcp.mcp_http_server import Door, called, opened
from tests.mcp.tool_client import ERAS, ZONE

LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}


@pytest.mark.parametrize("mode", ERAS)
async def test_every_tool_is_there_and_works_over_http(mode: str) -> None:
    async with opened() as door, door.desk(await door.token("ada"), mode=mode) as desk:
        listed = await desk.client.list_tools()
        assert [each.name for each in listed.tools] == list(TOOLS)
        made = await desk("schedule_task", when="every day at 09:00", do="x", name="walk")
        assert made["zone"] == ZONE
        task_id = made["task"]["id"]
        asked = await desk("run_task_now", id=task_id)
        for tool, said in {
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
            "get_run": {"id": asked["run_id"]},
        }.items():
            await desk(tool, **said)


@pytest.mark.parametrize("mode", ERAS)
async def test_two_owners_never_see_each_other(mode: str) -> None:
    async with opened() as door:
        ada, bob = await door.token("ada"), await door.token("bob")
        async with door.desk(ada, mode=mode) as hers, door.desk(bob, mode=mode) as his:
            made = await hers("schedule_task", when="every 1h", do="x", name="secret plan", key="plan")
            task_id = made["task"]["id"]
            run_id = (await hers("run_task_now", id=task_id))["run_id"]
            assert (await his("list_tasks"))["tasks"] == []
            assert (await his("list_runs"))["runs"] == []
            for tool in ("get_task", "explain_task", "pause_task", "resume_task", "cancel_task", "run_task_now"):
                for name in (task_id, "plan"):
                    said = {"id": name, "reason": "x"} if tool == "pause_task" else {"id": name}
                    foreign = await his.raw(tool, **said)
                    absent = await his.raw(tool, **(said | {"id": "nothing"}))
                    assert foreign.is_error
                    assert str(foreign).replace(name, "nothing") == str(absent), tool
            assert await his.refused("update_task", id=task_id, name="mine") == "no_such_task"
            assert await his.refused("get_run", id=run_id) == "no_such_run"
            assert (await his("schedule_task", when="every 1h", do="y", key="plan"))["change"] == "new"
            assert (await hers("get_task", id="plan"))["task"]["id"] == task_id


@pytest.mark.parametrize("token", [None, "", "nonsense", f"horae_{'0' * 32}_{'0' * 64}", "x" * 5000])
async def test_without_a_good_token_nothing_is_answered(token: str | None) -> None:
    async with opened() as door:
        for body in (LISTING, called("whoami"), b"{", b""):
            status, headers, _ = await door.post(body, token)
            assert status == 401
            assert headers["WWW-Authenticate"].startswith("Bearer")


async def test_a_token_that_is_revoked_opens_nothing_from_then_on() -> None:
    async with opened() as door:
        text = await door.token("ada")
        assert (await door.post(called("whoami"), text))[0] == 200
        (token,) = (await door.service.tokens.page(LOCAL, "ada")).items
        await door.service.tokens.revoke(LOCAL, token.id)
        assert (await door.post(called("whoami"), text))[0] == 401


async def test_a_token_in_the_address_counts_for_nothing() -> None:
    async with opened() as door:
        text = await door.token("ada")
        door.url += f"?token={text}&access_token={text}"
        assert (await door.post(called("whoami"), None))[0] == 401


async def test_an_agent_has_its_own_tasks_its_limits_and_a_stamp() -> None:
    async with opened() as door:
        owner, agent = await door.token("ada"), await door.token("ada", agent="helper")
        async with door.desk(owner) as hers, door.desk(agent) as its:
            await hers("schedule_task", when="every 1h", do="x", name="private")
            assert (await its("list_tasks"))["tasks"] == []
            assert await its.refused("cancel_task", id="private") == "no_such_task"
            assert await its.refused("schedule_task", when="every 1m, 3 times", do="x") == "interval_too_short"
            await door.service.agents.put(LOCAL, "helper", {"longest_life": "30d"}, "ada")
            assert await its.refused("schedule_task", when="every 1h", do="x") == "life_too_long"
            for number in range(10):
                await its("schedule_task", when="every 1h, 3 times", do="x", name=f"job {number}")
            assert await its.refused("schedule_task", when="every 1h, 3 times", do="x") == "too_many_tasks"
            told = await its("whoami")
            assert (told["agent"], told["active_tasks_left"], told["admin"]) == ("helper", 0, False)
            (token,) = [each for each in (await door.service.tokens.page(LOCAL, "ada")).items if each.agent]
            labels = (await hers("get_task", id="job 0"))["task"]["labels"]
            assert labels == {"horae/agent": "helper", "horae/via": "mcp", "horae/token": token.id}


async def test_what_an_agent_wants_outside_waits_for_a_person_and_an_edit_closes_it_again() -> None:
    async with opened() as door:
        ada = Principal("ada", actor="tok_x", zone=ZONE)
        owner, agent = await door.token("ada"), await door.token("ada", agent="helper")
        async with door.desk(owner) as hers, door.desk(agent) as its:
            calling = {"http": {"url": "https://example.com/hook"}}
            made = await its("schedule_task", when="every 1h, 3 times", do=calling, name="hook")
            assert (made["awaiting_approval"], made["task"]["state"]) == (True, "paused")
            assert made["warnings"][0]["code"] == "awaiting_approval"
            task_id = made["task"]["id"]
            assert await its.refused("resume_task", id=task_id) == "awaiting_approval"
            assert await its.refused("run_task_now", id=task_id) == "awaiting_approval"
            why = await its("explain_task", id=task_id)
            assert (why["reason"], why["sentence"].endswith(f"horae approve {task_id}")) == ("awaiting_approval", True)
            assert [each["tool"] for each in why["suggested_calls"]] == ["get_task"]
            task = (await door.service.tasks.get(ada, task_id)).task
            assert made["approval_digest"] == digest_of(task)
            await door.service.approvals.approve(ada, task_id, made["approval_digest"])
            assert (await its("get_task", id=task_id))["task"]["state"] == "active"
            other = {"http": {"url": "https://example.com/other"}}
            edited = await its("update_task", id=task_id, do=other)
            assert (edited["awaiting_approval"], edited["task"]["state"]) == (True, "paused")
            assert (await hers("list_tasks"))["tasks"][0]["awaiting_approval"]


async def test_a_viewer_looks_and_changes_nothing() -> None:
    async with opened() as door, door.desk(await door.token("eve", role=Role.VIEWER)) as desk:
        assert (await desk("list_tasks"))["tasks"] == []
        assert await desk.refused("schedule_task", when="every 1h", do="x") == "not_allowed"


async def test_what_is_done_is_in_the_audit_trail_with_the_request_it_came_with() -> None:
    async with opened() as door:
        async with door.desk(await door.token("ada"), **{"X-Request-Id": "req-of-mine"}) as desk:
            made = await desk("schedule_task", when="every 1h", do="x")
        rows = (await door.service.audit.page(LOCAL)).items
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
async def test_only_pages_of_this_machine_or_named_origins_may_ask(
    origin: str | None, host: str | None, status: int
) -> None:
    async with opened(WebSettings(origins=("https://console.example",))) as door:
        headers = {name: value for name, value in (("Origin", origin), ("Host", host)) if value is not None}
        assert (await door.post(called("whoami"), await door.token("ada"), **headers))[0] == status


async def test_who_asks_too_often_is_held_back() -> None:
    async with opened() as door:
        token = await door.token("ada")
        await door.service.accounts.put(LOCAL, "ada", quotas={"requests_per_minute": 3})
        answers = [await door.post(called("whoami"), token) for _ in range(4)]
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
async def test_what_is_no_message_is_refused_before_anybody_reads_it(body: bytes, status: int) -> None:
    async with opened() as door:
        assert (await door.post(body, await door.token("ada")))[0] == status


async def test_half_letters_and_nul_break_nothing() -> None:
    async with opened() as door:
        token = await door.token("ada")
        for text in ("\\ud800", "\\u0000", "\\u202e", "\\u001b[2J"):
            for field in ("name", "do", "when", "key", "zone", "id"):
                said = {"name": '"n"', "do": '"d"', "when": '"every 1h"', field: f'"a{text}b"'}
                arguments = ",".join(f'"{name}":{value}' for name, value in said.items())
                tool = "get_task" if field == "id" else "schedule_task"
                body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{{arguments}}}}}}}'
                status, _, answer = await door.post(body.encode(), token)
                assert status in (200, 400), (text, field)
                assert "broke" not in json.dumps(answer), (text, field)


async def test_only_posting_is_possible() -> None:
    async with opened() as door:
        assert await door.get(await door.token("ada")) == 405
        assert await door.get(None) == 405


@pytest.mark.parametrize("mode", ERAS)
async def test_who_leaves_while_waiting_is_not_waited_for(mode: str) -> None:
    async with opened() as door:
        token = await door.token("ada")

        async def wait() -> None:
            async with door.desk(token, mode=mode) as other:
                await other("run_task_now", id="slow", wait_seconds=60)

        async with door.desk(token) as desk:
            await desk("schedule_task", when="every 10h", do="x", name="slow")
            waiting = asyncio.create_task(wait())
            await door.clock.waited_for.wait()
            waiting.cancel()
            async with asyncio.timeout(30):
                await door.clock.left_alone.wait()
            assert (await desk("whoami"))["owner"] == "ada"


async def test_the_language_of_the_request_is_that_of_the_answer() -> None:
    chinese = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.5"}
    async with opened() as door, door.desk(await door.token("ada"), **chinese) as desk:
        assert "时区" in await desk.line("whoami")


async def _unknown_tool_over_http(door: Door) -> None:
    token = await door.token("ada")
    status, _, answer = await door.post(called("drop_database"), token)
    assert (status, answer["error"]["code"]) == (200, -32602)
    assert "result" not in answer
    assert "drop_database" in answer["error"]["message"]
    status, _, answer = await door.post(called("list_tasks", q="colour:red"), token)
    assert (status, answer["result"]["isError"]) == (200, True), "a refusal of a tool stays a result"


async def test_unknown_tool_is_an_error_of_the_protocol() -> None:
    async with opened() as here:
        await _unknown_tool_over_http(here)


async def schedule_as(door: Door, owner: str, zone: str | None) -> tuple[str, list[str]]:
    """The zone that was understood and the codes of the warnings; or the code of the refusal."""
    if zone is not None or owner != LOCAL_OWNER:
        await door.service.accounts.put(LOCAL, owner, zone=zone or "")
    token = (await door.service.tokens.make(LOCAL, owner=owner, name="test"))[1]
    async with door.desk(token) as desk:
        result = await desk.raw("schedule_task", when="every day at 9am", do="look")
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
async def test_zone_is_the_owners_and_that_of_this_machine_for_its_own_owner(
    owner: str, zone: str | None, found: str, *, is_assumed: bool
) -> None:
    async with opened() as door:
        understood, warnings = await schedule_as(door, owner, zone)
        assert understood == found
        assert ("no_zone" in warnings) is is_assumed


async def test_answers_over_http_say_that_no_node_is_alive() -> None:
    async with opened() as door, door.desk(await door.token("ada")) as desk:
        assert (await desk("whoami"))["engine_running"] is False
        await desk("schedule_task", when="every 1h", do="look", name="mail")
        asked = await desk("run_task_now", id="mail")
        assert [each["code"] for each in asked["warnings"]] == ["no_engine"]
