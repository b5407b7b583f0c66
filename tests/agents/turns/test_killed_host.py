"""kill -9 of the host in the middle of a turn: no message is lost, none is answered twice, no agent is left.

Each point of a turn is reached on several stores, and with several runtimes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from horae.model.run import RunState
from horae.ports.store import TaskFilter

from .agent_host import SCRIPTED_INSIDE, open_host
from .agent_runtimes import runtime_settings
from .kill_points import die_at
from .killed_host import POINTS, TASK_POINTS

# Runtime and store of each point: each one on bubblewrap and on podman, and each store beneath each of them.
PLACES = {
    "started": ("bubblewrap-postgres", "podman-sqlite", "process-sqlite"),
    "committing": ("bubblewrap-mariadb", "podman-postgres"),
    "committed": ("bubblewrap-sqlite", "podman-mariadb"),
    "idle": ("bubblewrap-postgres", "podman-sqlite"),
    "piped": ("bubblewrap-sqlite", "podman-postgres"),
    "piped_committing": ("bubblewrap-postgres", "podman-sqlite"),
    "piped_committed": ("bubblewrap-mariadb", "podman-sqlite"),
}
TASK_PLACES = {
    "task_committing": ("bubblewrap-postgres", "podman-sqlite"),
    "task_committed": ("bubblewrap-mariadb", "podman-postgres"),
    "task_ended": ("bubblewrap-sqlite", "podman-mariadb"),
}


@pytest.fixture
def settings(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """Settings of the host for the runtime and the store that the parameter names."""
    runtime, _, store = request.param.partition("-")
    made = dict(runtime_settings(runtime, request))
    if store != "sqlite":
        made["store"] = request.getfixturevalue(f"{store}_url")
    return made


def places_of(table: Mapping[str, tuple[str, ...]]) -> pytest.MarkDecorator:
    pairs = [(point, place) for point, places in table.items() for place in places]
    return pytest.mark.parametrize(("point", "settings"), pairs, indirect=["settings"])


def test_every_point_is_reached_in_bubblewrap_and_podman() -> None:
    assert set(PLACES) == set(POINTS)
    assert set(TASK_PLACES) == set(TASK_POINTS)
    for places in (*PLACES.values(), *TASK_PLACES.values()):
        assert {place.partition("-")[0] for place in places} >= {"bubblewrap", "podman"}


@places_of(PLACES)
async def test_messages_are_answered_once_after_a_kill(point: str, settings: Mapping[str, Any], tmp_path: Path) -> None:
    async with open_host(tmp_path, SCRIPTED_INSIDE, **settings) as host:
        group = await host.add_group()
        await host.post(group, "hello", "say one")
    await die_at(point, tmp_path, settings)
    has_piped = point.startswith("piped")
    async with open_host(tmp_path, SCRIPTED_INSIDE, **settings) as host:
        if not has_piped:
            await host.post(group, "hm", "say two")
            await host.ask_turn(group)
        await host.until_answers(group, "one", "two")
        assert [each.text for each in await host.deliveries(group)] == ["one", "two"]
        assert await host.handled(group) >= 4
        live = [each.run_id for each in host.target.live.all()]
        assert await host.target.runtime.reap(live) == [], "the agent of the killed host is gone"


@places_of(TASK_PLACES)
async def test_a_task_is_answered_once_after_a_kill(
    point: str, settings: Mapping[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """NanoClaw planned the next run after the end of the last: a restart in the middle fired the task again."""
    monkeypatch.setattr("horae.agents.target.turn_state.TASK_CLOSE_SECONDS", 0.1)
    async with open_host(tmp_path, SCRIPTED_INSIDE, **settings) as host:
        group = await host.add_group()
    await die_at(point, tmp_path, settings)
    async with open_host(tmp_path, SCRIPTED_INSIDE, **settings) as host:
        (facts,) = (await host.store.tasks(TaskFilter(group.owner))).items
        run = await host.ended(facts.task)
        assert (run.state, run.result) == (RunState.SUCCEEDED, "morning")
        assert await host.answers(group) == ["morning"]
        assert [each.text for each in await host.deliveries(group)] == ["morning"]
        keys = {(each.planned, each.state) for each in await host.runs(facts.task)}
        assert keys == {(run.planned, RunState.LOST), (run.planned, RunState.SUCCEEDED)}
        if point == "task_ended":
            assert host.journal(group).count("start task") == 1, "the agent that has answered is not asked again"
