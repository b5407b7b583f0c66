"""Chains as docs/behaviour.md describes them, through the library: results, traces, `why`, and crashes between links."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from horae import Context, Fail, Horae, InvalidTask, after
from horae.model.accounts.principal import LOCAL
from horae.model.ids import trace_id
from horae.model.limits import PREVIOUS_BYTES
from horae.service.tasks import task_chain
from horae.service.tasks.task_chain import build_tree, roots_of
from horae.testing import TimeTravel
from horae.wire.runs import chain_json, read_run_chain
from horae.wire.tasks.facts import read_facts, read_task_chain
from horae.wire.tasks.task import task_json
from tests.app.behaviour_scenarios import NOON, render_ledger


def chain(fails: str = "", size: int = 1) -> tuple[Horae, list[tuple[str, list[dict[str, Any]]]]]:
    """backup every hour; report after it, alarm when it fails, and publish after report and audit."""
    app = Horae("memory://", zone="UTC")
    seen: list[tuple[str, list[dict[str, Any]]]] = []

    def work(name: str) -> Any:
        async def run(ctx: Context) -> dict[str, Any]:
            seen.append((name, ctx.previous))
            if name == fails:
                raise Fail("it broke")
            return {"from": name, "text": "x" * size}

        return run

    # The declaration of a task may come before those of the tasks that it runs after.
    app.task(after("backup"), name="report")(work("report"))
    app.task("0 * * * *", name="backup")(work("backup"))
    app.task(after("backup"), name="audit")(work("audit"))
    app.task(after("backup", on="failed"), name="alarm")(work("alarm"))
    app.task(after("report", "audit", mode="all"), name="publish")(work("publish"))
    return app, seen


def test_successors_get_the_results_of_their_predecessors() -> None:
    app, seen = chain()
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("1h1m")
        assert seen[0] == ("backup", [])
        assert sorted(name for name, _ in seen) == ["audit", "backup", "publish", "report"]
        previous = dict(seen)["report"]
        assert [(each["name"], each["state"], each["result"]["from"]) for each in previous] == [
            ("backup", "succeeded", "backup")
        ]
        assert sorted(each["name"] for each in dict(seen)["publish"]) == ["audit", "report"]
        assert dict(seen)["backup"] == []


def test_runs_of_a_chain_share_a_trace_and_know_parent_and_root() -> None:
    app, _ = chain()
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("1h1m")
        runs = {name: time.runs(time.run(app.get(name)))[0] for name in ("backup", "report", "publish")}
        assert len({trace_id(run) for run in runs.values()}) == 1
        assert runs["publish"].root == runs["backup"].root
        assert runs["report"].chain is not None
        assert runs["report"].chain.parents == (runs["backup"].id,)


def test_chain_of_a_run_has_the_state_of_every_link() -> None:
    app, _ = chain(fails="audit")
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("1h1m")
        run = time.runs(time.run(app.get("report")))[0]
        found = time.run(app.service.runs.chain(LOCAL, run.id))
        names = {link.task_id: link.name for link in found.links}
        links = {link.name: (link.state, {names[each] for each in link.parents}) for link in found.links}
        assert found.links[0].name == "backup"
        assert found.root == run.root
        assert links == {
            "backup": ("succeeded", set()),
            "report": ("succeeded", {"backup"}),
            "audit": ("failed", {"backup"}),
            "alarm": ("skipped", {"backup"}),
            "publish": ("skipped", {"report", "audit"}),
        }
        assert read_run_chain(chain_json(found)) == found


def test_a_failure_starts_only_what_waits_for_it() -> None:
    app, seen = chain(fails="backup")
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("1h1m")
        assert [name for name, _ in seen] == ["backup", "alarm"]
        assert render_ledger(time, time.run(app.get("publish"))) == ["13:00 skipped predecessor_skipped"]
        why = time.run(time.run(app.get("report")).why())
        assert "backup ended as failed, and it must succeed." in str(why)


def test_why_names_the_predecessors_of_a_run() -> None:
    app, _ = chain()
    with TimeTravel(app, NOON, zone="UTC") as time:
        assert "nothing of it has ended since it was linked" in str(time.run(time.run(app.get("report")).why()))
        time.travel("1h1m")
        assert "backup ended as succeeded." in str(time.run(time.run(app.get("report")).why()))


def test_retry_from_a_failed_link_runs_the_rest_of_the_chain() -> None:
    app, seen = chain(fails="report")
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("1h1m")
        assert render_ledger(time, time.run(app.get("publish"))) == ["13:00 skipped predecessor_skipped"]
        (failed,) = time.runs(time.run(app.get("report")))
        seen.clear()
        time.run(app.service.runs.retry(app.who, failed.id))
        time.travel("1m")
        assert [name for name, _ in seen] == ["report"]


def test_handles_give_the_chain_of_a_task_and_of_a_run() -> None:
    app, _ = chain(fails="audit")
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("1h1m")
        task = time.run(app.get("audit"))
        found = time.run(task.chain())
        assert [each.task.name for each in found.tasks] == ["backup", "audit", "publish"]
        assert read_task_chain({"tasks": [task_json(each) for each in found.tasks], "cut": False}).tasks == tuple(
            read_facts(task_json(each)) for each in found.tasks
        )
        (run,) = time.runs(task)
        links = time.run(time.run(app.get_run(run.id)).chain()).links
        assert {link.name: link.state for link in links} == {
            "backup": "succeeded",
            "report": "succeeded",
            "audit": "failed",
            "alarm": "skipped",
            "publish": "skipped",
        }


def test_tree_of_a_chain_expands_a_join_once_and_counts_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = chain()
    with TimeTravel(app, NOON, zone="UTC") as time:
        task = time.run(app.get("backup"))
        whole = time.run(task.chain())
        assert [each.task.name for each in roots_of(whole)] == ["backup"]
        tree = build_tree(whole, task.id)
        below = {each.facts.task.name: each for each in tree.successors}
        assert {name: node.on for name, node in below.items()} == {
            "report": "succeeded",
            "audit": "succeeded",
            "alarm": "failed",
        }
        joins = [each for node in below.values() for each in node.successors]
        assert [(each.facts.task.name, each.mode) for each in joins] == [("publish", "all")] * 2
        assert sorted(each.is_repeated for each in joins) == [False, True]
        monkeypatch.setattr(task_chain, "MAX_CHAIN_TASKS", 2)
        part = time.run(task.chain())
        assert (len(part.tasks), part.cut) == (2, True)


def test_long_results_are_cut_with_a_mark() -> None:
    app, seen = chain(size=40_000)
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("1h1m")
        previous = dict(seen)["publish"]
        assert [each["cut"] for each in previous] == [True, True]
        assert all(each["run"].startswith("run_") for each in previous)
        assert sum(len(each["result"]) for each in previous) <= PREVIOUS_BYTES


def test_a_crash_between_two_links_loses_nothing() -> None:
    app, seen = chain()
    with TimeTravel(app, NOON, zone="UTC") as time:
        time.travel("59m")
        time.crash()
        time.travel("5m")
        time.restart()
        time.travel("1m")
        assert sorted(name for name, _ in seen) == ["audit", "backup", "publish", "report"]


async def test_a_task_cannot_run_after_one_that_does_not_exist() -> None:
    async with Horae("memory://", zone="UTC") as app:

        @app.task(name="alone")
        async def alone() -> None: ...

        with pytest.raises(InvalidTask, match="no task 'nothing'"):
            await app.schedule(alone, after("nothing"))


async def test_a_link_starts_without_waiting_for_a_poll(tmp_path: Path) -> None:
    """The settling node wakes its own dispatcher; the ceiling of a poll is 10 s."""
    async with Horae(f"sqlite:///{tmp_path}/horae.db", zone="UTC") as app:
        started = asyncio.Event()

        @app.task(name="first")
        async def first() -> None: ...

        @app.task(name="second")
        async def second() -> None:
            started.set()

        handle = await app.schedule(first, "in 1h")
        following = await app.schedule(second, after(handle))
        await handle.run_now()
        await asyncio.wait_for(started.wait(), 5)
        await following.run_now()
        (chained,) = [run for run in await following.runs() if run.chain is not None]
        assert chained.lateness is not None
        assert chained.lateness.total_seconds() < 5
