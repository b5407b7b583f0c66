"""The file is made, or brought up to this version, one numbered step after the other."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import apsw

from ...clock import SystemClock
from ...errors import StoreDamaged
from ..named_sql import read_steps
from .connection import Link

APPLICATION: Final = 0x486F7261
"""What marks a file as a store of Horae: its first four letters."""

_PATIENCE_SECONDS: Final = 10.0
_BETWEEN_TRIES: Final = 0.01


def steps() -> list[tuple[int, str]]:
    return read_steps(__package__)


def make_file(path: str) -> None:
    """An empty file that only its owner may read. It appears complete, whoever else makes it at the same time.

    The file itself must not be opened and closed here: that would drop the locks that this process holds on it.
    """
    # A link that leads to nothing yet: SQLite would make what it leads to, for everybody to read.
    place = Path(os.path.realpath(path))
    if place.exists():
        return
    handle, draft = tempfile.mkstemp(prefix=".horae-", dir=place.parent)
    os.close(handle)
    try:
        with suppress(FileExistsError):
            os.link(draft, place)
    finally:
        Path(draft).unlink()


def bring_up_to_date(link: Link) -> None:
    """Safe when several processes do it at once: each step is looked at again inside its own transaction."""
    _refuse_what_is_not_ours(link)
    _use_a_write_ahead_log(link)
    link.query("PRAGMA synchronous = FULL")
    for number, script in steps():
        if _version(link) < number:
            with _alone(link):
                if _version(link) < number:
                    link.query(script)
                    link.query(f"PRAGMA application_id = {APPLICATION}")
                    link.query(f"PRAGMA user_version = {number}")


def _use_a_write_ahead_log(link: Link) -> None:
    """Here SQLite does not wait for another process that is doing the same, so we do."""
    clock = SystemClock()
    until = clock.steady() + _PATIENCE_SECONDS
    while True:
        try:
            link.query("PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if clock.steady() > until:
                raise
            clock.sleep(_BETWEEN_TRIES)
        else:
            return


def _refuse_what_is_not_ours(link: Link) -> None:
    newest = steps()[-1][0]
    try:
        # Of one instant: another process may be making the tables right now.
        link.query("BEGIN")
        mark = link.query("PRAGMA application_id")[0][0]
        tables = link.query("SELECT count(*) FROM sqlite_schema")[0][0]
        link.query("COMMIT")
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamaged(f"The file is not a store of Horae: {error}.") from error
    if mark != APPLICATION and (tables or mark):
        raise StoreDamaged("The file is a database of another program, and was left as it is.")
    if _version(link) > newest:
        raise StoreDamaged(
            f"The file was written by a newer Horae (schema {_version(link)}, this one knows {newest}); it was left as it is."
        )


def _version(link: Link) -> int:
    found: int = link.query("PRAGMA user_version")[0][0]
    return found


@contextmanager
def _alone(link: Link) -> Iterator[None]:
    link.query("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        link.query("ROLLBACK")
        raise
    link.query("COMMIT")
