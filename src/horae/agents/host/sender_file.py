"""File with the allow-list of senders, read again when it has changed; a file with a defect allows no sender."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ..router.senders import DeniedMode, SenderList, SenderListError, SenderRule, read_sender_list

LOG: Final = logging.getLogger("horae.agents")
MAX_BYTES: Final = 1024 * 1024
_NOBODY: Final = SenderList(SenderRule(frozenset(), DeniedMode.TRIGGER))
"""Messages are kept, and wake nothing."""


class SenderFile:
    """`problem` is the defect of the file in words; empty while there is none. Without a file every sender is allowed."""

    def __init__(self, path: Path | None, log: Callable[..., None] = LOG.error) -> None:
        self._path = path
        self._log = log
        self._mark: tuple[int, ...] | None = None
        self._senders = SenderList()
        self.problem = ""

    @property
    def path(self) -> Path | None:
        return self._path

    def read(self) -> SenderList:
        if self._path is None:
            return self._senders
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._mark, self._senders, self.problem = None, SenderList(), ""
            return self._senders
        except OSError as error:
            return self._refuse(None, error.strerror or type(error).__name__)
        mark = (found.st_mtime_ns, found.st_size, found.st_ino)
        if mark == self._mark:
            return self._senders
        if found.st_size > MAX_BYTES:
            return self._refuse(mark, f"it has more than {MAX_BYTES} bytes")
        try:
            self._senders = read_sender_list(json.loads(self._path.read_text(encoding="utf-8")))
        except SenderListError as error:
            return self._refuse(mark, str(error))
        except (OSError, ValueError, RecursionError) as error:
            return self._refuse(mark, str(error) or type(error).__name__)
        self._mark, self.problem = mark, ""
        return self._senders

    def _refuse(self, mark: tuple[int, ...] | None, problem: str) -> SenderList:
        if problem != self.problem:
            self._log("no sender may wake an agent: the list of senders, %s, cannot be used: %s", self._path, problem)
        self._mark, self._senders, self.problem = mark, _NOBODY, problem
        return self._senders
