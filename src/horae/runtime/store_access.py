"""Access to the file of a store: what prevents its use, found before it is opened."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Literal, NamedTuple


class AccessProblem(NamedTuple):
    """Access to the file or its folder that the system denies, with its reason."""

    path: Path
    use: Literal["reading", "writing"]
    reason: str


def find_access_problem(path: Path) -> AccessProblem | None:
    """Return what prevents the use of an existing file; SQLite needs write access to its folder too, for the write-ahead log.

    Checked before it is opened, because SQLite would only report that it could not.
    """
    if not os.access(path, os.R_OK):
        return AccessProblem(path, "reading", _reason(path))
    for place in (path, Path(os.path.realpath(path)).parent):
        if not os.access(place, os.W_OK):
            return AccessProblem(place, "writing", _reason(place))
    return None


def _reason(place: Path) -> str:
    if hasattr(os, "statvfs") and os.statvfs(place).f_flag & os.ST_RDONLY:
        return os.strerror(errno.EROFS)
    return os.strerror(errno.EACCES)
