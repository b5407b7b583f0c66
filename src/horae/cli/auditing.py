"""`horae audit`: who did what, and whether anybody has touched the record of it."""

from __future__ import annotations

import typer

from ..model.page import Page
from ..service.audit import AuditRow
from ..wire.accounts import audit_json, verdict_json
from . import account_words as words
from .account_refusals import refuse
from .again import offer_more
from .families import AFTER, LIMIT, limit_said, new_family
from .frame import command
from .out import Out
from .pieces import Cell
from .signs import full_time
from .workplace import Workplace, at_work, is_there


def register(app: typer.Typer) -> None:
    family = new_family()
    command(family, "ls")(ls)
    command(family, "verify")(verify)
    app.add_typer(family, name="audit", help="See who did what, and that nobody has touched the record of it.")


def ls(out: Out, *, limit: int = LIMIT, after: str | None = AFTER) -> None:
    """Show who did what, newest first."""

    async def work(app: Workplace) -> tuple[Page[AuditRow], str]:
        return await app.service.audit.page(app.who, after, limit), app.zone

    page, zone = at_work(out, work) if is_there(out) else (Page[AuditRow](()), "UTC")
    if out.json:
        out.data([audit_json(each) for each in page.items])
    elif out.quiet:
        out.ids([str(each.number) for each in page.items])
    elif page.items:
        out.table(out.told(words.AUDIT_TITLES).split("|"), [_row(out, each, zone) for each in page.items])
    if not page.items:
        out.note(words.NO_AUDIT)
    if page.after is not None:
        offer_more(out, "audit ls", {"--limit": limit_said(limit)}, page.after)


def _row(out: Out, row: AuditRow, zone: str) -> list[Cell]:
    by = row.by if row.agent is None else f"{row.by} ({row.agent})"
    at = full_time(row.at, zone, out.language)
    return [str(row.number), at, row.action, row.subject, row.owner, by, row.actor, row.via]


def verify(out: Out) -> None:
    """Walk the whole chain; exit code 1 when it is not what it was."""
    found = at_work(out, lambda app: app.service.audit.verify(app.who))
    if out.json:
        out.data(verdict_json(found))
    elif found.ok and not out.quiet:
        out.line(("✓ ", out.told(words.AUDIT_WHOLE, rows=found.rows, open=found.open_rows)))
        out.row(out.told(words.AUDIT_HEAD), found.head)
    if not found.ok and not out.json:
        out.aside(("✕ ", refuse("audit_broken", number=found.broken).in_language(out.language).message))
    if not found.ok:
        raise typer.Exit(1)
