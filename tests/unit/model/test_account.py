"""Owners, tokens and quotas as values: limits, validity, record round trips."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from horae.errors import NotAllowed
from horae.model.accounts.account import (
    TOKEN_RETENTION,
    FullStorage,
    Owner,
    Token,
    agent_key,
    agent_limits,
    agent_quotas,
    agent_record,
    is_agent_name,
    is_blocked,
    is_owner_name,
    limits_from,
    limits_json,
    owner_from,
    owner_record,
    quotas_of,
    strictest_quotas,
    token_from,
    token_record,
)
from horae.model.accounts.principal import (
    AGENT_QUOTAS,
    LOCAL,
    MEMBER_QUOTAS,
    NO_QUOTAS,
    Principal,
    Quotas,
    Role,
    Scope,
)

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
TOKEN = Token("tok_1", "ada", "laptop", frozenset({Scope.READ, Scope.RUN}), NOW, "5e88")


@pytest.mark.parametrize("name", ["ada", "a", "Ada.L-1_x:y@z", "0", "x" * 100])
def test_names_of_owners(name: str) -> None:
    assert is_owner_name(name)


@pytest.mark.parametrize("name", ["", "-a", "a b", "a/b", "张三", "x" * 101, "horae:x", None, 7])
def test_invalid_owner_names(name: object) -> None:
    assert not is_owner_name(name)


def test_names_of_agents() -> None:
    assert is_agent_name("helper")
    assert not any(is_agent_name(name) for name in ("", "a b", "x" * 65, None))


def test_chosen_quotas_override_role_defaults() -> None:
    chosen = (("active_tasks", 5), ("shortest_interval", None))
    assert quotas_of(Role.MEMBER, chosen) == MEMBER_QUOTAS._replace(active_tasks=5, shortest_interval=None)
    assert quotas_of(Role.ADMIN, chosen) == NO_QUOTAS._replace(active_tasks=5)
    assert quotas_of(Role.VIEWER, (), Quotas(active_tasks=1)) == Quotas(active_tasks=1)


def test_stricter_of_two_limits_applies() -> None:
    one = Quotas(timedelta(seconds=10), 20, None, None, 3)
    other = Quotas(timedelta(minutes=1), 5, 1024, None, None)
    assert (
        strictest_quotas(one, other) == strictest_quotas(other, one) == Quotas(timedelta(minutes=1), 5, 1024, None, 3)
    )
    assert agent_quotas(NO_QUOTAS) == AGENT_QUOTAS
    assert agent_quotas(Quotas(active_tasks=2)).active_tasks == 2


def test_limits_are_serialised_in_seconds() -> None:
    chosen = (("shortest_interval", timedelta(seconds=90)), ("active_tasks", None), ("longest_life", None))
    assert limits_json(chosen) == {"shortest_interval": 90, "active_tasks": None, "longest_life": None}
    assert limits_from(limits_json(chosen)) == chosen


@pytest.mark.parametrize("over", [None, NOW])
def test_owner_record_round_trip(over: datetime | None) -> None:
    day = None if over is None else date(2026, 11, 16)
    chosen = (("runs_per_day", 7),)
    owner = Owner("ada", Role.MEMBER, NOW, "Asia/Shanghai", quotas_of(Role.MEMBER, chosen), "嗯", over, 1, chosen, day)
    assert owner_from(owner_record(owner)) == owner
    assert owner_from(owner_record(owner)._replace(version=4)).version == 4


@pytest.mark.parametrize(
    ("expires", "revoked", "kept_from"),
    [
        (None, None, None),
        (NOW, None, NOW),
        (None, NOW, NOW),
        (NOW + timedelta(days=1), NOW, NOW),
        (datetime(9999, 12, 31, tzinfo=UTC), None, None),
    ],
)
def test_token_record_round_trip_and_expiry(
    expires: datetime | None, revoked: datetime | None, kept_from: datetime | None
) -> None:
    token = TOKEN._replace(agent="helper", expires=expires, revoked=revoked)
    record = token_record(token)
    assert token_from(record) == token
    assert record.expires == (None if kept_from is None else kept_from + TOKEN_RETENTION)


def test_a_token_is_valid_until_it_ends() -> None:
    assert TOKEN.is_valid(NOW)
    assert not TOKEN._replace(revoked=NOW).is_valid(NOW)
    ending = TOKEN._replace(expires=NOW)
    assert ending.is_valid(NOW - timedelta(microseconds=1))
    assert not ending.is_valid(NOW)


def test_missing_right_is_refused_and_agents_are_never_admins() -> None:
    LOCAL.require_scope(Scope.ADMIN)
    reader = Principal("ada", scopes=frozenset({Scope.READ}))
    reader.require_scope(Scope.READ)
    agent = Principal("ada", admin=True, agent="helper")
    for who, scope in ((reader, Scope.WRITE), (Principal("ada"), Scope.ADMIN), (agent, Scope.ADMIN)):
        with pytest.raises(NotAllowed) as refused:
            who.require_scope(scope)
        assert refused.value.code == "not_allowed"
    assert agent.owner_filter == "ada"
    assert LOCAL.owner_filter is None


@pytest.mark.parametrize(
    ("role", "scope", "hint"),
    [
        (Role.MEMBER, Scope.ADMIN, "Ask an admin to do it for you."),
        (Role.VIEWER, Scope.WRITE, "horae owner set ada --role member"),
        (Role.MEMBER, Scope.WRITE, "horae token make NAME --owner ada --scope tasks:write"),
        (None, Scope.WRITE, "horae token make NAME --owner ada --scope tasks:write"),
    ],
)
def test_hint_for_a_missing_scope_depends_on_the_role(role: Role | None, scope: Scope, hint: str) -> None:
    with pytest.raises(NotAllowed) as refused:
        Principal("ada", scopes=frozenset(), role=role).require_scope(scope)
    assert refused.value.in_language("en").hint.endswith(hint)
    assert "{" not in refused.value.in_language("zh").hint


def test_agent_limits_record_round_trip() -> None:
    chosen = (("shortest_interval", timedelta(seconds=90)), ("active_tasks", None))
    record = agent_record("ada", "robot", chosen)
    assert (record.kind, record.key, record.owner) == ("agent", agent_key("ada", "robot"), "ada")
    assert agent_limits(record) == chosen
    assert agent_limits(None) == ()


def test_owner_without_rights_runs_nothing() -> None:
    owner = Owner("ada", Role.MEMBER, NOW)
    assert not is_blocked(owner)
    assert is_blocked(owner._replace(revoked=NOW))
    demoted = owner._replace(role=Role.VIEWER, is_demoted=True)
    assert is_blocked(demoted)
    assert owner_from(owner_record(demoted)).is_demoted


def test_owner_record_keeps_since_when_the_storage_is_full() -> None:
    owner = Owner("ada", Role.MEMBER, NOW, quotas=MEMBER_QUOTAS, storage_full=FullStorage(NOW, 2_000))
    assert owner_from(owner_record(owner)) == owner
    freed = owner._replace(storage_full=None, last_storage_full=(NOW, NOW + timedelta(hours=1)))
    assert owner_from(owner_record(freed)) == freed
