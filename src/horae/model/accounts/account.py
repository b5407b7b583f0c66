"""Accounts: owners, agents and tokens with their quotas, as values and as stored records."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple, TypeAlias

from ...choices import Language
from ..record import Record
from ..task import Task
from .principal import AGENT_LABEL, AGENT_QUOTAS, MEMBER_QUOTAS, NO_QUOTAS, Quotas, Role, Scope
from .system_owner import SYSTEM_PREFIX

OWNER_KIND: Final = "owner"
TOKEN_KIND: Final = "token"  # noqa: S105 - the kind of a record
AGENT_KIND: Final = "agent"
ALL_AGENTS: Final = "*"
"""Agent name of the defaults for all agents of an owner; an agent's own settings override them."""
OWNER_CHARACTERS: Final = 100
AGENT_CHARACTERS: Final = 64
RESERVED_OWNER_PREFIX: Final = SYSTEM_PREFIX
TOKEN_RETENTION: Final = timedelta(days=90)
"""Time for which a revoked or expired token is still listed."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]*")
_NO_EXPIRY: Final = datetime(9999, 1, 1, tzinfo=UTC)
_DURATIONS: Final = frozenset({"shortest_interval", "longest_life"})

Limit: TypeAlias = int | timedelta | None
"""None: unlimited."""


class FullStorage(NamedTuple):
    """Since when the stored bytes of an owner have been used up, and how many they were then."""

    since: datetime
    bytes: int


class Owner(NamedTuple):
    """`quotas` are the effective ones: the `quota_overrides` of this owner, and the defaults of its role for the rest.

    `exhausted_on` is the day (UTC) on which its runs per day were used up; `exhausted_agents` holds that day for each of its agents.
    `storage_full` is None while there is room for more bytes.
    """

    name: str
    role: Role
    created: datetime
    zone: str | None = None
    quotas: Quotas = NO_QUOTAS
    note: str = ""
    revoked: datetime | None = None
    version: int = 1
    quota_overrides: tuple[tuple[str, Limit], ...] = ()
    exhausted_on: date | None = None
    exhausted_agents: tuple[tuple[str, date], ...] = ()
    is_demoted: bool = False
    """An owner with tasks became a viewer: its tasks no longer fire."""
    storage_full: FullStorage | None = None
    last_storage_full: tuple[datetime, datetime] | None = None
    """The last period in which its storage was full, for explanations of skipped runs."""
    language: Language | None = None
    """Language of what it reads, where a request names none."""


class Agent(NamedTuple):
    """`quotas` are the effective ones; `quota_overrides` those that an admin set for this agent, or (under `*`) for all agents of
    its owner. `revoked`: the last token of this agent was revoked, which stopped its tasks.
    """

    name: str
    owner: str
    quotas: Quotas
    quota_overrides: tuple[tuple[str, Limit], ...] = ()
    stopped: bool = False
    revoked: bool = False


class Token(NamedTuple):
    """API token. Only the `hash` of the secret is stored. With `agent`, the bearer acts as that agent of the owner."""

    id: str
    owner: str
    name: str
    scopes: frozenset[Scope]
    created: datetime
    hash: str
    agent: str | None = None
    expires: datetime | None = None
    revoked: datetime | None = None
    version: int = 1

    def is_valid(self, now: datetime) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)


def is_owner_name(name: object) -> bool:
    """Return whether a name has only letters, digits and `-_.:@` and does not begin with the reserved `horae:`."""
    return (
        isinstance(name, str)
        and len(name) <= OWNER_CHARACTERS
        and _NAME.fullmatch(name) is not None
        and not name.startswith(RESERVED_OWNER_PREFIX)
    )


def is_agent_name(name: object) -> bool:
    return isinstance(name, str) and len(name) <= AGENT_CHARACTERS and _NAME.fullmatch(name) is not None


# --- quotas ------------------------------------------------------------------------------------------------------


def is_blocked(owner: Owner) -> bool:
    """Return whether no run of the owner may start, because it was revoked or became a viewer."""
    return owner.revoked is not None or owner.is_demoted


def quotas_of(role: Role, chosen: Collection[tuple[str, Limit]], members: Quotas = MEMBER_QUOTAS) -> Quotas:
    """Return the quotas chosen for an owner, with the defaults of its role for the rest."""
    limits: dict[str, Any] = dict(chosen)
    return (NO_QUOTAS if role is Role.ADMIN else members)._replace(**limits)


def strictest_quotas(one: Quotas, other: Quotas) -> Quotas:
    """Return the stricter limit of each pair: the smaller one, and for intervals the longer one."""
    return Quotas(
        *(_stricter(name, *pair) for name, pair in zip(Quotas._fields, zip(one, other, strict=True), strict=True))
    )


def agent_quotas(owner: Quotas, chosen: Collection[tuple[str, Limit]] = (), usual: Quotas = AGENT_QUOTAS) -> Quotas:
    """Return the quotas chosen for an agent, with the defaults of agents for the rest, and never more than its owner's."""
    limits: dict[str, Any] = dict(chosen)
    return strictest_quotas(usual._replace(**limits), owner)


def _stricter(name: str, one: Any, other: Any) -> Any:
    limits = [each for each in (one, other) if each is not None]
    return (max if name == "shortest_interval" else min)(limits, default=None)


def limits_json(chosen: Collection[tuple[str, Limit]]) -> dict[str, float | None]:
    """Return limits in JSON form; durations are seconds."""
    return {name: limit.total_seconds() if isinstance(limit, timedelta) else limit for name, limit in chosen}


def limits_from(value: Mapping[str, Any]) -> tuple[tuple[str, Limit], ...]:
    return tuple(
        (name, timedelta(seconds=value[name]) if name in _DURATIONS and value[name] is not None else value[name])
        for name in Quotas._fields
        if name in value
    )


# --- as records --------------------------------------------------------------------------------------------------


def owner_record(owner: Owner) -> Record:
    body = {
        "role": owner.role,
        "zone": owner.zone,
        "quotas": limits_json(owner.quota_overrides),
        "note": owner.note,
        "created": owner.created.isoformat(),
        "revoked": _text(owner.revoked),
        "exhausted": None if owner.exhausted_on is None else owner.exhausted_on.isoformat(),
        "spent": {agent: day.isoformat() for agent, day in owner.exhausted_agents},
        "demoted": owner.is_demoted,
        "storage_full": None
        if owner.storage_full is None
        else {"since": owner.storage_full.since.isoformat(), "bytes": owner.storage_full.bytes},
        "last_storage_full": [each.isoformat() for each in owner.last_storage_full or ()],
        "language": owner.language,
    }
    return Record(OWNER_KIND, owner.name, owner.name, json.dumps(body, ensure_ascii=False))


def owner_from(record: Record, members: Quotas = MEMBER_QUOTAS) -> Owner:
    body = json.loads(record.body)
    role, chosen = Role(body["role"]), limits_from(body["quotas"])
    return Owner(
        record.key,
        role,
        datetime.fromisoformat(body["created"]),
        body["zone"],
        quotas_of(role, chosen, members),
        body["note"],
        _instant(body["revoked"]),
        record.version,
        chosen,
        None if body["exhausted"] is None else date.fromisoformat(body["exhausted"]),
        tuple((agent, date.fromisoformat(day)) for agent, day in body.get("spent", {}).items()),
        body.get("demoted", False),
        _full_storage(body.get("storage_full")),
        _stretch(body.get("last_storage_full", ())),
        body.get("language"),
    )


def agent_key(owner: str, agent: str) -> str:
    """Return the record key of an agent; owner names contain no slash."""
    return f"{owner}/{agent}"


def agent_record(owner: str, agent: str, chosen: Collection[tuple[str, Limit]]) -> Record:
    return Record(AGENT_KIND, agent_key(owner, agent), owner, json.dumps({"quotas": limits_json(chosen)}))


def agent_limits(record: Record | None) -> tuple[tuple[str, Limit], ...]:
    return () if record is None else limits_from(json.loads(record.body)["quotas"])


def token_record(token: Token) -> Record:
    body = {
        "name": token.name,
        "scopes": sorted(token.scopes),
        "agent": token.agent,
        "created": token.created.isoformat(),
        "expires": _text(token.expires),
        "revoked": _text(token.revoked),
        "hash": token.hash,
    }
    return Record(TOKEN_KIND, token.id, token.owner, json.dumps(body, ensure_ascii=False), expires=_expiry(token))


def _expiry(token: Token) -> datetime | None:
    ends = [end for end in (token.expires, token.revoked) if end is not None and end < _NO_EXPIRY]
    return min(ends) + TOKEN_RETENTION if ends else None


def token_from(record: Record) -> Token:
    body = json.loads(record.body)
    return Token(
        record.key,
        record.owner,
        body["name"],
        frozenset(Scope(scope) for scope in body["scopes"]),
        datetime.fromisoformat(body["created"]),
        body["hash"],
        body["agent"],
        _instant(body["expires"]),
        _instant(body["revoked"]),
        record.version,
    )


def _full_storage(value: Mapping[str, Any] | None) -> FullStorage | None:
    return None if value is None else FullStorage(datetime.fromisoformat(value["since"]), value["bytes"])


def _stretch(texts: Sequence[str]) -> tuple[datetime, datetime] | None:
    return (datetime.fromisoformat(texts[0]), datetime.fromisoformat(texts[1])) if texts else None


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat()


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def agent_of(task: Task) -> str | None:
    """Return the name of the agent that created the task; None for a task of a person or a program."""
    for name, value in task.labels:
        if name == AGENT_LABEL:
            return value
    return None
