"""Multimap from a group to its members; empty groups are removed."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Final

_NO_MEMBERS: Final[frozenset[str]] = frozenset()


class Multimap:
    def __init__(self) -> None:
        self._members: dict[str, set[str]] = {}

    def members_of(self, group: str) -> AbstractSet[str]:
        return self._members.get(group, _NO_MEMBERS)

    def sizes(self) -> dict[str, int]:
        return {group: len(members) for group, members in self._members.items()}

    def add(self, group: str, member: str) -> None:
        self._members.setdefault(group, set()).add(member)

    def discard(self, group: str, member: str) -> None:
        members = self._members.get(group)
        if members is not None:
            members.discard(member)
            if not members:
                del self._members[group]
