"""Placement: entries of tasks that require labels are in the queue of their route, and nodes without the labels leave them."""

from __future__ import annotations

from datetime import timedelta

from horae.lifecycle.control.edit import edit
from horae.lifecycle.fire import fire, park_unroutable
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.start import ClaimContext
from horae.model.change import Facts
from horae.model.entry import START_DEADLINE_SLOT, EntryKind, EntryState
from horae.model.lanes.node_labels import LabelPairs
from horae.model.lanes.route import (
    ServedQueues,
    function_route,
    kind_route,
    place_entries,
    place_entry,
    queue_of,
    route_of,
)
from horae.model.policy import Missed, Policies
from horae.model.reason import Reason
from horae.model.task import NEW_TASK_STATUS, Target
from horae.schedule import Every
from horae.testing.factories import HOUR, NODE, NOON, a_task, an_entry, an_extra_entry

GPU: LabelPairs = (("gpu", "a100"),)
CEILING = timedelta(seconds=10)


def claimant(*labels: tuple[str, str], routes: frozenset[str] | None = None) -> ClaimContext:
    return ClaimContext(NODE, NOON, CEILING, routes, frozenset(labels))


def test_a_node_without_the_labels_leaves_the_entry_in_its_queue() -> None:
    task = a_task(where=GPU)
    entry = an_entry(task)
    facts = Facts(task, NEW_TASK_STATUS, (entry,))
    change = park_unroutable(facts, entry, claimant(("node", "desk")))
    assert change is not None
    assert change.put == (entry._replace(lane=queue_of(task)),)
    assert park_unroutable(facts, entry, claimant(*GPU, ("node", "desk"))) is None
    assert park_unroutable(facts, entry, claimant()._replace(labels=None)) is None


def test_a_node_with_the_labels_and_without_the_function_leaves_it_there_too() -> None:
    task = a_task(where=GPU)
    entry = an_extra_entry(task)
    facts = Facts(task, NEW_TASK_STATUS, (entry,))
    change = park_unroutable(facts, entry, claimant(*GPU, routes=frozenset({kind_route("http")})))
    assert change is not None
    assert change.put == (entry._replace(lane=queue_of(task), waited=True),)
    assert park_unroutable(facts, entry, claimant(*GPU, routes=frozenset({route_of(task.target)}))) is None


def test_start_within_of_a_queued_entry() -> None:
    task = a_task(where=GPU)
    task = task._replace(policies=Policies(where=GPU, start_within=HOUR))
    entry = an_extra_entry(task)
    facts = Facts(task, NEW_TASK_STATUS, (entry,))
    waiting = park_unroutable(facts, entry, claimant())
    assert waiting is not None
    assert {each.slot for each in waiting.put} == {entry.slot, START_DEADLINE_SLOT}
    late = park_unroutable(facts, entry, claimant()._replace(now=NOON + HOUR))
    assert late is not None
    assert [run.reason for run in late.new_runs] == [Reason.START_DEADLINE]


def test_a_new_task_with_a_start_deadline_has_its_entry_from_the_beginning() -> None:
    policies = Policies(where=GPU, start_within=HOUR)
    draft = Draft("ada", "train", Every(interval=HOUR), Target("http", "{}"), "{}", policies)
    change = plan(draft, "tsk_1", NOON)
    assert {each.kind for each in change.put} == {EntryKind.NEXT, EntryKind.START_DEADLINE}
    without = plan(draft._replace(policies=Policies(start_within=HOUR)), "tsk_1", NOON)
    assert {each.kind for each in without.put} == {EntryKind.NEXT}


def test_missed_policy_decides_when_no_node_had_the_labels() -> None:
    task = a_task(where=GPU)._replace(policies=Policies(where=GPU, missed=Missed("skip")))
    entry = an_entry(task, lane=queue_of(task))
    facts = Facts(task, NEW_TASK_STATUS, (entry,))
    late = fire(facts, entry, 1, claimant(*GPU)._replace(now=NOON + timedelta(minutes=5)))
    assert [run.reason for run in late.new_runs] == [Reason.MISSED_SKIPPED]
    in_time = fire(facts, entry, 1, claimant(*GPU))
    assert [run.live for run in in_time.new_runs] == [True]


def test_a_retry_is_in_the_queue() -> None:
    task = a_task(where=GPU)
    retry = an_entry(task, kind=EntryKind.RETRY, slot="retry", attempt=2)
    assert place_entry(task, retry).lane == queue_of(task)
    held = retry._replace(state=EntryState.HELD)
    control = retry._replace(kind=EntryKind.RESUME)
    assert (place_entry(task, held), place_entry(task, control)) == (held, control)
    assert place_entries(task, edit(Facts(task, NEW_TASK_STATUS, (retry,)), task, NOON)).put[0].lane == queue_of(task)


def test_an_edit_moves_entries_between_queues_and_the_agenda() -> None:
    plain = a_task()
    task = plain._replace(policies=Policies(where=GPU))
    entry, queued = an_entry(plain), an_entry(plain, lane=queue_of(task))
    assert edit(Facts(plain, NEW_TASK_STATUS, (entry,)), task, NOON).put == (queued,)
    assert edit(Facts(task, NEW_TASK_STATUS, (queued,)), plain, NOON).put == (entry,)
    assert edit(Facts(task, NEW_TASK_STATUS, (queued,)), task, NOON).put == ()


def test_queues_are_served_by_labels_and_routes() -> None:
    task = a_task(where=(("disk", "ssd"), *GPU))
    queue, route = queue_of(task), route_of(task.target)
    labels = {("disk", "ssd"), *GPU, ("node", "desk")}
    assert ServedQueues(None, None).serves(queue)
    assert ServedQueues({route}, labels).serves(queue)
    assert not ServedQueues({route}, set(GPU)).serves(queue)
    assert not ServedQueues({kind_route("http")}, labels).serves(queue)


def test_long_function_names_are_shortened_in_queue_names() -> None:
    name = "f" * 200
    task = a_task(where=tuple((f"l{n}", "v" * 16) for n in range(8)), target=Target("function", f'{{"name":"{name}"}}'))
    assert len(queue_of(task)) <= 255
    assert ServedQueues({function_route(name)}, None).serves(queue_of(task))
    assert not ServedQueues({function_route(name[:-1])}, None).serves(queue_of(task))
