"""Grants of secrets to agents: a task of an agent may reference only secrets that were granted to that agent."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from ...model.accounts.account import agent_of
from ...model.accounts.secret_reference import secret_names
from ...model.accounts.system_owner import account_of
from ...model.gate import Gate
from ...model.task import Target, Task
from ...ports.records import Record, Records
from .refusals import refuse

SECRET_KIND: Final = "secret"  # noqa: S105 - the kind of a record


def secret_key(owner: str, name: str) -> str:
    """Build the record key. Names have no slash, so the last slash separates owner and name."""
    return f"{owner}/{name}"


def granted_agents(record: Record) -> tuple[str, ...]:
    """Return the agents that may reference this secret; none for a damaged record."""
    try:
        body = json.loads(record.body)
    except ValueError:
        return ()
    return tuple(body.get("agents", ())) if isinstance(body, dict) else ()


class SecretGrants:
    def __init__(self, records: Records) -> None:
        self._records = records

    async def check(self, owner: str, agent: str | None, target: Target, payload: str) -> None:
        """Refuse a reference to a secret that this agent was not granted. An absent secret answers alike."""
        if agent is None:
            return
        missing = await self.missing(owner, agent, target, payload)
        if missing is not None:
            raise refuse("secret_not_granted", agent=agent, name=missing, owner=owner)

    async def check_tasks(self, tasks: Iterable[Task]) -> None:
        for task in tasks:
            agent = agent_of(task)
            if agent is not None:
                owner = account_of(task.owner)
                await self.check(owner, agent, task.target, task.payload)
                await self.check_gate(owner, agent, task.policies.gate)

    async def check_gate(self, owner: str, agent: str | None, gate: object) -> None:
        """Refuse a gate that references a secret which this agent was not granted."""
        if isinstance(gate, Gate):
            await self.check(owner, agent, Target(gate.kind, gate.spec), "{}")

    async def missing(self, owner: str, agent: str, target: Target, payload: str) -> str | None:
        """Return the first referenced secret without a grant; None if all are granted."""
        for name in dict.fromkeys((*_names_in(target.spec), *_names_in(payload))):
            record = await self._records.get_record(SECRET_KIND, secret_key(owner, name), owner)
            if record is None or agent not in granted_agents(record):
                return name
        return None


def _names_in(text: str) -> tuple[str, ...]:
    # Fast check: most tasks reference no secret, and need not be parsed.
    if '"secret"' not in text and "\\u" not in text:
        return ()
    try:
        return tuple(secret_names(json.loads(text)))
    except (ValueError, RecursionError):
        return ()
