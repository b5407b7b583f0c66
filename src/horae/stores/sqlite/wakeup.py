"""Wake-up notifications between processes on one file: a datagram to each Unix socket in a folder next to the file.

Notifications can get lost; polling is what guarantees progress.
"""

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
"""Length of a socket address that every system accepts."""
_DATAGRAM: Final = b"\a"
_BIND_ATTEMPTS: Final = 5


class SocketNotifier:
    """Each listening process binds a socket in the folder; a notification sends one byte to all other sockets."""

    def __init__(self, path: str) -> None:
        self._folder = Path(path + SUFFIX)
        self._name = ""
        self._receiver: socket.socket | None = None
        self._sender: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def notify(self) -> None:
        """Notify all other listening processes; without a folder or sockets, they rely on polling."""
        with contextlib.suppress(OSError), self._open_folder() as folder:
            for name in os.listdir(folder):  # noqa: PTH208 - the folder is open, and only names are needed
                if name != self._name:
                    self._send(folder, name)

    def listen(self, callback: Callable[[], None]) -> None:
        """Call `callback` on the running loop for notifications; without a socket, the process relies on polling."""
        self._stop_listening()
        receiver = self._bind_receiver()
        if receiver is not None:
            self._receiver = receiver
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(receiver, self._receive, callback)

    def close(self) -> None:
        self._stop_listening()
        if self._sender is not None:
            self._sender.close()
            self._sender = None

    async def finish(self) -> None:
        self.close()

    def _bind_receiver(self) -> socket.socket | None:
        """Bind a socket in the folder; repeated if the last listener removes the folder at the same time."""
        name = f"{os.getpid()}-{secrets.token_hex(4)}"
        for _ in range(_BIND_ATTEMPTS):
            with contextlib.suppress(OSError):
                self._folder.mkdir(mode=0o700, exist_ok=True)
                with self._open_folder() as folder, contextlib.ExitStack() as cleanup:
                    receiver = cleanup.enter_context(_create_socket())
                    receiver.bind(self._address(folder, name))
                    cleanup.pop_all()
                    self._name = name
                    return receiver
        return None

    def _stop_listening(self) -> None:
        if self._receiver is None:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._receiver)
        self._receiver.close()
        self._receiver = None
        with contextlib.suppress(OSError):
            (self._folder / self._name).unlink()
            self._folder.rmdir()
        self._name = ""

    def _send(self, folder: int, name: str) -> None:
        if self._sender is None:
            self._sender = _create_socket()
        try:
            self._sender.sendto(_DATAGRAM, self._address(folder, name))
        except ConnectionRefusedError:
            # The process of this socket was killed.
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder)
        except OSError:
            # The queue of the socket is full, or it was just removed, or belongs to another user: go on with the others.
            return

    def _receive(self, callback: Callable[[], None]) -> None:
        """Drain all pending notifications and run the callback once."""
        if self._receiver is None:
            return
        with contextlib.suppress(OSError):
            while self._receiver.recv(16):
                pass
        callback()

    @contextmanager
    def _open_folder(self) -> Iterator[int]:
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            yield folder
        finally:
            os.close(folder)

    def _address(self, folder: int, name: str) -> str:
        """Return the socket's address; a path that is too long goes through /proc and the folder's descriptor."""
        address = f"{self._folder}/{name}"
        return address if len(os.fsencode(address)) <= _LONGEST_ADDRESS else f"/proc/self/fd/{folder}/{name}"


def _create_socket() -> socket.socket:
    created = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    created.settimeout(0)
    return created
