"""Owners, agents, tokens, browser sessions, saved views and the audit trail of a server."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..model.accounts.account import Agent, Owner, Token
from ..model.accounts.principal import Principal, Role, Scope
from ..model.accounts.session import Session
from ..model.change import Facts
from ..model.page import Page
from ..schedule.durations import format_iso_duration
from ..service.accounts.audit import ALL_ROWS, AuditFilter, AuditRow, ChainVerdict
from ..service.accounts.sessions import MadeLink
from ..service.accounts.views import View
from ..wire.accounts import read_agent, read_audit_row, read_owner, read_session, read_token, read_verdict, read_view
from ..wire.instants import parse_instant, utc
from ..wire.tasks.facts import read_facts
from .connection import Connection, path_segment
from .decode import decode_response, fetch_page
from .refusals import refuse


class RemoteAccounts:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(self, principal: Principal, after: str | None = None, limit: int = 100) -> Page[Owner]:
        del principal
        return await fetch_page(self._connection, "/v1/owners", read_owner, (), after, limit)

    async def get(self, principal: Principal, name: str) -> Owner:
        del principal
        return await self._decode_owner(await self._connection.get(_owner_path(name)))

    async def put(  # noqa: PLR0913 - one keyword for each field of an owner
        self,
        principal: Principal,
        name: str,
        *,
        role: Role | None = None,
        zone: str | None = None,
        quotas: Mapping[str, Any] | None = None,
        note: str | None = None,
        expected: int | None = None,
        language: str | None = None,
    ) -> Owner:
        del principal
        limits = None if quotas is None else _quotas_json(quotas)
        fields = {"role": role, "zone": zone, "language": language, "quotas": limits, "note": note}
        body = {field: value for field, value in fields.items() if value is not None}
        headers = {} if expected is None else {"If-Match": f'"{expected}"'}
        return await self._decode_owner(
            (await self._connection.request("PUT", _owner_path(name), (), body, headers)).json
        )

    async def revoke(self, principal: Principal, name: str) -> Owner:
        del principal
        return await self._decode_owner(await self._connection.post(f"{_owner_path(name)}/revoke"))

    async def restore(self, principal: Principal, name: str) -> Owner:
        del principal
        return await self._decode_owner(await self._connection.post(f"{_owner_path(name)}/restore"))

    async def _decode_owner(self, response: Any) -> Owner:
        return await decode_response(self._connection, read_owner, response)


def _owner_path(name: str) -> str:
    return f"/v1/owners/{path_segment(name)}"


def _quotas_json(quotas: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: format_iso_duration(value) if isinstance(value, timedelta) else value for name, value in quotas.items()
    }


class RemoteAgents:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def get(self, principal: Principal, agent: str, owner: str | None = None) -> Agent:
        del principal
        answer = await self._connection.get(_agent_path(agent), _owner_parameter(owner))
        return await decode_response(self._connection, read_agent, answer)

    async def page(self, principal: Principal, after: str | None = None, limit: int = 20) -> Page[Agent]:
        del principal
        return await fetch_page(self._connection, "/v1/agents", read_agent, (), after, limit)

    async def put(self, principal: Principal, agent: str, quotas: Mapping[str, Any], owner: str | None = None) -> Agent:
        del principal
        answer = await self._connection.put(
            _agent_path(agent), {"quotas": _quotas_json(quotas)}, _owner_parameter(owner)
        )
        return await decode_response(self._connection, read_agent, answer)


def _agent_path(name: str) -> str:
    return f"/v1/agents/{path_segment(name)}"


def _owner_parameter(owner: str | None) -> list[tuple[str, str]]:
    return [] if owner is None else [("owner", owner)]


class RemoteTokens:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def make(
        self,
        principal: Principal,
        *,
        owner: str | None = None,
        name: str,
        scopes: Collection[Scope] | None = None,
        expires: datetime | None = None,
        agent: str | None = None,
    ) -> tuple[Token, str]:
        del principal
        fields = {
            "owner": owner,
            "name": name,
            "scopes": None if scopes is None else sorted(scope.value for scope in scopes),
            "expires": utc(expires),
            "agent": agent,
        }
        body = {field: value for field, value in fields.items() if value is not None}
        answer = await self._connection.post("/v1/tokens", body)
        token, text = await decode_response(self._connection, lambda each: (read_token(each), each["text"]), answer)
        if not isinstance(text, str):
            # The token was created, but the answer with its text was lost, and the server does not show it twice.
            raise refuse("shown_once_and_lost", what="token", what_zh="令牌", id=token.id)
        return token, text

    async def page(
        self, principal: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Token]:
        del principal
        query = [] if owner is None else [("owner", owner)]
        return await fetch_page(self._connection, "/v1/tokens", read_token, query, after, limit)

    async def get(self, principal: Principal, token_id: str) -> Token:
        del principal
        return await decode_response(self._connection, read_token, await self._connection.get(_token_path(token_id)))

    async def revoke(self, principal: Principal, token_id: str) -> Token:
        del principal
        return await decode_response(self._connection, read_token, await self._connection.delete(_token_path(token_id)))


def _token_path(token_id: str) -> str:
    return f"/v1/tokens/{path_segment(token_id)}"


class RemoteSessions:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(
        self, principal: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Session]:
        del principal
        return await fetch_page(self._connection, "/v1/sessions", read_session, _owner_parameter(owner), after, limit)

    async def revoke(self, principal: Principal, session_id: str) -> Session:
        del principal
        response = await self._connection.delete(f"/v1/sessions/{path_segment(session_id)}")
        return await decode_response(self._connection, read_session, response)

    async def make_link(self, principal: Principal) -> MadeLink:
        del principal
        response = await self._connection.post("/v1/sign-in-links")
        return await decode_response(self._connection, _read_link, response)


def _read_link(data: Mapping[str, Any]) -> MadeLink:
    (code,) = parse_qs(urlsplit(data["url"]).query)["code"]
    return MadeLink(code, parse_instant(data["expires"]))


class RemoteAudit:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(
        self, principal: Principal, after: str | None = None, limit: int = 100, wanted: AuditFilter = ALL_ROWS
    ) -> Page[AuditRow]:
        del principal
        query = [(name, value) for name, value in wanted._asdict().items() if value is not None]
        return await fetch_page(self._connection, "/v1/audit", read_audit_row, query, after, limit)

    async def verify(self, principal: Principal) -> ChainVerdict:
        del principal
        return await decode_response(self._connection, read_verdict, await self._connection.get("/v1/audit/verify"))


class RemoteApprovals:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def page(self, principal: Principal, after: str | None = None, limit: int = 20) -> Page[Facts]:
        """Return tasks that wait for approval. The list of the server has their reviews, so each task is read by its id."""
        del principal
        ids = await fetch_page(self._connection, "/v1/approvals", lambda each: str(each["task_id"]), (), after, limit)
        return Page(tuple([await self._get(task_id) for task_id in ids.items]), ids.after)

    async def _get(self, task_id: str) -> Facts:
        response = await self._connection.get(f"/v1/tasks/{path_segment(task_id)}", [("include", "agenda")])
        return await decode_response(self._connection, read_facts, response)

    async def approve(self, principal: Principal, task_id: str, digest: str) -> Facts:
        del principal
        path, query = f"/v1/tasks/{path_segment(task_id)}/approve", [("include", "agenda")]
        response = await self._connection.post(path, {"digest": digest}, query)
        return await decode_response(self._connection, read_facts, response)

    async def reject(self, principal: Principal, task_id: str, reason: str = "") -> Facts:
        del principal
        path, query = f"/v1/tasks/{path_segment(task_id)}/reject", [("include", "agenda")]
        response = await self._connection.post(path, {"reason": reason}, query)
        return await decode_response(self._connection, read_facts, response)

    async def stop_agent(self, principal: Principal, agent: str, owner: str | None = None) -> int:
        del principal
        return await self._act_on_agent(agent, "stop", owner)

    async def restart_agent(self, principal: Principal, agent: str, owner: str | None = None) -> int:
        del principal
        return await self._act_on_agent(agent, "restart", owner)

    async def _act_on_agent(self, agent: str, action: str, owner: str | None) -> int:
        query = [] if owner is None else [("owner", owner)]
        response = await self._connection.post(f"/v1/agents/{path_segment(agent)}/{action}", None, query)
        return await decode_response(self._connection, lambda each: int(each["tasks"]), response)


_VIEWS = "/v1/views"


class RemoteViews:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def all(self, principal: Principal, list_name: str | None = None) -> tuple[View, ...]:
        del principal
        response = await self._connection.get(_VIEWS, [] if list_name is None else [("list", list_name)])
        return await decode_response(self._connection, lambda each: tuple(map(read_view, each["items"])), response)

    async def get(self, principal: Principal, list_name: str, name: str) -> View:
        del principal
        response = await self._connection.get(_view_path(list_name, name))
        return await decode_response(self._connection, read_view, response)

    async def save(self, principal: Principal, list_name: str, name: str, query: str) -> View:
        del principal
        response = await self._connection.put(_view_path(list_name, name), {"query": query})
        return await decode_response(self._connection, read_view, response)

    async def remove(self, principal: Principal, list_name: str, name: str) -> None:
        del principal
        await self._connection.delete(_view_path(list_name, name))


def _view_path(list_name: str, name: str) -> str:
    return f"{_VIEWS}/{path_segment(list_name)}/{path_segment(name)}"
