"""`horae token`: creates API tokens (shown once, or written to a file), lists and revokes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from ....model.accounts.account import Token
from ....model.accounts.principal import Scope
from ....model.page import Page
from ....model.refusals import refuse as refuse_task
from ....service.accounts.refusals import refuse as refuse_account
from ....service.query.instants import parse_future_instant
from ....wire.accounts import token_json
from ...command import CommandGroup
from ...messages import account_messages as words
from ...messages.account_refusals import refuse
from ...messages.messages import TIMES_IN
from ...output.command_hints import note_next_page
from ...output.formats import NOTHING, time_cells
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...output.table import Fit
from ...parameters import FILE, after_option, limit_option, typed_limit
from ...session.command_session import CommandSession, has_store, run_in_session

_FITS: Final = (Fit(), Fit(wrap=8), Fit(1, wrap=6), Fit(3), Fit(4), Fit(6), Fit(5), Fit())
_owner_option: Final = click.option("--owner", help="Owner. Default: you; for a list, all owners that you may see.")


class TokenList(NamedTuple):
    page: Page[Token]
    now: datetime
    zone: str


token_commands: Final = CommandGroup("token", help="Make, list or revoke tokens.")


@token_commands.command("make")
@click.argument("name", metavar="NAME", help="Purpose of the token.")
@_owner_option
@click.option(
    "--scope",
    multiple=True,
    help="tasks:read, tasks:write, tasks:run, admin; repeatable. Default: all that it may have.",
)
@click.option("--expires", metavar="MOMENT", help="'in 30 days', 2027-01-01.")
@click.option("--agent", metavar="NAME", help="For an agent: its own tasks, with limits.")
@click.option(
    "--output", "-o", type=FILE, metavar="FILE", help="Write it to a new file that only you can read, and show nothing."
)
def make(
    out: Printer,
    *,
    name: str,
    owner: str | None,
    scope: tuple[str, ...],
    expires: str | None,
    agent: str | None,
    output: Path | None,
) -> None:
    """Make a token; it is shown only once."""
    scopes = _parse_scopes(scope)

    async def work(app: CommandSession) -> tuple[Token, str]:
        end = None if expires is None else parse_future_instant(expires, app.zone, app.clock.now())
        return await app.service.tokens.make(
            app.principal, owner=owner, name=name, scopes=scopes, expires=end, agent=agent
        )

    if output is not None:
        _show_written(out, _write_to_file(output, lambda: run_in_session(out, work, create=True)), output)
        return
    token, text = run_in_session(out, work, create=True)
    if out.json:
        out.data({**token_json(token), "text": text, "file": None})
        return
    out.note(words.SHOWN_ONCE, id=token.id, owner=token.owner)
    out.line(text)


def _write_to_file(path: Path, make_token: Callable[[], tuple[Token, str]]) -> Token:
    """Create the file with mode 0600 first, then the token: no token exists that could not be written."""
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


def _show_written(out: Printer, token: Token, path: Path) -> None:
    if out.json:
        out.data({**token_json(token), "text": None, "file": str(path)})
    elif out.quiet:
        out.ids([token.id])
    else:
        out.line(("✓ ", out.translate(words.TOKEN_WRITTEN, id=token.id, owner=token.owner, path=path)))


def _parse_scopes(texts: Sequence[str]) -> list[Scope] | None:
    names = [part.strip() for each in texts for part in each.split(",") if part.strip()]
    for each in names:
        if each not in set(Scope):
            raise refuse_task("bad_choice", name="--scope", value=each, allowed=", ".join(Scope))
    return [Scope(each) for each in names] or None


@token_commands.command("ls")
@_owner_option
@limit_option
@after_option
def ls(out: Printer, *, owner: str | None, limit: int, after: str | None) -> None:
    """List tokens; their values are never shown."""

    async def work(app: CommandSession) -> TokenList:
        return TokenList(await app.service.tokens.page(app.principal, owner, after, limit), app.clock.now(), app.zone)

    token_list = run_in_session(out, work) if has_store(out) else None
    tokens = () if token_list is None else token_list.page.items
    if out.json:
        out.data([token_json(each) for each in tokens])
    elif out.quiet:
        out.ids([each.id for each in tokens])
    elif token_list is not None and tokens:
        out.table(out.translate(words.TOKEN_TITLES).split("|"), _table(out, token_list), _FITS)
        if out.on_terminal:
            out.note(TIMES_IN, zone=token_list.zone)
    if not tokens:
        out.note(words.NO_TOKENS)
    if token_list is not None and token_list.page.after is not None:
        note_next_page(out, "token ls", {"--owner": owner, "--limit": typed_limit(limit)}, token_list.page.after)


def _table(out: Printer, token_list: TokenList) -> list[list[Cell]]:
    tokens = token_list.page.items
    names = out.short_ids(token.id for token in tokens)
    made = time_cells(out, [token.created for token in tokens], token_list.zone, token_list.now)
    ends = time_cells(out, [token.expires for token in tokens], token_list.zone, token_list.now)
    return [
        _row(out, token_list, token, (names[token.id], *times))
        for token, *times in zip(tokens, made, ends, strict=True)
    ]


def _row(out: Printer, token_list: TokenList, token: Token, shown: tuple[str, ...]) -> list[Cell]:
    name, made, ends = shown
    state = "revoked" if token.revoked is not None else "valid" if token.is_valid(token_list.now) else "expired"
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


@token_commands.command("revoke", asks=True)
@click.argument("token", metavar="TOKEN", help="Id of the token; or its name, if only one has it.")
def revoke(out: Printer, *, token: str) -> None:
    """Revoke a token."""
    found = run_in_session(out, lambda app: _find_token(app, token))
    out.confirm(words.REVOKE_TOKEN, name=found.name)
    revoked = run_in_session(out, lambda app: app.service.tokens.revoke(app.principal, found.id))
    if out.json:
        out.data(token_json(revoked))
    elif out.quiet:
        out.ids([revoked.id])
    else:
        out.line(("✓ ", out.translate(words.TOKEN_REVOKED, name=revoked.name, id=revoked.id)))
        _note_revoked_agent(out, revoked)


def _note_revoked_agent(out: Printer, token: Token) -> None:
    """Print a note where the agent has no valid token left: its tasks stop."""
    agent = token.agent
    if agent is None:
        return
    found = run_in_session(out, lambda app: app.service.agents.get(app.principal, agent, token.owner))
    if found.revoked:
        out.note(words.AGENT_REVOKED, agent=agent)


async def _find_token(app: CommandSession, name: str) -> Token:
    """Return the token with this id, or the only valid token with this name."""
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
