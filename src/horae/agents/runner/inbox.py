"""Input directory of a live agent: messages that arrive while it runs, and the request to close.

A file is deleted after the result of its turn was written. That is the acknowledgement: messages whose files are left when
an agent has ended were not handled.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ..protocol import CLOSE_FILE, ProtocolError, read_input_file
from ..protocol.documents import MAX_INPUT_BYTES

MAX_MESSAGES: Final = 100
"""Of one turn; the rest is taken in the next."""


class Batch(NamedTuple):
    """Messages that one turn handles, with their files."""

    texts: tuple[str, ...]
    files: tuple[Path, ...]

    def acknowledge(self) -> None:
        for file in self.files:
            file.unlink(missing_ok=True)


class Inbox:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take_close_request(self) -> bool:
        """Delete the close file; return whether there was one."""
        try:
            (self._folder / CLOSE_FILE).unlink()
        except OSError:
            return False
        return True

    def read(self) -> Batch:
        """Return the messages by the names of their files; a file that is no message is deleted."""
        texts: list[str] = []
        files: list[Path] = []
        for file in self._message_files()[:MAX_MESSAGES]:
            try:
                texts.append(read_input_file(_read_regular_file(file)).text)
                files.append(file)
            except ProtocolError:
                file.unlink(missing_ok=True)
            except OSError:
                with suppress(OSError):
                    file.unlink()
        return Batch(tuple(texts), tuple(files))

    def _message_files(self) -> list[Path]:
        try:
            return sorted(path for path in self._folder.iterdir() if path.suffix == ".json")
        except OSError:
            return []


def _read_regular_file(path: Path) -> bytes:
    """Read a file without following a link or waiting for the writer of a pipe."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb", closefd=True) as file:  # noqa: PTH123 - opened with flags
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is not a regular file")
        return file.read(MAX_INPUT_BYTES + 1)
