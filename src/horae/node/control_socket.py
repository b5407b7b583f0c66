"""Socket pair between the supervisor and a child: options down, then `begun`, `ready` and heartbeats up; EOF is the end."""

from __future__ import annotations

import os
import signal
import socket
import threading
from typing import Final, NamedTuple, NoReturn

from .refusals import refuse

BEGUN: Final = b"begun"
"""Sent before the first claim: an exit before it is a refusal to start, an exit after it may be caused by a task."""
READY: Final = b"ready"
BEAT: Final = b"."
"""Heartbeat, sent again and again by a healthy child where a service manager has a watchdog."""
_DRAIN_SECONDS: Final = 30.0
"""How long a child may take to stop gracefully after its supervisor has died."""


def control_socket(arguments: list[str]) -> socket.socket:
    """Return the socket whose file descriptor is the only argument; raises a refusal if it is none."""
    try:
        (number,) = map(int, arguments)
        control = socket.socket(fileno=number)
    except (ValueError, OSError):
        raise refuse("not_supervised_here", value=" ".join(arguments)) from None
    control.set_inheritable(False)
    return control


def send_ready(control: socket.socket) -> None:
    control.sendall(READY)


class SupervisorLink(NamedTuple):
    """Connection of a child to its supervisor. `orphaned` is set when the supervisor has died."""

    control: socket.socket
    orphaned: threading.Event


def watch_supervisor(control: socket.socket) -> SupervisorLink:
    """Start a thread that stops this process when the supervisor dies."""
    link = SupervisorLink(control, threading.Event())
    threading.Thread(target=_exit_with_supervisor, args=(link,), daemon=True, name="horae-parent").start()
    return link


def _exit_with_supervisor(link: SupervisorLink) -> NoReturn:
    """Wait for EOF, which means that the supervisor has died, then stop this process: nothing else could stop it."""
    try:
        while link.control.recv(64):
            pass
    except OSError:
        pass
    # Before the signal, so that the stop is not taken for a requested one.
    link.orphaned.set()
    os.kill(os.getpid(), signal.SIGTERM)
    threading.Event().wait(_DRAIN_SECONDS)
    os._exit(1)
