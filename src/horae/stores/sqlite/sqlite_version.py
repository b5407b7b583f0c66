"""Version check of apsw and SQLite when a store is opened, instead of an obscure error during a claim."""

from __future__ import annotations

from typing import Final

import apsw

from ...errors import StoreUnavailable

OLDEST_APSW: Final = "3.52"
"""First version with all functions in use, such as `carray`; pyproject.toml requires the same."""
OLDEST_SQLITE: Final = "3.51.3"
"""Earlier versions can corrupt a write-ahead log that several processes share."""


def require_supported_version() -> None:
    for name, installed, oldest in (
        ("apsw", apsw.apswversion(), OLDEST_APSW),
        ("SQLite", apsw.sqlite_lib_version(), OLDEST_SQLITE),
    ):
        if _parse_version(installed) < _parse_version(oldest):
            raise StoreUnavailable(
                f"{name} {installed} is too old for this store, which needs {oldest} or newer: "
                f"pip install --upgrade 'apsw>={OLDEST_APSW}'."
            )


def _parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
