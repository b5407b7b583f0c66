"""`horae deliveries`: lists the texts on their way to chats, sends failed ones again, discards them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from ...command import CommandGroup
from ...messages import stream_messages as words
from ...output.formats import NOTHING, first_line, full_time, time_cells
from ...output.printer import Printer
from ...output.styled_text import Cell, Style, StyledText, printable_lines, replace_unprintable
from ...output.table import Fit
from ...parameters import after_option, limit_option, typed_limit

if TYPE_CHECKING:
    from datetime import datetime

    from ....message import Message
    from ....model.agents.delivery import Delivery
    from ....model.page import Page
    from ...session.command_session import CommandSession

_FITS: Final = (Fit(), Fit(1, wrap=12), Fit(1), Fit(1), Fit(3), Fit(2, cut=12))
_STATES: Final = ("pending", "sent", "received", "read", "failed")
_STYLES: Final[dict[str, Style]] = {"failed": "bad", "pending": "odd"}
_delivery_argument: Final = click.argument("delivery", metavar="DELIVERY", help="Id of the delivery: dlv_….")

delivery_commands: Final = CommandGroup(
    "deliveries", help="List texts on their way to chats; send one again, or discard it."
)


@delivery_commands.command("ls")
@click.option("--state", type=click.Choice(_STATES), help="Only those in this state.")
@click.option("--chat", help="Only those of this chat, for example telegram:-100.")
@limit_option
@after_option
def ls(out: Printer, *, state: str | None, chat: str | None, limit: int, after: str | None) -> None:
    """List texts on their way to chats, newest first."""
    from ....model.page import Page  # noqa: PLC0415 - `--help` does without
    from ....wire.chats import chat_delivery_json  # noqa: PLC0415
    from ...output.command_hints import note_next_page  # noqa: PLC0415
    from ...session.command_session import has_store, run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[Page[Delivery], str, datetime | None]:
        found = await app.service.deliveries.page(app.principal, state, chat, after, limit)
        return found, app.zone, app.clock.now()

    page, zone, now = run_in_session(out, work) if has_store(out) else (Page[Any](()), "UTC", None)
    if out.json:
        out.data([chat_delivery_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.id for each in page.items])
    elif page.items and now is not None:
        names = out.short_ids(each.id for each in page.items)
        times = time_cells(out, [each.created for each in page.items], zone, now)
        rows = [_row(out, each, names[each.id], at) for each, at in zip(page.items, times, strict=True)]
        out.table(out.translate(words.DELIVERY_TITLES).split("|"), rows, _FITS)
    if not page.items:
        out.note(words.NO_DELIVERIES)
    if page.after is not None:
        options = {"--state": state, "--chat": chat, "--limit": typed_limit(limit)}
        note_next_page(out, "deliveries ls", options, page.after)


def _row(out: Printer, delivery: Delivery, name: str, at: str) -> list[Cell]:
    text = replace_unprintable(first_line(delivery.text))
    return [name, delivery.chat, at, _state(out, delivery), str(delivery.attempts), text]


def _state(out: Printer, delivery: Delivery) -> StyledText:
    return StyledText(out.translate(words.STATES[delivery.state.value]), _STYLES.get(delivery.state.value, "good"))


@delivery_commands.command("show")
@_delivery_argument
def show(out: Printer, *, delivery: str) -> None:
    """Show one delivery with its attempts and its problem."""
    from ....wire.chats import chat_delivery_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[Delivery, str]:
        return await app.service.deliveries.get(app.principal, delivery), app.zone

    found, zone = run_in_session(out, work)
    if out.json:
        out.data(chat_delivery_json(found))
    elif out.quiet:
        out.ids([found.id])
    else:
        _show(out, found, zone)


def _show(out: Printer, delivery: Delivery, zone: str) -> None:
    def time_of(instant: datetime | None) -> str:
        return NOTHING if instant is None else full_time(instant, zone, out.language)

    rows: list[tuple[Message, str | StyledText]] = [
        (words.CHAT, delivery.chat),
        (words.OWNER, delivery.owner),
        (words.ORIGIN, delivery.origin or NOTHING),
        (words.CREATED, time_of(delivery.created)),
        (words.STATE, _state(out, delivery)),
        (words.NEXT_ATTEMPT, time_of(delivery.not_before)),
        (words.ENDED, time_of(delivery.ended)),
        (words.ATTEMPTS, str(delivery.attempts)),
        (words.PARTS, str(len(delivery.parts))),
        (words.REPEATED, str(delivery.repeated_parts)),
        (words.PROBLEM, replace_unprintable(delivery.problem) or NOTHING),
    ]
    out.line((delivery.id,))
    for label, value in rows:
        out.line((f"  {out.translate(label)}: ", value))
    first, *others = printable_lines(delivery.text)
    out.line((f"  {out.translate(words.TEXT)}: ", first))
    for line in others:
        out.line((line,))


@delivery_commands.command("retry")
@_delivery_argument
def retry(out: Printer, *, delivery: str) -> None:
    """Send a failed text again, from the first part that was not accepted."""
    from ....wire.chats import chat_delivery_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    again = run_in_session(out, lambda app: app.service.deliveries.retry(app.principal, delivery))
    if out.json:
        out.data(chat_delivery_json(again))
    elif out.quiet:
        out.ids([again.id])
    else:
        out.line(("✓ ", out.translate(words.RETRIED, id=again.id)))


@delivery_commands.command("discard", asks=True)
@_delivery_argument
def discard(out: Printer, *, delivery: str) -> None:
    """Discard a pending or failed text: it is not sent."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    found = run_in_session(out, lambda app: app.service.deliveries.get(app.principal, delivery))
    out.confirm(words.DISCARD, chat=found.chat)
    run_in_session(out, lambda app: app.service.deliveries.discard(app.principal, found.id))
    if out.json:
        out.data({"removed": found.id})
    else:
        out.line(("✓ ", out.translate(words.DISCARDED, id=found.id)))
