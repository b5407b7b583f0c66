"""Echo server that records what it received."""

from __future__ import annotations

import socket
from queue import SimpleQueue
from threading import Thread
from types import TracebackType
from typing import Final, Self

from tests.servers.ports import HOST

_PIECE: Final = 64 * 1024
ECHO_THREAD: Final = "echo"
"""Name of the thread of a connection."""


class EchoServer:
    def __init__(self) -> None:
        self.received: SimpleQueue[bytes] = SimpleQueue()
        self._entrance = socket.create_server((HOST, 0))
        self._threads = [Thread(target=self._accept, daemon=True)]

    @property
    def port(self) -> int:
        number: int = self._entrance.getsockname()[1]
        return number

    def __enter__(self) -> Self:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # close() alone would not wake the thread that waits in accept.
        self._entrance.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        self._entrance.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._entrance.accept()
            except OSError:
                return
            thread = Thread(target=self._echo, name=ECHO_THREAD, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _echo(self, connection: socket.socket) -> None:
        with connection:
            try:
                while piece := connection.recv(_PIECE):
                    self.received.put(piece)
                    connection.sendall(piece)
            except OSError:
                return
