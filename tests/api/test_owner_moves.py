"""An owner that moves gets 409 with the new place for its writes, and for everything once it lives elsewhere."""

from __future__ import annotations

from horae.service.accounts.owner_moves import MOVE_KIND, MOVED_KIND, MovePhase, OwnerMove
from horae.testing.factories import NOON
from tests.api.api_server import Api, serve_api

PLACE = "https://south.example.com"


async def begin(api: Api, phase: MovePhase, kind: str) -> None:
    """Write the record of a move; this process reads it at once, as others do within a quarter of a second."""
    await api.service.store.put_record(OwnerMove("ada", phase, PLACE, "south", NOON).to_record(kind), replacing=None)
    api.service.owner_moves.forget()


async def test_writes_are_refused_while_the_owner_moves() -> None:
    async with serve_api() as api:
        task = await api.create_task()
        await begin(api, MovePhase.LEAVING, MOVE_KIND)
        refused = await api.post(f"/v1/tasks/{task['id']}/pause")
        assert (refused.status, refused.code) == (409, "owner_moving")
        assert PLACE in refused.text
        for who in ("ada", "robot"):
            body = {"when": "every 1h", "target": {"kind": "event", "topic": "tea"}, "name": "x", "zone": "UTC"}
            assert (await api.post("/v1/tasks", body, who=who)).code == "owner_moving"
        assert (await api.get(f"/v1/tasks/{task['id']}")).status == 200
        await api.create_task(who="bob")


async def test_every_request_of_an_owner_that_has_moved_is_told_the_place() -> None:
    async with serve_api() as api:
        await begin(api, MovePhase.LEFT, MOVED_KIND)
        for path in ("/v1/tasks", "/v1/overview", "/v1/events"):
            refused = await api.get(path)
            assert (refused.status, refused.code) == (409, "owner_moved")
            assert PLACE in refused.text
        assert (await api.get("/v1/tasks", who="bob")).status == 200
        assert (await api.get("/v1/tasks", who="admin")).status == 200
