"""Scope of an exploration: few enough tasks, faults and client actions to explore every order of events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from horae.lifecycle.plan import Draft, plan
from horae.model.change import Change
from horae.model.gate import Gate
from horae.model.policy import Guarantee, Missed, Overlap, Policies, RetryPolicy
from horae.model.task import Target, Task
from horae.schedule import After, Every, Link, Once, Past, Schedule, iterate

MADE: Final = datetime(2026, 3, 1, 11, 59, tzinfo=UTC)
NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
_MINUTE: Final = timedelta(minutes=1)
LANE: Final = "well"


class Verb(StrEnum):
    PAUSE = "pause"
    CANCEL = "cancel"
    RESUME = "resume"


class Fault(StrEnum):
    CRASH = "crash"
    LAPSE = "lapse"
    """A node cannot renew its lease in time, and goes on."""
    STOP = "stop"
    """A graceful stop: no fault, but counted as one."""
    SILENCE = "silence"
    """A call was carried out, or was not, and its answer never comes."""


class Wish(NamedTuple):
    """A client action on one task, at most once, at any moment."""

    verb: Verb
    place: int


class Scope(NamedTuple):
    """Bounds of an exploration: number and kinds of faults, and each client action at most once."""

    name: str
    about: str
    planted: tuple[Change, ...]
    faults: int
    kinds: frozenset[Fault] = frozenset(Fault)
    wishes: tuple[Wish, ...] = ()

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(change.task for change in self.planted if change.task is not None)


def instants(task: Task) -> tuple[datetime, ...]:
    """All planned instants of a task of a scope; everything that it runs after is due at noon."""
    if isinstance(task.schedule, After):
        return (NOON,)
    return tuple(iterate(task.schedule, task.created, Past(task.created)))


def a_task(letter: str, schedule: Schedule, policies: Policies, lane: str | None = None) -> Change:
    draft = Draft("owner", letter, schedule, Target("function", "{}"), "{}", policies, lane=lane)
    return plan(draft, f"tsk_{letter}", MADE)


def two_at_noon(guarantee: Guarantee = "at_least_once", lane: str | None = None) -> tuple[Change, ...]:
    """One occurrence and one retry each."""
    policies = Policies(missed=Missed(within=None), retry=_ONE_RETRY_AT_ONCE, give_up_after=1, guarantee=guarantee)
    return tuple(a_task(letter, Once(at=NOON), policies, lane) for letter in "AB")


def chain_of_two(guarantee: Guarantee) -> tuple[Change, ...]:
    """The second runs when the first has ended, however that was; one retry each."""
    policies = Policies(missed=Missed(within=None), retry=_ONE_RETRY_AT_ONCE, give_up_after=1, guarantee=guarantee)
    first = a_task("A", Once(at=NOON), policies)
    return first, a_task("B", After((Link("tsk_A", "ended"),)), policies)


def one_with_a_gate(guarantee: Guarantee) -> tuple[Change, ...]:
    """One occurrence and one attempt of a task whose gate is asked first; a gate that fails is asked eight times."""
    gate = Gate("function", '{"name":"check"}')
    policies = Policies(missed=Missed(within=None), retry=RetryPolicy(1), guarantee=guarantee, gate=gate)
    return (a_task("A", Once(at=NOON), policies),)


def one_that_recurs(overlap: Overlap) -> tuple[Change, ...]:
    """Two occurrences, a minute apart, one retry each."""
    policies = Policies(overlap=overlap, retry=_ONE_RETRY)
    return (a_task("A", Every(interval=_MINUTE, start=NOON, end=NOON + _MINUTE), policies),)


_ONE_RETRY_AT_ONCE: Final = RetryPolicy(attempts=2, backoff=timedelta(0))
_ONE_RETRY: Final = RetryPolicy(attempts=2, backoff=timedelta(seconds=30))

_CANCELS: Final = (Wish(Verb.CANCEL, 0), Wish(Verb.CANCEL, 1))

_CRASHES: Final = frozenset({Fault.CRASH})

SCOPES: Final = (
    Scope("plain", "two tasks, up to two crashes", two_at_noon(), 2, _CRASHES),
    Scope("unruly", "two tasks, one fault of any kind", two_at_noon(), 1),
    Scope("careful", "two tasks, at most once, one fault of any kind", two_at_noon("at_most_once"), 1),
    Scope("careful-crashes", "two tasks, at most once, up to two crashes", two_at_noon("at_most_once"), 2, _CRASHES),
    Scope("lane", "two tasks in one lane of one, one fault of any kind", two_at_noon(lane=LANE), 1),
    Scope("lane-crashes", "two tasks in one lane of one, up to two crashes", two_at_noon(lane=LANE), 2, _CRASHES),
    Scope("chain", "a chain of two, up to two crashes", chain_of_two("at_least_once"), 2, _CRASHES),
    Scope("gate", "a task with a gate, one fault of any kind", one_with_a_gate("at_least_once"), 1),
    Scope(
        "gate-careful", "a task with a gate, at most once, one fault of any kind", one_with_a_gate("at_most_once"), 1
    ),
    Scope("chain-careful", "a chain of two, at most once, any two faults", chain_of_two("at_most_once"), 2),
    *(
        Scope(
            f"overlap-{overlap}",
            f"a recurring task with overlap {overlap}, paused at any moment, one fault",
            one_that_recurs(overlap),
            1,
            wishes=(Wish(Verb.PAUSE, 0),),
        )
        for overlap in ("skip", "queue", "replace")
    ),
    Scope(
        "cancel",
        "two tasks in one lane, cancelled at any moment, one fault",
        two_at_noon(lane=LANE),
        1,
        wishes=_CANCELS,
    ),
    Scope(
        "cancel-careful",
        "two tasks, at most once, cancelled at any moment, one fault",
        two_at_noon("at_most_once"),
        1,
        wishes=_CANCELS,
    ),
)

LARGER: Final = (
    Scope("careful-twice", "two tasks, at most once, any two faults", two_at_noon("at_most_once"), 2),
    Scope("lane-twice", "two tasks in one lane of one, any two faults", two_at_noon(lane=LANE), 2),
)
"""Minutes rather than seconds: on demand."""
