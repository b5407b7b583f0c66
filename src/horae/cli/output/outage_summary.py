"""Summary of an outage at the start of a node: when no node ran, and the outcome of what came due meanwhile."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from ...app import Horae
from ...engine.process_identity import is_gone
from ...schedule.preview import make_fires
from ...service.runs.outage_reviews import OutageSummary, count_occurrences, load_outage_runs
from ...service.runs.outages import Outage
from ...wire.runs import outage_json
from ..messages import operating_messages as words
from .printer import Printer

_TIMEOUT_SECONDS: Final = 3.0
_POLL_SECONDS: Final = 0.05
_MAX_PAGES: Final = 50


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
    rows = await load_outage_runs(app.store, outage, None, _MAX_PAGES)
    return count_occurrences(rows)._replace(waiting=sum(waiting))


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
