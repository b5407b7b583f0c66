"""The honest gap: when nothing ran, and what became of everything that was due meanwhile."""

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

_PATIENCE_SECONDS: Final = 3.0
_BETWEEN_LOOKS: Final = 0.05
_MOST_PAGES: Final = 50


class OutageSummary(NamedTuple):
    """What came of the instants that were due in a gap; those that wait are counted as they stand now."""

    made_up: int = 0
    merged: int = 0
    skipped: int = 0
    waiting: int = 0

    @property
    def due(self) -> int:
        return sum(self)


async def find_outage(app: Horae, opened: datetime) -> Outage | None:
    """The outage that ended when this node came; none when another node was there all the while."""
    ours = None if app.engine is None else app.engine.node
    if any(node.id != ours and not is_gone(node.home) for node in await app.store.nodes()):
        return None
    outages = await app.service.outages.all()
    return outages[-1] if outages and outages[-1].until >= opened else None


async def summarize_outage(app: Horae, outage: Outage) -> OutageSummary:
    """Counted from the ledger, once the first claims are through; what they leave is told as waiting."""
    clock = app.clock
    until = clock.steady() + _PATIENCE_SECONDS
    waiting = await app.store.waiting(None, clock.now())
    while waiting.overdue and clock.steady() < until:
        await clock.pause(_BETWEEN_LOOKS)
        waiting = await app.store.waiting(None, clock.now())
    account = count_occurrences([run async for run in _rows(app, outage)])
    return account._replace(waiting=sum(waiting))


async def _rows(app: Horae, outage: Outage) -> Any:
    after: str | None = None
    wanted = RunFilter(since=outage.since, until=outage.until)
    for _ in range(_MOST_PAGES):
        page = await app.store.runs(wanted, after, MAX_PAGE_SIZE)
        for run in page.items:
            # A node that died was last seen a little before it did: what it still ran was not missed.
            if run.started is None or run.started >= outage.until:
                yield run
        after = page.after
        if after is None:
            return


def count_occurrences(runs: Iterable[Run]) -> OutageSummary:
    """Each occurrence once, however often it was attempted; a stretch as often as it stands for."""
    last: dict[tuple[str, datetime], Run] = {}
    for run in runs:
        place = run.task_id, run.planned
        if run.origin is Origin.SCHEDULED and (place not in last or last[place].attempt < run.attempt):
            last[place] = run
    made_up = stood_for = skipped = 0
    for run in last.values():
        number = 1 if run.span is None else run.span.count
        if run.reason is Reason.MERGED:
            stood_for += number
        elif run.state is RunState.SKIPPED:
            skipped += number
        else:
            made_up += number
    return OutageSummary(made_up, stood_for, skipped)


def outage_summary_json(outage: Outage, account: OutageSummary) -> dict[str, Any]:
    return {
        **outage_json(outage),
        "due": account.due,
        "made_up": account.made_up,
        "merged": account.merged,
        "skipped": account.skipped,
        "waiting": account.waiting,
    }


def outage_sentence(out: Printer, zone: str, outage: Outage, account: OutageSummary) -> str:
    first, last = make_fires(zone, [outage.since, outage.until])
    same_day = first.local.date() == last.local.date()
    since = first.local.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")
    until = last.local.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")
    how = out.translate(words.STOPPED_CLEANLY if outage.clean else words.KILLED)
    nothing = out.translate(words.NOTHING_RAN, since=since, until=until, how=how)
    if not account.due:
        return f"{nothing} {out.translate(words.NOTHING_DUE)}"
    told = (words.MADE_UP, words.STOOD_FOR, words.SKIPPED, words.STILL_WAITING)
    parts = [out.translate(each, number=number) for each, number in zip(told, account, strict=True) if number]
    listed = (", " if out.language == "en" else "、").join(parts)
    said = words.ONE_DUE_MEANWHILE if account.due == 1 else words.DUE_MEANWHILE
    return f"{nothing} {out.translate(said, due=account.due, parts=listed)}"
