"""NanoClaw 1 importer: reads tasks, run logs and groups from its store/messages.db, in every schema version."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from ..errors import Refusal
from ..model.gate import Gate
from ..model.limits import ERROR_CHARACTERS, shorten
from ..model.run import RunState
from ..schedule import Every
from ..schedule.compat import Note
from ..schedule.compat import nanoclaw as dialect
from ..schedule.compat.fields import parse_moment
from ..schedule.instants import to_datetime, to_instant
from ..schedule.zones import find_zone
from ..service.tasks.task_request import Options, TaskRequest
from .database import Database, Row, open_read_only
from .fields import (
    Fields,
    read_duration,
    read_flag,
    read_folder,
    read_optional_mapping,
    read_optional_text,
    read_required_text,
    refuse_field,
)
from .files import read_bytes, read_json
from .import_result import (
    AgentGroup,
    ImportedTask,
    ImportOutcome,
    ImportResult,
    PastRun,
    RejectedItem,
    collect_outcomes,
    encode_json,
    make_excerpt,
    make_title,
    past_of_source,
    read_item,
    replace_control_characters,
    target,
)
from .nanoclaw_chats import read_conversations
from .notes import note, refusal_note
from .refusals import refuse
from .zone_evidence import ZoneEvidence

MAX_GROUPS = 10_000
_MAIN_FOLDER = "main"


def read_groups(data: bytes | str) -> ImportResult:
    """Read `data/registered_groups.json`: an object with one entry for each chat."""
    value = read_json(data)
    if not isinstance(value, dict) or not all(isinstance(each, dict) for each in value.values()):
        raise refuse("import_no_groups")
    groups, unclear = _read_each((jid, {**entry, "jid": jid}, _group_from_json) for jid, entry in value.items())
    return ImportResult(rejected=unclear, groups=groups)


def read_group_rows(rows: Iterable[Row]) -> tuple[tuple[AgentGroup, ...], tuple[RejectedItem, ...]]:
    return _read_each((row.get("jid"), row, _group_from_row) for row in rows)


def _read_each(
    entries: Iterable[tuple[object, Fields, Callable[[Fields], AgentGroup]]],
) -> tuple[tuple[AgentGroup, ...], tuple[RejectedItem, ...]]:
    groups: list[AgentGroup] = []
    unclear: list[RejectedItem] = []
    for number, (jid, fields, read) in enumerate(entries):
        if number == MAX_GROUPS:
            raise refuse("import_too_many", most=MAX_GROUPS, things="groups")
        try:
            groups.append(read(fields))
        except Refusal as refusal:
            unclear.append(
                RejectedItem(
                    f"group {make_excerpt(str(jid))}", make_excerpt(str(fields.get("name"))), refusal_note(refusal)
                )
            )
    return tuple(groups), tuple(unclear)


def _group_from_json(fields: Fields) -> AgentGroup:
    folder = read_folder("folder", fields.get("folder"))
    return AgentGroup(
        folder=folder,
        jid=read_required_text(fields, "jid"),
        name=read_optional_text(fields, "name") or folder,
        trigger=read_optional_text(fields, "trigger"),
        requires_trigger=read_flag(fields, "requiresTrigger", default=True),
        is_main=read_flag(fields, "isMain", default=folder == _MAIN_FOLDER),
        added=read_optional_text(fields, "added_at"),
        config=read_optional_mapping(fields, "containerConfig") or None,
    )


def _group_from_row(row: Row) -> AgentGroup:
    """Read a table row; schema versions without `is_main` identify the main group by its folder."""
    renamed: dict[str, Any] = {
        "trigger": row.get("trigger_pattern"),
        "requiresTrigger": row.get("requires_trigger"),
        "isMain": row.get("is_main"),
        "containerConfig": _parse_config(read_optional_text(row, "container_config")),
    }
    return _group_from_json({**row, **renamed})


def _parse_config(text: str | None) -> Any:
    return None if text is None else read_json(text)


__all__ = ["SYSTEM", "read", "read_groups", "zone_evidence"]

SYSTEM: Final = "nanoclaw"
MAX_TASKS: Final = 20_000
MAX_RUNS: Final = 10_000
_TASKS: Final = "scheduled_tasks"
_RUNS: Final = "task_run_logs"
_GROUPS: Final = "registered_groups"
_RUN_STATES: Final = {"success": RunState.SUCCEEDED, "error": RunState.FAILED}
# NanoClaw stops a container after half an hour without output.
_OPTIONS: Final = Options(timeout=timedelta(minutes=30))
_SHELL: Final = "bash"
_SCRIPT_TIMEOUT: Final = timedelta(seconds=30)
_NO_COLUMN: Final = object()
_COMPLETED: Final = "completed"


def read(path: Path, *, zone: str) -> ImportResult:
    """Read the database; `zone` is NanoClaw's TIMEZONE, else the machine's zone. Completed tasks appear only as past runs."""
    find_zone(zone)
    with open_read_only(path) as database:
        if _TASKS not in database.tables:
            raise refuse("import_no_table", table=_TASKS)
        has_groups = _GROUPS in database.tables
        groups, unclear = read_group_rows(database.rows(_GROUPS) if has_groups else ())
        if not has_groups:
            groups, unclear = _read_group_file(path)
        completed: Counter[str] = Counter()
        rows = _open_tasks(database.rows(_TASKS, limit=MAX_TASKS + 1), completed)
        harvest = collect_outcomes(
            _read_tasks(rows, zone, {group.folder for group in groups} if has_groups or groups else None)
        )
        past, notes = _read_past_runs(database)
        conversations = read_conversations(database, path, groups)
    if not has_groups and not groups:
        notes.append(note("nanoclaw_groups_elsewhere"))
    if completed:
        notes.append(note("nanoclaw_completed", count=completed.total()))
    return ImportResult(
        harvest.tasks, harvest.rejected + unclear, past, groups, tuple(notes), conversations=conversations
    )


def _read_group_file(database: Path) -> tuple[tuple[AgentGroup, ...], tuple[RejectedItem, ...]]:
    """Read the groups of an older installation, which has them in a file beside the directory of its database."""
    file = database.parent.parent / "data" / "registered_groups.json"
    if database.parent.name != "store" or not file.is_file():
        return (), ()
    found = read_groups(read_bytes(file))
    return found.groups, found.rejected


def zone_evidence(path: Path) -> ZoneEvidence:
    """Collect planned next runs, from which the installation's zone is inferred; the file does not name it."""
    fires: list[tuple[str, datetime]] = []
    is_needed = False
    with open_read_only(path) as database:
        rows = database.rows(_TASKS, limit=MAX_TASKS + 1) if _TASKS in database.tables else ()
        for row in _open_tasks(rows, Counter()):
            kind, value = row.get("schedule_type"), row.get("schedule_value")
            planned = _instant_of(row.get("next_run"))
            is_needed = is_needed or kind == "cron" or (kind == "once" and _instant_of(value) is None)
            if kind == "cron" and isinstance(value, str) and planned is not None:
                fires.append((value, planned))
    return ZoneEvidence(tuple(fires), is_needed)


def _instant_of(value: object) -> datetime | None:
    """The instant of an ISO text with an offset; None for anything else."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None else None


def _open_tasks(rows: Iterable[Row], completed: Counter[str]) -> Iterator[Row]:
    for number, row in enumerate(rows):
        if number == MAX_TASKS:
            raise refuse("import_too_many", most=MAX_TASKS, things="tasks")
        if row.get("status") == _COMPLETED:
            completed[_COMPLETED] += 1
        else:
            yield row


def _read_tasks(rows: Iterable[Row], zone: str, folders: set[str] | None) -> Iterator[ImportOutcome]:
    for number, row in enumerate(rows, start=1):
        name = row.get("id")
        source = replace_control_characters(name)[:100] if isinstance(name, str) and name else f"task {number}"
        text = f"{row.get('schedule_type')} {row.get('schedule_value')}: {row.get('prompt')}"
        yield read_item(source, text[:1000], partial(_read_task, row, source, zone, folders))


def _read_task(row: Row, source: str, zone: str, folders: set[str] | None) -> ImportedTask | RejectedItem:
    folder = read_folder("group_folder", row.get("group_folder"))
    prompt = read_required_text(row, "prompt")
    translation = dialect.read(row, zone=zone)
    paused, notes = _paused_state(row)
    mode, mode_notes = _context_mode(row)
    notes += (*translation.notes, *mode_notes)
    created, last_run = (_instant_of(row.get(name)) for name in ("created_at", "last_run"))
    past = past_of_source(translation.schedule, created, last_run)
    has_next_run = isinstance(row.get("next_run"), str) and not paused
    if isinstance(translation.schedule, Every) and has_next_run and past is None:
        notes += (note("nanoclaw_next_run", instant=row["next_run"]),)
    if folders is not None and folder not in folders:
        notes += (note("nanoclaw_no_group", folder=folder),)
    script = read_optional_text(row, "script")
    if script is not None:
        notes += (note("nanoclaw_script", shell=_SHELL),)
    request = TaskRequest(
        name=make_title(prompt, source),
        when=translation.schedule,
        target=target(
            "agent",
            group=folder,
            chat=read_required_text(row, "chat_jid"),
            context_mode=mode,
        ),
        payload=encode_json({"prompt": prompt}),
        owner=f"group:{folder}",
        key=f"{SYSTEM}:{read_required_text(row, 'id')}",
        zone=zone,
        lane=f"group:{folder}",
        labels={"source": SYSTEM},
        options=_OPTIONS if script is None else _OPTIONS._replace(gate=_script_gate(script)),
        past=past,
    )
    return ImportedTask(request, paused, source, notes)


def _script_gate(script: str) -> Gate:
    """The gate of a task's script: its last line has `wakeAgent` and `data`, which a gate may answer with; it has no state."""
    spec = target("command", argv=[_SHELL, "-c", script]).spec
    return Gate("command", spec, timeout=_SCRIPT_TIMEOUT, state=False)


def _paused_state(row: Row) -> tuple[bool, tuple[Note, ...]]:
    """Whether the task is imported paused, with the reason: NanoClaw runs only active tasks that have a next run."""
    status = row.get("status", "active")
    if status == "paused":
        return True, ()
    if status != "active":
        return True, (note("nanoclaw_status", status=status),)
    if row.get("next_run", _NO_COLUMN) is None:
        return True, (note("nanoclaw_no_next_run"),)
    return False, ()


def _context_mode(row: Row) -> tuple[str, tuple[Note, ...]]:
    mode = row.get("context_mode")
    if mode in ("group", "isolated"):
        return str(mode), ()
    return "isolated", () if mode is None else (note("nanoclaw_context", mode=mode),)


def _read_past_runs(database: Database) -> tuple[tuple[PastRun, ...], list[Note]]:
    if _RUNS not in database.tables:
        return (), []
    total = database.count(_RUNS)
    past: list[PastRun] = []
    failed = 0
    for row in database.rows(_RUNS, newest_by="run_at", limit=MAX_RUNS):
        try:
            past.append(_read_past_run(row))
        except ValueError:  # every refusal of a field is one
            failed += 1
    notes = [note("nanoclaw_bad_runs", count=failed)] if failed else []
    if total > MAX_RUNS:
        notes.append(note("nanoclaw_old_runs", count=total, most=MAX_RUNS))
    return tuple(reversed(past)), notes


def _read_past_run(row: Row) -> PastRun:
    """One past run; NanoClaw writes `run_at` when a run has ended."""
    status = row.get("status")
    if status not in _RUN_STATES:
        raise refuse_field("status", status, ", ".join(_RUN_STATES))
    ended = parse_moment("run_at", row.get("run_at"))
    if not isinstance(ended, datetime) or ended.tzinfo is None:
        raise refuse_field("run_at", row.get("run_at"), "an instant with an offset")
    duration = read_duration("duration_ms", row.get("duration_ms"))
    started = to_datetime(to_instant(ended)) - (duration or timedelta(0))
    result, error = (_shorten_text(read_optional_text(row, key)) for key in ("result", "error"))
    key = f"{SYSTEM}:{read_required_text(row, 'task_id')}"
    return PastRun(key, started, duration, _RUN_STATES[status], result, error)


def _shorten_text(text: str | None) -> str | None:
    return None if text is None else shorten(text, ERROR_CHARACTERS)
