"""Rules of claims and recoveries that all SQL stores share."""

from __future__ import annotations

import pytest

from horae.errors import StoreError
from horae.model.change import Change, Facts
from horae.model.limits import CLAIM_SLICE
from horae.model.run import Run, RunState
from horae.model.task import TaskStatus
from horae.stores.claim_rules import (
    MAX_ENTRIES_PER_OWNER,
    ClaimPosition,
    check_entry_moved,
    check_recovery,
    divide_slice,
    earliest_due,
)
from horae.stores.codec.json_codecs import instant_of
from horae.testing.factories import HOUR, NODE, NOON, a_run, a_task, an_entry


def a_row(task: int, slot: str, due: int, priority: int) -> tuple[object, ...]:
    return task, slot, "next", due, due, "ada", priority


def test_slice_shrinks_to_what_was_decided_and_grows_back() -> None:
    position = ClaimPosition(64)
    position.adapt_slice_size(20, 64)
    assert position.slice_size == 20
    position.adapt_slice_size(1, 20)
    assert position.slice_size == MAX_ENTRIES_PER_OWNER
    sizes = []
    for _ in range(3):
        position.adapt_slice_size(position.slice_size, position.slice_size)
        sizes.append(position.slice_size)
    assert sizes == [32, 64, 64]


def test_slice_is_cut_before_it_is_sorted_by_priority() -> None:
    position = ClaimPosition(3)
    rows = [a_row(1, "a", 1, 0), a_row(2, "a", 2, 0), a_row(2, "b", 3, 5), a_row(3, "a", 4, 9)]
    assert [row[:2] for row in position.order_due(rows)] == [(2, "b"), (1, "a")]


@pytest.mark.parametrize("owners", [1, 2, 5, CLAIM_SLICE - 1, CLAIM_SLICE])
def test_shares_of_all_owners_fill_a_slice(owners: int) -> None:
    turn, share = divide_slice(owners)
    assert 1 <= turn <= MAX_ENTRIES_PER_OWNER
    assert share % turn == 0
    assert owners * share >= CLAIM_SLICE > owners * (share - turn)


def test_earliest_head_is_next() -> None:
    assert earliest_due(None, None) is None
    assert earliest_due(7, None) == earliest_due(9, 7) == instant_of[7]


def test_entry_that_stays_where_it_is_would_come_due_for_ever() -> None:
    task = a_task()
    entry = an_entry(task)
    check_entry_moved(entry, Change(put=(entry._replace(due=NOON + HOUR),)))
    check_entry_moved(entry, Change(deleted=True))
    with pytest.raises(StoreError, match="for ever"):
        check_entry_moved(entry, Change(put=(entry._replace(slot="other"),)))


def test_recovered_run_is_no_longer_held_by_its_node() -> None:
    task = a_task()
    run = a_run(task)
    facts = Facts(task, TaskStatus(), (), (run,))

    def recover(after: Run) -> Change:
        return check_recovery(lambda _facts, _run: Change(updated_runs=(after,)), NODE)(facts, run, None)

    assert recover(run._replace(state=RunState.LOST)).updated_runs
    assert recover(run._replace(node="nod_other")).updated_runs
    with pytest.raises(StoreError, match="still held"):
        recover(run._replace(attempt=2))
