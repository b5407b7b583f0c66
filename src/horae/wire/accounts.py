"""Owners, agents, tokens, browser sessions and audit rows to JSON and back; secrets are never included."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final

from ..model.accounts.account import Agent, FullStorage, Limit, Owner, Token
from ..model.accounts.principal import Quotas, Role, Scope
from ..model.accounts.session import CalendarToken, Session
from ..schedule.durations import format_iso_duration, parse_duration
from ..service.accounts.audit import AuditRow, ChainVerdict
from ..service.accounts.views import View
from .instants import parse_instant, parse_optional_instant, utc

CONSOLE_PATH: Final = "/console"
DEPLOYMENT_HEADER: Final = "Horae-Deployment"
"""Header of a router: in a request the deployment to which it is forwarded, in an answer to a request with a valid credential
the one that answered."""
DEPLOYMENTS_PATH: Final = "/deployments"
"""Page of a router where a browser switches between deployments."""
"""Where a server mounts the console."""
_DURATION_QUOTAS: Final = frozenset({"shortest_interval", "longest_life"})


def owner_json(owner: Owner) -> dict[str, Any]:
    """`quotas` are the effective ones, `chosen` those set for this owner."""
    return {
        "name": owner.name,
        "role": owner.role.value,
        "zone": owner.zone,
        "language": owner.language,
        "quotas": quotas_json(owner.quotas),
        "chosen": {name: _limit_json(limit) for name, limit in owner.quota_overrides},
        "note": owner.note,
        "created": utc(owner.created),
        "revoked": utc(owner.revoked),
        "exhausted": None if owner.exhausted_on is None else owner.exhausted_on.isoformat(),
        "storage_full": _storage_json(owner.storage_full),
        "version": owner.version,
    }


def read_owner(data: Mapping[str, Any]) -> Owner:
    return Owner(
        data["name"],
        Role(data["role"]),
        parse_instant(data["created"]),
        data["zone"],
        read_quotas(data["quotas"]),
        data["note"],
        parse_optional_instant(data["revoked"]),
        data["version"],
        tuple((name, _read_limit(name, limit)) for name, limit in data["chosen"].items()),
        None if data["exhausted"] is None else date.fromisoformat(data["exhausted"]),
        # Servers of earlier versions do not send it.
        storage_full=_read_storage(data.get("storage_full")),
        language=data.get("language"),
    )


def _storage_json(full: FullStorage | None) -> dict[str, Any] | None:
    return None if full is None else {"since": utc(full.since), "bytes": full.bytes}


def _read_storage(said: Mapping[str, Any] | None) -> FullStorage | None:
    return None if said is None else FullStorage(parse_instant(said["since"]), said["bytes"])


def agent_json(agent: Agent) -> dict[str, Any]:
    """`quotas` are the effective ones, `chosen` those set for this agent."""
    return {
        "name": agent.name,
        "owner": agent.owner,
        "quotas": quotas_json(agent.quotas),
        "chosen": {name: _limit_json(limit) for name, limit in agent.quota_overrides},
        "stopped": agent.stopped,
        "revoked": agent.revoked,
    }


def read_agent(data: Mapping[str, Any]) -> Agent:
    return Agent(
        data["name"],
        data["owner"],
        read_quotas(data["quotas"]),
        tuple((name, _read_limit(name, limit)) for name, limit in data["chosen"].items()),
        data["stopped"],
        data["revoked"],
    )


def quotas_json(quotas: Quotas) -> dict[str, Any]:
    """Durations as ISO 8601; null means no limit."""
    return {name: _limit_json(limit) for name, limit in quotas._asdict().items()}


def read_quotas(data: Mapping[str, Any]) -> Quotas:
    return Quotas(**{name: _read_limit(name, data.get(name)) for name in Quotas._fields})


def _limit_json(limit: Limit) -> str | int | None:
    return format_iso_duration(limit) if isinstance(limit, timedelta) else limit


def _read_limit(name: str, value: Any) -> Any:
    return parse_duration(value) if name in _DURATION_QUOTAS and value is not None else value


def token_json(token: Token) -> dict[str, Any]:
    return {
        "id": token.id,
        "owner": token.owner,
        "name": token.name,
        "scopes": sorted(scope.value for scope in token.scopes),
        "agent": token.agent,
        "created": utc(token.created),
        "expires": utc(token.expires),
        "revoked": utc(token.revoked),
        "version": token.version,
    }


def read_token(data: Mapping[str, Any]) -> Token:
    return Token(
        data["id"],
        data["owner"],
        data["name"],
        frozenset(Scope(scope) for scope in data["scopes"]),
        parse_instant(data["created"]),
        "",
        data["agent"],
        parse_optional_instant(data["expires"]),
        parse_optional_instant(data["revoked"]),
        data["version"],
    )


def session_json(session: Session) -> dict[str, Any]:
    return {
        "id": session.id,
        "owner": session.owner,
        "scopes": sorted(scope.value for scope in session.scopes),
        "token": session.token or None,
        "client": session.client,
        "created": utc(session.created),
        "used": utc(session.used),
        "expires": utc(session.expires),
    }


def read_session(data: Mapping[str, Any]) -> Session:
    return Session(
        data["id"],
        data["owner"],
        frozenset(Scope(scope) for scope in data["scopes"]),
        "",
        parse_instant(data["created"]),
        parse_instant(data["used"]),
        data["token"] or "",
        data["client"],
    )


def sign_in_url(server: str, code: str) -> str:
    """Return the URL that signs a browser in at this server, once."""
    return f"{server}{CONSOLE_PATH}/sign-in?code={code}"


def calendar_token_json(token: CalendarToken) -> dict[str, Any]:
    return {"id": token.id, "owner": token.owner, "name": token.name, "created": utc(token.created)}


def view_json(view: View) -> dict[str, Any]:
    return {"name": view.name, "list": view.list_name, "query": view.query, "owner": view.owner}


def read_view(data: Mapping[str, Any]) -> View:
    return View(data["name"], data["list"], data["query"], data["owner"])


def audit_json(row: AuditRow) -> dict[str, Any]:
    return {**row._asdict(), "at": utc(row.at), "detail": dict(row.detail)}


def read_audit_row(data: Mapping[str, Any]) -> AuditRow:
    fields = {name: data[name] for name in AuditRow._fields}
    return AuditRow(**{**fields, "at": parse_instant(data["at"])})


def verdict_json(verdict: ChainVerdict) -> dict[str, Any]:
    return verdict._asdict()


def read_verdict(data: Mapping[str, Any]) -> ChainVerdict:
    return ChainVerdict(**{name: data[name] for name in ChainVerdict._fields})
