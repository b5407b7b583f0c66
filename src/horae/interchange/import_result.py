"""What comes of reading a foreign file: tasks, what could not be taken over and why, old runs, agent groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from ..errors import Refusal
from ..lifecycle.plan import Draft, drafted
from ..model.ids import EPOCH
from ..model.invisible_characters import without_ignorable
from ..model.limits import PAYLOAD_BYTES, shortened
from ..model.run import RunState
from ..model.task import Target
from ..schedule import Schedule
from ..schedule.compat import Note
from ..service.tasks.task_request import Wish, read_policies
from .notes import note, told
from .refusals import refuse

_NAME_LENGTH: Final = 80
_EXCERPT_LENGTH: Final = 200


class Found(NamedTuple):
    """One task. Its wish has a key that stays the same, so that importing twice changes nothing."""

    wish: Wish
    paused: bool = False
    source: str = ""
    notes: tuple[Note, ...] = ()
    origins: tuple[str, ...] = ()
    """Ids that this task may have in the store: its own, and that of the task that it was imported from."""
    gave_up: bool = False
    """It is paused here because it had given up there."""


def not_carried(found: Found) -> Found:
    """The same, paused, with a note that nothing here runs such a target."""
    notes = (*found.notes, note("not_carried", kind=found.wish.target.kind))
    return found._replace(paused=True, notes=notes)


class Unclear(NamedTuple):
    """What could not be taken over, where it stands, and why."""

    source: str
    text: str
    note: Note


class Past(NamedTuple):
    """One run from before; `key` is that of its task, which may itself be over and not among those found."""

    key: str
    started: datetime
    duration: timedelta | None
    status: RunState
    result: str | None = None
    error: str | None = None


class Group(NamedTuple):
    """An agent group; every part is something that JSON can say."""

    folder: str
    jid: str
    name: str
    trigger: str | None = None
    requires_trigger: bool = True
    is_main: bool = False
    added: str | None = None
    config: Mapping[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


class Harvest(NamedTuple):
    """`notes` are about the file as a whole."""

    found: tuple[Found, ...] = ()
    unclear: tuple[Unclear, ...] = ()
    past: tuple[Past, ...] = ()
    groups: tuple[Group, ...] = ()
    notes: tuple[Note, ...] = ()


Reading: TypeAlias = Found | Unclear


def attempt(source: str, text: str, read: Callable[[], Reading]) -> Reading:
    """One thing at a time: what is refused is told with the refusal's own sentence, and stops no other."""
    try:
        reading = read()
        if isinstance(reading, Found):
            check(reading.wish)
    except Refusal as refusal:
        return Unclear(source, excerpt(text), told(refusal))
    return reading


def gathered(readings: Iterable[Reading]) -> Harvest:
    found: list[Found] = []
    unclear: list[Unclear] = []
    for reading in readings:
        if isinstance(reading, Found):
            found.append(reading)
        else:
            unclear.append(reading)
    return Harvest(tuple(found), tuple(unclear))


def check(wish: Wish) -> None:
    """Refuse now, by name, what the service would refuse later and in the middle of an import."""
    schedule = wish.when
    if not isinstance(schedule, Schedule):
        raise TypeError(type(schedule).__name__)
    size = len(wish.target.spec)
    if size > PAYLOAD_BYTES:
        raise refuse("import_target_too_large", size=size, most=PAYLOAD_BYTES)
    policies = read_policies(schedule, wish.options)
    owner = "nobody" if wish.owner is None else wish.owner
    parts = (schedule, wish.target, wish.payload, policies, wish.key, wish.lane, wish.labels)
    drafted(Draft(owner, wish.name, *parts), "tsk_unborn", EPOCH)


def target(kind: str, **spec: Any) -> Target:
    """What is None is left to the target's own default."""
    return Target(kind, as_json({name: value for name, value in spec.items() if value is not None}))


def as_json(value: Mapping[str, Any]) -> str:
    """The same text for the same value, and nothing but ASCII: a size in letters is a size in bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def title(text: str, otherwise: str) -> str:
    """A name for people: the first line that says something, short, on one line."""
    lines = (printable(line) for line in text[:10_000].splitlines())
    return shortened(next(filter(None, lines), printable(otherwise)), _NAME_LENGTH)


def excerpt(text: str) -> str:
    """Enough to find the place again; nothing that moves the cursor of a terminal."""
    return shortened(printable(text[: _EXCERPT_LENGTH * 2]), _EXCERPT_LENGTH)


def printable(text: str) -> str:
    words = " ".join(without_ignorable(text).split())
    letters = (letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in words)
    return "".join(letters)
