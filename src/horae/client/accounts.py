"""Owners, tokens and the audit trail of a server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from ..model.accounts.account import Agent, Owner, Token
from ..model.accounts.principal import Principal, Role, Scope
from ..model.page import Page
from ..schedule.durations import iso_duration
from ..service.accounts.audit import AuditRow, Verdict
from ..wire.accounts import read_agent, read_audit_row, read_owner, read_token, read_verdict
from ..wire.instants import utc
from .connection import Connection, segment
from .decode import paged, understood
from .refusals import refuse


class RemoteAccounts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(self, who: Principal, after: str | None = None, limit: int = 100) -> Page[Owner]:
        del who
        return await paged(self._connection, "/v1/owners", read_owner, (), after, limit)

    async def get(self, who: Principal, name: str) -> Owner:
        del who
        return await self._owner(await self._connection.get(_owner(name)))

    async def put(  # noqa: PLR0913 - what an owner is, each by its name
        self,
        who: Principal,
        name: str,
        *,
        role: Role | None = None,
        zone: str | None = None,
        quotas: Mapping[str, Any] | None = None,
        note: str | None = None,
        expected: int | None = None,
    ) -> Owner:
        del who
        said = {"role": role, "zone": zone, "quotas": None if quotas is None else _spelled(quotas), "note": note}
        body = {field: value for field, value in said.items() if value is not None}
        seen = {} if expected is None else {"If-Match": f'"{expected}"'}
        return await self._owner((await self._connection.ask("PUT", _owner(name), (), body, seen)).value)

    async def revoke(self, who: Principal, name: str) -> Owner:
        del who
        return await self._owner(await self._connection.post(f"{_owner(name)}/revoke"))

    async def restore(self, who: Principal, name: str) -> Owner:
        del who
        return await self._owner(await self._connection.post(f"{_owner(name)}/restore"))

    async def _owner(self, said: Any) -> Owner:
        return await understood(self._connection, read_owner, said)


def _owner(name: str) -> str:
    return f"/v1/owners/{segment(name)}"


def _spelled(quotas: Mapping[str, Any]) -> dict[str, Any]:
    return {name: iso_duration(value) if isinstance(value, timedelta) else value for name, value in quotas.items()}


class RemoteAgents:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, who: Principal, agent: str, owner: str | None = None) -> Agent:
        del who
        answer = await self._connection.get(_agent(agent), _of(owner))
        return await understood(self._connection, read_agent, answer)

    async def put(self, who: Principal, agent: str, quotas: Mapping[str, Any], owner: str | None = None) -> Agent:
        del who
        answer = await self._connection.put(_agent(agent), {"quotas": _spelled(quotas)}, _of(owner))
        return await understood(self._connection, read_agent, answer)


def _agent(name: str) -> str:
    return f"/v1/agents/{segment(name)}"


def _of(owner: str | None) -> list[tuple[str, str]]:
    return [] if owner is None else [("owner", owner)]


class RemoteTokens:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def make(
        self,
        who: Principal,
        *,
        owner: str | None = None,
        name: str,
        scopes: Collection[Scope] | None = None,
        expires: datetime | None = None,
        agent: str | None = None,
    ) -> tuple[Token, str]:
        del who
        said = {
            "owner": owner,
            "name": name,
            "scopes": None if scopes is None else sorted(scope.value for scope in scopes),
            "expires": utc(expires),
            "agent": agent,
        }
        body = {field: value for field, value in said.items() if value is not None}
        answer = await self._connection.post("/v1/tokens", body)
        token, text = await understood(self._connection, lambda each: (read_token(each), each["text"]), answer)
        if not isinstance(text, str):
            # It was made, but the answer that showed it was lost, and nobody sees it again.
            raise refuse("shown_once_and_lost", what="token", what_zh="令牌", id=token.id)
        return token, text

    async def page(
        self, who: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Token]:
        del who
        asked = [] if owner is None else [("owner", owner)]
        return await paged(self._connection, "/v1/tokens", read_token, asked, after, limit)

    async def get(self, who: Principal, token_id: str) -> Token:
        del who
        return await understood(self._connection, read_token, await self._connection.get(_token(token_id)))

    async def revoke(self, who: Principal, token_id: str) -> Token:
        del who
        return await understood(self._connection, read_token, await self._connection.delete(_token(token_id)))


def _token(token_id: str) -> str:
    return f"/v1/tokens/{segment(token_id)}"


class RemoteAudit:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(self, who: Principal, after: str | None = None, limit: int = 100) -> Page[AuditRow]:
        del who
        return await paged(self._connection, "/v1/audit", read_audit_row, (), after, limit)

    async def verify(self, who: Principal) -> Verdict:
        del who
        return await understood(self._connection, read_verdict, await self._connection.get("/v1/audit/verify"))
