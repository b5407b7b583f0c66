"""Messages that wait for an agent: edits replace, deletions and commands are left out."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.agents.router.chat_commands import ChatVerb
from horae.agents.router.pending_messages import apply_changes, find_command, find_commands, rule_of, to_pending
from horae.model.agents.group import Group
from horae.model.messages import Message
from horae.ports.channel import IncomingMessage, MessageChange
from horae.ports.chat_messages import ChatMessage, read_chat_message, to_stream_message

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FAMILY = Group("family", "test:1", "Family", NOON)
MAIN = Group("main", "test:2", "Main", NOON, is_main=True)


def message(
    number: int,
    text: str,
    change: MessageChange = MessageChange.NEW,
    *,
    id: str | None = None,  # noqa: A002 - the field of a message
    sender: str = "ada",
    is_own: bool = False,
    may_trigger: bool = True,
    is_direct: bool = False,
) -> ChatMessage:
    return ChatMessage(
        number,
        id or str(number),
        sender,
        sender,
        text,
        NOON,
        change,
        is_own=is_own,
        may_trigger=may_trigger,
        is_direct=is_direct,
    )


def texts(*messages: ChatMessage, group: Group = FAMILY) -> list[str]:
    return [each.text for each in apply_changes(messages, group)]


def test_an_edit_replaces_the_text_at_the_place_of_its_message() -> None:
    edit = message(3, "one, corrected", MessageChange.EDITED, id="1")

    assert texts(message(1, "one"), message(2, "two"), edit) == ["one, corrected", "two"]


def test_the_last_edit_counts() -> None:
    edits = [message(2, "b", MessageChange.EDITED, id="1"), message(3, "c", MessageChange.EDITED, id="1")]

    assert texts(message(1, "a"), *edits) == ["c"]


def test_a_deletion_removes_its_message_and_an_edit_after_it_brings_nothing_back() -> None:
    deleted = message(2, "", MessageChange.DELETED, id="1")

    assert texts(message(1, "a"), deleted, message(3, "b", MessageChange.EDITED, id="1")) == []


def test_changes_of_handled_messages_have_no_effect() -> None:
    changes = [message(8, "b", MessageChange.EDITED, id="1"), message(9, "", MessageChange.DELETED, id="2")]

    assert texts(*changes, message(10, "c")) == ["c"]


def test_only_its_sender_edits_a_message() -> None:
    assert texts(message(1, "a"), message(2, "@Andy b", MessageChange.EDITED, id="1", sender="eve")) == ["a"]


def test_only_its_sender_or_the_service_deletes_a_message() -> None:
    foreign = message(2, "", MessageChange.DELETED, id="1", sender="eve")
    of_service = message(3, "", MessageChange.DELETED, id="1", sender=FAMILY.channel)

    assert texts(message(1, "a"), foreign) == ["a"]
    assert texts(message(1, "a"), of_service) == []


def test_a_message_with_the_id_of_another_senders_message_does_not_hide_it() -> None:
    # Senders of XMPP and of the web channel choose the ids of their messages.
    assert texts(message(1, "@Andy a"), message(2, "b", id="1", sender="eve")) == ["@Andy a", "b"]


def test_messages_of_the_assistant_stay_in_order() -> None:
    kept = apply_changes([message(1, "a"), message(2, "answer", is_own=True), message(3, "b")], FAMILY)

    assert [(each.number, each.is_own) for each in to_pending(kept)] == [(1, False), (2, True), (3, False)]


def test_commands_never_reach_the_agent() -> None:
    assert texts(message(1, "@Andy /tasks"), message(2, "/pause@andy report"), message(3, "hello")) == ["hello"]


def test_a_command_of_a_denied_sender_is_neither_executed_nor_sent_to_the_agent() -> None:
    denied = message(1, "@Andy /tasks", may_trigger=False)

    assert find_commands([denied], FAMILY) == ()
    assert texts(denied) == []


def test_an_edit_does_not_turn_an_executed_command_into_a_message() -> None:
    assert texts(message(1, "@Andy /tasks"), message(2, "@Andy hello", MessageChange.EDITED, id="1")) == []


def test_an_edit_executes_no_command() -> None:
    edited = message(2, "@Andy /cancel report", MessageChange.EDITED, id="1")

    assert find_commands([message(1, "@Andy hi"), edited], FAMILY) == ()
    assert texts(message(1, "@Andy hi"), edited) == []


@pytest.mark.parametrize(
    ("text", "group", "is_direct", "is_command"),
    [
        ("/tasks", FAMILY, False, False),
        ("@Andy /tasks", FAMILY, False, True),
        ("/tasks@andy_bot", FAMILY, False, True),
        ("/tasks", FAMILY, True, True),
        ("/tasks", MAIN, False, True),
        ("/tasks", FAMILY._replace(requires_trigger=False), False, True),
        ("@Andy 每天早上9点给我发天气预报", FAMILY, False, False),
    ],
)
def test_where_a_command_needs_the_trigger(text: str, group: Group, *, is_direct: bool, is_command: bool) -> None:
    assert (find_command(message(1, text, is_direct=is_direct), group) is not None) == is_command


def test_the_assistant_commands_nothing() -> None:
    assert find_command(message(1, "/tasks", is_own=True), MAIN) is None


def test_commands_are_executed_in_order() -> None:
    found = find_commands([message(1, "@Andy /pause a"), message(2, "hello"), message(3, "@Andy /undo")], FAMILY)

    assert [(each.message.number, each.command.verb) for each in found] == [(1, ChatVerb.PAUSE), (3, ChatVerb.UNDO)]


def test_the_rule_of_a_group() -> None:
    assert rule_of(FAMILY) == ("@Andy", True)
    assert rule_of(MAIN) == ("@Andy", False)


@pytest.mark.parametrize("flag", [False, True])
def test_the_stream_keeps_whether_a_sender_may_trigger_and_the_chat_is_direct(*, flag: bool) -> None:
    incoming = IncomingMessage("1", "7", "1:7", "ada", "Ada", "hello", NOON, is_direct=flag)

    stored = to_stream_message("chat:test:1", "test", incoming, NOON, may_trigger=flag)
    found = read_chat_message(Message("group:family", 1, stored))

    assert (found.may_trigger, found.is_direct) == (flag, flag)
