"""Every target of ours keeps the contract that any target keeps."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from horae.errors import InvalidTask
from horae.model.outcome import Outcome, Succeeded
from horae.ports.target import Invocation, TargetKind, Tools
from horae.refusal_catalogue import RefusalEntry, build_refusal
from horae.targets.command.target import COMMAND
from horae.targets.event.target import EVENT
from horae.targets.function.registry import Registry
from horae.targets.function.target import FunctionTarget
from horae.targets.http.target import HTTP
from horae.testing import RecordingInvocation
from horae.testing.contracts import TargetContract, TargetKeysContract, TargetSecretsContract
from horae.testing.contracts.targets import SECRET_NAME, TargetHarness

from . import target_functions
from .endpoint import Endpoint

REFERENCE: Final = {"secret": SECRET_NAME}


class TestCommand(TargetContract, TargetKeysContract, TargetSecretsContract):
    def kind(self) -> TargetKind:
        return COMMAND

    def settings(self) -> Mapping[str, Any]:
        return {"allow": ["sh", "env", sys.executable], "grace": 0.2}

    def succeeding(self) -> Mapping[str, Any]:
        return {"argv": ["env"], "environment": {"COLOUR": "green"}, "limits": {"files": 64}}

    def failing(self) -> Mapping[str, Any]:
        return {"argv": ["sh", "-c", "echo it hurts >&2; exit 3"]}

    def endless(self) -> Mapping[str, Any]:
        return {"argv": ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 60; done"]}

    def verbose(self) -> Mapping[str, Any]:
        loud = "import sys; [sys.stdout.write('é' * 5000 + chr(10)) for _ in range(3000)]; sys.stdout.write(chr(0))"
        return {"argv": [sys.executable, "-c", loud], "output": 4_000_000}

    def received_key(self, harness: TargetHarness, invocation: RecordingInvocation, outcome: Outcome) -> str:  # noqa: ARG002
        (line,) = (line for line in invocation.texts("output") if line.startswith("HORAE_KEY="))
        return line.removeprefix("HORAE_KEY=")

    def secret_specs(self) -> Sequence[Mapping[str, Any]]:
        show = "import os, json, sys; value = os.environ['TOKEN']; print(value, json.dumps(value), [value])"
        return (
            {"argv": ["sh", "-c", "echo $TOKEN; echo $TOKEN >&2; exit 1"], "environment": {"TOKEN": REFERENCE}},
            {"argv": [sys.executable, "-c", show], "environment": {"TOKEN": REFERENCE}},
            {"argv": ["sh", "-c", "cat"], "stdin": REFERENCE},
            {"argv": ["sh", "-c", "cat"], "stdin": {"deep": [REFERENCE]}},
        )


class TestEvent(TargetContract, TargetKeysContract):
    """With a webhook that does not answer, because an event in this process neither fails nor takes time."""

    def kind(self) -> TargetKind:
        return EVENT

    @asynccontextmanager
    async def environment(self) -> AsyncIterator[None]:
        async with Endpoint().open() as self.endpoint:
            yield

    def settings(self) -> Mapping[str, Any]:
        return {"webhook": self.endpoint.url, "allow_networks": ["127.0.0.0/8"]}

    def succeeding(self) -> Mapping[str, Any]:
        return {"say": "time to stand up"}

    def failing(self) -> Mapping[str, Any]:
        return {"topic": "please.fail"}

    def endless(self) -> Mapping[str, Any]:
        return {"topic": "please.never.end"}

    async def wait_until_running(self, invocation: RecordingInvocation) -> None:  # noqa: ARG002
        await self.endpoint.asked.get()

    def received_key(self, harness: TargetHarness, invocation: RecordingInvocation, outcome: Outcome) -> str:  # noqa: ARG002
        topic, body = harness.published[-1]
        assert topic == "task.triggered"
        return str(body["key"])


class TestHttp(TargetContract, TargetKeysContract, TargetSecretsContract):
    def kind(self) -> TargetKind:
        return HTTP

    @asynccontextmanager
    async def environment(self) -> AsyncIterator[None]:
        async with Endpoint().open() as self.endpoint:
            yield

    def settings(self) -> Mapping[str, Any]:
        return {"allow_networks": ["127.0.0.0/8"]}

    def succeeding(self) -> Mapping[str, Any]:
        return {"url": self.endpoint.url}

    def failing(self) -> Mapping[str, Any]:
        return {"url": self.endpoint.url + "please.fail"}

    def endless(self) -> Mapping[str, Any]:
        return {"url": self.endpoint.url + "please.never.end"}

    def verbose(self) -> Mapping[str, Any]:
        return {"url": self.endpoint.url + "please.say.much"}

    async def wait_until_running(self, invocation: RecordingInvocation) -> None:  # noqa: ARG002
        await self.endpoint.asked.get()

    def received_key(self, harness: TargetHarness, invocation: RecordingInvocation, outcome: Outcome) -> str:  # noqa: ARG002
        return self.endpoint.headers[-1]["idempotency-key"]

    def secret_specs(self) -> Sequence[Mapping[str, Any]]:
        url = self.endpoint.url + "please.echo"
        return (
            {"url": url, "method": "POST", "body": {"token": REFERENCE}},
            {"url": url + "?please.fail", "method": "POST", "body": [REFERENCE]},
        )


NAMES: Final = ("succeed", "fail", "never_end", "talk")


class FunctionKind:
    """Functions are declared in Python and not in a spec; here they get the kind that others have."""

    kind: Final = "function"

    def check(self, spec: Any, payload: Any, settings: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002
        if not isinstance(spec, Mapping) or spec.keys() != {"name"} or str(spec["name"]) not in NAMES:
            raise build_refusal("not_a_function", _NOT_A_FUNCTION, {})
        return spec

    def open(self, tools: Tools) -> _Functions:  # noqa: ARG002
        return _Functions()


_NOT_A_FUNCTION = RefusalEntry(InvalidTask, "There is none.", "Give a name.", "没有该函数。", "请给出名称。")


class _Functions:
    def __init__(self) -> None:
        registry = Registry()
        for name in NAMES:
            registry.register(name, getattr(target_functions, name), "process")
        self._target = FunctionTarget(registry)

    async def execute(self, invocation: Invocation) -> Outcome:
        return await self._target.execute(invocation)

    async def aclose(self) -> None:
        self._target.close()


class TestFunction(TargetContract, TargetKeysContract):
    def kind(self) -> TargetKind:
        return FunctionKind()

    def succeeding(self) -> Mapping[str, Any]:
        return {"name": "succeed"}

    def failing(self) -> Mapping[str, Any]:
        return {"name": "fail"}

    def endless(self) -> Mapping[str, Any]:
        return {"name": "never_end"}

    def verbose(self) -> Mapping[str, Any]:
        return {"name": "talk"}

    def received_key(self, harness: TargetHarness, invocation: RecordingInvocation, outcome: Outcome) -> str:  # noqa: ARG002
        assert isinstance(outcome, Succeeded)
        return str(json.loads(outcome.result or "")["key"])
