"""Hypothesis strategies for task definitions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from hypothesis import strategies as st

from horae.lifecycle.plan import Draft, build_task
from horae.model.policy import (
    GUARANTEES,
    MAX_BACKOFF,
    MAX_DURATION,
    MAX_TIMEOUT,
    MISSED_MODES,
    OVERLAPS,
    RETRY_JITTERS,
    Missed,
    Policies,
    RetryPolicy,
)
from horae.model.task import Task
from horae.model.text.invisible_characters import first_ignorable
from horae.service.tasks.task_request import TaskRequest, read_policies, read_when
from horae.testing.factories import NOON, a_task
from horae.wire.tasks.targets import read_target
from horae.wire.tasks.task import read_task
from tests.strategies import schedules

words: Final = st.text(
    st.characters(exclude_categories=("C", "Z"), exclude_characters="\u00ad"), min_size=1, max_size=20
).filter(lambda text: text.isprintable() and first_ignorable(text) is None)
json_values: Final[st.SearchStrategy[Any]] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


def lengths(most: timedelta, least: timedelta = timedelta(milliseconds=1)) -> st.SearchStrategy[timedelta]:
    """Mostly whole seconds, now and then to the microsecond."""
    whole = st.integers(0, int(most.total_seconds())).map(lambda seconds: max(least, timedelta(seconds=seconds)))
    return st.one_of(whole, st.timedeltas(least, most))


policies: Final = st.builds(
    Policies,
    missed=st.builds(Missed, st.sampled_from(MISSED_MODES), st.none() | lengths(MAX_DURATION), st.integers(1, 10_000)),
    overlap=st.sampled_from(OVERLAPS),
    retry=st.builds(
        RetryPolicy,
        st.none() | st.integers(1, 1_000),
        lengths(MAX_BACKOFF, timedelta(0)),
        st.floats(1, 100) | st.integers(1, 100),
        lengths(MAX_BACKOFF, timedelta(0)),
        st.sampled_from(RETRY_JITTERS),
        st.booleans(),
    ),
    give_up_after=st.none() | st.integers(1, 1_000_000),
    timeout=lengths(MAX_TIMEOUT),
    max_duration=st.none() | lengths(MAX_DURATION),
    guarantee=st.sampled_from(GUARANTEES),
    priority=st.integers(-100, 100),
    notify_after=st.integers(0, 1_000_000),
    start_within=st.none() | lengths(MAX_DURATION),
)
targets: Final = st.one_of(
    st.builds(lambda name: read_target({"function": name}), words),
    st.builds(lambda word: read_target({"http": f"https://example.org/{word}"}), words),
    st.builds(lambda argv: read_target({"command": argv}), st.lists(words, min_size=1, max_size=3)),
    st.builds(lambda word: read_target({"say": word}), words),
    st.builds(lambda spec: read_target({"target": {**spec, "kind": "other"}}), st.dictionaries(words, json_values)),
)


@st.composite
def tasks(draw: st.DrawFn) -> Task:
    schedule = draw(schedules().filter(lambda found: found is not None))
    return a_task(
        owner=draw(words),
        name=draw(words),
        schedule=schedule,
        target=draw(targets),
        payload=draw(json_values.map(spelled)),
        policies=draw(policies),
        key=draw(st.none() | words),
        lane=draw(st.none() | words),
        labels=tuple(sorted(draw(st.dictionaries(words, words | st.just(""), max_size=3)).items())),
    )


def spelled(payload: Any) -> str:
    """As the way in keeps it."""
    return read_task({"name": "n", "when": "now", "function": "f", "payload": payload}).payload


def made(wish: TaskRequest, task: Task) -> Task:
    """What a desk without a zone of its own makes of a wish, under the name of another task."""
    schedule = read_when(wish.when, wish.zone, NOON)
    draft = Draft(
        "nobody" if wish.owner is None else wish.owner,
        wish.name,
        schedule,
        wish.target,
        wish.payload,
        read_policies(schedule, wish.options),
        wish.key,
        wish.lane,
        wish.labels,
    )
    return build_task(draft, task.id, task.created)
