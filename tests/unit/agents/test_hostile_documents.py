"""What services send is read without an error, whatever it is: a message, or nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.agents.channels import feishu_events, slack, telegram, whatsapp
from horae.agents.channels.api_calls import RETRY_AFTER, read_delay
from horae.agents.channels.fields import instant, number, table, tables, text
from horae.agents.channels.xmpp_stanzas import ArchivedStanza, StanzaReader, read_result
from horae.ports.channel import IncomingMessage, MessageChange
from horae.testing.factories import NOON

EXAMPLES = settings(max_examples=40)
NAMES = st.sampled_from(
    """
    message edited_message chat from id message_id date text reply_to_message type channel subtype ts user
    edited files message_type content mentions key timestamp context edit revoke interactive sender
    sender_id create_time errors code status body update_id
    """.split()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(NAMES, VALUES, max_size=8)
OWN = slack._Own("U1", "B1", "andy")


def is_message_or_nothing(found: object) -> bool:
    return found is None or isinstance(found, IncomingMessage)


@EXAMPLES
@given(DOCUMENTS)
def test_telegram_updates(document: dict[str, Any]) -> None:
    assert is_message_or_nothing(telegram._read_update(document, "1", NOON))


@EXAMPLES
@given(DOCUMENTS, st.sampled_from(["", "message_changed", "message_deleted", "bot_message", "channel_join"]))
def test_slack_events(document: dict[str, Any], subtype: str) -> None:
    found = slack._find_message({**document, "type": "message", "subtype": subtype}, OWN)
    assert found is None or isinstance(found[0], Mapping)


@EXAMPLES
@given(st.text(max_size=40))
def test_slack_texts(written: str) -> None:
    assert slack.plain_text(slack.escape(written), {}) == written


@EXAMPLES
@given(DOCUMENTS, st.sampled_from(["text", "edit", "revoke", "interactive", "image", "unsupported", ""]))
def test_whatsapp_messages(document: dict[str, Any], kind: str) -> None:
    assert isinstance(whatsapp._read_message({**document, "type": kind}, "1", "Ann", NOON), IncomingMessage)


@EXAMPLES
@given(DOCUMENTS)
def test_whatsapp_receipts(document: dict[str, Any]) -> None:
    for receipt in whatsapp._receipts({"statuses": [{**document, "status": "failed"}]}):
        assert receipt.refusal is not None


@EXAMPLES
@given(DOCUMENTS, VALUES, st.sampled_from(["text", "post", "image"]))
def test_feishu_events(document: dict[str, Any], content: Any, kind: str) -> None:
    message = {**document, "message_type": kind, "content": json.dumps(content)}
    event = {"sender": {**document, "sender_type": "user"}, "message": message}
    found = feishu_events.read_event({"header": {"event_type": "im.message.receive_v1"}, "event": event}, NOON)
    assert isinstance(found, IncomingMessage)
    recalled = {"header": {"event_type": "im.message.recalled_v1"}, "event": document}
    assert isinstance(feishu_events.read_event(recalled, NOON), IncomingMessage)


@EXAMPLES
@given(st.text(max_size=60), st.text(min_size=1, max_size=10))
def test_feishu_ciphers(encrypted: str, key: str) -> None:
    assert feishu_events.decrypt(encrypted, key) is None


TAGS = st.sampled_from(
    """
    {jabber:client}body
    {urn:xmpp:reply:0}reply
    {urn:xmpp:delay}delay
    {urn:xmpp:sid:0}stanza-id
    {urn:xmpp:message-correct:0}replace
    {urn:xmpp:message-retract:1}retract
    {urn:xmpp:fallback:0}fallback
    {urn:xmpp:fallback:0}body
    {urn:xmpp:mam:2}result
    {urn:xmpp:forward:0}forwarded
    {jabber:client}message
    """.split()
)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["id", "by", "from", "to", "type", "stamp", "for", "start", "end"]),
    st.sampled_from(
        """
        groupchat chat a@b a@b/c urn:xmpp:reply:0 9 -1 ² 2026-01-01T00:00:00
        0001-01-01T00:00:00+14:00 9999-12-31T23:59:59-14:00
        """.split()
    )
    | st.text(max_size=5),
)


@st.composite
def elements(draw: st.DrawFn, depth: int = 2) -> Element:
    element = Element(draw(TAGS), draw(ATTRIBUTES))
    element.text = draw(st.none() | st.text(max_size=5))
    if depth:
        element.extend(draw(st.lists(elements(depth - 1), max_size=3)))
    return element


@EXAMPLES
@given(elements())
def test_xmpp_stanzas(element: Element) -> None:
    reader = StanzaReader("me@b")
    assert is_message_or_nothing(reader.read(ArchivedStanza(element), NOON))
    archived = read_result(element)
    assert archived is None or is_message_or_nothing(reader.read(archived, NOON))


@pytest.mark.parametrize("stamp", ["0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_xmpp_instants_at_the_limits_of_the_calendar(stamp: str) -> None:
    element = Element("{jabber:client}message", {"from": "eve@b", "type": "chat", "id": "1"})
    SubElement(element, "{jabber:client}body").text = "hello"
    SubElement(element, "{urn:xmpp:delay}delay", {"stamp": stamp})
    message = StanzaReader("me@b").read(ArchivedStanza(element), NOON)
    assert message is not None
    assert message.sent == NOON


def test_xmpp_retraction_of_a_moderator_is_one_of_the_service() -> None:
    element = Element("{jabber:client}message", {"from": "room@b", "type": "groupchat"})
    SubElement(element, "{urn:xmpp:message-retract:1}retract", {"id": "1"})
    message = StanzaReader("me@b").read(ArchivedStanza(element), NOON)
    assert message is not None
    assert (message.sender, message.chat, message.change) == ("", "room@b", MessageChange.DELETED)


@EXAMPLES
@given(VALUES, NAMES)
def test_fields_of_anything(document: Any, name: str) -> None:
    assert isinstance(text(document, name, name), str)
    assert isinstance(table(document, name), Mapping)
    assert all(isinstance(each, Mapping) for each in tables(document, name))
    assert number(document, name) is None or isinstance(number(document, name), int)


@pytest.mark.parametrize("value", ["", "x", "nan", "inf", "-5", "1e400", None, -1, 10**30])
def test_instants_and_delays_that_cannot_be_read(value: Any) -> None:
    assert instant(value, NOON) == NOON
    assert read_delay(value) == RETRY_AFTER


def test_delay_is_limited_to_a_day() -> None:
    assert read_delay("999999").days == 1
    assert read_delay("7").seconds == 7
