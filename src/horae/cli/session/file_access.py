"""Whether a store's file can be used at all, found out before it is opened: SQLite would only say that it could not."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ...errors import Refusal
from ..messages.messages import Message
from ..messages.refusals import refuse

_FOR: Final[dict[str, Message]] = {"reading": Message("reading", "读取"), "writing": Message("writing", "写入")}


class Obstacle(NamedTuple):
    """What cannot be done with the file or its folder, and what the system says to that."""

    path: Path
    use: Literal["reading", "writing"]
    reason: str

    def refusal(self) -> Refusal:
        said = _FOR[self.use]
        return refuse("store_not_reached", path=self.path, use=said.en, use_zh=said.zh, reason=self.reason)


def obstacle_to(path: Path) -> Obstacle | None:
    """Of a file that is there. Its folder counts too: the log of what was written last lies beside the file."""
    if not os.access(path, os.R_OK):
        return Obstacle(path, "reading", _reason(path))
    for place in (path, Path(os.path.realpath(path)).parent):
        if not os.access(place, os.W_OK):
            return Obstacle(place, "writing", _reason(place))
    return None


def _reason(place: Path) -> str:
    if hasattr(os, "statvfs") and os.statvfs(place).f_flag & os.ST_RDONLY:
        return os.strerror(errno.EROFS)
    return os.strerror(errno.EACCES)
