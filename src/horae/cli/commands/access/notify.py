"""`horae notify`: names the destinations of messages to people, tests them, and lists what was sent."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import click

from ....choices import Language
from ...command import CommandGroup
from ...messages import account_messages as words
from ...messages.operating_refusals import refuse
from ...output.formats import NOTHING, first_line, full_time, time_cells
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText, replace_unprintable
from ...output.table import Fit
from ...parameters import after_option, limit_option, one_of, typed_limit

if TYPE_CHECKING:
    from ....model.events.destination import Destination
    from ....model.events.webhook import Delivery
    from ....model.page import Page
    from ...session.command_session import CommandSession

_NONE: Final = "none"
_FITS: Final[tuple[Fit, ...]] = (Fit(), Fit(wrap=12), Fit(2), Fit(3), Fit(1, wrap=12))
_NOTICE_FITS: Final = (Fit(1, wrap=12), Fit(1), Fit(), Fit(1), Fit(3), Fit(2, cut=12))
_name_argument: Final = click.argument("name", metavar="NAME", help="A-Z a-z 0-9 _ . -")
_owner_option: Final = click.option("--owner", help="Owner of the destination. Default: you.")


def _field_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option("--quiet-hours", metavar="22:00-07:00|none", help="Hold messages at this time of day."),
            click.option("--zone", "--tz", help="Zone of the quiet hours, and of times in messages."),
            click.option(
                "--reminders/--no-reminders",
                default=None,
                help="Whether the events of tasks with --say are sent there.",
            ),
            click.option("--language", type=one_of(Language), help="Language of the messages: en or zh."),
            _owner_option,
        )
    ):
        command = option(command)
    return command


notify_commands: Final = CommandGroup("notify", help="Send messages to people: mail, chat, phone.")


@notify_commands.command("add")
@_name_argument
@click.argument(
    "url", required=False, metavar="[URL|-]", help="- reads it from standard input; without it, a prompt asks."
)
@_field_options
def add(out: Printer, *, name: str, url: str | None, owner: str | None, **fields: Any) -> None:
    """Name a destination, or give it another URL; the URL is stored encrypted and never shown."""
    from ...session.command_session import run_in_session  # noqa: PLC0415 - `--help` does without

    value = _read_url(out, name, url, owner)
    given = {"language": out.language, **_given(fields), "url": value}

    async def work(app: CommandSession) -> Destination:
        await app.check_key()
        return await app.service.destinations.put(app.principal, name, owner, **given)

    saved = run_in_session(out, work, create=True)
    _show_saved(out, saved, out.translate(words.DESTINATION_SAVED, name=saved.name, service=saved.service))
    if url not in (None, "-"):
        out.note(words.URL_WAS_ARGUMENT)


@notify_commands.command("set")
@_name_argument
@_field_options
def set_fields(out: Printer, *, name: str, owner: str | None, **fields: Any) -> None:
    """Change quiet hours, zone, reminders or language of a destination."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> Destination:
        return await app.service.destinations.put(app.principal, name, owner, **_given(fields))

    saved = run_in_session(out, work)
    _show_saved(out, saved, out.translate(words.DESTINATION_SAVED, name=saved.name, service=saved.service))


@notify_commands.command("ls")
@limit_option
@after_option
def ls(out: Printer, *, limit: int, after: str | None) -> None:
    """List destinations, never their URLs."""
    from ....model.page import Page  # noqa: PLC0415
    from ....wire.destinations import destination_json  # noqa: PLC0415
    from ...output.command_hints import note_next_page  # noqa: PLC0415
    from ...session.command_session import has_store, run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[Page[Destination], str]:
        return await app.service.destinations.page(app.principal, after, limit), app.zone

    page, zone = run_in_session(out, work) if has_store(out) else (Page[Any](()), "UTC")
    if out.json:
        out.data([destination_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.name for each in page.items])
    elif page.items:
        has_owners = len({each.owner for each in page.items}) > 1
        titles, fits = out.translate(words.DESTINATION_TITLES).split("|"), _FITS
        rows = [_row(out, each, zone) for each in page.items]
        if has_owners:
            rows = [[row[0], each.owner, *row[1:]] for row, each in zip(rows, page.items, strict=True)]
            titles, fits = [titles[0], out.translate(words.OWNER), *titles[1:]], (fits[0], Fit(1, wrap=6), *fits[1:])
        out.table(titles, rows, fits)
        _warn_blocked(out, page)
    if not page.items:
        out.note(words.NO_DESTINATIONS)
    if page.after is not None:
        note_next_page(out, "notify ls", {"--limit": typed_limit(limit)}, page.after)


@notify_commands.command("test")
@_name_argument
@_owner_option
def send_test(out: Printer, *, name: str, owner: str | None) -> None:
    """Send a test message, and show the result."""
    from ....wire.destinations import notice_delivery_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    delivery = run_in_session(out, lambda app: app.service.destinations.test(app.principal, name, owner))
    attempt = delivery.attempts[-1]
    if out.json:
        out.data(notice_delivery_json(delivery))
    elif out.quiet:
        out.ids([delivery.id])
    elif attempt.ok:
        out.line((StyledText("✓ ", "good"), out.translate(words.MESSAGE_SENT, name=name)))
    else:
        text = out.translate(words.MESSAGE_NOT_SENT, name=name, answer=_answer(out, delivery))
        out.line((StyledText("✕ ", "bad"), text))
    if not attempt.ok:
        raise click.exceptions.Exit(1)


@notify_commands.command("notices")
@_name_argument
@_owner_option
@limit_option
@after_option
def notices(out: Printer, *, name: str, owner: str | None, limit: int, after: str | None) -> None:
    """List the messages sent there, newest first."""
    from ....wire.destinations import notice_delivery_json  # noqa: PLC0415
    from ...output.command_hints import note_next_page  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[Page[Delivery], str, Any]:
        found = await app.service.destinations.deliveries(app.principal, name, owner, after, limit)
        return found, app.zone, app.clock.now()

    page, zone, now = run_in_session(out, work)
    if out.json:
        out.data([notice_delivery_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.id for each in page.items])
    elif page.items:
        shown = [notice_delivery_json(each) for each in page.items]
        times = time_cells(out, [each.created for each in page.items], zone, now)
        rows: list[list[Cell]] = [
            [
                at,
                out.translate(words.OCCASIONS[body["on"]]),
                body["task"] or NOTHING,
                out.translate(words.DELIVERY_STATES[each.state.value]),
                str(len(each.attempts)),
                _answer(out, each) if each.attempts else NOTHING,
            ]
            for at, body, each in zip(times, shown, page.items, strict=True)
        ]
        out.table(out.translate(words.NOTICE_TITLES).split("|"), rows, _NOTICE_FITS)
    if not page.items:
        out.note(words.NO_DELIVERIES)
    if page.after is not None:
        note_next_page(out, "notify notices", {"name": name, "--limit": typed_limit(limit)}, page.after)


@notify_commands.command("rm", asks=True)
@_name_argument
@_owner_option
def remove(out: Printer, *, name: str, owner: str | None) -> None:
    """Remove a destination; tasks that name it send nothing there."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    run_in_session(out, lambda app: app.service.destinations.get(app.principal, name, owner))
    out.confirm(words.REMOVE_DESTINATION, name=name)
    run_in_session(out, lambda app: app.service.destinations.remove(app.principal, name, owner))
    if out.json:
        out.data({"removed": name})
    else:
        out.line(("✓ ", out.translate(words.DESTINATION_GONE, name=name)))


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that were typed; `none` removes the quiet hours."""
    renamed = {"quiet": fields["quiet_hours"], **{name: fields[name] for name in ("zone", "reminders", "language")}}
    given = {name: value for name, value in renamed.items() if value is not None}
    return {**given, "quiet": None} if given.get("quiet") == _NONE else given


def _show_saved(out: Printer, destination: Destination, line: str) -> None:
    from ....wire.destinations import destination_json  # noqa: PLC0415

    if out.json:
        out.data(destination_json(destination))
    elif out.quiet:
        out.ids([destination.name])
    else:
        out.line(("✓ ", line))
        if destination.reminders:
            out.note(words.TAKES_REMINDERS)


def _row(out: Printer, destination: Destination, zone: str) -> list[Cell]:
    from ....wire.destinations import masked_url  # noqa: PLC0415

    quiet = NOTHING if destination.quiet is None else f"{destination.quiet.text} {destination.zone}"
    reminders = out.translate(words.YES) if destination.reminders else NOTHING
    return [
        destination.name,
        f"{masked_url(destination)} {destination.service}",
        quiet,
        reminders,
        _last(out, destination, zone),
    ]


def _last(out: Printer, destination: Destination, zone: str) -> StyledText:
    if destination.last_at is None:
        return StyledText(NOTHING)
    at = full_time(destination.last_at, zone, out.language)
    said = words.LAST_SENT if destination.last_ok else words.LAST_FAILED
    text = out.translate(said, at=at, answer=_localize(out, destination.last_answer))
    return StyledText(text, "good" if destination.last_ok else "bad")


def _warn_blocked(out: Printer, page: Page[Destination]) -> None:
    from ....wire.destinations import blocked_destination  # noqa: PLC0415

    for each in page.items:
        refusal = blocked_destination(each)
        if refusal is not None:
            message, hint = refusal.in_language(out.language)
            out.warn(f"{message} {hint}")


def _answer(out: Printer, delivery: Delivery) -> str:
    attempt = delivery.attempts[-1]
    status = "" if attempt.status is None else f"{attempt.status} "
    return out.translate(words.SENT) if attempt.ok else f"{status}{_localize(out, attempt.answer)}"


def _localize(out: Printer, answer: str) -> str:
    from ....service.events.message_client import localize_answer  # noqa: PLC0415 - `--help` does without

    return localize_answer(first_line(answer), out.language)


def _read_url(out: Printer, name: str, url: str | None, owner: str | None) -> str:
    """Return the URL from the arguments, standard input or a prompt without echo."""
    if url == "-":
        return sys.stdin.read().strip()
    if url is not None:
        return url
    if not out.asks:
        owner_option = "" if owner is None else f" --owner {shlex.quote(owner)}"
        raise refuse("no_destination_url", name=name, owner_option=owner_option)
    from getpass import getpass  # noqa: PLC0415 - only for an interactive prompt

    return getpass(replace_unprintable(out.translate(words.URL_OF, name=name)), stream=sys.stderr).strip()
