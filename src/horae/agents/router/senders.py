"""Allow-list of senders: which senders may wake the agent of a chat, and which messages are kept."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple


class DeniedMode(StrEnum):
    """Treatment of the message of a sender that is not on the list."""

    TRIGGER = "trigger"
    """Kept as context; it wakes nothing."""
    DROP = "drop"
    """Not kept."""


class SenderRule(NamedTuple):
    """Senders of one chat. `allowed` is None where every sender may write."""

    allowed: frozenset[str] | None = None
    mode: DeniedMode = DeniedMode.TRIGGER

    def allows(self, sender: str, *, from_me: bool = False) -> bool:
        return from_me or self.allowed is None or sender in self.allowed


class SenderList(NamedTuple):
    """Rules by chat, and one for the chats without a rule of their own."""

    default: SenderRule = SenderRule()
    chats: Mapping[str, SenderRule] = {}
    logs_denied: bool = True

    def rule_of(self, chat: str) -> SenderRule:
        return self.chats.get(chat, self.default)

    def may_trigger(self, chat: str, sender: str, *, from_me: bool = False) -> bool:
        return self.rule_of(chat).allows(sender, from_me=from_me)

    def keeps(self, chat: str, sender: str, *, from_me: bool = False) -> bool:
        rule = self.rule_of(chat)
        return rule.allows(sender, from_me=from_me) or rule.mode is not DeniedMode.DROP


class SenderListError(ValueError):
    """The file is not a list of senders; `pointer` names the part."""

    def __init__(self, pointer: str, problem: str) -> None:
        self.pointer = pointer
        super().__init__(f"{pointer or '/'}: {problem}")


def read_sender_list(document: Any) -> SenderList:
    """Read the JSON document of NanoClaw's `sender-allowlist.json`. Unlike there, a defect is an error and allows no sender."""
    if not isinstance(document, dict):
        raise SenderListError("", "an object is expected")
    chats = document.get("chats", {})
    if not isinstance(chats, dict):
        raise SenderListError("/chats", "an object of chats is expected")
    logs_denied = document.get("logDenied", True)
    if not isinstance(logs_denied, bool):
        raise SenderListError("/logDenied", "true or false is expected")
    return SenderList(
        _read_rule(document.get("default", {}), "/default"),
        {chat: _read_rule(rule, f"/chats/{chat}") for chat, rule in chats.items()},
        logs_denied,
    )


def _read_rule(document: Any, pointer: str) -> SenderRule:
    if not isinstance(document, dict):
        raise SenderListError(pointer, "an object with allow and mode is expected")
    allow = document.get("allow", "*")
    if allow != "*" and not (isinstance(allow, list) and all(isinstance(each, str) for each in allow)):
        raise SenderListError(f"{pointer}/allow", 'a list of sender ids, or "*", is expected')
    try:
        mode = DeniedMode(document.get("mode", DeniedMode.TRIGGER))
    except ValueError:
        raise SenderListError(f"{pointer}/mode", 'use "trigger" or "drop"') from None
    return SenderRule(None if allow == "*" else frozenset(allow), mode)
