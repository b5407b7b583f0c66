"""Nodes that can be frozen: callbacks of a node are queued while its gate is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from datetime import datetime, timedelta
from typing import Any, Final, TypeVarTuple, Unpack

from horae.virtual_time import VirtualClock, VirtualLoop

_Ts = TypeVarTuple("_Ts")


class Gate:
    """A suspended process: whatever would have happened in it happens when it goes on, in the same order."""

    def __init__(self) -> None:
        self.closed = False
        self._behind: list[tuple[Context, Callable[..., object], tuple[Any, ...]]] = []

    def close(self) -> None:
        self.closed = True

    def open(self, loop: asyncio.AbstractEventLoop) -> None:
        self.closed = False
        waiting, self._behind = self._behind, []
        for context, callback, arguments in waiting:
            loop.call_soon(callback, *arguments, context=context)

    def context(self) -> Context:
        """Everything that is started in this context, and in turn by that, belongs to the node."""
        context = copy_context()
        context.run(_GATE.set, self)
        return context

    def run(self, context: Context, callback: Callable[[Unpack[_Ts]], object], *arguments: *_Ts) -> None:
        if self.closed:
            self._behind.append((context, callback, arguments))
        else:
            callback(*arguments)


_GATE: Final[ContextVar[Gate]] = ContextVar("gate")


class FreezingLoop(VirtualLoop):
    """A virtual loop that several nodes share, each behind a gate of its own."""

    threaded = False
    """Whether the store answers from threads, for which time has to stand still."""

    def call_soon(
        self, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.Handle:
        gate = _GATE.get(None) if context is None else context.get(_GATE)
        if gate is None:
            return super().call_soon(callback, *args, context=context)
        context = context or copy_context()
        return super().call_soon(gate.run, context, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        gate = _GATE.get(None) if context is None else context.get(_GATE)
        if gate is None:
            return super().call_at(when, callback, *args, context=context)
        context = context or copy_context()
        return super().call_at(when, gate.run, context, callback, *args, context=context)


class NodeClock:
    """The clock as one node sees it: the machine's, and what was done to the clock of this node alone."""

    def __init__(self, machine: VirtualClock, offset: timedelta = timedelta()) -> None:
        self._machine = machine
        self.offset = offset

    def now(self) -> datetime:
        return self._machine.now() + self.offset

    def steady(self) -> float:
        return self._machine.steady()

    def sleep(self, seconds: float) -> None:
        self._machine.sleep(seconds)

    async def pause(self, seconds: float) -> None:
        await self._machine.pause(seconds)

    def step(self, delta: timedelta) -> None:
        self.offset += delta
