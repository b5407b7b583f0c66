"""`horae messages`: sends and reads the messages of streams, sets caps, registers readers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import click

from ...command import CommandGroup
from ...messages import stream_messages as words
from ...output.formats import NOTHING, full_time
from ...output.printer import Printer
from ...output.styled_text import Cell, printable_lines
from ...output.table import Fit
from ...parameters import after_option, limit_option, typed_limit

if TYPE_CHECKING:
    from ....model.messages import Cursor, MessagePage, Stream, StreamState
    from ....model.page import Page
    from ...session.command_session import CommandSession

_FITS: Final = (Fit(wrap=12), Fit(), Fit(2), Fit(1), Fit(1), Fit(3))
_stream_argument: Final = click.argument("stream", metavar="STREAM", help="Name of the stream, for example chat:12.")
_owner_option: Final = click.option("--owner", help="Owner of the stream. Default: you.")

message_commands: Final = CommandGroup("messages", help="Send and read the messages of streams.")


@message_commands.command("ls")
@_owner_option
@limit_option
@after_option
def ls(out: Printer, *, owner: str | None, limit: int, after: str | None) -> None:
    """List streams."""
    from ....model.page import Page  # noqa: PLC0415 - `--help` does without
    from ....wire.messages import stream_json  # noqa: PLC0415
    from ...output.command_hints import note_next_page  # noqa: PLC0415
    from ...session.command_session import has_store, run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[Page[Stream], str]:
        return await app.service.streams.page(app.principal, after, limit, owner), app.zone

    page, zone = run_in_session(out, work) if has_store(out) else (Page[Any](()), "UTC")
    if out.json:
        out.data([stream_json(each) for each in page.items])
    elif out.quiet:
        out.ids([each.name for each in page.items])
    elif page.items:
        rows: list[list[Cell]] = [
            [
                each.name,
                f"{each.stored:,}",
                str(each.first),
                str(each.last),
                f"{each.bytes:,} B",
                NOTHING if each.oldest is None else full_time(each.oldest, zone, out.language),
            ]
            for each in page.items
        ]
        out.table(out.translate(words.STREAM_TITLES).split("|"), rows, _FITS)
    if not page.items:
        out.note(words.NO_STREAMS)
    if page.after is not None:
        note_next_page(out, "messages ls", {"--owner": owner, "--limit": typed_limit(limit)}, page.after)


@message_commands.command("show")
@_stream_argument
@_owner_option
def show(out: Printer, *, stream: str, owner: str | None) -> None:
    """Show a stream with its readers and gaps."""
    from ....wire.messages import stream_state_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[StreamState, str]:
        return await app.service.streams.get(app.principal, stream, owner), app.zone

    state, zone = run_in_session(out, work)
    if out.json:
        out.data(stream_state_json(state))
    elif out.quiet:
        out.ids([state.stream.name])
    else:
        if state.cursors:
            rows: list[list[Cell]] = [
                [each.reader, str(each.number), full_time(each.moved, zone, out.language), each.run_id or NOTHING]
                for each in state.cursors
            ]
            out.table(out.translate(words.CURSOR_TITLES).split("|"), rows, (Fit(wrap=12), Fit(), Fit(1), Fit()))
        else:
            out.note(words.NO_READERS)
        for gap in state.gaps:
            out.note(words.GAP, count=gap.length, first=gap.first, last=gap.last)


@message_commands.command("read")
@_stream_argument
@click.option("--after", type=click.IntRange(min=0), default=0, help="Only messages with a higher number.")
@click.option("--reader", help="Only messages after the cursor of this reader; it does not move.")
@click.option("--limit", type=click.IntRange(1, 200), default=50, help="Largest number of messages (50).")
@_owner_option
def read(out: Printer, *, stream: str, after: int, reader: str | None, limit: int, owner: str | None) -> None:
    """Read messages, oldest first; no cursor moves."""
    from ....wire.messages import message_page_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> tuple[MessagePage, str]:
        page = await app.service.streams.messages(
            app.principal, stream, owner=owner, after=after, limit=limit, reader=reader
        )
        return page, app.zone

    page, zone = run_in_session(out, work)
    if out.json:
        out.data(message_page_json(page))
        return
    if out.quiet:
        out.ids([str(each.number) for each in page.messages])
        return
    for gap in page.gaps:
        out.note(words.GAP, count=gap.length, first=gap.first, last=gap.last)
    for number, message in ((each.number, each.message) for each in page.messages):
        at = full_time(message.at, zone, out.language)
        first, *others = printable_lines(message.text)
        out.line((f"{number}  {at}  {message.sender}: {first}",))
        for line in others:
            out.line((line,))
    if not page.messages:
        out.note(words.NO_MESSAGES, after=page.after)
    if page.next_after is not None:
        out.note(words.MORE_MESSAGES, stream=stream, value=page.next_after)


@message_commands.command("send")
@_stream_argument
@click.argument("text", metavar="TEXT|-", help="- reads it from standard input.")
@click.option("--sender", help="Sender of the message. Default: you.")
@click.option("--id", "message_id", help="Your id of the message: sending it again appends nothing.")
@_owner_option
def send(
    out: Printer, *, stream: str, text: str, sender: str | None, message_id: str | None, owner: str | None
) -> None:
    """Append a message to a stream."""
    from ....service.messages.streams import MessageDraft  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    draft = MessageDraft(sys.stdin.read() if text == "-" else text, sender, message_id)

    async def work(app: CommandSession) -> tuple[int, ...]:
        return await app.service.streams.send(app.principal, stream, [draft], owner)

    numbers = run_in_session(out, work, create=True)
    if out.json:
        out.data({"stream": stream, "numbers": list(numbers)})
    elif out.quiet:
        out.ids([str(number) for number in numbers])
    else:
        out.line(("✓ ", out.translate(words.SENT, number=numbers[0], stream=stream)))


@message_commands.command("set")
@_stream_argument
@click.option("--keep", type=int, help="Largest number of messages to keep, read or not.")
@click.option("--keep-for", metavar="DURATION", help="Age at which messages are deleted, read or not: 30d.")
@_owner_option
def set_caps(out: Printer, *, stream: str, keep: int | None, keep_for: str | None, owner: str | None) -> None:
    """Set how many messages a stream keeps, and how long; without options, as the settings say."""
    from ....schedule.durations import parse_duration  # noqa: PLC0415
    from ....wire.messages import stream_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    duration = None if keep_for is None else parse_duration(keep_for)

    async def work(app: CommandSession) -> Stream:
        return await app.service.streams.put(app.principal, stream, owner, keep=keep, keep_for=duration)

    saved = run_in_session(out, work, create=True)
    if out.json:
        out.data(stream_json(saved))
    elif out.quiet:
        out.ids([saved.name])
    else:
        out.line(("✓ ", out.translate(words.STREAM_SET, name=saved.name)))


@message_commands.command("reader")
@_stream_argument
@click.argument("reader", metavar="READER", help="The name of the reader.")
@click.option("--after", type=click.IntRange(min=0), help="Its first position. Default: the end of the stream.")
@click.option("--remove", "is_removed", is_flag=True, help="Remove the reader.")
@_owner_option
def reader_command(
    out: Printer, *, stream: str, reader: str, after: int | None, is_removed: bool, owner: str | None
) -> None:
    """Register a reader of a stream, or remove one; its cursor moves with the runs that handle messages."""
    from ....wire.messages import cursor_json  # noqa: PLC0415
    from ...session.command_session import run_in_session  # noqa: PLC0415

    async def work(app: CommandSession) -> Cursor:
        if is_removed:
            state = await app.service.streams.get(app.principal, stream, owner)
            await app.service.streams.unregister(app.principal, stream, reader, owner)
            return next(each for each in state.cursors if each.reader == reader)
        return await app.service.streams.register(app.principal, stream, reader, owner, after=after)

    cursor = run_in_session(out, work)
    if out.json:
        out.data(cursor_json(cursor))
    elif out.quiet:
        out.ids([cursor.reader])
    elif is_removed:
        out.line(("✓ ", out.translate(words.READER_GONE, reader=reader, stream=stream)))
    else:
        out.line(("✓ ", out.translate(words.READER_AT, reader=reader, stream=stream, number=cursor.number)))


@message_commands.command("rm", asks=True)
@_stream_argument
@_owner_option
def remove(out: Printer, *, stream: str, owner: str | None) -> None:
    """Delete a stream with its messages and readers."""
    from ...session.command_session import run_in_session  # noqa: PLC0415

    state = run_in_session(out, lambda app: app.service.streams.get(app.principal, stream, owner))
    out.confirm(words.REMOVE_STREAM, name=stream, count=state.stream.stored)
    run_in_session(out, lambda app: app.service.streams.remove(app.principal, stream, owner))
    if out.json:
        out.data({"removed": stream})
    else:
        out.line(("✓ ", out.translate(words.STREAM_GONE, name=stream)))
