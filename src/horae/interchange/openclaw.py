"""OpenClaw importer: reads cron/jobs.json, where each job has a schedule, a payload and the state of its last run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

from ..errors import Refusal
from ..model.limits import ERROR_CHARACTERS, LABEL_CHARACTERS, shorten
from ..model.run import RunState
from ..model.text.invisible_characters import first_ignorable
from ..schedule import Cron, Every, Once, Schedule
from ..schedule.canonical import format_moment
from ..schedule.compat import Note
from ..schedule.compat.fields import parse_integer, parse_moment, require_in_range
from ..schedule.compat.moments import format_local
from ..schedule.compat.translation_notes import note as compat_note
from ..schedule.every import MAX_INTERVAL
from ..schedule.value import MAX_JITTER
from ..schedule.zones import find_zone
from ..service.tasks.task_request import TaskRequest
from .fields import (
    Fields,
    read_duration,
    read_flag,
    read_folder,
    read_instant,
    read_optional_mapping,
    read_optional_text,
    read_required_text,
    refuse_field,
)
from .files import is_encodable, read_json
from .import_result import (
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
)
from .notes import note
from .openclaw_payload import SCRIPT_KIND, ParsedPayload, read_payload
from .openclaw_trigger import read_trigger, unsupported_trigger
from .refusals import refuse
from .zone_evidence import ZoneEvidence

EVENT_KINDS: Final = ("on-exit", "stream")
_MILLISECOND: Final = timedelta(milliseconds=1)


def read_schedule(job: Fields, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    """Parse `at` (an instant), `every` (milliseconds on a grid) or `cron` (with a zone and a stagger)."""
    fields = read_optional_mapping(job, "schedule")
    kind = fields.get("kind")
    match kind:
        case "at":
            return _read_at(fields, zone)
        case "every":
            return _read_every(fields, job), ()
        case "cron":
            return _read_cron(fields, zone), ()
        case _:
            raise refuse_field("schedule.kind", kind, "at, every or cron")


def _read_at(fields: Fields, zone: str) -> tuple[Schedule, tuple[Note, ...]]:
    """ISO text, or milliseconds as in older versions; OpenClaw takes a time without an offset as UTC."""
    value = fields.get("at", fields.get("atMs"))
    if parse_integer(value) is not None:
        return Once(read_instant("schedule.at", value)), ()
    moment = parse_moment("schedule.at", value)
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)  # noqa: DTZ001 - the zone is decided below
    if moment.tzinfo is not None:
        return Once(moment), ()
    at = moment.replace(tzinfo=UTC)
    assumed_utc = compat_note("compat_naive_is_utc", instant=format_moment(at), local=format_local(at, zone), zone=zone)
    return Once(at), (assumed_utc,)


def _read_every(fields: Fields, job: Fields) -> Schedule:
    interval = (
        require_in_range("schedule.everyMs", fields.get("everyMs"), 1, MAX_INTERVAL // _MILLISECOND) * _MILLISECOND
    )
    anchor = fields.get("anchorMs", job.get("createdAtMs"))
    return Every(interval, start=None if anchor is None else read_instant("schedule.anchorMs", anchor))


def _read_cron(fields: Fields, zone: str) -> Schedule:
    max_stagger = MAX_JITTER // _MILLISECOND
    stagger = require_in_range("schedule.staggerMs", fields.get("staggerMs") or 0, 0, max_stagger) * _MILLISECOND
    cron_zone = read_optional_text(fields, "tz") or zone
    return Cron(read_required_text(fields, "expr"), zone=cron_zone, jitter=stagger or None)


SYSTEM: Final = "openclaw"
MAX_JOBS: Final = 10_000
_DEFAULT_AGENT: Final = "main"
_KNOWN_KEYS: Final = frozenset(
    {
        *("id", "jobId", "agentId", "name", "displayName", "description", "enabled", "deleteAfterRun", "schedule"),
        *(
            "createdAtMs",
            "updatedAtMs",
            "sessionTarget",
            "sessionKey",
            "wakeMode",
            "payload",
            "delivery",
            "state",
            "trigger",
        ),
    }
)
_MAX_PLANNED_MS: Final = 4_102_444_800_000
"""The year 2100, in milliseconds."""
_RUN_STATES: Final = {"ok": RunState.SUCCEEDED, "error": RunState.FAILED, "skipped": RunState.SKIPPED}


def read(data: bytes | str, *, zone: str) -> ImportResult:
    """Read the jobs; `zone` is the machine's, for jobs that name none. A broken job does not stop the others."""
    find_zone(zone)
    jobs = _list_jobs(read_json(data))
    completed: Counter[str] = Counter()
    past: list[PastRun] = []
    harvest = collect_outcomes(_read_jobs(jobs, zone, past, completed))
    notes = (note("openclaw_completed", count=completed.total()),) if completed else ()
    return harvest._replace(past_runs=tuple(past), notes=notes)


def zone_evidence(data: bytes | str) -> ZoneEvidence:
    """Collect planned next runs of jobs without a zone, from which the machine's zone is inferred."""
    fires: list[tuple[str, datetime]] = []
    is_needed = False
    for job in _list_jobs(read_json(data)):
        schedule, state = (job.get(name) if isinstance(job, dict) else None for name in ("schedule", "state"))
        if not isinstance(schedule, dict) or schedule.get("kind") != "cron" or schedule.get("tz"):
            continue
        is_needed = True
        planned = state.get("nextRunAtMs") if isinstance(state, dict) else None
        expression = schedule.get("expr")
        if isinstance(expression, str) and type(planned) is int and 0 <= planned < _MAX_PLANNED_MS:
            fires.append((expression, datetime.fromtimestamp(planned / 1000, UTC)))
    return ZoneEvidence(tuple(fires), is_needed)


def _list_jobs(value: Any) -> list[Any]:
    """The list of jobs, from the file or from the output of OpenClaw's own list command."""
    jobs = value.get("jobs") if isinstance(value, dict) else value
    if not isinstance(jobs, list):
        raise refuse("import_no_jobs")
    if len(jobs) > MAX_JOBS:
        raise refuse("import_too_many", most=MAX_JOBS, things="jobs")
    return jobs


def _read_jobs(jobs: list[Any], zone: str, past: list[PastRun], completed: Counter[str]) -> Iterator[ImportOutcome]:
    for number, job in enumerate(jobs, start=1):
        source = _job_label(job, number)
        text = encode_json(job)[:1000] if isinstance(job, dict) else str(job)[:1000]
        history: list[PastRun] = []
        reading = read_item(source, text, partial(_read_job, job, source, zone, history))
        past += history
        if isinstance(reading, ImportedTask) and history and _is_completed(job, reading.request, history[0]):
            completed[SYSTEM] += 1
        else:
            yield reading


def _job_label(job: Any, number: int) -> str:
    name = (job.get("id") or job.get("jobId")) if isinstance(job, dict) else None
    return replace_control_characters(name)[:100] if isinstance(name, str) else f"job {number}"


def _read_job(job: Any, source: str, zone: str, history: list[PastRun]) -> ImportOutcome:
    if not isinstance(job, dict) or not is_encodable(job):
        raise refuse_field(source, job, "an object with whole letters in its texts")
    unclear = _unsupported_reason(job)
    if unclear is not None:
        return RejectedItem(source, make_excerpt(encode_json(job)), unclear)
    key = f"{SYSTEM}:{_job_id(job)}"
    agent = read_folder("agentId", read_optional_text(job, "agentId") or _DEFAULT_AGENT)
    schedule, schedule_notes = read_schedule(job, zone)
    work = read_payload(job, agent)
    gate, gate_notes = read_trigger(job)
    request = TaskRequest(
        name=make_title(_job_name(job) or work.text, source),
        when=schedule,
        target=work.target,
        payload=encode_json(work.payload),
        owner=f"group:{agent}",
        key=key,
        zone=zone,
        lane=f"group:{agent}" if work.target.kind == "agent" else None,
        labels=_job_labels(job),
        options=work.options._replace(gate=gate),
    )
    history += _read_last_run(job, key)
    request = request._replace(past=past_of_source(schedule, _created_of(job), _last_end_of(history)))
    notes = (*schedule_notes, *work.notes, *gate_notes, *_ignored_notes(job, work))
    return ImportedTask(request, not read_flag(job, "enabled", default=True), source, notes)


def _unsupported_reason(job: Fields) -> Note | None:
    """The reason why a job cannot be imported: it waits for events or needs OpenClaw itself; None if it can."""
    kind = read_optional_mapping(job, "schedule").get("kind")
    if kind in EVENT_KINDS:
        return note("openclaw_event_schedule", kind=kind)
    if read_optional_mapping(job, "payload").get("kind") == SCRIPT_KIND:
        return note("openclaw_script")
    return unsupported_trigger(job)


def _job_id(job: Fields) -> str:
    name = read_optional_text(job, "id") or read_optional_text(job, "jobId")
    if name is None:
        raise refuse_field("id", job.get("id"), "a text that is not empty")
    return name


def _job_name(job: Fields) -> str | None:
    return (
        read_optional_text(job, "displayName")
        or read_optional_text(job, "name")
        or read_optional_text(job, "description")
    )


def _job_labels(job: Fields) -> dict[str, str]:
    labels = {
        "source": SYSTEM,
        "session": read_optional_text(job, "sessionTarget"),
        "wake": read_optional_text(job, "wakeMode"),
        "delete_after_run": "true" if read_flag(job, "deleteAfterRun", default=False) else None,
    }
    return {name: value for name, value in labels.items() if value and _is_valid_label(value)}


def _is_valid_label(value: str) -> bool:
    return len(value) <= LABEL_CHARACTERS and value.isprintable() and first_ignorable(value) is None


def _ignored_notes(job: Fields, work: ParsedPayload) -> tuple[Note, ...]:
    keys = [*sorted(set(job) - _KNOWN_KEYS), *work.ignored]
    return (note("openclaw_ignored", keys=", ".join(keys)),) if keys else ()


def _read_last_run(job: Fields, key: str) -> tuple[PastRun, ...]:
    """The last run from the job's state; an unreadable state does not reject the job."""
    try:
        state = read_optional_mapping(job, "state")
        status = _RUN_STATES.get(str(state.get("lastRunStatus") or state.get("lastStatus")))
        if status is None or state.get("lastRunAtMs") is None:
            return ()
        started = read_instant("lastRunAtMs", state["lastRunAtMs"])
        duration = read_duration("lastDurationMs", state.get("lastDurationMs"))
        error = read_optional_text(state, "lastError")
    except Refusal:
        return ()
    return (PastRun(key, started, duration, status, None, error and shorten(error, ERROR_CHARACTERS)),)


def _created_of(job: Fields) -> datetime | None:
    """The instant of creation; an unreadable one does not reject the job."""
    try:
        return None if job.get("createdAtMs") is None else read_instant("createdAtMs", job["createdAtMs"])
    except Refusal:
        return None


def _last_end_of(history: list[PastRun]) -> datetime | None:
    ended = [run.started + (run.duration or timedelta(0)) for run in history if run.status is not RunState.SKIPPED]
    return max(ended, default=None)


def _is_completed(job: Fields, request: TaskRequest, last: PastRun) -> bool:
    """Whether a one-shot job has run; one that failed and is still enabled would be tried again."""
    is_final = last.status is RunState.SUCCEEDED or not job.get("enabled", True)
    return isinstance(request.when, Once) and last.started >= request.when.at and is_final
