"""What SQLite's own errors mean to whoever called the store."""

from __future__ import annotations

import errno
from typing import Final

import apsw

from ...errors import StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable

_NO_SPACE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY: Final = frozenset({errno.EROFS})


def translated(error: apsw.Error) -> StoreError:
    """The error of the store that says the same; the caller raises it from the original."""
    if isinstance(error, apsw.FullError) or _says(error, _NO_SPACE):
        return StoreFull(f"There is no space left for another write: {error}.")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreDamaged(f"The file is damaged, or is not a store of Horae: {error}.")
    if isinstance(error, apsw.ReadOnlyError) or _says(error, _READ_ONLY):
        return StoreReadOnly(f"The file takes no writes: {error}.")
    if isinstance(error, apsw.ConstraintError):
        return StoreError(f"The change contradicts what is stored, and nothing of it was kept: {error}.")
    if isinstance(error, apsw.IOError):
        # The disk may have taken what it then failed to confirm.
        return StoreUnavailable(f"The file could not be read or written, and a last write may have been kept: {error}.")
    return StoreUnavailable(f"The file could not be read or written: {error}.")


def _says(error: apsw.Error, why: frozenset[int]) -> bool:
    """A file system without space, or one that was mounted anew, answers writes with an input or output error."""
    return isinstance(error, apsw.IOError) and getattr(error, "system_errno", 0) in why
