"""Prompt of a message turn: the messages of the chat as XML, with the zone of the group."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

_ESCAPES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class QuotedText(NamedTuple):
    """The message that another one answers, as far as the channel gives it."""

    id: str
    sender: str = ""
    text: str = ""


class PromptMessage(NamedTuple):
    sender: str
    text: str
    sent: datetime
    quoted: QuotedText | None = None


def write_prompt(messages: Sequence[PromptMessage], zone: str, omitted: int = 0) -> str:
    """Write the prompt; instants are those of the zone. Text from the chat cannot close a tag.

    `omitted` earlier messages are too many for one prompt: it says how many.
    """
    opening = f'<messages omitted="{omitted}">' if omitted else "<messages>"
    lines = [f'<context timezone="{_escape(zone)}" />', opening]
    lines += [_write_message(message, ZoneInfo(zone)) for message in messages]
    lines.append("</messages>")
    return "\n".join(lines)


def _write_message(message: PromptMessage, zone: ZoneInfo) -> str:
    quoted = message.quoted
    reply = "" if quoted is None else f' reply_to="{_escape(quoted.id)}"'
    opening = f'<message sender="{_escape(message.sender)}" time="{_local_time(message.sent, zone)}"{reply}>'
    quotation = ""
    if quoted is not None and quoted.sender and quoted.text:
        quotation = f'\n  <quoted_message from="{_escape(quoted.sender)}">{_escape(quoted.text)}</quoted_message>'
    return f"{opening}{quotation}{_escape(message.text)}</message>"


def _local_time(instant: datetime, zone: ZoneInfo) -> str:
    """Write an instant as American English does: `Jan 1, 2026, 9:05 AM`. The locale of the host has no effect."""
    local = instant.astimezone(zone)
    half = "AM" if local.hour < 12 else "PM"
    return f"{_MONTHS[local.month - 1]} {local.day}, {local.year}, {local.hour % 12 or 12}:{local.minute:02d} {half}"


def _escape(text: str) -> str:
    return text.translate(_ESCAPES)
