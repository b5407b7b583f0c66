"""Summary of an outage at the start of a node: when no node ran, and the outcome of what came due meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...app import Horae
from ...engine.process_identity import is_gone
from ...model.page import MAX_PAGE_SIZE
from ...model.reason import Reason
from ...model.run import Origin, Run, RunState
from ...ports.store import RunFilter
from ...schedule.preview import make_fires
from ...service.runs.outages import Outage
from ...wire.runs import outage_json
from ..messages import operating_messages as words
from .printer import Printer

_TIMEOUT_SECONDS: Final = 3.0
_POLL_SECONDS: Final = 0.05
_MAX_PAGES: Final = 50


class OutageSummary(NamedTuple):
    """Outcomes of the occurrences that came due in an outage; `waiting` are those not claimed yet."""

    made_up: int = 0
    merged: int = 0
    skipped: int = 0
    waiting: int = 0

    @property
    def due(self) -> int:
        return sum(self)


async def find_outage(app: Horae, opened: datetime) -> Outage | None:
    """Return the outage that the start of this node has ended; None if another node ran meanwhile."""
    ours = None if app.engine is None else app.engine.node
    if any(node.id != ours and not is_gone(node.home) for node in await app.store.nodes()):
        return None
    outages = await app.service.outages.all()
    return outages[-1] if outages and outages[-1].until >= opened else None


async def summarize_outage(app: Horae, outage: Outage) -> OutageSummary:
    """Count outcomes in the ledger, after the first claims; entries that are then unclaimed count as waiting."""
    clock = app.clock
    until = clock.steady() + _TIMEOUT_SECONDS
    waiting = await app.store.waiting(None, clock.now())
    while waiting.overdue and clock.steady() < until:
        await clock.pause(_POLL_SECONDS)
        waiting = await app.store.waiting(None, clock.now())
    summary = count_occurrences([run async for run in _rows(app, outage)])
    return summary._replace(waiting=sum(waiting))


async def _rows(app: Horae, outage: Outage) -> Any:
    after: str | None = None
    query = RunFilter(since=outage.since, until=outage.until)
    for _ in range(_MAX_PAGES):
        page = await app.store.runs(query, after, MAX_PAGE_SIZE)
        for run in page.items:
            # A node dies some time after its last renewal: runs that it still started were not missed.
            if run.started is None or run.started >= outage.until:
                yield run
        after = page.after
        if after is None:
            return


def count_occurrences(runs: Iterable[Run]) -> OutageSummary:
    """Count each occurrence once, by its last attempt; a row that covers several counts as many."""
    last: dict[tuple[str, datetime], Run] = {}
    for run in runs:
        occurrence = run.task_id, run.planned
        if run.origin is Origin.SCHEDULED and (occurrence not in last or last[occurrence].attempt < run.attempt):
            last[occurrence] = run
    made_up = merged = skipped = 0
    for run in last.values():
        number = 1 if run.span is None else run.span.count
        if run.reason is Reason.MERGED:
            merged += number
        elif run.state is RunState.SKIPPED:
            skipped += number
        else:
            made_up += number
    return OutageSummary(made_up, merged, skipped)


def outage_summary_json(outage: Outage, summary: OutageSummary) -> dict[str, Any]:
    return {
        **outage_json(outage),
        "due": summary.due,
        "made_up": summary.made_up,
        "merged": summary.merged,
        "skipped": summary.skipped,
        "waiting": summary.waiting,
    }


def outage_sentence(out: Printer, zone: str, outage: Outage, summary: OutageSummary) -> str:
    first, last = make_fires(zone, [outage.since, outage.until])
    same_day = first.local.date() == last.local.date()
    since = first.local.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")
    until = last.local.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")
    how = out.translate(words.STOPPED_CLEANLY if outage.clean else words.KILLED)
    nothing = out.translate(words.NOTHING_RAN, since=since, until=until, how=how)
    if not summary.due:
        return f"{nothing} {out.translate(words.NOTHING_DUE)}"
    messages = (words.MADE_UP, words.MERGED, words.SKIPPED, words.STILL_WAITING)
    parts = [out.translate(each, number=number) for each, number in zip(messages, summary, strict=True) if number]
    listed = (", " if out.language == "en" else "、").join(parts)
    sentence = words.ONE_DUE_MEANWHILE if summary.due == 1 else words.DUE_MEANWHILE
    return f"{nothing} {out.translate(sentence, due=summary.due, parts=listed)}"
