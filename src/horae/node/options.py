"""Options of a child process, sent by the supervisor as one line of JSON over the control socket.

Not as command line arguments: every user of the machine can read those, and a store URL may hold a password.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from ..runtime.stores import MEMORY
from .refusals import refuse

_CHUNK_BYTES: Final = 65_536


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
    metrics_socket: int | None = None
    """File descriptor of the socket where the worker serves its metrics."""
    metrics_host: str = "127.0.0.1"
    metrics_port: int = 0
    """Where the API process reads the worker's metrics; 0: nowhere."""
    metrics_key: str = ""
    """Key that the API process sends with these requests."""
    beat_seconds: float | None = None
    """Seconds between heartbeats; None: no watchdog waits for them."""

    @property
    def serves_api_in_worker(self) -> bool:
        """Whether the worker process serves the API, if it is served: no other process reaches a store in memory, and
        only the worker knows the store of an app."""
        return self.store in (None, MEMORY)

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
        return cls(**fields)
