"""Records of chats without a group, and of the connections of channels."""

from __future__ import annotations

from horae.agents.host.channel_states import ChannelState, channel_state_from, channel_state_record
from horae.model.agents.known_chat import (
    KNOWN_CHAT_RETENTION,
    KnownChat,
    known_chat_from,
    known_chat_record,
    suggest_folder,
)
from horae.testing.factories import NOON


def test_a_known_chat_is_kept_for_a_time_after_its_last_activity() -> None:
    known = KnownChat("telegram:-1", "家", NOON, is_direct=True, version=3)

    record = known_chat_record(known)

    assert known_chat_from(record) == known
    assert record.expires == NOON + KNOWN_CHAT_RETENTION
    assert record.owner == ""


def test_folder_for_a_chat_comes_from_its_name_or_address_and_is_free() -> None:
    named = KnownChat("telegram:-1", "  Team: Chat/2!", NOON)
    assert suggest_folder(named, ()) == "team-chat-2"
    assert suggest_folder(named, {"team-chat-2", "team-chat-2-2"}) == "team-chat-2-3"
    assert suggest_folder(KnownChat("telegram:-1", "家", NOON), ()) == "telegram-1"
    assert suggest_folder(KnownChat("telegram:-1", "Global", NOON), ()) == "telegram-1"
    assert suggest_folder(KnownChat("群:家", "家", NOON), ()) == "chat"


def test_the_state_of_a_channel() -> None:
    state = ChannelState("telegram", is_connected=False, since=NOON, problem="revoked", is_final=True, version=2)

    assert channel_state_from(channel_state_record(state)) == state
