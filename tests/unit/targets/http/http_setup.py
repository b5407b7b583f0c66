"""Setup of http target tests: a task against a real server on loopback."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from horae.clock import SystemClock
from horae.model.outcome import Outcome
from horae.model.task import Target, Task
from horae.ports.target import Tools
from horae.targets.http.target import HTTP
from tests.unit.outgoing.servers import Speak, Wire, wire
from tests.unit.targets.invocations import NOON, Recorded, a_run, a_task

ALLOWED = {"allow_networks": ["127.0.0.0/8"]}
CALLBACK = {"callback_url": "https://horae.example/base/", "callback_key": "k" * 32}


class Noon(SystemClock):
    """It is always noon; only the time of day is made up."""

    def now(self) -> datetime:
        return NOON


class Vault:
    """Secrets of one owner."""

    def __init__(self, **known: str) -> None:
        self._known = known

    async def reveal(self, owner: str, name: str) -> str | None:
        return self._known.get(name) if owner == "local" else None


def tools(settings: Mapping[str, Any], vault: Vault | None = None) -> Tools:
    return Tools(Noon(), vault or Vault(), settings, lambda _topic, _facts: None)


def an_http_task(spec: Mapping[str, Any], payload: Any = None, timeout: timedelta | None = None) -> Task:
    task = a_task("it", json.dumps(payload))
    policies = task.policies if timeout is None else replace(task.policies, timeout=timeout)
    return task._replace(target=Target("http", json.dumps(spec)), policies=policies)


class Called(NamedTuple):
    outcome: Outcome
    server: Wire
    invocation: Recorded

    @property
    def headers(self) -> dict[str, str]:
        """Of the first request, by their names in lower case."""
        lines = self.server.heard[0].strip().split("\r\n")[1:]
        return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}

    @property
    def sent(self) -> Any:
        return json.loads(self.server.bodies[0])


async def called(
    speak: Speak,
    spec: Mapping[str, Any] | None = None,
    payload: Any = None,
    vault: Vault | None = None,
    settings: Mapping[str, Any] = ALLOWED,
    task_timeout: timedelta | None = None,
) -> Called:
    """Execute a spec and return its outcome; the address of the server is filled in."""
    async with wire(speak) as server:
        given = {"url": server.url("/hook?x=1").text, **(spec or {})}
        canonical = HTTP.check(given, payload, settings)
        invocation = Recorded(an_http_task(canonical, payload, task_timeout), a_run()._replace(token=7))
        target = HTTP.open(tools(settings, vault))
        try:
            return Called(await target.execute(invocation), server, invocation)
        finally:
            await target.aclose()  # type: ignore[attr-defined]
