"""`Idempotency-Key`: a POST that is repeated with its key is executed once and gets the stored response."""

from __future__ import annotations

import asyncio
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from tests.api.api_server import TASK, Api, Reply, serve_api

KEY: Final = {"Idempotency-Key": "8e03978e-40d5-43e8-bc93-6894a57f9324"}


async def _tasks(api: Api, who: str = "ada") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await api.get("/v1/tasks", who=who)).json["items"]
    return found


async def test_repeated_create_replays_the_response_and_creates_no_second_task() -> None:
    async with serve_api() as api:
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


async def test_key_of_another_request_is_refused() -> None:
    async with serve_api() as api:
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


async def test_keys_are_separate_per_owner_and_per_agent() -> None:
    async with serve_api() as api:
        made = [
            await api.post("/v1/tasks", {**TASK, "when": "every 1h, 3 times"}, who=who, headers=KEY)
            for who in ("ada", "bob", "robot")
        ]
        assert [each.status for each in made] == [201, 201, 201], [each.text for each in made]
        assert len({each.json["id"] for each in made}) == 3


async def test_refused_requests_and_dry_runs_do_not_use_up_the_key() -> None:
    async with serve_api() as api:
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


async def test_concurrent_requests_with_one_key_create_one_task(tmp_path: Path) -> None:
    async with serve_api(url=f"sqlite:///{tmp_path}/horae.db") as api:
        for path, body in (("/v1/tasks", TASK), ("/v1/tasks/bulk", {"tasks": [TASK, TASK]})):
            key = {"Idempotency-Key": path}
            replies = await asyncio.gather(*(api.post(path, body, headers=key) for _ in range(20)))
            assert {each.status for each in replies} == {201}
            assert len({each.text for each in replies}) == 1
        assert len(await _tasks(api)) == 3


async def test_request_in_progress_answers_409_with_retry_after() -> None:
    async with serve_api() as api:
        task = await api.create_task()
        path, key = f"/v1/tasks/{task['id']}/run", {"Idempotency-Key": "run"}
        inside, go_on = asyncio.Event(), asyncio.Event()
        queue_now = api.service.tasks.queue_now

        async def slow(*given: Any, **options: Any) -> datetime:
            inside.set()
            await go_on.wait()
            return await queue_now(*given, **options)

        api.service.tasks.queue_now = slow  # type: ignore[method-assign]
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


async def test_stored_response_expires_after_a_day() -> None:
    async with serve_api() as api:
        first = await api.post("/v1/tasks", TASK, headers=KEY)
        (record,) = (await api.service.store.records("answer")).items
        now = api.app.context.clock.now()
        assert record.owner == "ada"
        assert record.expires is not None
        assert timedelta(hours=23) < record.expires - now <= timedelta(hours=24)
        past = record._replace(expires=now - timedelta(seconds=1))
        assert await api.service.store.put_record(past, replacing=record.version)
        second = await api.post("/v1/tasks", TASK, headers=KEY)
        assert (second.status, second.json["id"] != first.json["id"]) == (201, True)
        assert (await api.post("/v1/tasks", TASK, headers=KEY)).text == second.text


async def test_token_text_is_not_stored_for_the_replay() -> None:
    async with serve_api() as api:
        first: Reply = await api.post("/v1/tokens", {"name": "once"}, headers=KEY)
        again = await api.post("/v1/tokens", {"name": "once"}, headers=KEY)
        assert first.json["text"].startswith("horae_")
        assert again.json == {**first.json, "text": None}
        (record,) = (await api.service.store.records("answer")).items
        assert first.json["text"] not in json.dumps(record.body)
