"""Cells and texts for runs, tasks, times and durations; a colour never carries information alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from ...choices import Language
from ...lifecycle.due_backlog import MICROSECOND
from ...model.change import Facts
from ...model.lanes.route import describe_route
from ...model.pauses import pause_note
from ...model.reason import Reason, reason_phrase
from ...model.run import Run, RunState
from ...model.task import TaskState, past_of
from ...quantities import duration_message as duration_message  # noqa: PLC0414 - shown here too
from ...quantities import exact_duration as exact_duration  # noqa: PLC0414
from ...schedule import iterate
from ...schedule.describe import describe_core
from ...schedule.preview import format_relative, make_fires
from ...schedule.value import Schedule
from ...state_names import state_name
from ...typography import truncate
from ...wire.tasks.task import next_due, waiting_for
from ..messages import messages
from .printer import Printer
from .schedule_text import offset, weekday
from .styled_text import Cell, Style, StyledText, display_width, pad

NOTHING: Final = "–"
MISSED_REASONS: Final = frozenset({Reason.MISSED_SKIPPED, Reason.STALE, Reason.MERGED})
"""Reasons of runs that no node could start when they were due."""
_SIGNS: Final[dict[RunState, tuple[str, Style]]] = {
    RunState.CLAIMED: ("◐", "odd"),
    RunState.RUNNING: ("◐", "odd"),
    RunState.WAITING: ("◐", "odd"),
    RunState.SUCCEEDED: ("✓", "good"),
    RunState.FAILED: ("✕", "bad"),
    RunState.TIMED_OUT: ("⧖", "bad"),
    RunState.LOST: ("✕", "bad"),
    RunState.CANCELLED: ("■", "dim"),
    RunState.SKIPPED: ("⊘", "dim"),
}
_SHORT_STEPS: Final = ((86_400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def sign_of(run: Run) -> StyledText:
    if was_missed(run):
        return StyledText("△", "odd")
    return StyledText(*_SIGNS[run.state])


def was_missed(run: Run) -> bool:
    return run.state is RunState.SKIPPED and run.reason in MISSED_REASONS


def count_of(run: Run) -> int:
    return 1 if run.span is None else run.span.count


def state_of_run(run: Run, language: Language) -> str:
    """Return the state with its reason: `succeeded`, `skipped (paused)`, `3 missed`."""
    if was_missed(run):
        return messages.MISSED.in_language(language, number=count_of(run))
    many = f" ×{count_of(run)}" if count_of(run) > 1 else ""
    state = state_name(run.state, language)
    return f"{state}{_why(run, state, language)}{many}"


def _why(run: Run, state: str, language: Language) -> str:
    """Return the reason in brackets, unless it equals the state."""
    if run.reason is None or run.state is RunState.FAILED:
        return ""
    phrase = reason_phrase(run.reason, language)
    return "" if phrase == state else in_brackets(phrase, language)


def in_brackets(text: str, language: Language) -> str:
    return f" ({text})" if language == "en" else f"（{text}）"


def last_cell(run: Run | None, missed: int, now: datetime, language: Language) -> Cell:
    """Return the cell for the last run: `✓ 21h +7ms`, `✕ 7h disk full`, `△ 3 missed`."""
    extra = [StyledText(f"  △ {messages.MISSED.in_language(language, number=missed)}", "odd")] if missed else []
    if run is None:
        return [StyledText(NOTHING, "dim"), *extra]
    if was_missed(run):
        return [sign_of(run), f" {messages.MISSED.in_language(language, number=max(missed, count_of(run)))}"]
    age = f" {short_duration(now - (run.ended or run.started or run.due))}"
    return [sign_of(run), age, *_remark(run, language), *extra]


def _remark(run: Run, language: Language) -> list[str | StyledText]:
    reason = "" if run.reason is None else reason_phrase(run.reason, language)
    if run.state in (RunState.FAILED, RunState.TIMED_OUT, RunState.LOST):
        return [StyledText(f"  {first_line(error_text(run, language) or reason)}", "dim")]
    if run.state is RunState.SKIPPED:
        return [StyledText(f"  {reason}", "dim")]
    return [] if run.lateness is None else [StyledText(f"  +{exact_duration(run.lateness)}", "dim")]


def error_style(run: Run) -> Style:
    """Return the style of the error of a run; the words of a gate that gave a verdict are none."""
    has_verdict = run.reason is Reason.GATE_CLOSED or (
        run.reason is Reason.GATE_CHECKED and run.result_json is not None
    )
    return "dim" if has_verdict else "bad"


def error_text(run: Run, language: Language) -> str:
    """Return the error of a run; sentences written by Horae are translated."""
    return localize_error(run.error or "", language)


def localize_error(error: str, language: Language) -> str:
    if language == "en":
        return error
    from ...targets.run_errors import localized_error  # noqa: PLC0415 - only Chinese needs the catalogue

    return localized_error(error, language)


def first_line(text: str) -> str:
    """Return the first line of an error, which says what went wrong; the others are a traceback."""
    return text.strip().partition("\n")[0].rstrip()


_MAX_NOTE: Final = 24


def state_cell(facts: Facts, language: Language, now: datetime | None = None, *, whole: bool = False) -> Cell:
    """Return the state with its note; without `whole` the note is truncated."""
    status = facts.status
    state = state_name(status.state, language)
    if status.pause is not None:
        short = messages.PAUSE_CAUSES.get(status.pause.cause.value)
        note = first_line(pause_note(status.pause, language)) if short is None else short.in_language(language)
        note = note if whole else truncate(note, _MAX_NOTE)
        colon = ": " if language == "en" else "："
        return StyledText(f"{state}{colon}{note}" if note else state, "odd")
    if status.state is TaskState.FAILED:
        return StyledText(state, "bad")
    if (
        status.state is TaskState.ACTIVE
        and facts.block_reason is not None
        and facts.block_reason.value in messages.BLOCKED_NOTES
    ):
        return StyledText(messages.BLOCKED_NOTES[facts.block_reason.value].in_language(language), "bad")
    waits = waiting_for(facts, now) if status.state is TaskState.ACTIVE else None
    if waits is not None and waits.startswith("node:"):
        name = describe_route(waits.removeprefix("node:"))
        return StyledText(
            messages.NO_NODE_HAS.in_language(language, name=name if whole else truncate(name, _MAX_NOTE)), "odd"
        )
    if status.state is TaskState.ACTIVE and status.failures:
        return StyledText(messages.FAILING.in_language(language, number=status.failures), "bad")
    return StyledText(state, "" if status.state is TaskState.ACTIVE else "dim")


def next_column(
    tasks: Sequence[Facts], zone: str, now: datetime, language: Language, *, ahead: bool = True
) -> list[Cell]:
    """Return `in 41 s  09:00` for each task, with the day if it is more than a day ahead, and with seconds if any of them
    has some. Without `ahead`, only the time."""
    due = [None if facts.live else next_due(facts) or _after_pause(facts) for facts in tasks]
    times = iter(next_times([each for each in due if each is not None], zone, now, language))
    cells: list[Cell] = []
    for facts, at in zip(tasks, due, strict=True):
        if facts.live:
            cells.append(StyledText(messages.RUNNING_NOW.in_language(language), "odd"))
        elif at is None:
            cells.append(StyledText(NOTHING, "dim"))
        else:
            relative, when = next(times)
            cells.append([f"{relative}  ", StyledText(when.rstrip(), "dim")] if ahead else when.rstrip())
    return cells


def next_times(due: Sequence[datetime], zone: str, now: datetime, language: Language) -> list[tuple[str, str]]:
    """Return two columns for future times, `in 41 s` and `Wed 09:00`, padded to their widths."""
    seconds = has_seconds(due)
    relative = [format_relative(each - now, language) for each in due]
    clocks = [clock_time(each, zone, now, language, seconds=seconds) for each in due]
    widest, latest = (max(map(display_width, texts), default=0) for texts in (relative, clocks))
    return [(pad(each, widest), pad(clock, latest)) for each, clock in zip(relative, clocks, strict=True)]


def _after_pause(facts: Facts) -> datetime | None:
    """Return the first occurrence after a pause with an end."""
    pause = facts.status.pause
    if pause is None or pause.until is None:
        return None
    return next(iterate(facts.task.schedule, pause.until - MICROSECOND, past_of(facts.task, facts.status)), None)


def has_seconds(instants: Iterable[datetime]) -> bool:
    """Whether any time has seconds; then the whole column shows them."""
    return any(each.second for each in instants)


def clock_time(at: datetime, zone: str, now: datetime, language: Language, *, seconds: bool = True) -> str:
    """Return the shortest unambiguous form: time of day within 20 hours, with the weekday within six days, else the date."""
    (fire,) = make_fires(zone, [at.replace(microsecond=0)])
    ahead = abs(at - now)
    clock = f"{fire.local:%H:%M:%S}" if seconds else f"{fire.local:%H:%M}"
    if ahead < timedelta(hours=20):
        return clock
    if ahead < timedelta(days=6):
        return f"{weekday(fire.local, language)} {clock}"
    return f"{fire.local:%Y-%m-%d} {clock}"


def time_column(instants: Sequence[datetime | None], zone: str, now: datetime) -> list[str]:
    """Return a column of times such as `11-17 09:00:05`. A date or offset equal to that of the row above is left out, and
    so are all dates if every time is today."""
    fires = iter(make_fires(zone, [each.replace(microsecond=0) for each in instants if each is not None]))
    local = [None if each is None else next(fires).local for each in instants]
    (today,) = make_fires(zone, [now.replace(microsecond=0)])
    days = {each.date() for each in local if each is not None}
    years = {day.year for day in days}
    offsets = {offset(each) for each in local if each is not None}
    date = "" if days <= {today.local.date()} else "%m-%d " if years <= {today.local.year} else "%Y-%m-%d "
    cells: list[str] = []
    above: datetime | None = None
    for each in local:
        if each is None:
            cells.append(NOTHING)
            continue
        day = each.strftime(date)
        if above is not None and above.date() == each.date():
            day = " " * len(day)
        moved = len(offsets) > 1 and (above is None or offset(above) != offset(each))
        cells.append(f"{day}{each:%H:%M:%S}{' ' + offset(each) if moved else ''}")
        above = each
    return cells


def time_cells(out: Printer, instants: Sequence[datetime | None], zone: str, now: datetime) -> list[str]:
    """Return a column of times: without repetitions on a terminal, each complete elsewhere."""
    if out.on_terminal:
        return time_column(instants, zone, now)
    return [NOTHING if each is None else full_time(each, zone, out.language, column=True) for each in instants]


def full_time(at: datetime, zone: str, language: Language, *, column: bool = False) -> str:
    """Return `Mon 2026-11-16 09:00 +08:00`; with seconds if there are any, and always in a column."""
    (fire,) = make_fires(zone, [at])
    clock = "%H:%M:%S" if column or fire.local.second else "%H:%M"
    return f"{weekday(fire.local, language)} {fire.local:%Y-%m-%d} {fire.local.strftime(clock)} {offset(fire.local)}"


def planned_text(run: Run, zone: str, language: Language) -> str:
    """Return the planned time; first and last time for a row that covers several occurrences."""
    if run.span is None or run.span.count == 1:
        return full_time(run.planned, zone, language, column=True)
    last = clock_time(run.span.last, zone, run.span.first, language)
    return f"{full_time(run.span.first, zone, language, column=True)} … {last}"


def when_cell(schedule: Schedule, zone: str, language: Language) -> str:
    text = describe_core(schedule, language)
    other = schedule.zone is not None and schedule.zone != zone and schedule.kind not in ("every", "now", "after")
    return f"{text}{', ' if language == 'en' else '，'}{schedule.zone}" if other else text


def short_duration(length: timedelta) -> str:
    """Return a duration in one unit, for columns: `21h`, `7s`."""
    seconds = max(0, int(length.total_seconds()))
    for size, unit in _SHORT_STEPS:
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "0s"
