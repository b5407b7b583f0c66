"""Options of a child process, sent by the supervisor as one line of JSON over the control socket.

Not as command line arguments: every user of the machine can read those, and a store URL may hold a password.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from ..runtime.stores import MEMORY
from .refusals import refuse

_CHUNK_BYTES: Final = 65_536
_START_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """Options of a worker or API process. A front end adds its own fields in a subclass."""

    began: float
    """When the start was requested, by the steady clock."""
    store: str | None = None
    """None: the store of the app."""
    zone: str | None = None
    seconds: float | None = None
    """Stop after so many seconds."""
    poll: float | None = None
    batch: int | None = None
    concurrency: int | None = None
    lease: float | None = None
    labels: tuple[str, ...] = ()
    """Labels of the node, such as `gpu=a100`."""
    node_name: str | None = None
    require_durable: bool = False
    """Whether the node refuses a store that can lose what it has acknowledged."""
    processes: int = 1
    """How many processes with an engine the supervisor runs; each is a node of its own."""
    number: int = 0
    """Which of them this one is, from 0. The first one has what a machine has once: agents, stations, the API."""
    restarts: int = 0
    """How many processes of this kind the supervisor has started before."""
    supervised: bool = False
    """Whether a supervisor kills this process when it does not stop."""
    api_socket: int | None = None
    """File descriptor of the socket that the HTTP API listens on; None: this process does not serve it."""
    api_unix_socket: int | None = None
    """File descriptor of the unix socket that the HTTP API listens on too."""
    engine: bool = True
    """Whether a worker runs, in this process or next to it."""
    metrics_sockets: tuple[int, ...] = ()
    """File descriptors of the sockets where the processes with an engine serve their metrics, by their number."""
    metrics_addresses: tuple[tuple[str, int], ...] = ()
    """Their addresses: the API process, or the first process with an engine, shows the metrics of all."""
    metrics_key: str = ""
    """Key that processes of the same supervisor send with these requests."""
    agents: bool = False
    """Whether the worker runs a host of agents, and the API receives the messages of their channels."""
    refusal_token: int | None = None
    """File descriptor of a pipe with one byte: the child that reads it prints a refusal of the store that both meet."""
    header_reader: int | None = None
    """File descriptor of a pipe that has something in it once the first process has printed its header."""
    header_writer: int | None = None
    """File descriptor of the other end of that pipe, in the first process."""
    stations: bool = False
    """Whether stations may join the worker."""
    beat_seconds: float | None = None
    """Seconds between heartbeats; None: no watchdog waits for them."""

    @property
    def serves_api_in_worker(self) -> bool:
        """Whether the worker process serves the API, if it is served: no other process reaches a store in memory, and
        only the worker knows the store of an app."""
        return self.store in (None, MEMORY)

    @property
    def metrics_socket(self) -> int | None:
        """Descriptor of the socket where this process with an engine serves its metrics."""
        return self.metrics_sockets[self.number] if self.metrics_sockets else None

    def takes_refusal(self, now: float) -> bool:
        """Whether this process prints a refusal that several meet at the first start, and not another child.

        `now` is the time of the steady clock.
        """
        if self.refusal_token is None or self.restarts or now - self.began > _START_SECONDS:
            return True
        try:
            return bool(os.read(self.refusal_token, 1))
        except OSError:
            return False

    def note_header(self) -> None:
        """Tell the other processes that the first one has printed its header."""
        if self.header_writer is not None:
            os.write(self.header_writer, b"1")

    def encode(self) -> bytes:
        """Return one line: the newline tells the receiver where it ends."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def receive(cls, control: socket.socket) -> Self:
        """Read the options from the control socket; raises a refusal if they are none."""
        text = b""
        while not text.endswith(b"\n") and (part := control.recv(_CHUNK_BYTES)):
            text += part
        try:
            return cls.decode(json.loads(text))
        except (ValueError, TypeError):
            raise refuse("not_supervised_here", value="?") from None

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> Self:
        sockets = tuple(map(int, fields.pop("metrics_sockets", ())))
        addresses = tuple((str(host), int(port)) for host, port in fields.pop("metrics_addresses", ()))
        return cls(**fields, metrics_sockets=sockets, metrics_addresses=addresses)


def check_processes(processes: int, store: str | None) -> None:
    """Raise a refusal if so many processes with an engine cannot share the store."""
    if processes > 1 and store is not None and store.startswith(MEMORY):
        raise refuse("processes_in_memory", number=processes)
    if processes > 1 and os.name != "posix":
        raise refuse("processes_not_here", number=processes)
