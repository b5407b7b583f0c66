"""`/plans`: the routes of Zero's page, its form, names, lists and actions; problems with success and message."""

from __future__ import annotations

from typing import Any, Final

import pytest

from horae.api.compat.plans import read_form
from horae.model.outcome import Failed, Succeeded
from tests.compat.compat_server import CompatServer, serve_compat
from tests.unit.service.service_harness import allow_stations

FORM: Final[dict[str, Any]] = {
    "plan_type": "minute",
    "plan_value": "5",
    "plan_repet": "3",
    "description": "浇花",
    "station": "garden",
    "command": "water",
    "argument": '{"liters": 2}',
    "no_skip": "false",
    "skip_set": "0",
    "plan_time": "0",
    "plan_id": "255",
}


async def add(server: CompatServer, **fields: Any) -> Any:
    await allow_stations(server.service, "ada", str((FORM | fields)["station"]))
    answer = await server.ada.post("/plans/Add", FORM | fields)
    assert answer.status == 200, answer.body
    return answer.data


async def test_form_adds_a_plan_with_all_sixteen_fields() -> None:
    """「消息体(见数据格式)」: the sixteen fields of `plan_message`, under its names."""
    async with serve_compat() as server:
        plan = await add(server)
        expected = {
            "plan_id": 255,
            "request_id": "",
            "station": "garden",
            "caller": "ada",
            "description": "浇花",
            "plan_type": 3,
            "plan_value": 5,
            "plan_repet": 3,
            "real_repet": 0,
            "no_keep": False,
            "last_state": 0,
            "plan_time": 1_772_366_700,
            "skip_set": 0,
            "skip_num": 0,
            "exec_time": 0,
            "messages": ["water", '{"liters": 2}'],
        }
        assert {name: plan[name] for name in expected} == expected
        assert plan["sentence"] == "every 5 minutes, 3 times, missed times are skipped"
        said = await server.ada.get("/plans/Message/ff", Accept_Language="zh-CN")
        assert said.data["sentence"] == "每 5 分钟执行一次，共 3 次，错过的时间跳过。"


async def test_lists() -> None:
    async with serve_compat() as server:
        await add(server)
        await add(server, plan_id="1", plan_type="week", plan_value="7", station="votes")
        await add(server, plan_id="2", plan_type="time", plan_time="1772366000")
        assert [each["plan_id"] for each in (await server.ada.get("/plans/Active")).data] == [255, 1]
        assert [each["plan_id"] for each in (await server.ada.get("/plans/Station/votes")).data] == [1]
        assert [each["plan_id"] for each in (await server.ada.get("/plans/Filter/delay")).data] == [255]
        (closed,) = (await server.ada.get("/plans/History")).data
        assert (closed["plan_id"], closed["state"], closed["counter"]) == (2, "closed", "Overdue(1)")
        assert "messages" not in closed
        assert (await server.bob.get("/plans/Active")).data == []
        refused = await server.ada.get("/plans/Filter/never")
        assert (refused.status, refused.body["success"]) == (422, False)


async def test_actions() -> None:
    async with serve_compat() as server:
        name = (await add(server))["name"]
        assert (await server.ada.get(f"/plans/Skip/{name}?number=2")).data["counter"] == "Skip(0/2)"
        assert (await server.ada.get(f"/plans/Pause/{name}")).data["state"] == "paused"
        assert (await server.ada.get(f"/plans/Reset/{name}")).data["state"] == "skipping"
        assert (await server.ada.get(f"/plans/Remove/{name}")).status == 409
        assert (await server.ada.get(f"/plans/Close/{name}")).data["state"] == "closed"
        assert (await server.ada.get("/plans/Flush")).data == 0
        assert (await server.ada.get("/plans/Clear")).data == 1
        gone = await server.ada.get(f"/plans/Message/{name}")
        assert (gone.status, gone.body["code"], gone.body["success"]) == (404, "no_such_plan", False)
        removed = (await add(server))["name"]
        await server.ada.get(f"/plans/Close/{removed}")
        assert (await server.ada.get(f"/plans/Remove/{removed}")).data["name"] == removed


async def test_results_have_their_content() -> None:
    """「执行结果将进行广播」: the details of a plan and its notifications have what the station answered."""
    async with serve_compat() as server:
        name = (await add(server))["name"]
        server.advance(minutes=5)
        (run,) = await server.claim()
        assert (await server.ada.get(f"/plans/Message/{name}")).data["state"] == "executing"
        await server.settle(run, Failed("no water"))
        # The quota of an ordinary account allows a retry after ten seconds.
        server.advance(seconds=10)
        await server.run_due(Succeeded('{"liters": 2}'))
        plan = (await server.ada.get(f"/plans/Message/{name}")).data
        assert [(each["state"], each["result"], each["error"]) for each in plan["results"]] == [
            ("succeeded", '{"liters": 2}', None),
            ("failed", None, "no water"),
        ]
        assert (plan["last_state"], plan["real_repet"]) == (1, 1)


async def test_repeated_request_adds_one_plan() -> None:
    async with serve_compat() as server:
        form = {name: value for name, value in FORM.items() if name != "plan_id"}
        await allow_stations(server.service, "ada", "garden")
        first = await server.ada.post("/plans/Add", form, Idempotency_Key="one")
        again = await server.ada.post("/plans/Add", form, Idempotency_Key="one")
        assert first.data["plan_id"] == again.data["plan_id"]
        assert len((await server.ada.get("/plans/Active")).data) == 1


async def test_import() -> None:
    async with serve_compat() as server:
        stored = {"station": "a", "plan_type": 2, "plan_value": 20, "plan_repet": -1, "messages": ["x"], "plan_id": 3}
        for _ in range(2):
            rows = (await server.ada.post("/plans/Import", [stored, {}], Idempotency_Key="one")).data
            assert [(each["name"], each["code"]) for each in rows] == [
                ("msg:a:0000000000000003", None),
                ("2", "compat_missing"),
            ]
        assert (await server.ada.post("/plans/Import", {})).status == 422


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({"plan_type": 6, "plan_value": "7"}, {"plan_type": 6, "plan_value": 0}),
        ({"plan_type": "time", "skip_set": 3, "plan_repet": 9}, {"plan_type": "time", "skip_set": 0, "plan_repet": 1}),
        (
            {"plan_type": "day", "skip_set": "3", "plan_repet": "2"},
            {"plan_type": "day", "skip_set": "3", "plan_repet": 5},
        ),
        ({"plan_type": "day", "skip_set": 3, "plan_repet": -1}, {"plan_type": "day", "skip_set": 3, "plan_repet": -1}),
        ({"plan_type": 99, "context": ""}, {"plan_type": 99}),
        ([], []),
    ],
)
def test_rules_of_the_form(form: Any, expected: Any) -> None:
    assert read_form(form) == expected
