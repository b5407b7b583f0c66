"""Quotas of a member over HTTP: requests, tokens, stored tasks and bytes, event streams, idempotency keys."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL, MEMBER_QUOTAS, Quotas
from horae.model.change import Change
from horae.ports.journal import Line
from horae.service.accounts import key_budget
from horae.service.tasks import task_quota
from horae.testing.factories import an_ended_run
from horae.web.request_context import WebSettings
from tests.api.api_server import TASK, Api, Reply, serve_api

NEW_QUOTAS: Final = (
    "stored_tasks",
    "stored_bytes",
    "tokens",
    "requests_per_minute",
    "event_streams",
    "idempotency_keys",
    "message_bytes",
    "message_streams",
    "stream_messages",
    "stream_readers",
    "stored_message_bytes",
    "lanes",
    "task_lanes",
    "destinations",
    "chain_depth",
    "gate_bytes",
)
SQLITE_URL: Final = "sqlite:///{folder}/horae.db"


async def _set_quotas(api: Api, **quotas: Any) -> None:
    reply = await api.put("/v1/owners/ada", {"quotas": quotas}, who="admin")
    assert reply.status == 200, reply.text
    # The process caches a token for half a second.
    api.service.tokens._cache.clear()


async def test_lanes_and_destinations_are_bounded_per_owner_and_the_hint_works() -> None:
    async with serve_api() as api:
        await _set_quotas(api, lanes=1, task_lanes=2, destinations=1)
        assert (await api.put("/v1/lanes/one", {"limit": 1})).status == 200
        refused = await api.put("/v1/lanes/two", {"limit": 1})
        assert (refused.status, refused.json["code"]) == (429, "too_many_lanes")
        assert "horae owner set ada --quota lanes=2" in refused.json["hint"]
        many = await api.post("/v1/tasks", {**TASK, "lane": "one", "policies": {"lanes": ["two", "three"]}})
        assert (many.status, many.json["code"]) == (422, "task_lanes_over_quota")
        assert [each["pointer"] for each in many.json["errors"]] == ["/policies/lanes"]
        assert "horae owner set ada --quota task_lanes=3" in many.json["hint"]
        assert (await api.put("/v1/destinations/ops", {"url": "json://127.0.0.1:9/"})).status in (200, 201)
        refused = await api.put("/v1/destinations/more", {"url": "json://127.0.0.1:9/"})
        assert (refused.status, refused.json["code"]) == (429, "too_many_destinations")
        assert "horae owner set ada --quota destinations=2" in refused.json["hint"]
        await _set_quotas(api, lanes=2, destinations=2)
        assert (await api.put("/v1/lanes/two", {"limit": 1})).status == 200
        assert (await api.put("/v1/destinations/more", {"url": "json://127.0.0.1:9/"})).status in (200, 201)
        for name, value in (("task_lanes", 9), ("destinations", 101), ("chain_depth", 17), ("gate_bytes", 65_537)):
            bad = await api.put("/v1/owners/ada", {"quotas": {name: value}}, who="admin")
            assert bad.json["errors"][0]["pointer"] == f"/quotas/{name}", bad.text


async def test_depth_of_chains_is_bounded_per_owner_and_the_hint_works() -> None:
    async with serve_api() as api:
        await _set_quotas(api, chain_depth=1)
        link = {key: value for key, value in TASK.items() if key != "when"}
        first = await api.post("/v1/tasks", {**TASK, "name": "one"})
        assert (await api.post("/v1/tasks", {**link, "name": "two", "after": "one"})).status == 201
        refused = await api.post("/v1/tasks", {**link, "name": "three", "after": "two"})
        assert (refused.status, refused.json["code"]) == (422, "chain_over_quota")
        assert [each["pointer"] for each in refused.json["errors"]] == ["/after"]
        assert "horae owner set ada --quota chain_depth=2" in refused.json["hint"]
        inserted = await api.post("/v1/tasks", {**TASK, "name": "zero"})
        edited = await api.patch(f"/v1/tasks/{first.json['id']}", {"after": "zero"})
        assert (inserted.status, edited.json["code"]) == (201, "chain_over_quota"), (
            "the task behind it would be too deep"
        )
        await _set_quotas(api, chain_depth=2)
        third = await api.post("/v1/tasks", {**link, "name": "three", "after": "two"})
        await _set_quotas(api, chain_depth=1)
        assert (await api.patch(f"/v1/tasks/{third.json['id']}", {"name": "renamed"})).status == 200, (
            "edits of other fields go on"
        )


async def _second_token(api: Api, owner: str = "ada") -> None:
    api.tokens["second"] = (await api.service.tokens.make(LOCAL, owner=owner, name="second"))[1]


# --- set quotas ----------------------------------------------------------------------------------------------------


async def _check_set_quotas(api: Api) -> None:
    shown = (await api.get("/v1/owners/vic", who="admin")).json["quotas"]
    assert set(shown) == set(Quotas._fields)
    for name in NEW_QUOTAS:
        assert getattr(MEMBER_QUOTAS, name) is not None, "every member has a default"
        await _set_quotas(api, **{name: 3})
        assert (await api.get("/v1/owners/ada", who="admin")).json["quotas"][name] == 3
        await _set_quotas(api, **{name: None})
        assert (await api.get("/v1/owners/ada", who="admin")).json["quotas"][name] is None
        await _set_quotas(api, **{name: "usual"})
        refused = await api.put("/v1/owners/bob", {"quotas": {name: 9}}, who="bob")
        assert (refused.status, refused.code) == (403, "not_allowed")


async def test_admins_set_each_quota_and_members_do_not() -> None:
    async with serve_api() as api:
        await _check_set_quotas(api)


# --- requests -------------------------------------------------------------------------------------------------------


async def _check_request_quota(api: Api) -> None:
    await _second_token(api)
    await _set_quotas(api, requests_per_minute=6)
    replies = [await api.get("/v1/whoami", who=who) for who in ("ada", "second", "robot") * 2]
    assert {each.status for each in replies} == {200}
    for who in ("ada", "second", "robot"):
        refused = await api.get("/v1/whoami", who=who)
        assert (refused.status, refused.code) == (429, "too_many_requests"), who
        assert int(refused.headers["retry-after"]) >= 1
    assert (await api.get("/v1/whoami", who="bob")).status == 200


async def test_requests_are_counted_for_all_tokens_of_an_owner_together() -> None:
    async with serve_api() as api:
        await _check_request_quota(api)


# --- tokens ---------------------------------------------------------------------------------------------------------


async def _check_token_quota(api: Api) -> None:
    await _set_quotas(api, tokens=5)
    replies = await asyncio.gather(*(api.post("/v1/tokens", {"name": f"t{number}"}) for number in range(12)))
    # Two exist already: that of ada and that of her agent.
    assert sorted(each.status for each in replies) == [201] * 3 + [429] * 9
    assert {each.code for each in replies if each.status == 429} == {"too_many_valid_tokens"}
    made = next(each.json["id"] for each in replies if each.status == 201)
    await api.delete(f"/v1/tokens/{made}")
    assert (await api.post("/v1/tokens", {"name": "again"})).status == 201, "a revoked token does not count"
    assert (await api.post("/v1/tokens", {"name": "x"}, who="bob")).status == 201


async def test_valid_tokens_of_an_owner_are_limited_also_under_concurrency(tmp_path: Path) -> None:
    async with serve_api(url=SQLITE_URL.format(folder=tmp_path)) as api:
        await _check_token_quota(api)


# --- stored tasks and bytes -----------------------------------------------------------------------------------------


async def _check_stored_tasks_quota(api: Api) -> None:
    await _set_quotas(api, stored_tasks=4)
    paused = await api.post("/v1/tasks?paused=later", TASK)
    over = await api.create_task()
    assert (await api.post(f"/v1/tasks/{over['id']}/cancel")).json["state"] == "cancelled"
    replies = await asyncio.gather(*(api.post("/v1/tasks?paused=later", TASK) for _ in range(10)))
    assert sorted(each.status for each in replies) == [201] * 2 + [429] * 8
    assert {each.code for each in replies if each.status == 429} == {"too_many_stored_tasks"}
    many = await api.post("/v1/tasks/bulk", {"tasks": [TASK]})
    assert (many.status, many.code) == (429, "too_many_stored_tasks")
    agents = await api.post("/v1/tasks", {**TASK, "when": "every 1h, 3 times"}, who="robot")
    assert (agents.status, agents.code) == (429, "too_many_stored_tasks"), "its agents' tasks are its own"
    await api.delete(f"/v1/tasks/{paused.json['id']}")
    assert (await api.post("/v1/tasks", TASK)).status == 201


async def test_paused_and_finished_tasks_count_as_stored(tmp_path: Path) -> None:
    async with serve_api(url=SQLITE_URL.format(folder=tmp_path)) as api:
        await _check_stored_tasks_quota(api)


def _large(size: int) -> dict[str, Any]:
    return {**TASK, "payload": "x" * size}


async def _check_stored_bytes_quota(api: Api) -> None:
    await _set_quotas(api, stored_bytes=100_000)
    replies = await asyncio.gather(*(api.post("/v1/tasks", _large(30_000)) for _ in range(8)))
    assert sorted(each.status for each in replies) == [201] * 3 + [429] * 5
    assert {each.code for each in replies if each.status == 429} == {"too_many_bytes"}
    ids = [each.json["id"] for each in replies if each.status == 201]
    grown = await api.patch(f"/v1/tasks/{ids[0]}", {"payload": "x" * 50_000})
    assert (grown.status, grown.code) == (429, "too_many_bytes"), "nor by an edit"
    assert (await api.patch(f"/v1/tasks/{ids[0]}", {"payload": "x"})).status == 200
    assert (await api.patch(f"/v1/tasks/{ids[1]}", {"payload": "x" * 50_000})).status == 200
    refused = await api.post("/v1/tasks?dry_run=true", _large(30_000))
    assert (refused.status, refused.code) == (429, "too_many_bytes")
    await api.delete(f"/v1/tasks/{ids[1]}")
    assert (await api.post("/v1/tasks?dry_run=true", _large(30_000))).status == 200
    assert (await api.post("/v1/tasks", _large(30_000))).status == 201


async def test_stored_bytes_of_an_owner_are_limited_in_new_and_edited_tasks(tmp_path: Path) -> None:
    async with serve_api(url=SQLITE_URL.format(folder=tmp_path)) as api:
        await _check_stored_bytes_quota(api)


async def _check_recounted_bytes(api: Api) -> None:
    """Bytes are recounted after retention removed tasks, and for tasks that were stored before bytes were counted."""
    await api.service.accounts.put(LOCAL, "ada", quotas={"stored_bytes": None, "stored_tasks": None})
    early = [await api.create_task(payload="x" * 30_000) for _ in range(3)]
    await _set_quotas(api, stored_bytes=100_000)
    assert (await api.post("/v1/tasks?dry_run=true", TASK)).status == 200
    assert (await api.post("/v1/tasks", _large(30_000))).code == "too_many_bytes"
    record = await api.service.store.get_record(task_quota.QUOTA_KIND, "ada")
    assert record is not None
    assert '"bytes": 9' in record.body
    for each in early[1:]:
        # Written to the store directly, as the engine does: no quota applies.
        await api.service.tasks.delete(LOCAL, each["id"])
    assert (await api.post("/v1/tasks", _large(30_000))).status == 201


async def test_stored_bytes_are_recounted_when_the_limit_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(task_quota, "_COUNTED_SECONDS", 0.0)
    async with serve_api() as api:
        await _check_recounted_bytes(api)


async def _add_output(api: Api, task_id: str, *, result: int = 0, line: int = 0) -> None:
    """Store an ended run of the task with a result and a log line of these sizes in bytes."""
    facts = await api.service.store.facts(task_id, None)
    assert facts is not None
    run = an_ended_run(facts.task, planned=SystemClock().now(), result_json='"' + "x" * result + '"')
    await api.service.store.change(task_id, None, lambda _: Change(new_runs=(run,)))
    await api.service.store.write_lines([Line(run.id, run.planned, "output", "x" * line)])


async def _check_bytes_of_runs(api: Api) -> None:
    await _set_quotas(api, stored_bytes=30_000)
    task, other = await api.create_task(), await api.create_task()
    await _add_output(api, task["id"], result=3_000, line=3_000)
    assert (await api.post("/v1/tasks?dry_run=true", TASK)).status == 200
    for _ in range(3):
        await _add_output(api, task["id"], result=6_000, line=3_000)
    # The server recounts once a minute; a changed quota is enforced at once.
    await _set_quotas(api, stored_bytes=30_001)
    refused = await api.post("/v1/tasks", TASK)
    assert (refused.status, refused.code) == (429, "too_many_bytes")
    assert "results and logs" in refused.json["detail"]
    owner = (await api.get("/v1/owners/ada")).json
    assert owner["storage_full"] is not None
    assert owner["exhausted"] is None
    why = (await api.get(f"/v1/tasks/{other['id']}/why")).json
    assert (why["verdict"], why["reason"]) == ("pending", "quota")
    assert "Quota: stored_bytes" in why["sentence"]
    assert (await api.get("/v1/owners/bob", who="bob")).json["storage_full"] is None
    await api.delete(f"/v1/tasks/{task['id']}")
    assert (await api.post("/v1/tasks", TASK)).status == 201, "its history went with it"
    await api.service.daily_quota.enforce(SystemClock().now())
    assert (await api.get("/v1/owners/ada")).json["storage_full"] is None
    assert (await api.get(f"/v1/tasks/{other['id']}/why")).json["reason"] is None


async def test_results_and_logs_of_runs_count_as_stored_bytes(tmp_path: Path) -> None:
    async with serve_api(url=SQLITE_URL.format(folder=tmp_path)) as api:
        await _check_bytes_of_runs(api)


# --- event streams --------------------------------------------------------------------------------------------------


async def _open(api: Api, stack: AsyncExitStack, who: str) -> Reply | None:
    """Open an event stream; return the response only when it is refused."""
    headers = {"Authorization": f"Bearer {api.tokens[who]}", "Accept": "application/x-ndjson"}
    answer = await stack.enter_async_context(api.session.get(f"{api.base}/v1/events", headers=headers))
    if answer.status == 200:
        assert await answer.content.readline() == b"\n"
        return None
    return Reply(answer.status, answer.headers, await answer.text())


async def _check_stream_quota(api: Api) -> None:
    await _second_token(api)
    await _set_quotas(api, event_streams=2)
    async with AsyncExitStack() as others:
        async with AsyncExitStack() as stack:
            assert [await _open(api, stack, who) for who in ("ada", "second")] == [None, None]
            refused = await _open(api, stack, "ada")
            assert refused is not None
            assert (refused.status, refused.code) == (429, "too_many_streams")
            assert int(refused.headers["retry-after"]) >= 1
            assert await _open(api, others, "bob") is None
        # A closed stream is no longer counted once the server has noticed.
        async with asyncio.timeout(20):
            while await _open(api, others, "ada") is not None:
                pass


async def test_event_streams_of_an_owner_are_limited() -> None:
    async with serve_api() as api:
        await _check_stream_quota(api)


async def _check_stream_limit_of_the_process(api: Api) -> None:
    async with AsyncExitStack() as stack:
        assert [await _open(api, stack, "admin") for _ in range(2)] == [None, None]
        half = await _open(api, stack, "admin")
        assert half is not None
        assert half.code == "too_many_streams", "half of the process is for others, even without a quota"
        assert [await _open(api, stack, "bob") for _ in range(2)] == [None, None]
        full = await _open(api, stack, "ada")
        assert full is not None
        assert (full.status, full.code) == (429, "streams_full")
        assert int(full.headers["retry-after"]) >= 1
        assert (await api.get("/healthz", who=None)).status == 200
        assert (await api.get("/readyz", who=None)).status == 200
        assert (await api.get("/v1/tasks")).status == 200


async def test_one_owner_cannot_use_all_event_streams_of_a_process() -> None:
    async with serve_api(settings=WebSettings(expects_engine=False, max_streams=4)) as api:
        await _check_stream_limit_of_the_process(api)


# --- idempotency keys -----------------------------------------------------------------------------------------------


async def _check_key_quota(api: Api) -> None:
    await _set_quotas(api, idempotency_keys=3)
    task = await api.create_task()
    path = f"/v1/tasks/{task['id']}/pause"
    replies = [await api.post(path, headers={"Idempotency-Key": f"k{number}"}) for number in range(4)]
    assert [each.status for each in replies] == [200, 200, 200, 429]
    assert replies[3].code == "too_many_keys"
    assert 1 <= int(replies[3].headers["retry-after"]) <= 86_400
    assert (await api.post(path, headers={"Idempotency-Key": "k0"})).status == 200, "a replay needs no new key"
    assert (await api.post(path)).status == 200
    assert (await api.post("/v1/tasks", TASK, headers={"Idempotency-Key": "k"}, who="bob")).status == 201
    assert len((await api.service.store.records("answer", "ada")).items) == 3


async def test_idempotency_keys_of_an_owner_are_limited_for_a_day() -> None:
    async with serve_api() as api:
        await _check_key_quota(api)


async def _check_shared_key_budget(api: Api) -> None:
    await _set_quotas(api, idempotency_keys=key_budget.BLOCK_SIZE + 10)
    who = await api.service.tokens.authenticate(api.tokens["ada"], via="http")
    processes = [key_budget.KeyBudget(api.service.store, api.app.context.clock) for _ in range(3)]

    async def take(number: int) -> bool:
        try:
            await processes[number % 3].take(who)
        except Exception as error:  # noqa: BLE001 - any other is not expected
            assert getattr(error, "code", None) == "too_many_keys", error
            return False
        return True

    taken = await asyncio.gather(*(take(number) for number in range(120)))
    assert sum(taken) <= key_budget.BLOCK_SIZE + 10


async def test_budget_of_keys_is_never_exceeded_by_several_processes(tmp_path: Path) -> None:
    async with serve_api(url=SQLITE_URL.format(folder=tmp_path)) as api:
        await _check_shared_key_budget(api)
