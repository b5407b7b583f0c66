"""Owners, tokens and the audit trail as JSON, out and in; of a token never what proves it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final

from ..model.accounts.account import Agent, FullStorage, Limit, Owner, Token
from ..model.accounts.principal import Quotas, Role, Scope
from ..schedule.durations import iso_duration, parse_duration
from ..service.accounts.audit import AuditRow, Verdict
from .instants import instant, read_instant, utc

_LENGTHS: Final = frozenset({"shortest_interval", "longest_life"})


def owner_json(owner: Owner) -> dict[str, Any]:
    """`quotas` are those that count, `chosen` those of them that were set for this owner."""
    return {
        "name": owner.name,
        "role": owner.role.value,
        "zone": owner.zone,
        "quotas": quotas_json(owner.quotas),
        "chosen": {name: _limit(limit) for name, limit in owner.chosen},
        "note": owner.note,
        "created": utc(owner.created),
        "revoked": utc(owner.revoked),
        "exhausted": None if owner.exhausted is None else owner.exhausted.isoformat(),
        "storage_full": _storage_json(owner.storage_full),
        "version": owner.version,
    }


def read_owner(said: Mapping[str, Any]) -> Owner:
    return Owner(
        said["name"],
        Role(said["role"]),
        instant(said["created"]),
        said["zone"],
        read_quotas(said["quotas"]),
        said["note"],
        read_instant(said["revoked"]),
        said["version"],
        tuple((name, _read_limit(name, limit)) for name, limit in said["chosen"].items()),
        None if said["exhausted"] is None else date.fromisoformat(said["exhausted"]),
        # Servers of earlier versions do not send it.
        storage_full=_read_storage(said.get("storage_full")),
    )


def _storage_json(full: FullStorage | None) -> dict[str, Any] | None:
    return None if full is None else {"since": utc(full.since), "bytes": full.bytes}


def _read_storage(said: Mapping[str, Any] | None) -> FullStorage | None:
    return None if said is None else FullStorage(instant(said["since"]), said["bytes"])


def agent_json(agent: Agent) -> dict[str, Any]:
    """`quotas` are those that count, `chosen` those of them that were set for this agent."""
    return {
        "name": agent.name,
        "owner": agent.owner,
        "quotas": quotas_json(agent.quotas),
        "chosen": {name: _limit(limit) for name, limit in agent.chosen},
        "stopped": agent.stopped,
        "revoked": agent.revoked,
    }


def read_agent(said: Mapping[str, Any]) -> Agent:
    return Agent(
        said["name"],
        said["owner"],
        read_quotas(said["quotas"]),
        tuple((name, _read_limit(name, limit)) for name, limit in said["chosen"].items()),
        said["stopped"],
        said["revoked"],
    )


def quotas_json(quotas: Quotas) -> dict[str, Any]:
    """Durations in ISO 8601; null is without a limit."""
    return {name: _limit(limit) for name, limit in quotas._asdict().items()}


def read_quotas(said: Mapping[str, Any]) -> Quotas:
    return Quotas(**{name: _read_limit(name, said.get(name)) for name in Quotas._fields})


def _limit(limit: Limit) -> str | int | None:
    return iso_duration(limit) if isinstance(limit, timedelta) else limit


def _read_limit(name: str, said: Any) -> Any:
    return parse_duration(said) if name in _LENGTHS and said is not None else said


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


def read_token(said: Mapping[str, Any]) -> Token:
    return Token(
        said["id"],
        said["owner"],
        said["name"],
        frozenset(Scope(scope) for scope in said["scopes"]),
        instant(said["created"]),
        "",
        said["agent"],
        read_instant(said["expires"]),
        read_instant(said["revoked"]),
        said["version"],
    )


def audit_json(row: AuditRow) -> dict[str, Any]:
    return {**row._asdict(), "at": utc(row.at), "detail": dict(row.detail)}


def read_audit_row(said: Mapping[str, Any]) -> AuditRow:
    told = {name: said[name] for name in AuditRow._fields}
    return AuditRow(**{**told, "at": instant(said["at"])})


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    return verdict._asdict()


def read_verdict(said: Mapping[str, Any]) -> Verdict:
    return Verdict(**{name: said[name] for name in Verdict._fields})
