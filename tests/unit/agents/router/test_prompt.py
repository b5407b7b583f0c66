"""Prompt of a message turn."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from horae.agents.protocol.result import remove_internal_text
from horae.agents.router.prompt import PromptMessage, QuotedText, write_prompt

SENT = datetime(2026, 1, 1, 1, 5, tzinfo=UTC)
XML_TEXT = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="\ufffe\uffff"))


def test_prompt_has_zone_sender_and_local_time() -> None:
    assert write_prompt([PromptMessage("Ann", "天气?", SENT)], "Asia/Shanghai") == (
        '<context timezone="Asia/Shanghai" />\n<messages>\n'
        '<message sender="Ann" time="Jan 1, 2026, 9:05 AM">天气?</message>\n</messages>'
    )


def test_noon_and_midnight_are_twelve() -> None:
    at_noon, at_midnight = datetime(2026, 7, 9, 12, 0, tzinfo=UTC), datetime(2026, 7, 9, 0, 30, tzinfo=UTC)
    prompt = write_prompt([PromptMessage("a", "x", at_noon), PromptMessage("a", "x", at_midnight)], "UTC")
    assert 'time="Jul 9, 2026, 12:00 PM"' in prompt
    assert 'time="Jul 9, 2026, 12:30 AM"' in prompt


def test_quoted_reply() -> None:
    quoted = QuotedText("m1", "Bob", "at <nine>?")
    prompt = write_prompt([PromptMessage("Ann", "yes", SENT, quoted)], "UTC")
    assert ' reply_to="m1">\n  <quoted_message from="Bob">at &lt;nine&gt;?</quoted_message>yes</message>' in prompt


def test_quoted_reply_without_its_text_names_the_id_only() -> None:
    prompt = write_prompt([PromptMessage("Ann", "yes", SENT, QuotedText("m1", "Bob"))], "UTC")
    assert 'reply_to="m1">yes</message>' in prompt


@given(XML_TEXT, XML_TEXT)
def test_text_of_a_chat_cannot_leave_its_element(sender: str, text: str) -> None:
    _, _, messages = write_prompt([PromptMessage(sender, text, SENT)], "UTC").partition("\n")
    (message,) = ET.fromstring(messages)  # noqa: S314 - written by this test
    assert (message.text or "") == text
    assert message.get("sender") == sender


def test_internal_text_is_removed() -> None:
    assert remove_internal_text("<internal>plan\nsteps</internal>\nDone. <internal>x</internal>") == "Done."
    assert remove_internal_text("<internal>only</internal>") == ""
    assert remove_internal_text("a <internal>open") == "a <internal>open"
