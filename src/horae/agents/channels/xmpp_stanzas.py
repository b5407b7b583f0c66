"""Reads XMPP message stanzas: text, edits (XEP-0308), retractions (XEP-0424), replies (XEP-0461), archive ids (XEP-0359)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, NamedTuple
from xml.etree.ElementTree import Element

from ...ports.channel import IncomingMessage, MessageChange, QuotedMessage, credible_instant

CLIENT: Final = "{jabber:client}"
MAM_RESULT: Final = "{urn:xmpp:mam:2}result"
MAM: Final = "urn:xmpp:mam:2"
_FORWARDED: Final = "{urn:xmpp:forward:0}forwarded"
_DELAY: Final = "{urn:xmpp:delay}delay"
_STANZA_ID: Final = "{urn:xmpp:sid:0}stanza-id"
_REPLACE: Final = "{urn:xmpp:message-correct:0}replace"
_RETRACT: Final = "{urn:xmpp:message-retract:1}retract"
_REPLY: Final = "{urn:xmpp:reply:0}reply"
_FALLBACK: Final = "{urn:xmpp:fallback:0}fallback"
_FALLBACK_BODY: Final = "{urn:xmpp:fallback:0}body"
_MUC_USER: Final = "{http://jabber.org/protocol/muc#user}"
_UNSENDABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_REMEMBERED: Final = 2_000


class ArchivedStanza(NamedTuple):
    """A message stanza; `archive_id` and `stamp` are of an archive that it was read from.

    `person` is the address of the occupant of a room who wrote it, where the room shows it: a nick can be taken by anyone.
    """

    element: Element
    archive_id: str = ""
    stamp: str = ""
    person: str = ""


def read_result(element: Element) -> ArchivedStanza | None:
    """Return the stanza in a result of an archive query; None if there is none."""
    result = element.find(MAM_RESULT)
    forwarded = None if result is None else result.find(_FORWARDED)
    message = None if forwarded is None else forwarded.find(f"{CLIENT}message")
    if result is None or forwarded is None or message is None:
        return None
    delay = forwarded.find(_DELAY)
    return ArchivedStanza(message, result.get("id", ""), "" if delay is None else delay.get("stamp", ""))


def archived_person(element: Element) -> str:
    """Return the address that the archive of a room names as the author of a message; empty where it names none, or several."""
    items = element.findall(f"{_MUC_USER}x/{_MUC_USER}item")
    found = {bare(each.get("jid", "")) for each in items}
    return found.pop() if len(found) == 1 else ""


def is_delayed(element: Element) -> bool:
    """Whether a message is not of now, as in the history of a room: another person may have the nick by now."""
    return element.find(_DELAY) is not None


def bare(jid: str) -> str:
    return jid.partition("/")[0].lower()


def resource(jid: str) -> str:
    return jid.partition("/")[2]


def sendable(text: str) -> str:
    """Return the text without characters that XML forbids: one of them would end the stream."""
    return _UNSENDABLE.sub("\N{REPLACEMENT CHARACTER}", text)


class StanzaReader:
    """Turns stanzas into messages. Replies and retractions in rooms name archive ids, edits name message ids: it knows both."""

    def __init__(self, own: str) -> None:
        self._own = bare(own)
        self._known: dict[tuple[str, str], QuotedMessage] = {}

    def read(self, stanza: ArchivedStanza, now: datetime) -> IncomingMessage | None:
        """Return the message; None for stanzas without text: subjects, chat states, receipts."""
        element = stanza.element
        sender, kind = element.get("from", ""), element.get("type", "normal")
        if kind not in {"chat", "normal", "groupchat"} or not sender:
            return None
        is_room = kind == "groupchat"
        chat = bare(sender) if is_room or not self._is_private_message(element) else sender
        archive_id = stanza.archive_id or self._archive_id(element, bare(sender) if is_room else self._own)
        message_id = element.get("id", "")
        sent = _instant(stanza.stamp or _delay(element), now)
        replaced, retracted = element.find(_REPLACE), element.find(_RETRACT)
        text = _body(element)
        if retracted is not None:
            change, target = MessageChange.DELETED, self._message_id(chat, retracted.get("id", ""))
            text = ""
        elif not text:
            return None
        elif replaced is not None:
            change, target = MessageChange.EDITED, replaced.get("id", "")
        else:
            change, target = MessageChange.NEW, message_id or archive_id
        if is_room and not resource(sender):
            sender = ""  # the room itself, as for the retraction of a moderator
        name = resource(sender) if is_room or chat == sender else bare(sender)
        if archive_id and change is MessageChange.NEW:
            self._remember(chat, archive_id, QuotedMessage(target, name, text))
        author = stanza.person if sender and stanza.person else sender
        digest = sha256("\n".join((sender, message_id, sent.isoformat() if not message_id else "", text)).encode())
        return IncomingMessage(
            chat=chat,
            id=target,
            source_id=f"{chat}:{archive_id or digest.hexdigest()[:32]}",
            sender=author if is_room or chat == sender else bare(sender),
            sender_name=name,
            text=text,
            sent=sent,
            change=change,
            quoted=self._quoted(chat, element),
            is_direct=not is_room,
            chat_name=chat.partition("@")[0] if is_room else name,
        )

    def _is_private_message(self, element: Element) -> bool:
        """Whether an occupant of a room wrote to the channel alone: the answer has to go to the occupant."""
        return element.find(f"{_MUC_USER}x") is not None

    def _archive_id(self, element: Element, archive: str) -> str:
        """Return the id that this archive gave; a sender could add one of another archive."""
        ids = (each.get("id", "") for each in element.findall(_STANZA_ID) if bare(each.get("by", "")) == archive)
        return next(ids, "")

    def _remember(self, chat: str, archive_id: str, message: QuotedMessage) -> None:
        self._known[chat, archive_id] = message
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]

    def _message_id(self, chat: str, archive_id: str) -> str:
        known = self._known.get((chat, archive_id))
        return archive_id if known is None else known.id

    def _quoted(self, chat: str, element: Element) -> QuotedMessage | None:
        reply = element.find(_REPLY)
        if reply is None or not reply.get("id"):
            return None
        known = self._known.get((chat, reply.get("id", "")))
        return known or QuotedMessage(reply.get("id", ""), resource(reply.get("to", "")))


def _body(element: Element) -> str:
    """Return the text without the part that repeats a quoted message for old clients."""
    text = element.findtext(f"{CLIENT}body", "")
    for fallback in element.findall(_FALLBACK):
        part = fallback.find(_FALLBACK_BODY)
        if fallback.get("for") == "urn:xmpp:reply:0" and part is not None:
            start, end = part.get("start", "0"), part.get("end", "0")
            if start.isdecimal() and end.isdecimal() and len(start) < 7 and len(end) < 7 and int(start) <= int(end):
                return text[: int(start)] + text[int(end) :]
    return text


def _delay(element: Element) -> str:
    delay = element.find(_DELAY)
    return "" if delay is None else delay.get("stamp", "")


def _instant(stamp: str, now: datetime) -> datetime:
    try:
        read = datetime.fromisoformat(stamp)
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
        return credible_instant(read, now)
    except (ValueError, OverflowError):
        return now
