"""Position of the router in the stream of a group."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from horae.agents.router.position import (
    RouterPosition,
    StoredMessage,
    first_position,
    look_at,
    position_from,
    position_record,
)
from horae.model.agents.group import Group
from horae.ports.channel import MessageChange
from horae.ports.chat_messages import ChatMessage

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FAMILY = Group("family", "test:1", "Family", NOON)
START = first_position(FAMILY)


def stored(number: int, text: str, change: MessageChange = MessageChange.NEW, **fields: object) -> StoredMessage:
    message = ChatMessage(number, str(number), "ada", "Ada", text, NOON, change)
    return StoredMessage(message._replace(**fields), NOON + timedelta(minutes=number))  # type: ignore[arg-type]


def look(*messages: StoredMessage, position: RouterPosition = START) -> RouterPosition:
    found = look_at(position, messages, FAMILY)
    assert found is not None
    return found


def test_the_newest_message_with_the_trigger_wakes_the_agent() -> None:
    position = look(stored(1, "@Andy a"), stored(2, "@Andy b"), stored(3, "c"))

    assert (position.seen, position.waking, position.waking_id) == (3, 2, "2")
    assert position.waking_at == NOON + timedelta(minutes=2)


def test_own_messages_commands_and_denied_senders_wake_nothing() -> None:
    position = look(stored(1, "@Andy a", is_own=True), stored(2, "@Andy /tasks"), stored(3, "@Andy", may_trigger=False))

    assert (position.seen, position.waking) == (3, 0)


def test_an_edit_that_adds_the_trigger_wakes_the_agent() -> None:
    assert look(stored(1, "hello"), stored(2, "@Andy hello", MessageChange.EDITED, id="1")).waking == 2


def test_all_messages_are_looked_at_again_when_the_waking_one_is_deleted_or_loses_its_trigger() -> None:
    position = look(stored(1, "@Andy a"))

    assert look_at(position, [stored(2, "", MessageChange.DELETED, id="1")], FAMILY) is None
    assert look_at(position, [stored(2, "a", MessageChange.EDITED, id="1")], FAMILY) is None
    assert look(stored(2, "", MessageChange.DELETED, id="9"), position=position).waking == 1


def test_another_chat_or_rule_begins_again_and_executes_no_command_twice() -> None:
    before = look(stored(1, "@Andy a"))._replace(executed=1, failure_notice=1, version=4)
    changed = FAMILY._replace(requires_trigger=False)

    assert before.fits(FAMILY)
    assert not before.fits(changed)
    assert not before.fits(FAMILY._replace(chat="test:2"))
    again = first_position(changed, before, handled=0)
    assert (again.seen, again.executed, again.failure_notice, again.version) == (0, 1, 1, 4)
    moved = first_position(FAMILY._replace(chat="test:2"), before, handled=0)
    assert (moved.executed, moved.failure_notice, moved.version) == (0, 0, 4)


def test_a_turn_need_not_read_what_is_long_before_the_first_message_that_waits() -> None:
    position = look(stored(1, "a"), stored(2, "@Andy b"), stored(3, "@Andy c"))

    assert (position.first_waiting(0), position.first_waiting(2)) == (2, 3)
    assert position.first_waiting(3) == 4, "nothing that was seen waits"
    later = look_at(position, [stored(4, "d"), stored(5, "@Andy e")], FAMILY, 3)
    assert later is not None
    assert later.first_waiting(3) == 5


def test_the_first_message_that_waits_is_unknown_while_an_earlier_one_waits_or_an_edit_wakes_the_agent() -> None:
    position = look(stored(1, "@Andy a"), stored(2, "@Andy b"))
    later = look_at(position, [stored(3, "@Andy c")], FAMILY, 1)
    assert later is not None
    assert later.first_waiting(1) == 2

    edited = look(stored(1, "a"), stored(2, "b"), stored(3, "@Andy a", MessageChange.EDITED, id="1"))
    assert edited.first_waiting(0) == 1


def test_the_record_has_the_whole_position() -> None:
    position = look(stored(1, "@Andy a"))._replace(version=1)

    assert position_from(position_record(position, "group:family")) == position
    assert position_from(position_record(START, "group:family")) == START._replace(version=1)
