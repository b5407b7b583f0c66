"""Runs a function in a child process, on the node's side: sends the call, relays its output, collects the outcome."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any, Final

from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, to_storable
from ...model.outcome import Cancelled, Failed, Outcome, Succeeded
from ...ports.target import Invocation
from .context import RunReporter
from .group import ProcessGroup
from .node_tools import ChildCalls, ToolCall
from .wire import MAX_LINE_BYTES, RunUpdate, decode_outcome, encode_update

_MAX_PRINTED_BYTES: Final = 4 * LOG_LINE_CHARACTERS + 4


class LineSplitter:
    """Splits a stream into lines; a line that is too long is cut, so that memory stays bounded."""

    def __init__(self, max_length: int, handler: Callable[[bytes], None]) -> None:
        self._max_length = max_length
        self._handler = handler
        self._line = bytearray()

    def feed(self, data: bytes) -> None:
        *complete, rest = data.split(b"\n")
        for part in complete:
            self._append(part)
            self._emit()
        self._append(rest)

    def finish(self) -> None:
        if self._line:
            self._emit()

    def _append(self, part: bytes) -> None:
        self._line += part[: self._max_length - len(self._line)]

    def _emit(self) -> None:
        line = bytes(self._line)
        self._line.clear()
        self._handler(line)


class ChildOutput:
    """Applies reports to the run (log, progress, heartbeat, outcome) and logs printed lines, up to `LOG_LINES` in all."""

    def __init__(self, reporter: RunReporter, on_call: Callable[[ToolCall], None]) -> None:
        self.outcome: Outcome | None = None
        self.unloadable: str | None = None
        self._reporter = reporter
        self._on_call = on_call
        self._lines_left = LOG_LINES
        self._reports = LineSplitter(MAX_LINE_BYTES, self._handle_report)
        self._printed = LineSplitter(_MAX_PRINTED_BYTES, self._log_printed)

    def report(self, data: bytes) -> None:
        self._reports.feed(data)

    def output(self, data: bytes) -> None:
        if self._lines_left:  # beyond the limit the pipe is read only so that the child does not block
            self._printed.feed(data)

    def finish(self) -> None:
        self._reports.finish()
        self._printed.finish()

    def _log_printed(self, line: bytes) -> None:
        self._log(to_storable(line.decode(errors="replace").rstrip("\r"), LOG_LINE_CHARACTERS), "output")

    def _log(self, text: str, level: str) -> None:
        if not self._lines_left:
            return
        self._lines_left -= 1
        self._reporter.log(text, level)
        if not self._lines_left:
            self._reporter.log("it printed more lines than are kept", "warning")

    def _handle_report(self, line: bytes) -> None:
        try:
            self._apply(json.loads(line))
        except (ValueError, LookupError, TypeError, RecursionError):  # foreign output on the report pipe
            self._log_printed(line)

    def _apply(self, message: dict[str, Any]) -> None:
        match message:
            case {"log": str(text), "level": str(level)}:
                self._log(text, level)
            case {"progress": float(done), "text": str(text)}:
                self._reporter.progress(done, text)
            case {"heartbeat": True}:
                self._reporter.heartbeat()
            case {"idle": bool(idle)}:
                self._reporter.idle(idle)
            case {"outcome": dict(outcome)}:
                self.outcome = decode_outcome(outcome)
            case {
                "call": int(number),
                "tool": str(tool),
                "method": str(method),
                "values": list(v),
                "named": dict(named),
            }:
                self._on_call(ToolCall(number, tool, method, v, named))
            case {"unloadable": str(text)}:
                self.unloadable = text
            case _:
                raise ValueError(message)


_UPDATE_SECONDS: Final = 1.0
"""Interval at which a silent child is sent changes of its deadline and cancellation flag."""


class ChildProcess:
    """One child process. `run` blocks its thread until the process is gone; other threads may call `stop` and `kill`."""

    def __init__(self, request: bytes, invocation: Invocation, grace: float, calls: ChildCalls) -> None:
        self._order = request
        self._calls = calls
        self._invocation = invocation
        self._grace = grace
        self._output = ChildOutput(invocation, self._answer)
        self._group: ProcessGroup | None = None
        self._stopping = False
        self._last_sent: RunUpdate | None = None

    def run(self) -> Outcome:
        if self._stopping:
            return Cancelled("it was stopped before its process began")
        try:
            self._group = group = ProcessGroup()
        except OSError as error:
            return Failed(f"no process could be started: {error}")
        try:
            if self._stopping:  # stopped while the process was being started
                self.stop()
            group.send(self._order)
            group.read_until_exit(self._output.report, self._output.output, _UPDATE_SECONDS, self._send_updates)
        finally:
            code = group.reap(self._output.report, self._output.output)
            self._output.finish()
        return self._outcome(code)

    def stop(self) -> None:
        self._stopping = True
        if self._group is not None:
            self._group.interrupt(self._grace)

    def kill(self) -> None:
        self._stopping = True
        if self._group is not None:
            self._group.kill()

    def _answer(self, call: ToolCall) -> None:
        assert self._group is not None  # noqa: S101 - said for the type checker
        line = self._calls.answer(call, self._group.has_ended)
        if line is not None:
            self._group.send_answer(line)

    def _send_updates(self) -> None:
        assert self._group is not None  # noqa: S101 - said for the type checker
        if self._invocation.cancelled and not self._stopping:
            self.stop()
        if self._output.outcome is not None:  # the function has returned; its leftover threads are not waited for
            self._group.kill_after(self._grace)
        invocation = self._invocation
        update = RunUpdate(invocation.deadline, self._stopping, invocation.yield_requested, invocation.yield_reason)
        if update != self._last_sent and self._group.try_send(encode_update(update)):
            self._last_sent = update

    def _outcome(self, code: int) -> Outcome:
        outcome, alone = self._output.outcome, self._invocation.run.alone
        if self._stopping:
            return outcome if isinstance(outcome, Succeeded) else Cancelled("its process was stopped")
        if outcome is not None:
            return outcome
        return Failed(self._output.unloadable or _describe_exit(code), died_isolated=alone)


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"the process ended with code {code} before it answered"
    known = {each.value: f" ({each.name})" for each in signal.Signals}
    return f"the process died with signal {-code}{known.get(-code, '')}"
