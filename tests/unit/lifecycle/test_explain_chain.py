"""Explanations along a chain."""

from __future__ import annotations

from horae.lifecycle.explain.chain import explain_unstarted, newest_is_row, with_predecessors
from horae.lifecycle.explain.explanation import Explanation, Verdict
from horae.model.chain_row import Arrival, ChainRow, ChainState
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.schedule import Link
from tests.unit.lifecycle.chain_world import ChainWorld
from tests.unit.lifecycle.task_world import HOUR, NOON, World

NAMES = {"tsk_a": "backup", "tsk_b": "check"}


def a_row(world: ChainWorld, state: ChainState, **arrivals: RunState) -> ChainRow:
    arrived = tuple(Arrival(f"tsk_{name}", end, "run_1") for name, end in arrivals.items())
    return ChainRow("tsk_1", world.root(0), NOON, state, ("tsk_a", "tsk_b"), arrived)


def test_nothing_has_ended_since_it_was_linked() -> None:
    answer = explain_unstarted(ChainWorld().facts, None, NAMES)
    assert answer.verdict is Verdict.PENDING
    assert answer.english == "It runs after backup, and nothing of it has ended since it was linked."


def test_a_predecessor_ended_otherwise() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b", "ended"))
    answer = explain_unstarted(world.facts, a_row(world, ChainState.SKIPPED, a=RunState.FAILED), NAMES)
    assert (answer.verdict, answer.reason) == (Verdict.SKIPPED, Reason.PREDECESSOR_SKIPPED)
    assert answer.english == (
        "It was not started. backup ended as failed, and it must succeed. check has not ended yet."
    )
    assert "backup 以“失败”结束，而它必须成功。" in answer.chinese


def test_a_skipped_predecessor_is_no_end() -> None:
    world = ChainWorld(Link("tsk_a", "ended"))
    answer = explain_unstarted(world.facts, a_row(world, ChainState.SKIPPED, a=RunState.SKIPPED), NAMES)
    assert answer.english == "It was not started. backup ended as skipped, and it must succeed or fail."
    assert "而它必须成功或失败。" in answer.chinese


def test_a_join_waits() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_b"), mode="all")
    answer = explain_unstarted(world.facts, a_row(world, ChainState.OPEN, a=RunState.SUCCEEDED), NAMES)
    assert answer.verdict is Verdict.WAITING
    assert answer.english == "It waits for its predecessors. backup ended as succeeded. check has not ended yet."


def test_a_predecessor_of_another_root() -> None:
    world = ChainWorld(Link("tsk_a"), Link("tsk_z"))
    answer = explain_unstarted(world.facts, a_row(world, ChainState.OPEN, a=RunState.FAILED), NAMES)
    assert "tsk_z is no part of this chain run." in answer.english


def test_a_run_names_what_it_follows() -> None:
    world = ChainWorld()
    ran = Explanation(Verdict.RAN, "It ran.", "它运行了。")
    answer = with_predecessors(world.facts, ran, a_row(world, ChainState.FIRED, a=RunState.SUCCEEDED), NAMES)
    assert answer.english == "It ran. backup ended as succeeded."


def test_a_task_with_a_schedule_has_no_links() -> None:
    row = a_row(ChainWorld(), ChainState.OPEN)
    ran = Explanation(Verdict.RAN, "It ran.", "")
    assert with_predecessors(World().facts, ran, row, NAMES).english == "It ran. "
    assert explain_unstarted(World().facts, None, NAMES).english.startswith("It runs after ")


def test_which_row_is_newer_than_the_runs() -> None:
    world = ChainWorld()
    nothing = Explanation(Verdict.NOT_PLANNED, "", "")
    skipped = a_row(world, ChainState.SKIPPED)
    assert newest_is_row(nothing, skipped)
    assert not newest_is_row(nothing, None)
    assert not newest_is_row(nothing, a_row(world, ChainState.FIRED))
    assert not newest_is_row(nothing, skipped._replace(planned=NOON))
    world.predecessor_ends()
    world.claim()
    going = nothing._replace(runs=(world.live_run,))
    assert not newest_is_row(going, skipped)
    before = nothing._replace(runs=(world.live_run._replace(ended=NOON - HOUR),))
    assert newest_is_row(before, skipped)
