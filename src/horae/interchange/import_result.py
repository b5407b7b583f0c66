"""Result of an import: tasks, items that could not be imported and why, past runs, and agent groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from ..errors import Refusal
from ..lifecycle.plan import Draft, build_task
from ..model.ids import EPOCH
from ..model.limits import PAYLOAD_BYTES, shorten
from ..model.run import RunState
from ..model.task import Target, TaskPast
from ..model.text.invisible_characters import without_ignorable
from ..schedule import Every, Now, Once, Schedule
from ..schedule.compat import Note
from ..service.tasks.task_request import TaskRequest, read_policies
from .notes import refusal_note
from .refusals import refuse

if TYPE_CHECKING:
    from .nanoclaw_chats import Conversation

_MAX_NAME_LENGTH: Final = 80
_MAX_EXCERPT_LENGTH: Final = 200


class ImportedTask(NamedTuple):
    """One imported task; its request has a stable key, so that importing twice changes nothing."""

    request: TaskRequest
    paused: bool = False
    source: str = ""
    notes: tuple[Note, ...] = ()
    origins: tuple[str, ...] = ()
    """Task ids under which it may already be stored: its own, and that of the task it was exported from."""
    gave_up: bool = False
    """Whether the task had given up in its source system: it is then imported as paused."""


class RejectedItem(NamedTuple):
    """An item that could not be imported: where it is in the file, an excerpt of it, and the reason."""

    source: str
    text: str
    note: Note


class PastRun(NamedTuple):
    """One past run; `key` is that of its task, which may be completed and not among the imported tasks."""

    key: str
    started: datetime
    duration: timedelta | None
    status: RunState
    result: str | None = None
    error: str | None = None


class AgentGroup(NamedTuple):
    """An agent group; every field is representable in JSON."""

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


class ImportResult(NamedTuple):
    """The result of reading one file; `notes` are about the file as a whole."""

    tasks: tuple[ImportedTask, ...] = ()
    rejected: tuple[RejectedItem, ...] = ()
    past_runs: tuple[PastRun, ...] = ()
    groups: tuple[AgentGroup, ...] = ()
    notes: tuple[Note, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    """Chats of the groups, whose messages are read when they are written."""


ImportOutcome: TypeAlias = ImportedTask | RejectedItem


def read_item(source: str, text: str, read: Callable[[], ImportOutcome]) -> ImportOutcome:
    """Read one item and check it; a refusal becomes a rejected item with the refusal's text, and other items go on."""
    try:
        reading = read()
        if isinstance(reading, ImportedTask):
            check_request(reading.request)
    except Refusal as refusal:
        return RejectedItem(source, make_excerpt(text), refusal_note(refusal))
    return reading


def collect_outcomes(readings: Iterable[ImportOutcome]) -> ImportResult:
    tasks: list[ImportedTask] = []
    rejected: list[RejectedItem] = []
    for reading in readings:
        if isinstance(reading, ImportedTask):
            tasks.append(reading)
        else:
            rejected.append(reading)
    return ImportResult(tuple(tasks), tuple(rejected))


def check_request(request: TaskRequest) -> None:
    """Refuse a request that the service would refuse, before the import has written anything."""
    schedule = request.when
    if not isinstance(schedule, Schedule):
        raise TypeError(type(schedule).__name__)
    size = len(request.target.spec)
    if size > PAYLOAD_BYTES:
        raise refuse("import_target_too_large", size=size, most=PAYLOAD_BYTES)
    policies = read_policies(schedule, request.options)
    owner = "unnamed" if request.owner is None else request.owner
    parts = (schedule, request.target, request.payload, policies, request.key, request.lane, request.labels)
    build_task(Draft(owner, request.name, *parts), "tsk_draft", EPOCH)


def past_of_source(
    schedule: Schedule, created: datetime | None, last_end: datetime | None = None, counted: int = 0
) -> TaskPast | None:
    """Return the past of a task as its source has it; None for a task that runs once, or without a known creation.

    Everything up to now is accounted for: what the source missed is not made up for here.
    """
    if created is None or isinstance(schedule, Now | Once):
        return None
    is_known = last_end is not None and last_end >= created
    if isinstance(schedule, Every) and schedule.since == "end" and not is_known:
        # An interval from the end of a run would begin at its creation, long ago: it begins now instead.
        return None
    return TaskPast(created, counted, last_end if is_known else None)


def without_future_past(task: ImportedTask, now: datetime) -> ImportedTask:
    """Return the task without its past if that lies in the future: the clock of its source was wrong."""
    past = task.request.past
    if past is None or all(each is None or EPOCH <= each <= now for each in (past.created, past.last_end)):
        return task
    return task._replace(request=task.request._replace(past=None))


def target(kind: str, **spec: Any) -> Target:
    """Build a target; a None in `spec` is left to the target's default."""
    return Target(kind, encode_json({name: value for name, value in spec.items() if value is not None}))


def encode_json(value: Mapping[str, Any]) -> str:
    """Deterministic ASCII JSON: the same text for the same value, and its length in characters is its size in bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def make_title(text: str, default: str) -> str:
    """A display name: the first line that is not blank, shortened to one line."""
    lines = (replace_control_characters(line) for line in text[:10_000].splitlines())
    return shorten(next(filter(None, lines), replace_control_characters(default)), _MAX_NAME_LENGTH)


def make_excerpt(text: str) -> str:
    """A shortened, printable excerpt; control characters that would move a terminal's cursor are replaced."""
    return shorten(replace_control_characters(text[: _MAX_EXCERPT_LENGTH * 2]), _MAX_EXCERPT_LENGTH)


def replace_control_characters(text: str) -> str:
    words = " ".join(without_ignorable(text).split())
    characters = (character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in words)
    return "".join(characters)
