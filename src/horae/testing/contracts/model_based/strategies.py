"""Hypothesis strategies for the store machine: task drafts, outcomes, clock steps, record writes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Final

from hypothesis import strategies as st

from ....lifecycle.plan import Draft
from ....model.gate import Gate
from ....model.inputs.run_input import RunInput
from ....model.lanes.lane import owner_lane
from ....model.lanes.node_labels import LabelPairs
from ....model.lanes.rate import Rate
from ....model.lanes.route import route_of
from ....model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut, Waiting
from ....model.policy import GUARANTEES, MISSED_MODES, OVERLAPS, Missed, Policies, RetryPolicy
from ....model.reason import Reason
from ....model.record import Record, RecordWrite
from ....model.task import Target, TaskPast
from ....schedule import AnyOf, Cron, Every, Now, Once, Schedule
from ...factories import DAY, HOUR, MICROSECOND, MINUTE, NOON, SECOND

_TARGET: Final = Target("function", '{"name":"garden.water"}')
ROUTE: Final = route_of(_TARGET)
OWNERS: Final = ("ada", "bob")
KEYS: Final = ("report", "backup")
LANES: Final = ("narrow", "wide", owner_lane("bob"))
GPU: Final[LabelPairs] = (("gpu", "a100"),)
NODES: Final = ("node-1", "node-2", "node-3")

steps: Final = st.sampled_from((MICROSECOND, SECOND, 5 * SECOND, MINUTE, 7 * MINUTE, HOUR, DAY, 40 * DAY))
backward_steps: Final = st.sampled_from((MICROSECOND, MINUTE, HOUR, DAY))
numbers: Final = st.integers(0, 1_000)
rates: Final = st.sampled_from((None, Rate(1, 5 * SECOND), Rate(1, HOUR), Rate(2, MINUTE), Rate(3, SECOND)))
several: Final = st.lists(numbers, min_size=1, max_size=4)


@st.composite
def record_writes(draw: st.DrawFn) -> RecordWrite:
    """Record writes at matching and at conflicting versions, most with an expiry."""
    expires = draw(st.sampled_from((None, NOON, NOON + MINUTE, NOON + DAY)))
    body = f'"{draw(numbers)}"'
    record = Record("token", draw(st.sampled_from(KEYS)), draw(st.sampled_from(OWNERS)), body, expires=expires)
    return RecordWrite(
        record, draw(st.sampled_from((None, None, 1, 1, 2, 3))), draw(st.sampled_from((False, False, True)))
    )


attached_records: Final = st.lists(record_writes(), min_size=1, max_size=3).map(tuple)
"""Records attached to a change."""
optional_records: Final = st.one_of(st.just(()), st.just(()), attached_records)


def _every(interval: timedelta, *, from_end: bool, repeat: int | None, jitter: timedelta | None) -> Schedule:
    return Every(interval=interval, since="end" if from_end else "grid", repeat=repeat, jitter=jitter)


schedules: Final[st.SearchStrategy[Schedule]] = st.one_of(
    st.builds(
        _every,
        interval=st.sampled_from((7 * SECOND, MINUTE, HOUR)),
        from_end=st.booleans(),
        repeat=st.sampled_from((None, None, 1, 3)),
        jitter=st.sampled_from((None, None, 2 * SECOND)),
    ),
    st.builds(Cron, st.sampled_from(("*/5 * * * *", "0 * * * *", "30 2 * * *")), zone=st.just("Europe/Berlin")),
    st.builds(Once, at=st.sampled_from((NOON, NOON + MINUTE, NOON + DAY))),
    st.just(Now()),
    st.builds(
        AnyOf,
        st.just((Every(interval=MINUTE), Cron("*/5 * * * *"), Once(at=NOON + HOUR))),
        zone=st.just("Europe/Berlin"),
        repeat=st.sampled_from((None, 3)),
        jitter=st.sampled_from((None, 2 * SECOND)),
    ),
)

_policies: Final = st.builds(
    Policies,
    missed=st.builds(Missed, st.sampled_from(MISSED_MODES), st.sampled_from((None, HOUR)), st.sampled_from((2, 100))),
    overlap=st.sampled_from(OVERLAPS),
    retry=st.builds(
        RetryPolicy,
        st.sampled_from((1, 3, None)),
        st.sampled_from((timedelta(0), MINUTE)),
        st.just(2.0),
        st.just(HOUR),
        st.sampled_from(("full", "none")),
        superseded_by_next=st.booleans(),
    ),
    give_up_after=st.sampled_from((None, 1, 2)),
    max_duration=st.sampled_from((None, 10 * MINUTE)),
    guarantee=st.sampled_from(GUARANTEES),
    priority=st.sampled_from((0, 0, -5, 50)),
    notify_after=st.sampled_from((0, 1, 2, 3)),
    start_within=st.sampled_from((None, None, MINUTE, HOUR)),
    where=st.sampled_from(((), (), (), GPU, (("disk", "ssd"), *GPU))),
)


def _with_gate(made: Policies) -> Policies:
    """Return the policies with a gate; under `parallel` it keeps no state."""
    return replace(made, gate=Gate("function", '{"name":"check"}', state=made.overlap != "parallel"))


policies: Final = st.one_of(_policies, _policies, _policies.map(_with_gate))


def _with_further_lane(draft: Draft) -> Draft:
    """Return a draft of the narrow lane that is in the wide one, too."""
    return draft._replace(policies=replace(draft.policies, lanes=("wide",))) if draft.lane == "narrow" else draft


labels: Final = st.sampled_from((None, {"source": "import"}, {"source": "web", "room": "a"}, {"room": "a"}))

_drafts: Final = st.builds(
    Draft,
    owner=st.sampled_from(OWNERS),
    name=st.sampled_from(("water the plants", "浇花")),
    schedule=schedules,
    target=st.just(_TARGET),
    payload=st.sampled_from(("{}", '"\N{WATER WAVE}"')),
    policies=policies,
    key=st.sampled_from((None, None, None, *KEYS)),
    lane=st.sampled_from((None, None, "narrow", "wide")),
    labels=labels,
    past=st.sampled_from(
        (None, None, None, TaskPast(NOON - DAY, 1, None, NOON - HOUR), TaskPast(NOON - 40 * DAY, 0, NOON - DAY))
    ),
)
drafts: Final = st.one_of(_drafts, _drafts.map(_with_further_lane))

inputs: Final = st.sampled_from(
    (None, None, RunInput("replace", '{"a":1}'), RunInput("merge", '{"b":null,"漢":"字"}', "bot"))
)

outcomes: Final[st.SearchStrategy[Outcome]] = st.one_of(
    st.sampled_from(
        (
            Succeeded(),
            Succeeded('"done"'),
            Failed("no luck"),
            Failed("never again", permanent=True),
            Failed("later", retry_after=HOUR),
            Failed("dead", died_isolated=True),
            Failed("no answer", reason=Reason.NO_ANSWER),
            TimedOut(),
            Cancelled(),
            Skipped("nothing to do"),
        )
    ),
    st.builds(Waiting, st.sampled_from((NOON + MINUTE, NOON + DAY, NOON + 50 * DAY))),
)
