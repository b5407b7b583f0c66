"""System tasks over HTTP: left out of lists unless asked for, readable by id, never changed."""

from __future__ import annotations

from typing import Any, Final

from horae.lifecycle.settle import settle
from horae.model.outcome import Failed, Settlement
from horae.model.run import RunState
from horae.model.task import Target
from horae.ports.store import RunFilter
from horae.service.tasks.task_request import TaskRequest
from tests.api.api_server import Api, serve_api, start_run
from tests.api.route_rights import RIGHTS

TURN = TaskRequest("turn", "every 1h", Target("event", '{"say":"hello"}'), zone="UTC")


async def _listed(api: Api, path: str, who: str) -> list[Any]:
    reply = await api.get(path, who=who)
    assert reply.status == 200
    items: list[Any] = reply.json["items"]
    return items


async def test_lists_leave_system_tasks_out_unless_asked_for() -> None:
    async with serve_api() as api:
        own = await api.create_task()
        system = (await api.service.system_tasks.create("ada", TURN)).id
        for who in ("ada", "admin"):
            assert [each["id"] for each in await _listed(api, "/v1/tasks", who)] == [own["id"]]
            for query in ("system=true", "system=true&sort=next", "system=true&owner=ada"):
                assert [each["id"] for each in await _listed(api, f"/v1/tasks?{query}", who)] == [system]
            counted = (await api.get("/v1/tasks?system=true&count=estimated", who=who)).json
            assert counted["count"] == 1
            assert {each["task_id"] for each in await _listed(api, "/v1/planned", who)} == {own["id"]}
            assert {each["task_id"] for each in await _listed(api, "/v1/planned?system=true", who)} == {system}
            assert {each["data"]["task_id"] for each in await _listed(api, "/v1/events", who)} == {own["id"]}
            assert {each["data"]["task_id"] for each in await _listed(api, "/v1/events?system=true", who)} == {system}
            assert await _listed(api, "/v1/runs?system=true", who) == []
            assert await _listed(api, "/v1/failures?system=true", who) == []
            overview = (await api.get("/v1/overview?system=true", who=who)).json
            assert overview["tasks"]["active"] == 1
        assert await _listed(api, "/v1/tasks?system=true", "bob") == []


async def test_system_task_is_read_by_id_and_not_changed() -> None:
    async with serve_api() as api:
        system = (await api.service.system_tasks.create("ada", TURN)).id
        path = f"/v1/tasks/{system}"
        assert (await api.get(path)).json["owner"] == "horae:ada"
        assert (await api.get(f"{path}/why")).status == 200
        assert (await api.get(path, who="bob")).status == 404
        changes = (("PATCH", "", {"name": "mine"}), ("DELETE", "", None), ("POST", "/cancel", None))
        for method, end, body in changes:
            refused = await api.request(method, path + end, body)
            assert (refused.status, refused.code) == (403, "system_task")
        made = await api.post(
            "/v1/tasks", {"name": "x", "when": "every 1h", "say": "x", "owner": "horae:ada"}, who="admin"
        )
        assert made.code == "reserved_owner"


EXPECTED_TO_SHOW: Final = {"/v1/audit": "admin", "/v1/audit/verify": "admin"}
"""What an admin did with a system task is in the log of what people did."""


def _lists() -> list[str]:
    """The GET routes that name no resource; streams that do not end are left out."""
    routes = (route.removeprefix("GET ") for route in RIGHTS if route.startswith("GET ") and "{" not in route)
    return [each for each in routes if each != "/plans/notify"]


async def test_no_list_names_a_system_task() -> None:
    """Neither while it runs, nor after it has failed."""
    async with serve_api() as api:
        await api.create_task()
        system = await api.service.system_tasks.create("ada", TURN._replace(name="hidden turn", lane="hidden lane"))
        assert (await api.post(f"/v1/tasks/{system.id}/run", who="admin")).status < 300
        await start_run(api)
        (run,) = (await api.service.store.runs(RunFilter(task_id=system.id))).items
        assert run.state is RunState.RUNNING
        assert await _named_in(api, system.id, "hidden turn") == []
        now = api.app.context.clock.now()
        report = Settlement(run.id, run.token, Failed("hidden error", permanent=True), run.started, now)
        assert not await api.service.store.settle([report], settle)
        assert await _named_in(api, system.id, "hidden turn", "hidden error") == []
        assert "hidden error" in (await api.get("/v1/failures?system=true", who="admin")).text


async def _named_in(api: Api, *words: str) -> list[tuple[str, str]]:
    """Return the lists that have one of these words, and who was shown it."""
    found = []
    for path in _lists():
        for who in ("ada", "admin", "robot"):
            text = (await api.get(path, who=who)).text
            if any(word in text for word in words) and EXPECTED_TO_SHOW.get(path) != who:
                found.append((path, who))
    return found
