"""A small target that passes the contract, and variants with one plausible defect each."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from horae.errors import InvalidTask, Refusal, Sentence
from horae.model.limits import LOG_LINES
from horae.model.outcome import Failed, Outcome, Succeeded
from horae.ports.target import Invocation, Tools
from horae.targets.secret_references import SecretMissing, resolve_secrets

REFUSAL: Final = InvalidTask("no_such_deed", {"en": Sentence("No.", "Try."), "zh": Sentence("不行。", "请重试。")})
DEEDS: Final = ("succeed", "fail", "wait")


class CorrectTarget:
    """Its spec is `{"deed": …, "token": null or a reference}`."""

    kind: Final = "deed"

    def check(self, spec: Any, payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        if not isinstance(spec, Mapping) or set(spec) - {"deed", "token"} or spec.get("deed") not in DEEDS:
            raise REFUSAL
        token = spec.get("token")
        if token is not None and not (isinstance(token, dict) and isinstance(token.get("secret"), str)):
            raise REFUSAL
        return {"deed": spec["deed"], "token": token}

    def open(self, tools: Tools) -> Deeds:
        return Deeds(self, tools)

    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        if spec["deed"] == "fail":
            return Failed("it hurts")
        if spec["deed"] == "wait":
            invocation.heartbeat()
            await asyncio.Event().wait()
        return Succeeded(json.dumps({"key": invocation.key}))


class Deeds:
    def __init__(self, kind: CorrectTarget, tools: Tools) -> None:
        self._kind = kind
        self._tools = tools

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            spec = self._kind.check(json.loads(invocation.task.target.spec), None, {})
            filled = await resolve_secrets(dict(spec), invocation.task.owner, self._tools.secrets)
        except SecretMissing as missing:
            return missing.outcome
        except (Refusal, ValueError, RecursionError) as error:
            return Failed(str(error)[:100], permanent=True)
        return await self._kind.do(filled.value, invocation)


class Raises(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        if spec["deed"] == "fail":
            raise ValueError("it hurts")
        return await super().do(spec, invocation)


class AnswersWithNone(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        await super().do(spec, invocation)
        return None  # type: ignore[return-value]


class ReturnsAMegabyte(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        outcome = await super().do(spec, invocation)
        return Succeeded(json.dumps("x" * 1024**2)) if isinstance(outcome, Succeeded) else outcome


class ReturnsNoJson(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        outcome = await super().do(spec, invocation)
        return Succeeded("done") if isinstance(outcome, Succeeded) else outcome


class LogsWithoutLimit(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        for _ in range(LOG_LINES + 5_000):
            invocation.log("and another thing")
        return await super().do(spec, invocation)


class LeavesAChild(CorrectTarget):
    left: Final[list[subprocess.Popen[bytes]]] = []

    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        self.left.append(_a_child())
        return await super().do(spec, invocation)


class LeavesASocket(CorrectTarget):
    left: Final[list[socket.socket]] = []

    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        self.left.append(socket.socket())
        return await super().do(spec, invocation)


class LeavesATask(CorrectTarget):
    left: Final[list[asyncio.Task[bool]]] = []

    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        self.left.append(asyncio.create_task(asyncio.Event().wait()))
        return await super().do(spec, invocation)


class ShowsASecret(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        if spec["token"] is not None:
            invocation.log(f"using {spec['token']}")
        return await super().do(spec, invocation)


class ShowsASecretAsJson(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        outcome = await super().do(spec, invocation)
        return Succeeded(json.dumps(spec)) if isinstance(outcome, Succeeded) else outcome


class InventsKeys(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        outcome = await super().do(spec, invocation)
        return Succeeded(json.dumps({"key": invocation.run.id})) if isinstance(outcome, Succeeded) else outcome


class IgnoresCancellation(CorrectTarget):
    """Continues when it is cancelled, a limited number of times, so that the test ends."""

    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        return await _stubborn(lambda: super(IgnoresCancellation, self).do(spec, invocation), invocation, times=2)


class RaisesWhenCancelled(CorrectTarget):
    async def do(self, spec: Mapping[str, Any], invocation: Invocation) -> Outcome:
        try:
            return await super().do(spec, invocation)
        except asyncio.CancelledError:
            raise ValueError("not now") from None


class TakesAnyKey(CorrectTarget):
    def check(self, spec: Any, payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        known = {name: spec[name] for name in ("deed", "token") if name in spec} if isinstance(spec, Mapping) else spec
        return super().check(known, payload, settings)


class CrashesOnInvalidSpecs(CorrectTarget):
    def check(self, spec: Any, payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        return super().check({**spec}, payload, settings)


class ChangesACheckedSpec(CorrectTarget):
    def check(self, spec: Any, payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        checked = super().check(spec, payload, settings)
        return {**checked, "token": checked["token"] or {"secret": "usual"}} if "token" in spec else checked


class WritesIntoItsInput(CorrectTarget):
    def check(self, spec: Any, payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        if isinstance(spec, dict):
            spec.setdefault("token", None)
        return super().check(spec, payload, settings)


class RefusesInOneLanguage(CorrectTarget):
    def check(self, spec: Any, payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            return super().check(spec, payload, settings)
        except InvalidTask:
            raise InvalidTask("no_such_deed", dict.fromkeys(("en", "zh"), Sentence("No.", "Try."))) from None


def _a_child() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])


async def _stubborn(work: Callable[[], Awaitable[Outcome]], invocation: Invocation, times: int) -> Outcome:
    for _ in range(times):
        try:
            return await work()
        except asyncio.CancelledError:
            invocation.log("no")
    return Failed("at last")


DEFECTS: Final[dict[type[CorrectTarget], str]] = {
    Raises: "test_a_failing_spec_returns_failure",
    AnswersWithNone: "test_a_succeeding_spec_returns_success",
    ReturnsAMegabyte: "test_a_succeeding_spec_returns_success",
    ReturnsNoJson: "test_a_succeeding_spec_returns_success",
    LogsWithoutLimit: "test_log_lines_are_bounded",
    LeavesAChild: "test_a_succeeding_spec_returns_success",
    LeavesASocket: "test_a_succeeding_spec_returns_success",
    LeavesATask: "test_a_succeeding_spec_returns_success",
    ShowsASecret: "test_a_secret_is_never_shown",
    ShowsASecretAsJson: "test_a_secret_is_never_shown",
    InventsKeys: "test_every_attempt_has_the_same_key",
    IgnoresCancellation: "test_an_endless_run_that_is_cancelled_ends",
    RaisesWhenCancelled: "test_an_endless_run_that_is_cancelled_ends",
    TakesAnyKey: "test_an_unknown_key_is_refused",
    CrashesOnInvalidSpecs: "test_a_spec_that_is_no_mapping_is_refused",
    ChangesACheckedSpec: "test_checking_again_changes_nothing",
    WritesIntoItsInput: "test_checking_does_not_modify_its_argument",
    RefusesInOneLanguage: "test_an_unknown_key_is_refused",
}
