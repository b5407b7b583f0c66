"""Limit and rate of a lane with placeholders in its name: each filled-in name has them, on every store, unless it has its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest

from horae import Horae, InvalidTask, Refusal, TaskHandle
from horae.model.accounts.principal import Principal, Quotas, Scope
from horae.model.lanes.lane import MAX_LANE_LIMIT
from horae.model.lanes.rate import Rate
from horae.service.runs.lane_templates import LaneTemplates
from horae.testing import TimeTravel
from horae.wire.tasks.task import read_task

FIVE = Rate(5, timedelta(seconds=1))
MEMBER = Principal("ada", scopes=frozenset({Scope.READ, Scope.WRITE}), quotas=Quotas(lanes=100))


@pytest.fixture(params=["memory", "sqlite", "postgres", "mariadb", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "memory":
        return "memory://"
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/horae.db"
    return str(request.getfixturevalue(f"{request.param}_url"))


@asynccontextmanager
async def open_app(url: str = "memory://") -> AsyncIterator[Horae]:
    app = Horae(url, zone="UTC", engine=False)
    async with app:
        yield app


async def add(app: Horae, owner: str, lane: str = "api:{owner}", **more: Any) -> TaskHandle:
    return await app.schedule({"say": "x"}, "every 1h", owner=owner, lane=lane, **more)


async def settings(app: Horae) -> dict[str, tuple[int, Rate | None]]:
    return {lane.name: (lane.limit, lane.rate) for lane in await app.store.lanes()}


async def test_filled_in_names_get_limit_and_rate_of_the_template(url: str) -> None:
    async with open_app(url) as app:
        await add(app, "ada")
        await app.lane("api:{owner}", rate="5/1s")
        await add(app, "bob")
        await add(app, "cyn", key="one", lane="press", labels={"team": "red"})
        assert await settings(app) == {
            "api:{owner}": (MAX_LANE_LIMIT, FIVE),
            "api:ada": (MAX_LANE_LIMIT, FIVE),
            "api:bob": (MAX_LANE_LIMIT, FIVE),
        }
        await app.lane("api:{owner}", 3)
        await app.lane("team:{label:team}", 2)
        await add(app, "cyn", key="one", lane="team:{label:team}", labels={"team": "red"})
        found = await settings(app)
        assert (found["api:ada"], found["api:bob"], found["team:red"]) == ((3, FIVE), (3, FIVE), (2, None))
        await app.lane("api:{owner}", rate=None)
        assert (await settings(app))["api:ada"] == (3, None)


async def test_a_setting_of_its_own_wins(url: str) -> None:
    async with open_app(url) as app:
        await app.lane("api:ada", 1)
        await add(app, "ada")
        await add(app, "bob")
        await app.lane("api:{owner}", 4, rate="5/1s")
        assert (await settings(app))["api:ada"] == (1, None)
        await app.lane("api:bob", 9)
        await app.lane("api:{owner}", 2)
        found = await settings(app)
        assert (found["api:ada"], found["api:bob"], found["api:{owner}"]) == ((1, None), (9, FIVE), (2, FIVE))


async def test_the_first_template_of_a_lane_stays() -> None:
    async with open_app() as app:
        await app.lane("api:{owner}", 2)
        await app.lane("api:{label:team}", 3)
        await add(app, "red", labels={"team": "red"})
        assert (await settings(app))["api:red"] == (3, None), "the first by name"
        await app.lane("api:{owner}", 5)
        assert (await settings(app))["api:red"] == (3, None)
        await app.lane("api:{label:team}", 4)
        assert (await settings(app))["api:red"] == (4, None)


async def test_an_edit_that_moves_a_task_follows_the_template() -> None:
    async with open_app() as app:
        await app.lane("api:{owner}", rate="5/1s")
        task = await add(app, "ada", lane="press")
        await app.lane("press", 2)
        await task.edit(lane="api:{owner}")
        assert (await settings(app))["api:ada"] == (MAX_LANE_LIMIT, FIVE)


async def test_tasks_in_bulk_follow_the_template() -> None:
    async with open_app() as app:
        app.task(name="call", lane="api:{owner}")(call)
        await app.lane("api:{owner}", rate="5/1s")
        await app.schedule_many([("call", "every 1h", None), ("call", "every 2h", None)], owner="ada")
        assert (await settings(app))["api:ada"] == (MAX_LANE_LIMIT, FIVE)


async def test_a_template_that_is_set_while_a_task_is_added_reaches_its_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task has looked for templates before this one is set, and is stored after its tasks were listed."""
    async with open_app() as app:
        write = app.store.add

        async def add_after_the_template(*arguments: Any) -> None:
            await app.lane("api:{owner}", rate="5/1s")
            await write(*arguments)

        monkeypatch.setattr(app.store, "add", add_after_the_template)
        await add(app, "ada")
        assert (await settings(app))["api:ada"] == (MAX_LANE_LIMIT, FIVE)


async def test_a_template_that_changes_while_a_lane_follows_it_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_app() as app:
        await app.lane("api:{owner}", 2)
        templates, set_lane = LaneTemplates(app.store), app.store.set_lane
        changed: list[str] = []

        async def set_before(name: str, *arguments: Any, **options: Any) -> None:
            if name == "api:ada" and not changed:
                changed.append(name)
                template = (await templates.get("api:{owner}")).with_changes(7, "keep")
                await set_lane("api:{owner}", 7, attached_records=(template.write(),))
            await set_lane(name, *arguments, **options)

        monkeypatch.setattr(app.store, "set_lane", set_before)
        await add(app, "ada")
        assert (await settings(app))["api:ada"] == (7, None)


async def test_unknown_placeholders_are_refused() -> None:
    async with open_app() as app:
        for name in ("api:{user}", "api:{label:}", "api:{}"):
            with pytest.raises(InvalidTask) as refusal:
                await app.lane(name, rate="5/1s")
            assert refusal.value.code == "bad_lane_placeholder"
        assert await settings(app) == {}


async def test_members_have_templates_of_their_own_lanes_and_a_bounded_number_of_lanes() -> None:
    async with open_app() as app:
        await app.service.lanes.limit(MEMBER, "shop:{label:shop}", 1)
        tasks = app.service.tasks
        request = {
            "name": "x",
            "when": "every 1h",
            "target": {"kind": "event", "say": "x"},
            "lane": "shop:{label:shop}",
        }
        for number in range(99):
            await tasks.create(MEMBER, read_task({**request, "labels": {"shop": str(number)}}))
        with pytest.raises(Refusal) as refusal:
            await tasks.create(MEMBER, read_task({**request, "labels": {"shop": "one more"}}))
        assert refusal.value.code == "too_many_lanes"
        assert (await settings(app))["ada/shop:7"] == (1, None)


async def test_a_new_lane_of_a_template_is_refused_within_a_transaction_of_the_caller(tmp_path: Path) -> None:
    path = tmp_path / "horae.db"
    async with open_app(f"sqlite:///{path}") as app:
        await app.lane("api:{owner}", rate="5/1s")
        connection = apsw.Connection(str(path))
        connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(Refusal) as refusal:
            await add(app, "ada", using=connection)
        assert refusal.value.code == "new_lane_in_caller_transaction"
        connection.execute("ROLLBACK")
        await app.lane("api:ada", 2)
        connection.execute("BEGIN IMMEDIATE")
        await add(app, "ada", using=connection)
        connection.execute("COMMIT")
        connection.close()
        assert len(await app.tasks()) == 1


async def call() -> None: ...


def test_no_filled_in_name_starts_more_than_the_rate_of_its_template() -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="call")(call)
    with TimeTravel(app, "2026-03-01 12:00", zone="UTC") as time:
        time.run(app.lane("api:{owner}", rate="2/10m"))
        tasks = [
            time.run(app.schedule("call", "now", name=f"{owner} {number}", owner=owner, lane="api:{owner}"))
            for owner in ("ada", "bob")
            for number in range(5)
        ]
        time.travel("30m")
        starts = [[f"{run.started:%H:%M}" for run in time.runs(task) if run.started] for task in tasks]
        one = [["12:00"], ["12:00"], ["12:10"], ["12:10"], ["12:20"]]
        assert starts == one + one
