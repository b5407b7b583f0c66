"""The same POST with the same key is done once, whatever comes between."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.api.api_server import TASK, Api, Reply, served

KEY: Final = {"Idempotency-Key": "8e03978e-40d5-43e8-bc93-6894a57f9324"}


async def _tasks(api: Api, who: str = "ada") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.get("/v1/tasks", who=who)).json["items"]
    return found


async def test_a_repeated_create_gives_the_same_answer_and_makes_nothing_more() -> None:
    async with served() as api:
        first = await api.post("/v1/tasks", TASK, headers=KEY)
        again = await api.post("/v1/tasks", TASK, headers=KEY)
        assert (first.status, again.status) == (201, 201)
        assert again.text == first.text
        assert again.headers["location"] == first.headers["location"]
        assert again.headers["idempotent-replayed"] == "true"
        assert "idempotent-replayed" not in first.headers
        assert len(await _tasks(api)) == 1
        quoted = await api.post("/v1/tasks", TASK, headers={"Idempotency-Key": f'"{KEY["Idempotency-Key"]}"'})
        assert quoted.text == first.text


async def test_the_key_of_one_request_fits_no_other() -> None:
    async with served() as api:
        await api.post("/v1/tasks", TASK, headers=KEY)
        for path, body in (
            ("/v1/tasks", {**TASK, "name": "other"}),
            ("/v1/tasks?paused=yes", TASK),
            ("/v1/tasks/bulk", {"tasks": [TASK]}),
        ):
            other = await api.post(path, body, headers=KEY)
            assert (other.status, other.code) == (422, "idempotency_key_reused")
        for odd in ("", '""', "x" * 201):
            assert (await api.post("/v1/tasks", TASK, headers={"Idempotency-Key": odd})).code == "bad_idempotency_key"
        assert len(await _tasks(api)) == 1


async def test_keys_are_each_owners_own_and_an_agents_are_its_own() -> None:
    async with served() as api:
        made = [
            await api.post("/v1/tasks", {**TASK, "when": "every 1h, 3 times"}, who=who, headers=KEY)
            for who in ("ada", "bob", "robot")
        ]
        assert [each.status for each in made] == [201, 201, 201], [each.text for each in made]
        assert len({each.json["id"] for each in made}) == 3


async def test_what_was_refused_is_not_remembered() -> None:
    async with served() as api:
        assert (await api.post("/v1/tasks", {**TASK, "when": "nonsense"}, headers=KEY)).status == 422
        task = await api.post("/v1/tasks", TASK, headers=KEY)
        assert task.status == 201
        path, key = f"/v1/tasks/{task.json['id']}/resume", {"Idempotency-Key": "resume"}
        assert (await api.post(path, {"missed": "wrong"}, headers=key)).status == 422
        assert (await api.post(path, headers=key)).status == 200
        assert (await api.post(path, headers=key)).headers["idempotent-replayed"] == "true"
        tried = await api.post("/v1/tasks?dry_run=true", TASK, headers={"Idempotency-Key": "tried"})
        assert tried.status == 200
        assert (await api.post("/v1/tasks", TASK, headers={"Idempotency-Key": "tried"})).status == 201


async def test_many_at_the_same_moment_make_one(tmp_path: Path) -> None:
    async with served(url=f"sqlite:///{tmp_path}/horae.db") as api:
        for path, body in (("/v1/tasks", TASK), ("/v1/tasks/bulk", {"tasks": [TASK, TASK]})):
            key = {"Idempotency-Key": path}
            replies = await asyncio.gather(*(api.post(path, body, headers=key) for _ in range(20)))
            assert {each.status for each in replies} == {201}
            assert len({each.text for each in replies}) == 1
        assert len(await _tasks(api)) == 3


async def test_an_action_that_is_under_way_is_answered_with_a_wish_to_wait() -> None:
    async with served() as api:
        task = await api.made()
        path, key = f"/v1/tasks/{task['id']}/run", {"Idempotency-Key": "run"}
        inside, go_on = asyncio.Event(), asyncio.Event()
        queue_now = api.service.tasks.queue_now

        async def slow(*given: Any) -> datetime:
            inside.set()
            await go_on.wait()
            return await queue_now(*given)

        api.service.tasks.queue_now = slow  # type: ignore[assignment,method-assign]
        first = asyncio.ensure_future(api.post(path, headers=key))
        await inside.wait()
        meanwhile = await api.post(path, headers=key)
        assert (meanwhile.status, meanwhile.code) == (409, "still_in_progress")
        assert meanwhile.headers["retry-after"] == "1"
        go_on.set()
        done = await first
        assert done.status == 202
        again = await api.post(path, headers=key)
        assert (again.status, again.text) == (202, done.text)
        agenda = (await api.get(f"/v1/tasks/{task['id']}?include=agenda")).json["agenda"]
        assert sum(entry["origin"] == "manual" for entry in agenda["entries"]) == 1


async def test_an_answer_is_kept_for_a_day_and_then_forgotten() -> None:
    async with served() as api:
        first = await api.post("/v1/tasks", TASK, headers=KEY)
        (record,) = (await api.service.store.records("answer")).items
        now = api.app.state.context.clock.now()
        assert record.owner == "ada"
        assert record.expires is not None
        assert timedelta(hours=23) < record.expires - now <= timedelta(hours=24)
        past = record._replace(expires=now - timedelta(seconds=1))
        assert await api.service.store.put_record(past, replacing=record.version)
        second = await api.post("/v1/tasks", TASK, headers=KEY)
        assert (second.status, second.json["id"] != first.json["id"]) == (201, True)
        assert (await api.post("/v1/tasks", TASK, headers=KEY)).text == second.text


async def test_what_is_shown_once_is_not_kept_for_a_repetition() -> None:
    async with served() as api:
        first: Reply = await api.post("/v1/tokens", {"name": "once"}, headers=KEY)
        again = await api.post("/v1/tokens", {"name": "once"}, headers=KEY)
        assert first.json["text"].startswith("horae_")
        assert again.json == {**first.json, "text": None}
        (record,) = (await api.service.store.records("answer")).items
        assert first.json["text"] not in json.dumps(record.body)
