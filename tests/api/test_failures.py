"""`/v1/failures`: groups of failed runs, and retry of several runs."""

from __future__ import annotations

from horae.model.run import RunState
from horae.testing.factories import HOUR, NOON, a_new_task, a_task, an_ended_run
from tests.api.api_server import serve_api


async def test_failures_are_grouped_and_retried_over_http() -> None:
    async with serve_api() as api:
        task = a_task(name="backup")
        errors = ("HTTP 503 after 7 ms", "HTTP 500 after 812 ms", "disk full")
        runs = [
            an_ended_run(task, planned=NOON - number * HOUR, state=RunState.FAILED, error=error)
            for number, error in enumerate(errors)
        ]
        await api.service.store.add([a_new_task(task, runs=runs)])
        found = (await api.get("/v1/failures")).json
        assert [(group["pattern"], group["count"], group["run_ids"]) for group in found["items"]] == [
            ("HTTP N after N ms", 2, [runs[0].id, runs[1].id]),
            ("disk full", 1, [runs[2].id]),
        ]
        assert (found["groups"], found["total"], found["cut"]) == (2, 3, False)
        assert found["items"][0]["newest"]["task"] == "backup"
        assert len((await api.get("/v1/failures?q=task:backup&limit=1")).json["items"]) == 1
        key = found["items"][1]["key"]
        (one,) = (await api.get(f"/v1/failures?key={key[:6]}&state=failed")).json["items"]
        assert one == found["items"][1]
        assert (await api.get("/v1/failures?state=lost")).json["items"] == []
        assert (await api.get("/v1/failures", who="bob")).json["items"] == []
        wanted = {"run_ids": [runs[0].id, runs[2].id, "run_000000000000"]}
        for path in ("/v1/failures/retry?dry_run=true", "/v1/failures/retry", "/v1/failures/retry"):
            report = (await api.post(path, wanted)).json
            assert report["retried"] == [runs[0].id, runs[2].id]
            assert [(each["run_id"], each["code"]) for each in report["refused"]] == [
                ("run_000000000000", "no_such_run")
            ]
        facts = await api.service.store.facts(task.id, None)
        assert facts is not None
        assert sum(entry.kind == "retry" for entry in facts.entries) == 2
        assert (await api.post("/v1/failures/retry", {"run_ids": [7]})).code == "bad_policy"
