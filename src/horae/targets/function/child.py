"""Entry point of a child process: imports the function, calls it once, reports the outcome, exits; started by `group.py`.

Messages come in over the original standard input, reports go out over the original standard output; what the function
prints goes to the run's log.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import TextIOWrapper
from threading import Lock, Thread
from typing import Any

from ...model.limits import ERROR_CHARACTERS
from ...model.outcome import Failed, Outcome
from ...model.reason import Reason
from .arguments.binding import told
from .arguments.converter import Mismatch
from .context import Context
from .guard import die_with_parent
from .origin import load
from .registry import Function, describe_function
from .storable_text import kept
from .verdict import in_words, outcome_of
from .wire import News, Order, line, messages, read_news, read_order, write_outcome


class Stopped(SystemExit):
    """Raised in the function on SIGTERM, so that it can clean up."""


class Relay:
    """Reports to the node over a pipe and receives its updates; a broken pipe to a dead node is ignored."""

    def __init__(self, pipe: int, deadline: datetime) -> None:
        self._pipe = pipe
        self._lock = Lock()
        self._update = News(deadline, cancelled=False, yield_requested=False)

    @property
    def deadline(self) -> datetime:
        return self._update.deadline

    @property
    def cancelled(self) -> bool:
        return self._update.cancelled

    @property
    def yield_requested(self) -> bool:
        return self._update.yield_requested

    def log(self, text: str, level: str = "info") -> None:
        self.send({"log": text, "level": level})

    def progress(self, done: float, text: str = "") -> None:
        self.send({"progress": done, "text": text})

    def heartbeat(self) -> None:
        self.send({"heartbeat": True})

    def send(self, message: dict[str, Any]) -> None:
        rest = memoryview(line(message))
        with self._lock, suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._pipe, rest) :]

    def receive_updates(self, orders: Iterator[Any]) -> None:
        for message in orders:
            self._update = read_news(message)
        os.killpg(0, signal.SIGKILL)  # the node is gone


def main() -> None:
    orders, reports = _take_streams()
    die_with_parent(orders)
    incoming = messages(orders)
    order = read_order(next(incoming))
    relay = Relay(reports, order.deadline)
    Thread(target=relay.receive_updates, args=(incoming,), daemon=True).start()
    sys.path[:] = order.path
    sys.argv[:] = [order.origin.path or ""]
    signal.signal(signal.SIGTERM, _stop)
    relay.send(_load_and_call(order, relay))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _take_streams() -> tuple[int, int]:
    """Move the pipes away from the standard streams: the function reads nothing, and its prints go to standard error."""
    orders, reports = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    faulthandler.enable()
    return orders, reports


def _stop(number: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the clean-up must not be interrupted again
    raise Stopped(f"signal {number}")


def _load_and_call(order: Order, relay: Relay) -> dict[str, Any]:
    try:
        function = describe_function(order.name, load(order.origin))
    except BaseException as error:  # noqa: BLE001 - a module may raise anything while it is loaded
        text = f"it cannot be loaded in a process of its own: {in_words(error)}"
        return {"unloadable": kept(text, ERROR_CHARACTERS)}
    return {"outcome": write_outcome(_call(function, order, relay))}


def _call(function: Function, order: Order, relay: Relay) -> Outcome:
    binding = function.binding
    try:
        arguments = binding.read(order.occasion.payload)
    except Mismatch as mismatch:
        return Failed(kept(told(mismatch, order.name), ERROR_CHARACTERS), permanent=True, reason=Reason.NOT_CALLED)
    if binding.context is not None:
        arguments[binding.context] = Context(order.occasion, relay)
    call = partial(function.call, **arguments)
    return outcome_of(_with_event_loop(call) if function.is_async else call)


def _with_event_loop(call: Callable[[], Any]) -> Callable[[], Any]:
    import asyncio  # noqa: PLC0415 - slow to load, and most functions in a process are not async

    from .loop_thread import OwnLoop  # noqa: PLC0415

    def stop_on_sigterm(loop: OwnLoop) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, loop.stop)

    return OwnLoop(call, stop_on_sigterm).run


if __name__ == "__main__":
    main()
