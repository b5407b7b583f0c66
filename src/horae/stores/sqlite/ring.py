"""The ring between processes that share one file: a datagram to a socket beside it. It may get lost; polling is the truth."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final

SUFFIX: Final = "-rings"
_LONGEST_ADDRESS: Final = 100
"""A socket's name may be this long on every system that has them."""
_RING: Final = b"\a"


class SocketRing:
    """Each process that listens binds a socket in a folder beside the file; whoever rings sends one byte to all others."""

    def __init__(self, path: str) -> None:
        self._folder = Path(path + SUFFIX)
        self._name = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._folder_fd: int | None = None
        self._ears: socket.socket | None = None
        self._mouth: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def ring(self) -> None:
        mouth = self._speaking()
        if mouth is None:
            return
        with contextlib.suppress(OSError):
            for name in os.listdir(self._folder):  # noqa: PTH208 - only names are wanted
                if name != self._name:
                    self._tell(mouth, name)

    def listen(self, heard: Callable[[], None]) -> None:
        """Where no socket can be made, rings are not heard, and polling carries alone."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
            ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            ears.bind(self._address(self._name))
            self._ears = ears
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(ears, self._hear, heard)

    def close(self) -> None:
        if self._ears is not None:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(self._ears)
            self._ears.close()
            self._ears = None
            with contextlib.suppress(OSError):
                (self._folder / self._name).unlink()
                self._folder.rmdir()  # the last one to leave takes the folder with it
        if self._mouth is not None:
            self._mouth.close()
            self._mouth = None
        if self._folder_fd is not None:
            os.close(self._folder_fd)
            self._folder_fd = None

    def _speaking(self) -> socket.socket | None:
        if self._mouth is None:
            try:
                self._mouth = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            except OSError:
                return None
        return self._mouth

    def _tell(self, mouth: socket.socket, name: str) -> None:
        try:
            mouth.sendto(_RING, self._address(name))
        except BlockingIOError:
            return  # it has rings enough that it has not heard yet
        except (ConnectionRefusedError, FileNotFoundError):
            # Its process is gone without a goodbye.
            with contextlib.suppress(OSError):
                (self._folder / name).unlink()

    def _hear(self, heard: Callable[[], None]) -> None:
        """However many rings there were, one look answers them all."""
        if self._ears is None:
            return
        with contextlib.suppress(BlockingIOError):
            while self._ears.recv(16):
                pass
        heard()

    def _address(self, name: str) -> str:
        """A long path is reached through the folder's own descriptor, where the system has such a thing."""
        plain = str(self._folder / name)
        if len(os.fsencode(plain)) <= _LONGEST_ADDRESS:
            return plain
        if self._folder_fd is None:
            self._folder_fd = os.open(self._folder, os.O_RDONLY)
        return f"/proc/self/fd/{self._folder_fd}/{name}"
