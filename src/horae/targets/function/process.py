"""One run in a process of its own: the node's side of the conversation."""

from __future__ import annotations

import signal
from typing import Final

from ...model.outcome import Cancelled, Failed, Outcome, Succeeded
from ...ports.target import Invocation
from .child_output import Hearing
from .group import Group
from .wire import News, write_news

_TICK: Final = 1.0
"""After so many seconds of silence a child is told what has moved on."""


class Child:
    """`carry` blocks one thread until the process is gone. `stop` and `kill` may be called from any other, and again."""

    def __init__(self, order: bytes, invocation: Invocation, grace: float) -> None:
        self._order = order
        self._invocation = invocation
        self._grace = grace
        self._hearing = Hearing(invocation)
        self._group: Group | None = None
        self._stopping = False
        self._told: News | None = None

    def carry(self) -> Outcome:
        if self._stopping:
            return Cancelled("it was stopped before its process began")
        try:
            self._group = group = Group()
        except OSError as error:
            return Failed(f"no process could be started: {error}")
        try:
            if self._stopping:  # while the process was being made
                self.stop()
            group.tell(self._order)
            group.listen(self._hearing.report, self._hearing.output, _TICK, self._keep_up)
        finally:
            code = group.bury(self._hearing.report, self._hearing.output)
            self._hearing.finish()
        return self._verdict(code)

    def stop(self) -> None:
        self._stopping = True
        if self._group is not None:
            self._group.interrupt(self._grace)

    def kill(self) -> None:
        self._stopping = True
        if self._group is not None:
            self._group.kill()

    def _keep_up(self) -> None:
        assert self._group is not None  # noqa: S101 - said for the type checker
        if self._invocation.cancelled and not self._stopping:
            self.stop()
        if self._hearing.outcome is not None:  # the work is done; what lingers after it is not waited for
            self._group.kill_after(self._grace)
        news = News(self._invocation.deadline, self._stopping, self._invocation.yield_requested)
        if news != self._told and self._group.mention(write_news(news)):
            self._told = news

    def _verdict(self, code: int) -> Outcome:
        outcome, alone = self._hearing.outcome, self._invocation.run.alone
        if self._stopping:
            return outcome if isinstance(outcome, Succeeded) else Cancelled("its process was stopped")
        if outcome is not None:
            return outcome
        return Failed(self._hearing.unloadable or _death(code), died_alone=alone)


def _death(code: int) -> str:
    if code >= 0:
        return f"the process ended with code {code} before it answered"
    known = {each.value: f" ({each.name})" for each in signal.Signals}
    return f"the process died with signal {-code}{known.get(-code, '')}"
