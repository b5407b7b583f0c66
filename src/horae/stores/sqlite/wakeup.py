"""The ring between processes that share one file: a datagram to a socket beside it. It may get lost; polling is the truth."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

SUFFIX: Final = "-rings"
_LONGEST_ADDRESS: Final = 100
"""A socket's name may be this long on every system that has them."""
_RING: Final = b"\a"
_TRIES: Final = 5


class SocketRing:
    """Each process that listens binds a socket in a folder beside the file; whoever rings sends one byte to all others."""

    def __init__(self, path: str) -> None:
        self._folder = Path(path + SUFFIX)
        self._name = ""
        self._ears: socket.socket | None = None
        self._mouth: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def ring(self) -> None:
        # Where nobody has ever listened there is no folder, and where no socket can be had, polling carries alone.
        with contextlib.suppress(OSError), self._opened() as folder:
            for name in os.listdir(folder):  # noqa: PTH208 - the folder is open, and only names are wanted
                if name != self._name:
                    self._tell(folder, name)

    def listen(self, heard: Callable[[], None]) -> None:
        """Where no socket can be made, rings are not heard, and polling carries alone."""
        self._stop_listening()
        ears = self._bound()
        if ears is not None:
            self._ears = ears
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(ears, self._hear, heard)

    def close(self) -> None:
        self._stop_listening()
        if self._mouth is not None:
            self._mouth.close()
            self._mouth = None

    async def finish(self) -> None:
        self.close()

    def _bound(self) -> socket.socket | None:
        """The last one to leave takes the folder with it, perhaps just now: then it is made again."""
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        for _ in range(_TRIES):
            with contextlib.suppress(OSError):
                self._folder.mkdir(mode=0o700, exist_ok=True)
                with self._opened() as folder, contextlib.ExitStack() as unless_bound:
                    ears = unless_bound.enter_context(_a_socket())
                    ears.bind(self._address(folder, name))
                    unless_bound.pop_all()
                    self._name = name
                    return ears
        return None

    def _stop_listening(self) -> None:
        if self._ears is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._ears)
        self._ears.close()
        self._ears = None
        with contextlib.suppress(OSError):
            (self._folder / self._name).unlink()
            self._folder.rmdir()
        self._name = ""

    def _tell(self, folder: int, name: str) -> None:
        if self._mouth is None:
            self._mouth = _a_socket()
        try:
            self._mouth.sendto(_RING, self._address(folder, name))
        except ConnectionRefusedError:
            # Its process is gone without a goodbye.
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
        except OSError:
            # It has rings enough that it has not heard yet, has just left, or is not ours to call: the others still are.
            return

    def _hear(self, heard: Callable[[], None]) -> None:
        """However many rings there were, one look answers them all."""
        if self._ears is None:
            return
        with contextlib.suppress(OSError):
            while self._ears.recv(16):
                pass
        heard()

    @contextmanager
    def _opened(self) -> Iterator[int]:
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            yield folder
        finally:
            os.close(folder)

    def _address(self, folder: int, name: str) -> str:
        """A long path is reached through the folder's own descriptor, where the system has such a thing."""
        plain = str(self._folder / name)
        return plain if len(os.fsencode(plain)) <= _LONGEST_ADDRESS else f"/proc/self/fd/{folder}/{name}"


def _a_socket() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.settimeout(0)
    return made
