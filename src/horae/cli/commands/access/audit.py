"""`horae audit`: lists the audit trail and verifies its hash chain."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

import click

from ....model.ids import EPOCH, SHORT_DIGITS, SHORT_TASK_DIGITS
from ....model.page import Page
from ....service.accounts.audit import AuditFilter, AuditRow
from ....wire.accounts import audit_json, verdict_json
from ...command import CommandGroup
from ...messages import account_messages as words
from ...messages.account_refusals import refuse
from ...messages.messages import TIMES_IN
from ...output.command_hints import note_next_page
from ...output.formats import time_cells
from ...output.printer import Printer
from ...output.styled_text import Cell
from ...output.table import Fit
from ...parameters import after_option, limit_option, typed_limit
from ...session.command_session import CommandSession, has_store, run_in_session

_ID_PATTERN: Final = re.compile(r"[a-z]{3}_[0-9a-f]{20,}")
_FITS: Final = (Fit(2), Fit(), Fit(), Fit(wrap=12), Fit(4), Fit(1, wrap=8), Fit(5), Fit(3))


audit_commands: Final = CommandGroup("audit", help="Show who did what, and verify that the record is unchanged.")


@audit_commands.command("ls")
@click.option("--action", help="An action, or a group such as task.")
@click.option("--actor", help="An owner, an agent, or the id of a token or session.")
@click.option("--subject", help="An id or a name, or its beginning.")
@limit_option
@after_option
def ls(
    out: Printer, *, action: str | None, actor: str | None, subject: str | None, limit: int, after: str | None
) -> None:
    """Show who did what, newest first."""
    wanted = AuditFilter(action, actor, subject)

    async def work(app: CommandSession) -> tuple[Page[AuditRow], str, datetime]:
        return await app.service.audit.page(app.principal, after, limit, wanted), app.zone, app.clock.now()

    page, zone, now = run_in_session(out, work) if has_store(out) else (Page[AuditRow](()), "UTC", EPOCH)
    if out.json:
        out.data([audit_json(each) for each in page.items])
    elif out.quiet:
        out.ids([str(each.number) for each in page.items])
    elif page.items:
        times = time_cells(out, [each.at for each in page.items], zone, now)
        rows = [_row(out, each, at) for each, at in zip(page.items, times, strict=True)]
        out.table(out.translate(words.AUDIT_TITLES).split("|"), rows, _FITS)
        if out.on_terminal:
            out.note(TIMES_IN, zone=zone)
    if not page.items:
        out.note(words.NO_AUDIT)
    if page.after is not None:
        options = {"--action": action, "--actor": actor, "--subject": subject, "--limit": typed_limit(limit)}
        note_next_page(out, "audit ls", options, page.after)


def _row(out: Printer, row: AuditRow, at: str) -> list[Cell]:
    by = row.by if row.agent is None else f"{row.by} ({row.agent})"
    subject, actor = (_shorten_id(out, each) for each in (row.subject, row.actor))
    return [str(row.number), at, row.action, subject, row.owner, by, actor, row.via]


def _shorten_id(out: Printer, name: str) -> str:
    """Shorten an id; subjects and actors that are names stay whole."""
    digits = SHORT_TASK_DIGITS if name.startswith("tsk_") else SHORT_DIGITS
    return out.short_ids((name,), digits)[name] if _ID_PATTERN.fullmatch(name) else name


@audit_commands.command("verify")
def verify(out: Printer) -> None:
    """Verify the whole chain; exit code 1 when a row was changed."""
    found = run_in_session(out, lambda app: app.service.audit.verify(app.principal))
    if out.json:
        out.data(verdict_json(found))
    elif found.ok and not out.quiet:
        out.line(("✓ ", out.translate(words.AUDIT_WHOLE, rows=found.rows, open=found.open_rows)))
        out.row(out.translate(words.AUDIT_HEAD), found.head)
    if not found.ok and not out.json:
        out.aside(("✕ ", refuse("audit_broken", number=found.broken).in_language(out.language).message))
    if not found.ok:
        raise click.exceptions.Exit(1)
