"""`horae session`: lists the browsers that are signed in to the console, and signs one out."""

from __future__ import annotations

from datetime import datetime
from typing import Final, NamedTuple

import click

from ....model.accounts.session import Session
from ....model.page import Page
from ....wire.accounts import session_json
from ...command import CommandGroup
from ...messages import account_messages as words
from ...messages.messages import TIMES_IN
from ...output.command_hints import note_next_page
from ...output.formats import NOTHING, time_cells
from ...output.printer import Printer
from ...output.styled_text import Cell
from ...output.table import Fit
from ...parameters import after_option, limit_option, typed_limit
from ...session.command_session import CommandSession, has_store, run_in_session

_FITS: Final = (Fit(), Fit(1, wrap=6), Fit(4), Fit(), Fit(5), Fit(6), Fit(wrap=8))


class SessionList(NamedTuple):
    page: Page[Session]
    now: datetime
    zone: str


session_commands: Final = CommandGroup("session", help="List the browsers that are signed in, or sign one out.")


@session_commands.command("ls")
@click.option("--owner", help="Owner. Default: you; for a list, all owners that you may see.")
@limit_option
@after_option
def ls(out: Printer, *, owner: str | None, limit: int, after: str | None) -> None:
    """List the browsers that are signed in to the console."""

    async def work(app: CommandSession) -> SessionList:
        page = await app.service.sessions.page(app.principal, owner, after, limit)
        return SessionList(page, app.clock.now(), app.zone)

    found = run_in_session(out, work) if has_store(out) else None
    sessions = () if found is None else found.page.items
    if out.json:
        out.data([session_json(each) for each in sessions])
    elif out.quiet:
        out.ids([each.id for each in sessions])
    elif found is not None and sessions:
        out.table(out.translate(words.SESSION_TITLES).split("|"), _table(out, found), _FITS)
        if out.on_terminal:
            out.note(TIMES_IN, zone=found.zone)
    if not sessions:
        out.note(words.NO_SESSIONS)
    if found is not None and found.page.after is not None:
        note_next_page(out, "session ls", {"--owner": owner, "--limit": typed_limit(limit)}, found.page.after)


def _table(out: Printer, found: SessionList) -> list[list[Cell]]:
    sessions = found.page.items
    ids = out.short_ids(each.id for each in sessions)
    tokens = out.short_ids(each.token for each in sessions if each.token)
    times = [
        time_cells(out, instants, found.zone, found.now)
        for instants in (
            [each.created for each in sessions],
            [each.used for each in sessions],
            [each.expires for each in sessions],
        )
    ]
    return [
        [ids[each.id], each.owner, *shown, tokens.get(each.token, NOTHING), each.client or NOTHING]
        for each, *shown in zip(sessions, *times, strict=True)
    ]


@session_commands.command("rm")
@click.argument("session", metavar="SESSION", help="The id of a session: ses_….")
def rm(out: Printer, *, session: str) -> None:
    """Sign a browser out of the console; its session ends at once."""
    ended = run_in_session(out, lambda app: app.service.sessions.revoke(app.principal, session))
    if out.json:
        out.data(session_json(ended))
    elif out.quiet:
        out.ids([ended.id])
    else:
        out.line(("✓ ", out.translate(words.SESSION_ENDED, id=ended.id, owner=ended.owner)))
