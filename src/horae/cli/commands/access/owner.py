"""`horae owner`: creates, changes, shows, revokes and restores owners, with their roles and quotas."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from typing import Any, Final, TypedDict, TypeVar, Unpack

import click

from ....errors import NotFound
from ....message import Message
from ....model.accounts.account import Limit, Owner
from ....model.accounts.principal import Quotas, Role
from ....model.ids import EPOCH
from ....model.page import Page
from ....model.refusals import refuse as refuse_task
from ....service.tasks.quotas import larger_limit
from ....wire.accounts import owner_json
from ...command import CommandGroup
from ...messages import account_messages as words
from ...messages.account_refusals import refuse
from ...messages.messages import FIX, TIMES_IN
from ...output.command_hints import command_line, note_next_page
from ...output.formats import NOTHING, duration_message, exact_duration, full_time, time_cells
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText
from ...output.table import Fit
from ...parameters import after_option, limit_option, typed_limit
from ...session.command_session import CommandSession, has_store, run_in_session

_Function = TypeVar("_Function", bound=Callable[..., Any])
_owner_argument: Final = click.argument("owner_name", metavar="NAME")
_FIELD_OPTIONS: Final = (
    click.option("--role", help="admin, member or viewer. Default for a new one: member."),
    click.option("--zone", "--tz", help="Zone of schedules that name none; '' for none."),
    click.option("--language", help="Language of the owner in the console: en or zh; '' for none."),
    click.option(
        "--quota",
        multiple=True,
        metavar="NAME=VALUE",
        help="active_tasks=50, shortest_interval=1m, runs_per_day=never; repeatable.",
    ),
    click.option("--note", help="A note about it."),
)
_NO_LIMIT = ("never", "none")
_FITS: Final = (Fit(wrap=12), Fit(), Fit(1, wrap=8), Fit(2), Fit(), Fit(3, cut=10))


owner_commands: Final = CommandGroup("owner", help="Manage the owners of tasks, and their rights.")


@owner_commands.command("ls")
@limit_option
@after_option
def ls(out: Printer, *, limit: int, after: str | None) -> None:
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
        note_next_page(out, "owner ls", {"--limit": typed_limit(limit)}, page.after)


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


@owner_commands.command("show")
@_owner_argument
def show(out: Printer, *, owner_name: str) -> None:
    """Show one owner and its rights."""

    async def work(app: CommandSession) -> tuple[Owner, str]:
        return await app.service.accounts.get(app.principal, owner_name), app.zone

    owner, zone = run_in_session(out, work)
    if out.json:
        out.data(owner_json(owner))
    elif out.quiet:
        out.ids([owner.name])
    else:
        _show(out, owner, zone)


def _show(out: Printer, owner: Owner, zone: str) -> None:
    out.line(StyledText(owner.name, "bold"))
    out.row(out.translate(words.ROLE), owner.role.value)
    out.row(out.translate(words.ZONE), owner.zone or NOTHING)
    if owner.language is not None:
        out.row(out.translate(words.LANGUAGE), owner.language)
    show_quotas(out, owner.quotas, dict(owner.quota_overrides))
    out.row(out.translate(words.STATE), _state(out, owner))
    for fix, does in _fixes(out, owner):
        out.row(out.translate(FIX), (fix, "   ", StyledText(out.translate(does), "dim")))
    out.row(out.translate(words.MADE), full_time(owner.created, zone, out.language))
    if owner.note:
        out.row(out.translate(words.NOTE), owner.note)


def _fixes(out: Printer, owner: Owner) -> list[tuple[str, Message]]:
    """Return the commands with which an admin lets the tasks of the owner run again."""
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
    """Print one row per limit; a limit that was set explicitly is marked."""
    limits = [(name, limit) for name, limit in quotas._asdict().items() if limit is not None]
    for number, (name, limit) in enumerate(limits):
        texts = out.translate(words.QUOTA_NAMES[name], limit=_format_limit(limit))
        mark = StyledText(f"  ({out.translate(words.CHOSEN)})", "dim") if name in chosen else ""
        out.row(out.translate(words.QUOTAS) if number == 0 else "", (texts, mark))
    if not limits:
        out.row(out.translate(words.QUOTAS), out.translate(words.NO_QUOTAS))


def _format_limit(limit: Limit) -> int | str | Message:
    return duration_message(exact_duration(limit)) if isinstance(limit, timedelta) else limit or 0


class _Fields(TypedDict):
    """Fields of an owner as they were typed; one that is absent stays as it is."""

    role: str | None
    zone: str | None
    language: str | None
    quota: tuple[str, ...]
    note: str | None


def _field_options(command: _Function) -> _Function:
    return reduce(lambda decorated, option: option(decorated), reversed(_FIELD_OPTIONS), command)


@owner_commands.command("add")
@_owner_argument
@_field_options
def add(out: Printer, *, owner_name: str, **fields: Unpack[_Fields]) -> None:
    """Make an owner."""

    async def check(app: CommandSession) -> None:
        if await _owner_exists(app, owner_name):
            raise refuse("owner_exists", name=owner_name)

    _put_owner(out, owner_name, fields, check, words.OWNER_ADDED)


@owner_commands.command("set")
@_owner_argument
@_field_options
def set_owner(out: Printer, *, owner_name: str, **fields: Unpack[_Fields]) -> None:
    """Make an owner, or change it."""
    is_change = any(value is not None and value != () for value in fields.values())

    async def check(app: CommandSession) -> None:
        if not is_change and await _owner_exists(app, owner_name):
            raise refuse("nothing_set", name=owner_name)

    _put_owner(out, owner_name, fields, check, words.OWNER_SET)


def _put_owner(
    out: Printer, owner_name: str, fields: _Fields, check: Callable[[CommandSession], Awaitable[None]], text: Message
) -> None:
    """Store an owner unless the check refuses it. The fields are parsed before the store is opened, which may create it."""
    role, quotas = _parse_role(fields["role"]), read_quotas(fields["quota"]) or None

    async def work(app: CommandSession) -> Owner:
        await check(app)
        return await app.service.accounts.put(
            app.principal,
            owner_name,
            role=role,
            zone=fields["zone"],
            language=fields["language"],
            quotas=quotas,
            note=fields["note"],
        )

    _show_saved(out, run_in_session(out, work, create=True), text)


async def _owner_exists(app: CommandSession, owner_name: str) -> bool:
    try:
        await app.service.accounts.get(app.principal, owner_name)
    except NotFound:
        return False
    return True


def _parse_role(texts: str | None) -> Role | None:
    if texts is not None and texts not in set(Role):
        raise refuse_task("bad_choice", name="--role", value=texts, allowed=", ".join(Role))
    return None if texts is None else Role(texts)


def read_quotas(texts: Sequence[str]) -> dict[str, Any]:
    """Parse `NAME=VALUE` pairs: `never` or `none` removes the limit, `usual` restores the limit of the role."""
    found: dict[str, Any] = {}
    for each in texts:
        name, equals, value = each.partition("=")
        if not equals or name not in Quotas._fields or not value:
            raise refuse("bad_quota", value=each, allowed=", ".join(Quotas._fields))
        found[name] = None if value in _NO_LIMIT else int(value) if value.isdecimal() else value
    return found


@owner_commands.command("revoke", asks=True)
@_owner_argument
def revoke(out: Printer, *, owner_name: str) -> None:
    """Revoke an owner: its tasks do not run, and its tokens are refused."""
    out.confirm(words.REVOKE_OWNER, name=owner_name)
    _show_saved(
        out,
        run_in_session(out, lambda app: app.service.accounts.revoke(app.principal, owner_name)),
        words.OWNER_REVOKED,
    )


@owner_commands.command("restore")
@_owner_argument
def restore(out: Printer, *, owner_name: str) -> None:
    """Restore a revoked owner."""
    _show_saved(
        out,
        run_in_session(out, lambda app: app.service.accounts.restore(app.principal, owner_name)),
        words.OWNER_RESTORED,
    )


def _show_saved(out: Printer, owner: Owner, texts: Message) -> None:
    if out.json:
        out.data(owner_json(owner))
    elif out.quiet:
        out.ids([owner.name])
    else:
        out.line(("✓ ", out.translate(texts, name=owner.name, version=owner.version)))
