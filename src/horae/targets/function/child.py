"""Entry point of a child process: imports the function, calls it once, reports the outcome, exits; started by `group.py`.

Messages come in over the original standard input, reports go out over the original standard output; what the function
prints goes to the run's log.
"""

from __future__ import annotations

import faulthandler
import os
import select
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from io import TextIOWrapper
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from ...model.lanes.idle import YieldReason
from ...model.limits import ERROR_CHARACTERS, to_storable
from ...model.outcome import Failed, Outcome
from ...model.reason import Reason
from .arguments.binder import describe_mismatch
from .arguments.converter import Mismatch
from .context import Context
from .origin import import_function
from .registry import Function, describe_function
from .verdict import call_for_outcome, describe_error
from .wire import CallRequest, RunUpdate, decode_request, decode_update, encode_message, encode_outcome, read_messages

if TYPE_CHECKING:
    from .child_tools import NodeCalls

_PR_SET_PDEATHSIG: Final = 1
_MAX_INHERITED_FD: Final = 64


def die_with_parent(lifeline: int) -> None:
    """Arrange to be killed with the parent. Call before any thread starts.

    `lifeline` is a pipe whose other end only the node holds.
    """
    _set_parent_death_signal()
    # The kernel kills this process alone. A watchdog process, which runs no foreign code and so cannot be blocked by a
    # function's lock, kills the group. It is forked twice, so that a function waiting for its children never sees it.
    if os.fork() == 0:
        if os.fork() == 0:
            _watch(lifeline)
        os._exit(0)
    os.wait()


def _set_parent_death_signal() -> None:
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - needed on Linux only

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _watch(lifeline: int) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(0, lifeline)
    os.closerange(lifeline + 1, _MAX_INHERITED_FD)
    poll = select.poll()
    poll.register(lifeline, 0)  # reports a hang-up only, not data
    while not poll.poll():
        pass
    os.killpg(0, signal.SIGKILL)


class Stopped(SystemExit):
    """Raised in the function on SIGTERM, so that it can clean up."""


class PipeReporter:
    """Reports to the node over a pipe and receives its updates; a broken pipe to a dead node is ignored."""

    def __init__(self, pipe: int, deadline: datetime) -> None:
        self._pipe = pipe
        self._lock = Lock()
        self._update = RunUpdate(deadline, cancelled=False, yield_requested=False)
        self._calls: NodeCalls | None = None

    @property
    def deadline(self) -> datetime:
        return self._update.deadline

    @property
    def cancelled(self) -> bool:
        return self._update.cancelled

    @property
    def yield_requested(self) -> bool:
        return self._update.yield_requested

    @property
    def yield_reason(self) -> YieldReason | None:
        return self._update.yield_reason

    def log(self, text: str, level: str = "info") -> None:
        self.send({"log": text, "level": level})

    def progress(self, done: float, text: str = "") -> None:
        self.send({"progress": done, "text": text})

    def heartbeat(self) -> None:
        self.send({"heartbeat": True})

    def idle(self, idle: bool = True) -> None:  # noqa: FBT001, FBT002 - the argument is the state
        self.send({"idle": idle})

    @property
    def messages(self) -> Any:
        from .child_tools import ChildMessages  # noqa: PLC0415 - few functions use it

        return ChildMessages(self._open_calls())

    @property
    def records(self) -> Any:
        return self._make_tool("records")

    @property
    def service(self) -> Any:
        return self._make_tool("service")

    def _make_tool(self, name: str) -> Any:
        from .child_tools import ChildTool  # noqa: PLC0415

        return ChildTool(name, self._open_calls())

    def _open_calls(self) -> NodeCalls:
        from .child_tools import NodeCalls  # noqa: PLC0415

        if self._calls is None:
            self._calls = NodeCalls(self.send_line)
        return self._calls

    def send(self, message: dict[str, Any]) -> None:
        self.send_line(encode_message(message))

    def send_line(self, line: bytes) -> None:
        rest = memoryview(line)
        with self._lock, suppress(BrokenPipeError):
            while rest:
                rest = rest[os.write(self._pipe, rest) :]

    def receive_updates(self, orders: Iterator[Any]) -> None:
        for message in orders:
            if "answer" not in message:
                self._update = decode_update(message)
            elif self._calls is not None:
                self._calls.finish(message)
        os.killpg(0, signal.SIGKILL)  # the node is gone


def main() -> None:
    orders, reports = _take_streams()
    die_with_parent(orders)
    incoming = read_messages(orders)
    order = decode_request(next(incoming))
    relay = PipeReporter(reports, order.deadline)
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


def _load_and_call(order: CallRequest, relay: PipeReporter) -> dict[str, Any]:
    try:
        function = describe_function(order.name, import_function(order.origin))
    except BaseException as error:  # noqa: BLE001 - a module may raise anything while it is loaded
        text = f"it cannot be loaded in a process of its own: {describe_error(error)}"
        return {"unloadable": to_storable(text, ERROR_CHARACTERS)}
    return {"outcome": encode_outcome(_call(function, order, relay))}


def _call(function: Function, order: CallRequest, relay: PipeReporter) -> Outcome:
    binding = function.binding
    try:
        state = order.occasion.gate_state
        if state is None:
            arguments = binding.read(order.occasion.payload)
        else:
            arguments = binding.read_for_gate(order.occasion.payload, state)
    except Mismatch as mismatch:
        return Failed(
            to_storable(describe_mismatch(mismatch, order.name), ERROR_CHARACTERS),
            permanent=True,
            reason=Reason.NOT_CALLED,
        )
    if binding.context is not None:
        arguments[binding.context] = Context(order.occasion, relay)
    call = partial(function.call, **arguments)
    return call_for_outcome(_with_event_loop(call) if function.is_async else call)


def _with_event_loop(call: Callable[[], Any]) -> Callable[[], Any]:
    import asyncio  # noqa: PLC0415 - slow to load, and most functions in a process are not async

    from .loop_runner import LoopRunner  # noqa: PLC0415

    def stop_on_sigterm(loop: LoopRunner) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, loop.stop)

    return LoopRunner(call, stop_on_sigterm).run


if __name__ == "__main__":
    main()
