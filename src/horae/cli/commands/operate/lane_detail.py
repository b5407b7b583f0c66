"""`horae lanes` and `horae lane NAME`: lanes with their runs, and the entries that wait in them in their order."""

from __future__ import annotations

from datetime import datetime

from ....model.lanes.idle import describe_yield
from ....model.lanes.lane import MAX_LANE_LIMIT, LaneStatus, LaneUse
from ....service.runs.lanes import LaneDetail, LaneRun, QueuedEntry
from ....wire.lanes import lane_detail_json, lane_status_json
from ...messages import messages
from ...output.formats import exact_duration, full_time
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...session.command_session import CommandSession, has_store, run_in_session


def show_lanes(out: Printer) -> None:
    found, now = run_in_session(out, _load_all) if has_store(out) else ((), None)
    if out.json:
        out.data([lane_status_json(each) for each in found])
    elif out.quiet:
        out.ids([each.use.name for each in found])
    elif found and now is not None:
        out.table(out.translate(messages.LANE_TITLES).split("|"), [_row(each, now) for each in found])
    else:
        out.aside(out.translate(messages.NOTHING))


async def _load_all(app: CommandSession) -> tuple[tuple[LaneStatus, ...], datetime]:
    return await app.service.lanes.statuses(app.principal), app.clock.now()


def _row(status: LaneStatus, now: datetime) -> list[Cell]:
    oldest = "" if status.oldest is None else exact_duration(max(now, status.oldest) - status.oldest)
    return [
        status.use.name,
        _limit_text(status.use),
        str(status.use.used),
        "-" if status.use.rate is None else str(status.use.rate),
        str(status.waiting),
        oldest,
        str(status.idle),
    ]


def _limit_text(use: LaneUse) -> str:
    return "-" if use.limit >= MAX_LANE_LIMIT else str(use.limit)


def show_lane(out: Printer, name: str) -> None:
    async def load(app: CommandSession) -> tuple[LaneDetail, str]:
        return await app.service.lanes.show(app.principal, name), app.zone

    detail, zone = run_in_session(out, load)
    if out.json:
        out.data(lane_detail_json(detail, out.language))
    elif out.quiet:
        out.ids([each.run.id for each in detail.runs])
    else:
        _show(out, detail, zone)


def _show(out: Printer, detail: LaneDetail, zone: str) -> None:
    use = detail.status.use
    words = messages.LANE_USE_UNLIMITED if use.limit >= MAX_LANE_LIMIT else messages.LANE_USE
    out.line((StyledText(use.name, "bold"), "  ", out.translate(words, used=use.used, limit=use.limit)))
    if use.rate is not None:
        out.row(out.translate(messages.LANE_RATE), str(use.rate))
        if use.next_start is not None:
            start = out.translate(messages.LANE_NEXT_START, at=full_time(use.next_start, zone, out.language))
            out.row("", start)
    for number, held in enumerate(detail.runs):
        out.row(out.translate(messages.LANE_RUNS) if number == 0 else "", _run_line(out, held, zone))
    if detail.others:
        label = "" if detail.runs else out.translate(messages.LANE_RUNS)
        out.row(label, StyledText(out.translate(messages.LANE_OTHERS, number=detail.others), "dim"))
    for place, queued in enumerate(detail.queue, 1):
        out.row(out.translate(messages.LANE_QUEUE) if place == 1 else "", _entry_line(out, place, queued, zone))
    if detail.more:
        out.row("", StyledText(out.translate(messages.LANE_MORE), "dim"))
    if not detail.queue:
        out.row(out.translate(messages.LANE_QUEUE), StyledText(out.translate(messages.NOTHING), "dim"))


def _run_line(out: Printer, held: LaneRun, zone: str) -> list[str | StyledText]:
    run = held.run
    since = "" if run.started is None else full_time(run.started, zone, out.language)
    line: list[str | StyledText] = [f"{held.task}  {since}  {run.owner}  ", StyledText(run.id, "dim")]
    if held.idle is not None:
        idle_since = full_time(held.idle.since, zone, out.language)
        asked = held.idle.yield_reason
        end = "" if asked is None else f" · {describe_yield(asked, out.language)}"
        text = f"  {out.translate(messages.IDLE)} {out.translate(messages.IDLE_SINCE, since=idle_since)}{end}"
        line.append(StyledText(text, "odd"))
    return line


def _entry_line(out: Printer, place: int, queued: QueuedEntry, zone: str) -> list[str | StyledText]:
    waiter = queued.waiter
    due = full_time(waiter.due, zone, out.language)
    priority = out.translate(messages.LANE_PRIORITY, number=waiter.priority)
    return [f"{place}. {queued.task}  {due}  {waiter.owner}  {priority}  ", StyledText(waiter.task_id, "dim")]
