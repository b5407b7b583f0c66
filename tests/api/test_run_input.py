"""Input of a run over HTTP: run, retry and backfill."""

from __future__ import annotations

from typing import Any

from horae.model.run import RunState
from horae.testing.factories import HOUR, NOON, a_new_task, a_task, an_ended_run
from horae.wire.tasks.run_inputs import make_input
from tests.api.api_server import Api, serve_api


async def inputs_of(api: Api, task_id: str) -> list[str]:
    facts = await api.service.store.facts(task_id, None)
    assert facts is not None
    return [entry.input.text for entry in facts.entries if entry.input is not None]


async def test_run_retry_and_backfill_take_an_input() -> None:
    async with serve_api() as api:
        task = a_task(name="backup", payload='{"a":1}', created=NOON - 10 * HOUR)
        run = an_ended_run(task, state=RunState.FAILED, error="disk full")
        await api.service.store.add([a_new_task(task, runs=[run])])
        path = f"/v1/tasks/{task.id}"
        dry = await api.post(f"{path}/run?dry_run=true", {"input": {"merge": {"b": 2}}})
        assert (dry.status, await inputs_of(api, task.id)) == (202, [])
        assert (await api.post(f"{path}/run", {"input": {"merge": {"b": 2}}})).status == 202
        retried = await api.post(f"/v1/runs/{run.id}/retry", {"input": {"replace": [1.5, "ü"]}})
        assert retried.status == 202
        backfill: dict[str, Any] = {"from": f"{NOON - 3 * HOUR:%Y-%m-%dT%H:%MZ}", "to": f"{NOON:%Y-%m-%dT%H:%MZ}"}
        filled = await api.post(f"{path}/backfill", {**backfill, "input": {"replace": None}})
        assert filled.status == 200, filled.text
        assert sorted(await inputs_of(api, task.id)) == [
            '{"merge":{"b": 2}}',
            '{"replace":[1.5, "ü"]}',
            '{"replace":null}',
        ]
        assert (await api.get(path)).json["payload"] == {"a": 1}


async def test_run_shows_its_input() -> None:
    async with serve_api() as api:
        task = a_task(name="backup")
        with_one = an_ended_run(task, input=make_input("merge", {"b": 2}))
        without = an_ended_run(task, planned=NOON - HOUR)
        await api.service.store.add([a_new_task(task, runs=[with_one, without])])
        shown = {each["id"]: each["input"] for each in (await api.get("/v1/runs")).json["items"]}
        assert shown == {with_one.id: {"merge": {"b": 2}}, without.id: None}
        assert (await api.get(f"/v1/runs/{with_one.id}")).json["input"] == {"merge": {"b": 2}}
        assert (await api.get(f"/v1/runs/{with_one.id}", who="bob")).status == 404


async def test_bad_input_is_refused_with_its_place() -> None:
    async with serve_api() as api:
        made = await api.create_task(name="mine")
        path = f"/v1/tasks/{made['id']}/run"
        for given, code, pointer in (
            ({"replace": 1, "merge": 2}, "one_input", "/input"),
            ({}, "one_input", "/input"),
            ([], "bad_policy", "/input"),
            ({"patch": {}}, "unknown_field", "/input/patch"),
            ({"merge": {"a": "{horae.day}"}}, "unknown_placeholder", "/input/merge/a"),
            ({"replace": "x" * 300_000}, "input_too_large", "/input/replace"),
        ):
            refused = await api.post(path, {"input": given})
            assert (refused.status, refused.code) == (422, code), given
            assert refused.json["errors"][0]["pointer"] == pointer
        assert (await api.post(path, {"inputs": {}})).code == "unknown_field"
        assert await inputs_of(api, made["id"]) == []
