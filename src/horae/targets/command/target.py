"""The command target and its kind: checks the spec, resolves secrets, runs the program, returns its end as an outcome."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...errors import HoraeError, Refusal
from ...model.limits import ERROR_CHARACTERS, shorten
from ...model.outcome import Failed, Outcome
from ...model.reason import Reason
from ...model.task import Task
from ...ports.target import Invocation, Secrets, TargetKind, Tools
from ..secret_references import SecretMissing, resolve_secrets
from .output import OutputCollector, OutputMask
from .process import LaunchRequest, Process, ProcessEnd
from .programs import Programs, UnusableProgram
from .refusals import refuse
from .settings import CommandSettings, read_settings
from .spec import PAYLOAD, check_spec, resolve_directory
from .verdict import make_outcome

_NOT_ALLOWED_CODES: Final = ("command_none_allowed", "command_not_allowed")


class _PreparedCommand(NamedTuple):
    """A command with its secrets inserted, and the mask that hides them in its output."""

    request: LaunchRequest
    mask: OutputMask


class CommandTarget:
    def __init__(self, settings: CommandSettings, secrets: Secrets) -> None:
        self._settings = settings
        self._programs = Programs(settings)
        self._secrets = secrets
        self._processes: set[Process] = set()

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            spec = check_spec(json.loads(invocation.task.target.spec), self._settings, self._programs)
            command = await self._prepare(spec, invocation)
        except SecretMissing as missing:
            return missing.outcome
        except UnusableProgram as problem:
            return Failed(str(problem), permanent=True, reason=problem.reason)
        except Refusal as refusal:
            if refusal.code in _NOT_ALLOWED_CODES:
                error = f"not allowed by this node: {refusal}"
                return Failed(error, permanent=True, reason=Reason.TARGET_NOT_ALLOWED)
            return Failed(str(refusal), permanent=True, reason=Reason.NOT_CALLED)
        except (ValueError, RecursionError) as error:
            unread = shorten(f"its spec cannot be read: {error}", ERROR_CHARACTERS)
            return Failed(unread, permanent=True, reason=Reason.NOT_CALLED)
        except HoraeError as error:
            return Failed(shorten(f"its secrets cannot be read: {error}", ERROR_CHARACTERS), reason=Reason.NOT_CALLED)
        return await self._run(spec, command, invocation)

    async def aclose(self) -> None:
        """Kill the commands that are left; the engine has ended its runs before."""
        processes = tuple(self._processes)
        for process in processes:
            process.kill()
        if processes:
            await asyncio.wait([process.ended for process in processes])

    async def _prepare(self, spec: Mapping[str, Any], invocation: Invocation) -> _PreparedCommand:
        program = self._programs.find(spec["argv"][0])
        secrets = _RecordingSecrets(self._secrets)
        environment = await resolve_secrets(spec["environment"], invocation.task.owner, secrets)
        stdin = await _stdin(spec["stdin"], invocation.task, secrets)
        directory = resolve_directory(spec["directory"], self._settings)
        request = LaunchRequest(
            program,
            spec["argv"],
            {**self._run_environment(invocation), **_check_environment(environment.value)},
            directory or _private_folder(invocation.run.id),
            directory is None,
            {**self._settings.limits, **spec["limits"]},
            self._settings.grace,
            stdin,
        )
        return _PreparedCommand(request, OutputMask(secrets.values))

    def _run_environment(self, invocation: Invocation) -> dict[str, str]:
        chained = {} if invocation.run.chain is None else {"HORAE_PREVIOUS": invocation.previous}
        if invocation.gate_state is not None:
            chained["HORAE_GATE_STATE"] = invocation.gate_state
        elif invocation.task.policies.gate is not None:
            chained["HORAE_GATE"] = invocation.gate
        return {
            **chained,
            "PATH": self._settings.path,
            "LANG": "C.UTF-8",
            "HORAE_TASK_ID": invocation.task.id,
            "HORAE_RUN_ID": invocation.run.id,
            "HORAE_KEY": invocation.key,
            "HORAE_TRACE": invocation.trace,
            "HORAE_PLANNED": invocation.run.planned.isoformat(),
            "HORAE_ATTEMPT": str(invocation.run.attempt),
        }

    async def _run(self, spec: Mapping[str, Any], command: _PreparedCommand, invocation: Invocation) -> Outcome:
        output = OutputCollector(invocation, command.mask, spec["output"])
        try:
            process = Process(command.request, output)
        except OSError as error:
            return Failed(f"no process could be started: {error}")
        self._processes.add(process)
        try:
            invocation.on_cancel(process.stop)
            ending = await _wait_for_end(process)
        finally:
            process.abandon()
            self._processes.discard(process)
        return make_outcome(ending, output, spec["success"], spec["argv"][0], stopped=process.stopping)


async def _wait_for_end(process: Process) -> ProcessEnd:
    """Wait for the process also when cancelled: the next run of the task must not start while it is alive."""
    cancelled: asyncio.CancelledError | None = None
    while not process.ended.done():
        try:
            await asyncio.shield(process.ended)
        except asyncio.CancelledError as error:
            process.stop()
            cancelled = error
    if cancelled is not None:
        raise cancelled
    return process.ended.result()


class _RecordingSecrets:
    """Records the revealed secrets in full, since masking output needs more forms of them than `Masks` covers."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self.values: list[str] = []

    async def reveal(self, owner: str, name: str) -> str | None:
        value = await self._secrets.reveal(owner, name)
        if value is not None:
            self.values.append(value)
        return value


async def _stdin(stdin: Any, task: Task, secrets: Secrets) -> bytes | None:
    """Return the standard input: a payload always as JSON, also when it is a string; any other text as it is."""
    if stdin is None:
        return None
    is_payload = stdin == PAYLOAD
    filled = await resolve_secrets(json.loads(task.payload or "null") if is_payload else stdin, task.owner, secrets)
    if isinstance(filled.value, str) and not is_payload:
        return filled.value.encode(errors="replace")
    return json.dumps(filled.value, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"


def _check_environment(environment: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment, or raise a refusal for a value that no process can be given."""
    for name, value in environment.items():
        # Plain values were checked with the spec; only a secret can still be invalid.
        if "\0" in value or value != value.encode(errors="replace").decode():
            raise refuse("command_variable", name=name)
    return environment


def _private_folder(run_id: str) -> str:
    return str(Path(tempfile.gettempdir(), f"horae-{run_id}-{secrets.token_hex(8)}"))


class CommandKind:
    kind: Final = "command"

    def check(
        self,
        spec: Mapping[str, Any],
        payload: Any,  # noqa: ARG002 - a program takes any payload
        settings: Mapping[str, Any],
    ) -> Mapping[str, Any]:
        _check_platform()
        command_settings = read_settings(settings)
        return check_spec(spec, command_settings, Programs(command_settings))

    def open(self, tools: Tools) -> CommandTarget:
        _check_platform()
        return CommandTarget(read_settings(tools.settings), tools.secrets)


def _check_platform() -> None:
    if os.name != "posix":
        raise refuse("command_platform")


COMMAND: Final[TargetKind] = CommandKind()
