"""Messages of a chat in its stream: those of people and of the assistant are read back as they were."""

from __future__ import annotations

from horae.model.messages import Message, NewMessage, check_message
from horae.ports.channel import IncomingMessage, MessageChange, QuotedMessage
from horae.ports.chat_messages import assistant_message, read_chat_message, to_stream_message
from horae.testing.factories import HOUR, NOON

MESSAGE = IncomingMessage("1", "7", "1:7", "4242", "安 Ann", "hello", NOON)


def test_message_of_a_person_is_read_back() -> None:
    written = to_stream_message("chat:telegram:1", "telegram", MESSAGE, NOON + HOUR)
    check_message(written)
    assert (written.source, written.source_id, written.at) == ("telegram", "1:7", NOON + HOUR)
    read = read_chat_message(Message("group:family", 3, written))
    assert (read.number, read.id, read.sender, read.sender_name) == (3, "7", "4242", "安 Ann")
    assert (read.text, read.sent, read.change, read.quoted) == ("hello", NOON, MessageChange.NEW, None)
    assert not read.is_own
    assert not read.from_me


def test_edit_with_quote_and_attachments_is_read_back() -> None:
    quoted = QuotedMessage("3", "Bob", "before")
    message = MESSAGE._replace(
        change=MessageChange.EDITED, quoted=quoted, attachments=("photo",), from_me=True, sender=""
    )
    read = read_chat_message(
        Message("group:family", 1, to_stream_message("chat:telegram:1", "telegram", message, NOON))
    )
    assert (read.change, read.quoted, read.attachments) == (MessageChange.EDITED, quoted, ("photo",))
    assert read.from_me
    assert read.sender == "telegram"
    assert read.may_trigger


def test_message_of_a_sender_who_is_not_on_the_list_says_so() -> None:
    written = to_stream_message(
        "chat:telegram:1", "telegram", MESSAGE._replace(is_direct=True), NOON, may_trigger=False
    )
    read = read_chat_message(Message("group:family", 1, written))
    assert (read.may_trigger, read.is_direct) == (False, True)


def test_message_of_the_assistant_is_its_own() -> None:
    read = read_chat_message(Message("group:family", 1, assistant_message("chat:web:1", "hi", "Andy", "run_1/0", NOON)))
    assert (read.is_own, read.sender_name, read.id, read.sent) == (True, "Andy", "run_1/0", NOON)


def test_message_that_another_program_appended_is_read() -> None:
    plain = NewMessage("chat:web:1", "hi", "ada", "horae", "msg_1", NOON, '["https://example.org"]')
    assert read_chat_message(Message("group:family", 1, plain)).sender_name == "ada"
