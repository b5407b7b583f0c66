"""The command target: a checked spec becomes a process in a clean place, and what becomes of that is an outcome."""

from __future__ import annotations

import asyncio
import json
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...errors import HoraeError, Refusal
from ...model.limits import ERROR_CHARACTERS, shortened
from ...model.outcome import Failed, Outcome
from ...model.reason import Reason
from ...model.task import Task
from ...ports.secrets import Secrets
from ...ports.target import Invocation
from ..secret_references import SecretMissing, fill
from .output import Hearing
from .plain_text import Veil
from .process import Ending, Order, Process
from .programs import Programs, Unusable
from .refusals import refuse
from .settings import Settings
from .spec import PAYLOAD, checked_spec, real_directory
from .verdict import verdict

_UNLISTED: Final = ("command_none_allowed", "command_not_allowed")


class _Ready(NamedTuple):
    """A command with its secrets, and the veil that hides them from everybody else."""

    order: Order
    veil: Veil


class CommandTarget:
    def __init__(self, settings: Settings, secrets: Secrets) -> None:
        self._settings = settings
        self._programs = Programs(settings)
        self._secrets = secrets
        self._going: set[Process] = set()

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            spec = checked_spec(json.loads(invocation.task.target.spec), self._settings, self._programs)
            ready = await self._prepared(spec, invocation)
        except SecretMissing as missing:
            return missing.outcome
        except Unusable as problem:
            return Failed(str(problem), permanent=True, reason=problem.reason)
        except Refusal as refusal:
            if refusal.code in _UNLISTED:
                error = f"not allowed by this node: {refusal}"
                return Failed(error, permanent=True, reason=Reason.TARGET_NOT_ALLOWED)
            return Failed(str(refusal), permanent=True, reason=Reason.NOT_CALLED)
        except (ValueError, RecursionError) as error:
            unread = shortened(f"its spec cannot be read: {error}", ERROR_CHARACTERS)
            return Failed(unread, permanent=True, reason=Reason.NOT_CALLED)
        except HoraeError as error:
            return Failed(shortened(f"its secrets cannot be read: {error}", ERROR_CHARACTERS), reason=Reason.NOT_CALLED)
        return await self._run(spec, ready, invocation)

    async def aclose(self) -> None:
        """Whoever carries runs has ended them before; commands that are left do not survive this."""
        going = tuple(self._going)
        for process in going:
            process.kill()
        if going:
            await asyncio.wait([process.over for process in going])

    async def _prepared(self, spec: Mapping[str, Any], invocation: Invocation) -> _Ready:
        program = self._programs.find(spec["argv"][0])
        seen = _Seen(self._secrets)
        environment = await fill(spec["environment"], invocation.task.owner, seen)
        stdin = await _stdin(spec["stdin"], invocation.task, seen)
        directory = real_directory(spec["directory"], self._settings)
        order = Order(
            program,
            spec["argv"],
            {**self._own_environment(invocation), **_fit_to_give(environment.value)},
            directory or _private_folder(invocation.run.id),
            directory is None,
            {**self._settings.limits, **spec["limits"]},
            self._settings.grace,
            stdin,
        )
        return _Ready(order, Veil(seen.values))

    def _own_environment(self, invocation: Invocation) -> dict[str, str]:
        return {
            "PATH": self._settings.path,
            "LANG": "C.UTF-8",
            "HORAE_TASK_ID": invocation.task.id,
            "HORAE_RUN_ID": invocation.run.id,
            "HORAE_KEY": invocation.key,
            "HORAE_TRACE": invocation.trace,
            "HORAE_PLANNED": invocation.run.planned.isoformat(),
            "HORAE_ATTEMPT": str(invocation.run.attempt),
        }

    async def _run(self, spec: Mapping[str, Any], ready: _Ready, invocation: Invocation) -> Outcome:
        hearing = Hearing(invocation, ready.veil, spec["output"])
        try:
            process = Process(ready.order, hearing)
        except OSError as error:
            return Failed(f"no process could be started: {error}")
        self._going.add(process)
        try:
            invocation.on_cancel(process.stop)
            ending = await _until_over(process)
        finally:
            process.abandon()
            self._going.discard(process)
        return verdict(ending, hearing, spec["success"], spec["argv"][0], stopped=process.stopping)


async def _until_over(process: Process) -> Ending:
    """A cancelled run is over only when its processes are: nobody may start the next one beside them."""
    cancelled: asyncio.CancelledError | None = None
    while not process.over.done():
        try:
            await asyncio.shield(process.over)
        except asyncio.CancelledError as error:
            process.stop()
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return process.over.result()


class _Seen:
    """Secrets that remember what they have revealed, in all its length: masking needs more than the plain values."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self.values: list[str] = []

    async def reveal(self, owner: str, name: str) -> str | None:
        value = await self._secrets.reveal(owner, name)
        if value is not None:
            self.values.append(value)
        return value


async def _stdin(stdin: Any, task: Task, secrets: Secrets) -> bytes | None:
    """The payload is always JSON, also when it is a mere text; any other text is given as it is."""
    if stdin is None:
        return None
    is_payload = stdin == PAYLOAD
    filled = await fill(json.loads(task.payload or "null") if is_payload else stdin, task.owner, secrets)
    if isinstance(filled.value, str) and not is_payload:
        return filled.value.encode(errors="replace")
    return json.dumps(filled.value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def _fit_to_give(environment: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in environment.items():
        if "\0" in value or value != value.encode(errors="replace").decode():  # only a secret can still be like that
            raise refuse("command_variable", name=name)
    return environment


def _private_folder(run_id: str) -> str:
    return str(Path(tempfile.gettempdir(), f"horae-{run_id}-{secrets.token_hex(8)}"))
