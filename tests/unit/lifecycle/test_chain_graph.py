"""Checks of links: predecessors, cycles, depth, fan-out and the roots of joins."""

from __future__ import annotations

import pytest

from horae.errors import Refusal
from horae.lifecycle.chain_graph import check_links, descendants_among, links_of, neighbours_of
from horae.model.chain_row import MAX_DEPTH, MAX_SUCCESSORS, ChainLimit
from horae.model.task import Task
from horae.schedule import After, Link
from horae.schedule.after import Mode
from horae.testing.factories import a_task

ROOT = a_task(id="a", name="a")


def after(name: str, *links: str, mode: Mode = "any", successors: tuple[str, ...] = ()) -> Task:
    schedule = After(tuple(map(Link, links)), mode)
    return a_task(id=name, name=name, schedule=schedule, successors=successors)


def known(*tasks: Task) -> dict[str, Task]:
    return {task.id: task for task in (ROOT, *tasks)}


def refusal(task: Task, tasks: dict[str, Task]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        check_links(task, tasks)
    return caught.value


def test_links_and_neighbours() -> None:
    assert links_of(None) == links_of(ROOT) == frozenset()
    assert neighbours_of(after("b", "a", successors=("c",))) == {"a", "c"}


def test_an_unknown_or_foreign_predecessor_is_refused() -> None:
    assert refusal(after("b", "z"), known()).code == "unknown_predecessor"
    assert refusal(after("b", "z"), known(a_task(id="z", owner="bob"))).code == "unknown_predecessor"


def test_a_task_cannot_run_after_itself() -> None:
    assert refusal(after("b", "b"), known(after("b", "a"))).code == "chain_cycle"


def test_a_cycle_is_refused_with_its_path() -> None:
    tasks = known(after("b", "a"), after("c", "b", "a"), after("d", "c", "b"))
    refused = refusal(after("b", "d"), tasks)
    assert refused.code == "chain_cycle"
    assert "b → c → d → b" in str(refused) or "b → d → b" in str(refused)


def test_depth_counts_the_links_of_the_longest_chain() -> None:
    tasks = known()
    for number in range(1, MAX_DEPTH + 1):
        task = after(f"d{number}", f"d{number - 1}" if number > 1 else "a")
        check_links(task, tasks)
        tasks[task.id] = task
    assert refusal(after("x", f"d{MAX_DEPTH}"), tasks).code == "chain_too_deep"
    between = after("between", "a")
    assert refusal(after("d1", "between"), {**tasks, "between": between}).code == "chain_too_deep"


def test_depth_may_be_limited_further() -> None:
    tasks = known(after("b", "a"), after("c", "b"))
    limit = ChainLimit(2, "horae owner set ada --quota chain_depth=")
    check_links(after("d", "b"), tasks, limit)
    with pytest.raises(Refusal) as caught:
        check_links(after("d", "c"), tasks, limit)
    assert caught.value.code == "chain_over_quota"
    assert "horae owner set ada --quota chain_depth=3" in caught.value.hint
    with pytest.raises(Refusal) as caught:
        check_links(after("d", "c"), tasks, ChainLimit(2))
    assert (caught.value.code, caught.value.facts["most"]) == ("chain_too_deep", 2)


def test_no_quota_allows_more_than_any_chain_may_have() -> None:
    tasks = known(*(after(f"d{depth}", f"d{depth - 1}" if depth > 1 else "a") for depth in range(1, MAX_DEPTH + 1)))
    for limit in (ChainLimit(MAX_DEPTH + 9), ChainLimit(2, "horae owner set ada --quota chain_depth=")):
        with pytest.raises(Refusal) as caught:
            check_links(after("x", f"d{MAX_DEPTH}"), tasks, limit)
        assert caught.value.code == "chain_too_deep"


def test_fan_out_is_bounded() -> None:
    full = ROOT._replace(successors=tuple(f"s{number}" for number in range(MAX_SUCCESSORS)))
    assert refusal(after("b", "a"), {"a": full}).code == "too_many_successors"
    check_links(after("s1", "a"), {"a": full})


def test_a_join_needs_one_root() -> None:
    other = a_task(id="z", name="z")
    left, right = after("b", "a"), after("c", "a")
    check_links(after("d", "b", "c", mode="all"), known(left, right))
    refused = refusal(after("d", "b", "z", mode="all"), known(left, other))
    assert refused.code == "join_of_several_roots"
    assert "a, z" in str(refused)
    check_links(after("d", "b", "z"), known(left, other))


def test_an_edit_is_checked_for_the_joins_behind_it() -> None:
    other = a_task(id="z", name="z")
    join = after("d", "b", "c", mode="all")
    tasks = known(after("b", "a"), after("c", "a"), join, other)
    assert refusal(after("c", "z"), tasks).code == "join_of_several_roots"


def test_a_root_that_was_deleted_has_no_name() -> None:
    tasks = known(after("b", "gone"), after("c", "a"))
    assert refusal(after("d", "b", "c", mode="all"), tasks).code == "join_of_several_roots"


def test_descendants_of_a_root() -> None:
    tasks = known(after("b", "a"), after("c", "b"), a_task(id="z"))
    assert descendants_among(["a", "b", "c", "z"], "b", tasks) == {"b", "c"}
