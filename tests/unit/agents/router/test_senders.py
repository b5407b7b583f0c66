"""Allow-list of senders."""

from __future__ import annotations

from typing import Any

import pytest

from horae.agents.router.senders import SenderList, SenderListError, read_sender_list


def test_without_a_list_everybody_may_write() -> None:
    assert SenderList().may_trigger("c", "ann")
    assert read_sender_list({}).keeps("c", "ann")


def test_denied_sender_is_kept_as_context_in_mode_trigger() -> None:
    senders = read_sender_list({"default": {"allow": ["ann"]}})
    assert senders.may_trigger("c", "ann")
    assert not senders.may_trigger("c", "bob")
    assert senders.keeps("c", "bob")


def test_denied_sender_is_not_kept_in_mode_drop() -> None:
    senders = read_sender_list({"chats": {"c": {"allow": ["ann"], "mode": "drop"}}, "logDenied": False})
    assert not senders.keeps("c", "bob")
    assert senders.keeps("c", "ann")
    assert senders.keeps("other", "bob")
    assert not senders.logs_denied


def test_own_account_is_always_allowed() -> None:
    senders = read_sender_list({"default": {"allow": [], "mode": "drop"}})
    assert senders.keeps("c", "me", from_me=True)
    assert senders.may_trigger("c", "me", from_me=True)


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        ([], ""),
        ({"chats": []}, "/chats"),
        ({"logDenied": 1}, "/logDenied"),
        ({"default": "*"}, "/default"),
        ({"default": {"allow": "ann"}}, "/default/allow"),
        ({"chats": {"c": {"allow": [1]}}}, "/chats/c/allow"),
        ({"default": {"mode": "ban"}}, "/default/mode"),
    ],
)
def test_defective_list_is_refused_with_its_place(document: Any, pointer: str) -> None:
    with pytest.raises(SenderListError) as refused:
        read_sender_list(document)
    assert refused.value.pointer == pointer
