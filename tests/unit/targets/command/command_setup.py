"""Setup of command tests: from a spec to an outcome, with real processes."""

from __future__ import annotations

import asyncio
import json
import os
import select
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from horae.clock import SystemClock
from horae.model.outcome import Outcome
from horae.model.task import Target
from horae.ports.target import Tools
from horae.targets.command.target import COMMAND, CommandTarget
from horae.testing import RecordingInvocation
from horae.testing.contracts.targets.harness import KnownSecrets
from horae.testing.factories import a_task

ANYTHING: Mapping[str, Any] = {"allow": "*", "grace": 0.2}
PATIENCE = 30


def an_invocation(
    spec: Mapping[str, Any], settings: Mapping[str, Any] = ANYTHING, payload: Any = None
) -> RecordingInvocation:
    checked = COMMAND.check(spec, payload, settings)
    return RecordingInvocation(a_task(target=Target("command", json.dumps(checked)), payload=json.dumps(payload)))


def a_target(settings: Mapping[str, Any] = ANYTHING, secrets: Mapping[str, str] | None = None) -> CommandTarget:
    target = COMMAND.open(Tools(SystemClock(), KnownSecrets(secrets or {}), settings, lambda *_: None))
    assert isinstance(target, CommandTarget)
    return target


async def carried(
    spec: Mapping[str, Any],
    settings: Mapping[str, Any] = ANYTHING,
    *,
    payload: Any = None,
    secrets: Mapping[str, str] | None = None,
) -> tuple[Outcome, RecordingInvocation]:
    """Run it once, to its end."""
    invocation = an_invocation(spec, settings, payload)
    async with asyncio.timeout(PATIENCE):
        return await a_target(settings, secrets).execute(invocation), invocation


def shell(script: str, **more: Any) -> dict[str, Any]:
    """A shell is a program like any other, for those who allow it."""
    return {"argv": ["/bin/sh", "-c", script], **more}


class Watch:
    """Processes that should end. Opened while they live, so that none can be taken for another that got its number."""

    def __init__(self, text: str) -> None:
        self.pids = [int(word) for word in text.split()[1:]]
        self._open = ExitStack()
        self._numbers = [os.pidfd_open(pid) for pid in self.pids]
        for number in self._numbers:
            self._open.callback(os.close, number)

    def all_gone(self) -> bool:
        with self._open:
            return all(select.select([number], [], [], PATIENCE)[0] for number in self._numbers)


Deed = Callable[["asyncio.Task[Outcome]", RecordingInvocation, CommandTarget, Watch], None]


async def watched(
    spec: Mapping[str, Any], then: Deed, settings: Mapping[str, Any] = ANYTHING
) -> tuple[Outcome | None, RecordingInvocation, Watch]:
    """Start it, do something as soon as it has told its numbers (`pids 1 2 …`), and wait for its end; None: cancelled."""
    invocation, target = an_invocation(spec, settings), a_target(settings)
    carrying = asyncio.create_task(target.execute(invocation))
    watch = Watch(await invocation.wait_for_text("pids"))
    then(carrying, invocation, target, watch)
    done, _ = await asyncio.wait([carrying], timeout=PATIENCE)
    await target.aclose()
    assert done, "it has not ended"
    return None if carrying.cancelled() else carrying.result(), invocation, watch
