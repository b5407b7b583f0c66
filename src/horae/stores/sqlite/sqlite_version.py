"""The SQLite that this process has: an old one is refused at the door, not met as a riddle in the middle of a claim."""

from __future__ import annotations

from typing import Final

import apsw

from ...errors import StoreUnavailable

OLDEST_APSW: Final = "3.52"
"""The first with all that is asked of it, such as `carray`; pyproject.toml asks for the same."""
OLDEST_SQLITE: Final = "3.51.3"
"""Before that one, a write-ahead log that several processes share could be damaged."""


def refuse_an_old_library() -> None:
    for name, found, oldest in (
        ("apsw", apsw.apswversion(), OLDEST_APSW),
        ("SQLite", apsw.sqlite_lib_version(), OLDEST_SQLITE),
    ):
        if _numbers(found) < _numbers(oldest):
            raise StoreUnavailable(
                f"{name} {found} is too old for this store, which needs {oldest} or newer: "
                f"pip install --upgrade 'apsw>={OLDEST_APSW}'."
            )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
