"""Nodes with labels: entries that require labels run on nodes that have them, on time, and wait visibly without one."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae, after
from horae.engine.settings import EngineSettings
from horae.errors import InvalidTask
from horae.lifecycle.explain.explanation import Verdict
from horae.model.lanes.node_labels import parse_node_labels
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.wire.tasks.task import task_json

TIMEOUT_SECONDS = 60


def node(url: str, name: str, *labels: str) -> Horae:
    app = Horae(url, settings=EngineSettings(labels=parse_node_labels(labels), node_name=name))
    app.task(name="work")(lambda: name)
    return app


def lateness(run: Run) -> float:
    assert run.started is not None
    return (run.started - run.due).total_seconds()


@pytest.fixture(params=["sqlite", "postgres", "mariadb"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/horae.db"
    return str(request.getfixturevalue(f"{request.param}_url"))


async def test_entries_run_on_the_labelled_node_on_time_beside_a_node_without_the_label(url: str) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS), node(url, "plain") as plain, node(url, "desk", "gpu=a100") as labelled:
        # Created on the node without the label: the wake-up reaches the other one.
        tasks = [await plain.schedule("work", "in 300ms", where={"gpu": "a100"}) for _ in range(5)]
        pinned = [await labelled.schedule("work", "in 300ms", where={"node": "plain"}) for _ in range(5)]
        ran = [await plain.wait_for(task.id, "30s") for task in tasks]
        elsewhere = [await labelled.wait_for(task.id, "30s") for task in pinned]
        assert {run.value for run in ran} == {"desk"}
        assert {run.value for run in elsewhere} == {"plain"}
        assert {(run.state, run.attempt) for run in (*ran, *elsewhere)} == {(RunState.SUCCEEDED, 1)}
        # Less than a poll: the bound is generous, because the machine may be busy.
        stored = [await plain.store.run(run.id, None) for run in (*ran, *elsewhere)]
        assert max(lateness(run) for run in stored if run is not None) < 5


async def test_chains_and_manual_runs_honour_the_labels(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    async with asyncio.timeout(TIMEOUT_SECONDS), node(url, "plain") as plain, node(url, "desk", "gpu=a100"):
        first = await plain.schedule("work", "in 1h", name="first", key="first")
        last = await plain.schedule("work", after(first), name="last", where={"gpu": "a100"})
        await first.run_now()
        while not [run for run in await last.runs() if run.state is RunState.SUCCEEDED]:
            await plain.clock.pause(0.02)
        await last.run_now()
        while len(runs := [run for run in await last.runs() if run.state is RunState.SUCCEEDED]) < 2:
            await plain.clock.pause(0.02)
        assert {run.value for run in runs} == {"desk"}


async def test_a_task_without_a_node_waits_visibly_and_starts_when_one_joins(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    async with asyncio.timeout(TIMEOUT_SECONDS), node(url, "plain") as plain:
        task = await plain.schedule("work", "now", where={"gpu": "a100"})
        assert (await plain.store.waiting(None, plain.clock.now())).stranded == 1
        facts = await plain.store.facts(task.id, None)
        assert facts is not None
        waits = task_json(facts, now=plain.clock.now())["waiting_for"]
        assert waits == "node:where:gpu=a100;function:work"
        assert task_json(facts, now=plain.clock.now() - timedelta(hours=1))["waiting_for"] is None, "not due then"
        why = await plain.why(task.id)
        assert why.verdict is Verdict.WAITING
        assert "gpu=a100" in why.english
        assert "node=plain" in why.english
        async with node(url, "desk", "gpu=a100"):
            assert (await plain.wait_for(task.id, "30s")).value == "desk"


async def test_start_within_skips_an_entry_that_no_node_may_run(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS), node(f"sqlite:///{tmp_path}/horae.db", "plain") as plain:
        task = await plain.schedule("work", "in 50ms", where={"gpu": "a100"}, start_within="200ms")
        while not (runs := await task.runs()):
            await plain.clock.pause(0.02)
        assert (runs[0].state, runs[0].reason) == (RunState.SKIPPED, Reason.START_DEADLINE)


async def test_an_edit_moves_a_waiting_entry_to_nodes_with_the_new_labels(tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS), node(f"sqlite:///{tmp_path}/horae.db", "plain") as plain:
        task = await plain.schedule("work", "now", where={"gpu": "a100"})
        await task.edit(where={})
        assert (await plain.wait_for(task.id, "30s")).value == "plain"


@pytest.mark.parametrize("where", [{"gpu": ""}, {"": "x"}, {"a b": "x"}, {f"n{n}": "x" for n in range(9)}, {"gpu": 1}])
async def test_bad_labels_are_refused(where: dict[str, str]) -> None:
    async with Horae("memory://", engine=False) as app:
        app.task(name="work")(lambda: None)
        with pytest.raises(InvalidTask) as refused:
            await app.schedule("work", "now", where=where)
        assert refused.value.code == "bad_where"
