"""`horae token`: made and shown once, listed, revoked."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer

from ...model.accounts.account import Token
from ...model.accounts.principal import Scope
from ...model.page import Page
from ...model.refusals import refuse as refuse_task
from ...service.accounts.refusals import refuse as refuse_account
from ...service.query.instants import parse_future_instant
from ...wire.accounts import token_json
from ..command import command
from ..command_groups import AFTER, LIMIT, limit_said, new_group
from ..messages import account_messages as words
from ..messages.account_refusals import refuse
from ..messages.messages import TIMES_IN
from ..output.command_hints import note_next_page
from ..output.formatting import NOTHING, time_cells
from ..output.printer import Printer
from ..output.styled_text import Cell, StyledText
from ..output.table import Fit
from ..session.command_session import CommandSession, has_store, run_in_session

_FITS: Final = (Fit(), Fit(wrap=8), Fit(1, wrap=6), Fit(3), Fit(4), Fit(6), Fit(5), Fit())
_OWNER = typer.Option(None, "--owner", help="Whose. Default: yours; of a list, everybody's that you may see.")


class TokenList(NamedTuple):
    page: Page[Token]
    now: datetime
    zone: str


def register(app: typer.Typer) -> None:
    family = new_group()
    command(family, "make")(make)
    command(family, "ls")(ls)
    command(family, "revoke", asks=True)(revoke)
    app.add_typer(family, name="token", help="Make, list or revoke tokens.")


def make(
    out: Printer,
    *,
    name: str = typer.Argument(..., metavar="NAME", help="What it is for."),
    owner: str | None = _OWNER,
    scope: list[str] | None = typer.Option(
        None, "--scope", help="tasks:read, tasks:write, tasks:run, admin; repeatable. Default: all that it may have."
    ),
    expires: str | None = typer.Option(None, "--expires", metavar="MOMENT", help="'in 30 days', 2027-01-01."),
    agent: str | None = typer.Option(None, "--agent", metavar="NAME", help="For an agent: its own tasks, with limits."),
    output: Path | None = typer.Option(
        None, "--output", "-o", metavar="FILE", help="Write it to a new file that only you can read, and show nothing."
    ),
) -> None:
    """Make a token; it is shown this once."""
    scopes = _scopes(scope)

    async def work(app: CommandSession) -> tuple[Token, str]:
        end = None if expires is None else parse_future_instant(expires, app.zone, app.clock.now())
        return await app.service.tokens.make(
            app.principal, owner=owner, name=name, scopes=scopes, expires=end, agent=agent
        )

    if output is not None:
        _tell_written(out, _written(output, lambda: run_in_session(out, work, create=True)), output)
        return
    token, text = run_in_session(out, work, create=True)
    if out.json:
        out.data({**token_json(token), "text": text, "file": None})
        return
    out.note(words.SHOWN_ONCE, id=token.id, owner=token.owner)
    out.line(text)


def _written(path: Path, make_token: Callable[[], tuple[Token, str]]) -> Token:
    """The file is made first, for its owner alone: no token is made that cannot be kept."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise refuse("token_file_exists", path=path) from None
    except OSError as error:
        raise refuse("token_file_unwritable", path=path, problem=error.strerror or type(error).__name__) from None
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        try:
            token, text = make_token()
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        file.write(f"{text}\n")
    return token


def _tell_written(out: Printer, token: Token, path: Path) -> None:
    if out.json:
        out.data({**token_json(token), "text": None, "file": str(path)})
    elif out.quiet:
        out.ids([token.id])
    else:
        out.line(("✓ ", out.translate(words.TOKEN_WRITTEN, id=token.id, owner=token.owner, path=path)))


def _scopes(said: list[str] | None) -> list[Scope] | None:
    wanted = [part.strip() for each in said or () for part in each.split(",") if part.strip()]
    for each in wanted:
        if each not in set(Scope):
            raise refuse_task("bad_choice", name="--scope", value=each, allowed=", ".join(Scope))
    return [Scope(each) for each in wanted] or None


def ls(out: Printer, *, owner: str | None = _OWNER, limit: int = LIMIT, after: str | None = AFTER) -> None:
    """List tokens, never what proves them."""

    async def work(app: CommandSession) -> TokenList:
        return TokenList(await app.service.tokens.page(app.principal, owner, after, limit), app.clock.now(), app.zone)

    listed = run_in_session(out, work) if has_store(out) else None
    tokens = () if listed is None else listed.page.items
    if out.json:
        out.data([token_json(each) for each in tokens])
    elif out.quiet:
        out.ids([each.id for each in tokens])
    elif listed is not None and tokens:
        out.table(out.translate(words.TOKEN_TITLES).split("|"), _table(out, listed), _FITS)
        if out.on_terminal:
            out.note(TIMES_IN, zone=listed.zone)
    if not tokens:
        out.note(words.NO_TOKENS)
    if listed is not None and listed.page.after is not None:
        note_next_page(out, "token ls", {"--owner": owner, "--limit": limit_said(limit)}, listed.page.after)


def _table(out: Printer, listed: TokenList) -> list[list[Cell]]:
    tokens = listed.page.items
    names = out.short_ids(token.id for token in tokens)
    made = time_cells(out, [token.created for token in tokens], listed.zone, listed.now)
    ends = time_cells(out, [token.expires for token in tokens], listed.zone, listed.now)
    return [
        _row(out, listed, token, (names[token.id], *times)) for token, *times in zip(tokens, made, ends, strict=True)
    ]


def _row(out: Printer, listed: TokenList, token: Token, shown: tuple[str, ...]) -> list[Cell]:
    name, made, ends = shown
    state = "revoked" if token.revoked is not None else "valid" if token.is_valid(listed.now) else "expired"
    return [
        name,
        token.name,
        token.owner,
        " ".join(sorted(token.scopes)),
        token.agent or NOTHING,
        made,
        ends,
        StyledText(out.translate(words.TOKEN_STATES[state]), "good" if state == "valid" else "dim"),
    ]


def revoke(
    out: Printer, *, token: str = typer.Argument(..., metavar="TOKEN", help="Its id; or its name, if only one has it.")
) -> None:
    """Let a token open nothing any more."""
    found = run_in_session(out, lambda app: _named(app, token))
    out.confirm(words.REVOKE_TOKEN, name=found.name)
    gone = run_in_session(out, lambda app: app.service.tokens.revoke(app.principal, found.id))
    if out.json:
        out.data(token_json(gone))
    elif out.quiet:
        out.ids([gone.id])
    else:
        out.line(("✓ ", out.translate(words.TOKEN_REVOKED, name=gone.name, id=gone.id)))
        _tell_of_agent(out, gone)


def _tell_of_agent(out: Printer, token: Token) -> None:
    """With its last token an agent's tasks stop."""
    agent = token.agent
    if agent is None:
        return
    found = run_in_session(out, lambda app: app.service.agents.get(app.principal, agent, token.owner))
    if found.revoked:
        out.note(words.AGENT_REVOKED, agent=agent)


async def _named(app: CommandSession, name: str) -> Token:
    """By id, or by the name that only one valid token has."""
    if name.startswith("tok_"):
        return await app.service.tokens.get(app.principal, name)
    found: list[Token] = []
    after: Any = None
    while True:
        page = await app.service.tokens.page(app.principal, None, after, 1_000)
        found += [each for each in page.items if each.name == name and each.revoked is None]
        after = page.after
        if after is None:
            break
    if not found:
        raise refuse_account("no_such_token", id=name)
    if len(found) > 1:
        raise refuse_task("ambiguous_name", name=name, found=", ".join(each.id for each in found[:5]))
    return found[0]
