"""`horae owner`: who has tasks here, what they may, and who may no more."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import typer

from ...errors import NotFound
from ...model.accounts.account import Limit, Owner
from ...model.accounts.principal import Quotas, Role
from ...model.ids import EPOCH
from ...model.page import Page
from ...model.refusals import refuse as refuse_task
from ...service.tasks.quotas import larger_limit
from ...wire.accounts import owner_json
from ..command import command
from ..command_groups import AFTER, LIMIT, limit_said, new_group
from ..messages import account_messages as words
from ..messages.account_refusals import refuse
from ..messages.messages import FIX, TIMES_IN, Message
from ..output.command_hints import command_line, note_next_page
from ..output.formatting import NOTHING, duration_message, exact_duration, full_time, time_cells
from ..output.printer import Printer
from ..output.styled_text import Cell, StyledText
from ..output.table import Fit
from ..session.command_session import CommandSession, has_store, run_in_session

_NAME = typer.Argument(..., metavar="NAME")
_ROLE = typer.Option(None, "--role", help="admin, member or viewer. Default for a new one: member.")
_ZONE = typer.Option(None, "--zone", "--tz", help="Where its schedules name none; '' for none.")
_QUOTA = typer.Option(
    None,
    "--quota",
    metavar="NAME=VALUE",
    help="active_tasks=50, shortest_interval=1m, runs_per_day=never; repeatable.",
)
_NOTE = typer.Option(None, "--note", help="A word on it.")
_NO_LIMIT = ("never", "none")
_FITS: Final = (Fit(wrap=12), Fit(), Fit(1, wrap=8), Fit(2), Fit(), Fit(3, cut=10))


def register(app: typer.Typer) -> None:
    family = new_group()
    command(family, "ls")(ls)
    command(family, "show")(show)
    command(family, "add")(add)
    command(family, "set")(set_owner)
    command(family, "revoke", asks=True)(revoke)
    command(family, "restore")(restore)
    app.add_typer(family, name="owner", help="Say who has tasks here, and what they may.")


def ls(out: Printer, *, limit: int = LIMIT, after: str | None = AFTER) -> None:
    """List owners."""

    async def work(app: CommandSession) -> tuple[Page[Owner], str, datetime]:
        return await app.service.accounts.page(app.principal, after, limit), app.zone, app.clock.now()

    page, zone, now = run_in_session(out, work) if has_store(out) else (Page[Owner](()), "UTC", EPOCH)
    if out.json:
        out.data([owner_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.name for each in page.items])
    elif page.items:
        times = time_cells(out, [each.created for each in page.items], zone, now)
        rows = [_row(out, each, made) for each, made in zip(page.items, times, strict=True)]
        out.table(out.translate(words.OWNER_TITLES).split("|"), rows, _FITS)
        if out.on_terminal:
            out.note(TIMES_IN, zone=zone)
    if not page.items:
        out.note(words.NO_OWNERS)
    if page.after is not None:
        note_next_page(out, "owner ls", {"--limit": limit_said(limit)}, page.after)


def _row(out: Printer, owner: Owner, made: str) -> list[Cell]:
    return [owner.name, owner.role.value, owner.zone or NOTHING, made, _state(out, owner), owner.note]


def _state(out: Printer, owner: Owner) -> StyledText:
    if owner.revoked is not None:
        return StyledText(out.translate(words.OWNER_STATES["revoked"]), "bad")
    if owner.role is Role.VIEWER:
        return StyledText(out.translate(words.OWNER_STATES["viewer"]), "odd")
    if owner.exhausted_on is not None and owner.storage_full is not None:
        return StyledText(out.translate(words.OWNER_STATES["both_used_up"]), "odd")
    if owner.storage_full is not None:
        return StyledText(out.translate(words.OWNER_STATES["storage_full"]), "odd")
    if owner.exhausted_on is not None:
        return StyledText(out.translate(words.OWNER_STATES["exhausted"]), "odd")
    return StyledText(out.translate(words.OWNER_STATES["active"]))


def show(out: Printer, *, whose: str = _NAME) -> None:
    """Show one owner, and what it may."""

    async def work(app: CommandSession) -> tuple[Owner, str]:
        return await app.service.accounts.get(app.principal, whose), app.zone

    owner, zone = run_in_session(out, work)
    if out.json:
        out.data(owner_json(owner))
    elif out.quiet:
        out.ids([owner.name])
    else:
        _tell(out, owner, zone)


def _tell(out: Printer, owner: Owner, zone: str) -> None:
    out.line(StyledText(owner.name, "bold"))
    out.row(out.translate(words.ROLE), owner.role.value)
    out.row(out.translate(words.ZONE), owner.zone or NOTHING)
    show_quotas(out, owner.quotas, dict(owner.quota_overrides))
    out.row(out.translate(words.STATE), _state(out, owner))
    for fix, does in _remedies(out, owner):
        out.row(out.translate(FIX), (fix, "   ", StyledText(out.translate(does), "dim")))
    out.row(out.translate(words.MADE), full_time(owner.created, zone, out.language))
    if owner.note:
        out.row(out.translate(words.NOTE), owner.note)


def _remedies(out: Printer, owner: Owner) -> list[tuple[str, Message]]:
    """The commands with which an admin lets the tasks of the owner fire again."""
    found: list[tuple[str, Message]] = []
    if owner.revoked is not None:
        found.append((command_line(out, "owner", "restore", owner.name), words.RESTORE_FIX))
    if owner.role is Role.VIEWER:
        found.append((command_line(out, "owner", "set", owner.name, "--role", "member"), words.ROLE_FIX))
    if owner.storage_full is not None and owner.quotas.stored_bytes is not None:
        more = f"stored_bytes={larger_limit(owner.quotas.stored_bytes, owner.storage_full.bytes)}"
        found.append((command_line(out, "owner", "set", owner.name, "--quota", more), words.STORAGE_FIX))
    if owner.exhausted_on is not None and owner.quotas.runs_per_day is not None:
        more = f"runs_per_day={max(1, 2 * owner.quotas.runs_per_day)}"
        found.append((command_line(out, "owner", "set", owner.name, "--quota", more), words.RUNS_FIX))
    return found


def show_quotas(out: Printer, quotas: Quotas, chosen: Mapping[str, Limit]) -> None:
    """One row for each limit, with a mark on those that somebody chose."""
    limits = [(name, limit) for name, limit in quotas._asdict().items() if limit is not None]
    for number, (name, limit) in enumerate(limits):
        said = out.translate(words.QUOTA_NAMES[name], limit=_shown(limit))
        mark = StyledText(f"  ({out.translate(words.CHOSEN)})", "dim") if name in chosen else ""
        out.row(out.translate(words.QUOTAS) if number == 0 else "", (said, mark))
    if not limits:
        out.row(out.translate(words.QUOTAS), out.translate(words.NO_QUOTAS))


def _shown(limit: Limit) -> int | str | Message:
    return duration_message(exact_duration(limit)) if isinstance(limit, timedelta) else limit or 0


def add(
    out: Printer,
    whose: str = _NAME,
    role: str | None = _ROLE,
    zone: str | None = _ZONE,
    quota: list[str] | None = _QUOTA,
    note: str | None = _NOTE,
) -> None:
    """Make an owner."""
    chosen, limits = _role(role), read_quotas(quota) or None

    async def work(app: CommandSession) -> Owner:
        if await _known(app, whose):
            raise refuse("owner_exists", name=whose)
        return await app.service.accounts.put(app.principal, whose, role=chosen, zone=zone, quotas=limits, note=note)

    _told(out, run_in_session(out, work, create=True), words.OWNER_ADDED)


async def _known(app: CommandSession, whose: str) -> bool:
    try:
        await app.service.accounts.get(app.principal, whose)
    except NotFound:
        return False
    return True


def set_owner(
    out: Printer,
    whose: str = _NAME,
    role: str | None = _ROLE,
    zone: str | None = _ZONE,
    quota: list[str] | None = _QUOTA,
    note: str | None = _NOTE,
) -> None:
    """Make an owner, or change what is said of it."""
    is_change = (role, zone, quota, note) != (None, None, None, None)
    chosen, limits = _role(role), read_quotas(quota) or None

    async def work(app: CommandSession) -> Owner:
        if not is_change and await _known(app, whose):
            raise refuse("nothing_set", name=whose)
        return await app.service.accounts.put(app.principal, whose, role=chosen, zone=zone, quotas=limits, note=note)

    _told(out, run_in_session(out, work, create=True), words.OWNER_SET)


def _role(said: str | None) -> Role | None:
    if said is not None and said not in set(Role):
        raise refuse_task("bad_choice", name="--role", value=said, allowed=", ".join(Role))
    return None if said is None else Role(said)


def read_quotas(said: list[str] | None) -> dict[str, Any]:
    """`never` or `none` is without a limit, `usual` is what the role has."""
    found: dict[str, Any] = {}
    for each in said or ():
        name, equals, value = each.partition("=")
        if not equals or name not in Quotas._fields or not value:
            raise refuse("bad_quota", value=each, allowed=", ".join(Quotas._fields))
        found[name] = None if value in _NO_LIMIT else int(value) if value.isdecimal() else value
    return found


def revoke(out: Printer, *, whose: str = _NAME) -> None:
    """Let nothing of an owner run, and its tokens open nothing."""
    out.confirm(words.REVOKE_OWNER, name=whose)
    _told(out, run_in_session(out, lambda app: app.service.accounts.revoke(app.principal, whose)), words.OWNER_REVOKED)


def restore(out: Printer, *, whose: str = _NAME) -> None:
    """Let an owner go on."""
    _told(
        out, run_in_session(out, lambda app: app.service.accounts.restore(app.principal, whose)), words.OWNER_RESTORED
    )


def _told(out: Printer, owner: Owner, said: Message) -> None:
    if out.json:
        out.data(owner_json(owner))
    elif out.quiet:
        out.ids([owner.name])
    else:
        out.line(("✓ ", out.translate(said, name=owner.name, version=owner.version)))
