"""Runs a function in a child process, on the node's side: sends the call, relays updates, collects the outcome."""

from __future__ import annotations

import signal
from typing import Final

from ...model.outcome import Cancelled, Failed, Outcome, Succeeded
from ...ports.target import Invocation
from .child_output import ChildOutput
from .group import ProcessGroup
from .wire import RunUpdate, encode_update

_UPDATE_SECONDS: Final = 1.0
"""Interval at which a silent child is sent changes of its deadline and cancellation flag."""


class ChildProcess:
    """One child process. `run` blocks its thread until the process is gone; other threads may call `stop` and `kill`."""

    def __init__(self, request: bytes, invocation: Invocation, grace: float) -> None:
        self._order = request
        self._invocation = invocation
        self._grace = grace
        self._output = ChildOutput(invocation)
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

    def _send_updates(self) -> None:
        assert self._group is not None  # noqa: S101 - said for the type checker
        if self._invocation.cancelled and not self._stopping:
            self.stop()
        if self._output.outcome is not None:  # the function has returned; its leftover threads are not waited for
            self._group.kill_after(self._grace)
        update = RunUpdate(self._invocation.deadline, self._stopping, self._invocation.yield_requested)
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
