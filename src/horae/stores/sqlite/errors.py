"""Translation of SQLite errors to the store errors that callers handle."""

from __future__ import annotations

import errno
from typing import Final

import apsw

from ...errors import StoreDamaged, StoreError, StoreFull, StoreReadOnly, StoreUnavailable

_NO_SPACE_ERRNOS: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_READ_ONLY_ERRNOS: Final = frozenset({errno.EROFS})


def translate_error(error: apsw.Error) -> StoreError:
    """Return the store error for an error of SQLite; the caller raises it from the original."""
    if isinstance(error, apsw.FullError) or _has_errno(error, _NO_SPACE_ERRNOS):
        return StoreFull(f"There is no space left for another write: {error}.")
    if isinstance(error, apsw.CorruptError | apsw.NotADBError):
        return StoreDamaged(f"The file is damaged, or is not a store of Horae: {error}.")
    if isinstance(error, apsw.ReadOnlyError) or _has_errno(error, _READ_ONLY_ERRNOS):
        return StoreReadOnly(f"The file takes no writes: {error}.")
    if isinstance(error, apsw.ConstraintError):
        return StoreError(f"The change contradicts what is stored, and nothing of it was kept: {error}.")
    if isinstance(error, apsw.IOError):
        # The write may have reached the disk although the confirmation failed.
        return StoreUnavailable(f"The file could not be read or written, and a last write may have been kept: {error}.")
    return StoreUnavailable(f"The file could not be read or written: {error}.")


def _has_errno(error: apsw.Error, errnos: frozenset[int]) -> bool:
    """Return whether an I/O error has one of these system codes: a full or read-only file system reports I/O errors."""
    return isinstance(error, apsw.IOError) and getattr(error, "system_errno", 0) in errnos
