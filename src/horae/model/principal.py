"""Who is asking."""

from __future__ import annotations

from typing import Final, NamedTuple


class Principal(NamedTuple):
    owner: str
    admin: bool = False

    @property
    def scope(self) -> str | None:
        """Whose things are visible: one owner's, or (None) everybody's."""
        return None if self.admin else self.owner


LOCAL_OWNER: Final = "local"
LOCAL: Final = Principal(LOCAL_OWNER, admin=True)
"""Whoever can open the file, or holds the object in their own process."""
