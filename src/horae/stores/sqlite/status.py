"""The state of a file as an operator asks for it: which SQLite, which schema, which settings. Nothing is written."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import apsw

from ...errors import StoreDamaged
from .connection import Link
from .migrate import APPLICATION, steps


class Condition(NamedTuple):
    sqlite: str
    apsw: str
    schema: int
    newest: int
    """The schema that this Horae knows."""
    journal: str
    size: int
    """Bytes, with what is still in the write-ahead log."""


def versions() -> tuple[str, str]:
    return apsw.sqlite_lib_version(), apsw.apswversion()


def condition_of(path: str) -> Condition:
    try:
        # Able to write, though it does not: only such a connection tidies the log away when it is the last to leave.
        link = Link(path, cache_kilobytes=256)
        try:
            mark = link.query("PRAGMA application_id")[0][0]
            schema = link.query("PRAGMA user_version")[0][0]
            journal = link.query("PRAGMA journal_mode")[0][0]
        finally:
            link.close()
    except apsw.Error as error:
        raise StoreDamaged(f"The file is not a store of Horae: {error}.") from error
    if mark != APPLICATION:
        raise StoreDamaged("The file is a database of another program, or of none.")
    sqlite, wrapper = versions()
    return Condition(sqlite, wrapper, schema, steps()[-1][0], journal, _size(path))


def _size(path: str) -> int:
    files = (Path(path), Path(f"{path}-wal"))
    return sum(each.stat().st_size for each in files if each.exists())
