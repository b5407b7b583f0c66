"""Checks of a deployment as values: code, grade, sentence and fix."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from ..choices import Language
from ..errors import Refusal
from ..message import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

Grade: TypeAlias = Literal["ok", "warning", "error", "skipped"]
"""`skipped`: the check was not made, and its sentence says why."""
Group: TypeAlias = Literal["server", "machine", "settings", "store", "nodes", "tasks"]
GROUPS: Final[tuple[Group, ...]] = ("server", "machine", "settings", "store", "nodes", "tasks")

GROUP_OF_CODE: Final[Mapping[str, Group]] = {
    "server": "server",
    "token": "server",
    "ready": "server",
    "tls": "server",
    "server_clock": "server",
    "server_checks": "server",
    "python": "machine",
    "clock": "machine",
    "zones": "machine",
    "disk": "machine",
    "libraries": "machine",
    "settings": "settings",
    "unknown_setting": "settings",
    "secrets": "settings",
    "store": "store",
    "writes": "store",
    "journal": "store",
    "encryption": "store",
    "durability": "store",
    "failover": "store",
    "features": "store",
    "plan_layout": "store",
    "clock_offset": "store",
    "integrity": "store",
    "backup": "store",
    "zone_data": "store",
    "clock_behind": "store",
    "clock_step": "nodes",
    "nodes": "nodes",
    "stale_nodes": "nodes",
    "node_clocks": "nodes",
    "labels": "nodes",
    "lanes": "nodes",
    "functions": "nodes",
    "lateness": "tasks",
    "waiting": "tasks",
    "overdue": "tasks",
    "parked": "tasks",
    "stranded": "tasks",
    "missing_labels": "tasks",
    "listeners": "tasks",
    "channels": "tasks",
    "channels_failing": "tasks",
    "senders": "tasks",
    "model": "tasks",
    "webhooks": "tasks",
    "webhooks_failing": "tasks",
    "deliveries": "tasks",
    "targets": "tasks",
    "failed": "tasks",
    "failing": "tasks",
    "approvals": "tasks",
    "orphaned": "tasks",
    "owners": "tasks",
    "tasks": "tasks",
}
"""Every check by its code, with the group under which front ends show it."""

LAST_BACKUP: Final = "last_backup"
"""Metadata of a store: the instant of its last backup."""
_NAME_LISTS: Final = ("names", "present")
"""Facts that list names: Chinese separates them by its own comma."""


class Fix(NamedTuple):
    """How to mend what a check found; `command` is the part to copy into a terminal, where there is one."""

    text: Message
    command: str | None = None


class Check(NamedTuple):
    """Result of one check: a stable code, a grade, a message with facts, and a fix.

    `checked_at` is None where the check was made for the report that it is in, and not for an earlier one.
    """

    code: str
    grade: Grade
    message: Message
    facts: Mapping[str, object]
    fix: Fix | None = None
    checked_at: datetime | None = None

    @property
    def group(self) -> Group:
        # A server of a newer version may have made a check that is unknown here.
        return GROUP_OF_CODE.get(self.code, "server")

    def facts_in(self, language: Language) -> dict[str, object]:
        """Return the facts of the message, with lists of names in the punctuation of the language."""
        facts = dict(self.facts)
        if language == "zh":
            facts |= {name: str(facts[name]).replace(", ", "、") for name in _NAME_LISTS if name in facts}
        return facts

    def sentence(self, language: Language) -> str:
        return self.message.in_language(language, **self.facts_in(language))


class DoctorReport(NamedTuple):
    """All checks of a deployment, in the order of their groups, and when they were made."""

    at: datetime
    checks: tuple[Check, ...]

    def count(self, grade: Grade) -> int:
        return sum(each.grade == grade for each in self.checks)


def make_check(code: str, grade: Grade, message: Message, fix: Fix | None = None, **facts: object) -> Check:
    return Check(code, grade, message, facts, fix)


def escape_braces(message: Message) -> Message:
    """Escape braces in a complete message, so that they are not taken for placeholders."""
    return Message(*(text.replace("{", "{{").replace("}", "}}") for text in message))


def fill_message(message: Message, **facts: object) -> Message:
    """Return the message with its facts; braces in them are escaped, so that it can be a fact of another message."""
    return escape_braces(Message(message.in_language("en", **facts), message.in_language("zh", **facts)))


def refusal_check(code: str, refusal: Refusal) -> Check:
    """Return an error with the sentence and the hint of a refusal."""
    en, zh = refusal.in_language("en"), refusal.in_language("zh")
    fix = Fix(escape_braces(Message(en.hint, zh.hint)))
    return make_check(code, "error", escape_braces(Message(en.message, zh.message)), fix)
