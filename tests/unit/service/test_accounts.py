"""Owners: who may make and change them, what is usual for each role, and what becomes of those that are revoked."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.errors import Refusal
from horae.model.accounts.account import (
    Owner,
    Token,
    agent_quotas,
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
from horae.model.accounts.principal import MEMBER_QUOTAS, NO_QUOTAS, Principal, Quotas, Role, Scope
from horae.service.runs.lanes import MAX_LANE_LIMIT
from horae.testing.factories import HOUR, NOON
from tests.unit.service.service_harness import ADA, CHIEF, ROOT, House, code_of, house_on


async def test_an_owner_is_made_and_changed_in_what_is_said() -> None:
    async with house_on() as house:
        accounts = house.service.accounts
        made = await accounts.put(CHIEF, "ada", zone="Asia/Tokyo", note="gardener")
        assert made == Owner("ada", Role.MEMBER, NOON, "Asia/Tokyo", MEMBER_QUOTAS, "gardener")
        assert await accounts.get(ROOT, "ada") == made
        wanted: Mapping[str, Any] = {"active_tasks": 5, "shortest_interval": "1s", "runs_per_day": None}
        changed = await accounts.put(CHIEF, "ada", quotas=wanted)
        assert (changed.version, changed.zone, changed.note) == (2, "Asia/Tokyo", "gardener")
        assert changed.quotas == MEMBER_QUOTAS._replace(
            active_tasks=5, shortest_interval=timedelta(seconds=1), runs_per_day=None
        )
        assert await accounts.put(CHIEF, "ada", quotas={"active_tasks": 5}) == changed, "the same twice is once"
        usual = await accounts.put(CHIEF, "ada", quotas=dict.fromkeys(wanted, "usual"), zone="")
        assert (usual.quotas, usual.zone) == (MEMBER_QUOTAS, None)
        admin = await accounts.put(CHIEF, "ada", role=Role.ADMIN)
        assert admin.quotas == NO_QUOTAS
        assert await accounts.get(ROOT, "ada") == admin


def test_what_is_usual_may_be_chosen_for_a_deployment() -> None:
    members = MEMBER_QUOTAS._replace(active_tasks=7)
    assert quotas_of(Role.VIEWER, (), members) == members
    assert quotas_of(Role.MEMBER, (("active_tasks", None),), members).active_tasks is None
    assert quotas_of(Role.ADMIN, (), members) == NO_QUOTAS


async def test_concurrent_runs_are_a_lane() -> None:
    async with house_on() as house:
        accounts = house.service.accounts

        async def seats() -> dict[str, int]:
            return {lane.name: lane.limit for lane in await house.store.lanes()}

        await accounts.put(CHIEF, "root2", role=Role.ADMIN)
        assert await seats() == {}, "without a limit there is no lane to sit in"
        await accounts.put(CHIEF, "ada")
        assert await seats() == {"owner:ada": 10}
        await accounts.put(CHIEF, "ada", quotas={"concurrent_runs": 2})
        assert await seats() == {"owner:ada": 2}
        await accounts.put(CHIEF, "ada", quotas={"concurrent_runs": None})
        assert await seats() == {"owner:ada": MAX_LANE_LIMIT}


@pytest.mark.parametrize(
    ("name", "wanted", "code"),
    [
        ("", {}, "bad_owner_name"),
        ("a b", {}, "bad_owner_name"),
        ("a/b", {}, "bad_owner_name"),
        ("-a", {}, "bad_owner_name"),
        ("é", {}, "bad_owner_name"),
        ("horae:x", {}, "bad_owner_name"),
        ("a" * 101, {}, "bad_owner_name"),
        ("ada", {"role": "king"}, "bad_choice"),
        ("ada", {"zone": "../../etc/passwd"}, "unknown_zone"),
        ("ada", {"note": "\n"}, "bad_text"),
        ("ada", {"note": "x" * 501}, "bad_text"),
        ("ada", {"quotas": {"cows": 1}}, "bad_choice"),
        ("ada", {"quotas": {"active_tasks": -1}}, "bad_number"),
        ("ada", {"quotas": {"active_tasks": True}}, "bad_number"),
        ("ada", {"quotas": {"active_tasks": 1.5}}, "bad_number"),
        ("ada", {"quotas": {"shortest_interval": "sometimes"}}, "bad_duration"),
        ("ada", {"quotas": {"shortest_interval": 0}}, "bad_duration"),
        ("ada", {"quotas": {"payload_bytes": 2**40}}, "bad_number"),
        ("ada", {"expected": 1}, "no_such_owner"),
    ],
)
async def test_what_no_owner_can_be_is_refused(name: str, wanted: dict[str, Any], code: str) -> None:
    async with house_on() as house:
        assert await code_of(house.service.accounts.put(CHIEF, name, **wanted)) == code
        assert not (await house.store.records("owner")).items
        assert not (await house.store.records("audit.open")).items


def test_names_that_people_and_machines_have() -> None:
    assert all(map(is_owner_name, ["ada", "a.b-c_d", "group:garden", "ada@example.org", "7", "A" * 100]))


async def test_a_version_that_was_seen_must_still_be_there() -> None:
    async with house_on() as house:
        accounts = house.service.accounts
        await accounts.put(CHIEF, "ada")
        await accounts.put(CHIEF, "ada", note="x", expected=1)
        assert await code_of(accounts.put(CHIEF, "ada", note="y", expected=1)) == "stale_owner"


async def test_only_an_admin_makes_owners_and_everybody_may_choose_their_own_zone() -> None:
    async with house_on() as house:
        accounts = house.service.accounts
        ada = await house.member("ada")
        eve = await house.member("eve", Role.VIEWER)
        assert await code_of(accounts.put(ada, "new")) == "not_allowed"
        assert await code_of(accounts.put(ada, "ada", quotas={"active_tasks": 99})) == "not_allowed"
        assert await code_of(accounts.put(ada, "ada", role=Role.ADMIN, zone="UTC")) == "not_allowed"
        assert await code_of(accounts.revoke(ada, "eve")) == "not_allowed"
        assert (await accounts.put(ada, "ada", zone="Asia/Tokyo")).zone == "Asia/Tokyo"
        assert await code_of(accounts.put(eve, "eve", zone="Asia/Tokyo")) == "not_allowed", "a viewer only looks"
        assert [owner.name for owner in (await accounts.page(ada)).items] == ["ada"]
        assert [owner.name for owner in (await accounts.page(ROOT)).items] == ["ada", "eve"]
        nobody_made = Principal("local")
        assert await code_of(accounts.put(nobody_made, "local", zone="UTC")) == "no_such_owner"


async def test_nobody_locks_themselves_out() -> None:
    async with house_on() as house:
        accounts = house.service.accounts
        chief = await house.member("boss", Role.ADMIN)
        assert await code_of(accounts.revoke(chief, "boss")) == "own_account"
        assert await code_of(accounts.put(chief, "boss", role=Role.MEMBER)) == "own_account"
        await accounts.put(chief, "boss", note="still here")


async def test_what_is_revoked_is_barred_and_what_is_restored_goes_on() -> None:
    async with house_on() as house:
        accounts = house.service.accounts
        task = await house.add("every 1h")
        assert await code_of(accounts.revoke(CHIEF, "ada")) == "no_such_owner"
        await accounts.put(CHIEF, "ada")
        gone = await accounts.revoke(CHIEF, "ada")
        assert gone.revoked == house.clock.now()
        assert await accounts.revoke(CHIEF, "ada") == gone
        facts = await house.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason == "owner_revoked"
        assert (await accounts.restore(CHIEF, "ada")).revoked is None
        facts = await house.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason is None


async def test_many_who_change_an_owner_at_once_all_get_their_turn() -> None:
    async with house_on() as house:
        accounts = house.service.accounts
        await accounts.put(CHIEF, "ada")
        await asyncio.gather(*(accounts.put(CHIEF, "ada", note=f"{number}") for number in range(20)))
        assert (await accounts.get(ROOT, "ada")).version == 21


# --- runs per day --------------------------------------------------------------------------------------------------


async def _ran(house: House, number: int, who: Principal) -> None:
    for _ in range(number):
        await house.add("now", who=who)
        (run,) = await house.claim()
        await house.settle(run)


async def test_who_has_used_up_a_day_waits_for_the_next() -> None:
    async with house_on() as house:
        daily, accounts = house.service.daily_quota, house.service.accounts
        ada = await house.member("ada", runs_per_day=3, active_tasks=None)
        await _ran(house, 2, ada)
        assert await daily.enforce(house.clock.now()) == 0
        await _ran(house, 1, ada)
        assert await daily.enforce(house.clock.now()) == 1
        assert await daily.enforce(house.clock.now()) == 0, "once"
        assert (await accounts.get(ROOT, "ada")).exhausted_on == house.clock.now().date()
        late = await house.add("now", who=ada)
        assert await house.claim() == []
        why = await house.ledger.explain(ROOT, late.id, None)
        assert why.explanation.reason == "quota"
        house.later(12 * HOUR)
        assert await daily.enforce(house.clock.now()) == 1
        await _ran(house, 1, ada)
        assert (await accounts.get(ROOT, "ada")).exhausted_on is None


async def test_a_higher_limit_lifts_it_the_same_day() -> None:
    async with house_on() as house:
        ada = await house.member("ada", runs_per_day=1)
        await _ran(house, 1, ada)
        assert await house.service.daily_quota.enforce(house.clock.now()) == 1
        await house.service.accounts.put(CHIEF, "ada", quotas={"runs_per_day": 5})
        assert await house.service.daily_quota.enforce(house.clock.now()) == 0, "it was lifted with the change"
        await _ran(house, 1, ada)


async def test_a_new_day_never_lifts_a_revocation() -> None:
    async with house_on() as house:
        daily, accounts = house.service.daily_quota, house.service.accounts
        ada = await house.member("ada", runs_per_day=1)
        task = await house.add("every 1h", who=ada)
        await _ran(house, 1, ada)
        await daily.enforce(house.clock.now())
        await accounts.revoke(CHIEF, "ada")
        house.later(12 * HOUR)
        await daily.enforce(house.clock.now())
        facts = await house.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason == "owner_revoked"
        await accounts.restore(CHIEF, "ada")
        facts = await house.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason is None


async def test_who_was_revoked_while_somebody_counted_stays_revoked() -> None:
    """The bar of a quota must not take the place of one that was set a moment before."""

    async with house_on() as house:
        accounts = house.service.accounts
        await house.member("ada", runs_per_day=1)
        seen = await accounts.get(ROOT, "ada")
        await accounts.revoke(CHIEF, "ada")
        assert not await accounts.block_for_quota(seen, house.clock.now())
        task = await house.add(who=ROOT, owner="ada")
        facts = await house.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason == "owner_revoked"


async def test_an_owner_that_nobody_made_has_no_limit() -> None:
    async with house_on() as house:
        await _ran(house, 5, ADA)
        assert await house.service.daily_quota.enforce(house.clock.now()) == 0


# --- values --------------------------------------------------------------------------------------------------------

LENGTHS = st.none() | st.timedeltas(timedelta(milliseconds=1), timedelta(days=400))
NUMBERS = st.none() | st.integers(0, 10**9)
QUOTAS = st.builds(Quotas, LENGTHS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, LENGTHS)
INSTANTS = st.datetimes().map(lambda naive: naive.replace(tzinfo=NOON.tzinfo))


@given(QUOTAS)
def test_limits_come_back_from_a_record(quotas: Quotas) -> None:
    chosen = tuple(quotas._asdict().items())
    back = limits_from(limits_json(chosen))
    assert quotas_of(Role.MEMBER, back) == quotas


@given(QUOTAS, QUOTAS)
def test_the_strictest_of_two_allows_nothing_that_either_forbids(one: Quotas, other: Quotas) -> None:
    both = strictest_quotas(one, other)
    assert both == strictest_quotas(other, one)
    assert strictest_quotas(both, one) == both
    for mine, theirs in zip(both[1:], one[1:], strict=True):
        assert theirs is None or (mine is not None and mine <= theirs)  # type: ignore[operator]
    assert one.shortest_interval is None or (both.shortest_interval or timedelta(0)) >= one.shortest_interval
    assert strictest_quotas(agent_quotas(one), one) == agent_quotas(one), "an agent has at most what its owner has"
    assert agent_quotas(one, tuple(NO_QUOTAS._asdict().items())) == one


@given(st.sampled_from(Role), QUOTAS, INSTANTS, st.none() | INSTANTS, st.text(max_size=20))
def test_an_owner_comes_back_from_its_record(role: Role, quotas: Quotas, created: Any, revoked: Any, note: str) -> None:
    chosen = tuple(quotas._asdict().items())
    owner = Owner("ada", role, created, "UTC", quotas, note, revoked, 1, chosen, NOON.date())
    assert owner_from(owner_record(owner)) == owner


@given(st.frozensets(st.sampled_from(Scope)), INSTANTS, st.none() | INSTANTS, st.none() | st.just("robot"))
def test_a_token_comes_back_from_its_record(
    scopes: frozenset[Scope], created: Any, expires: Any, agent: str | None
) -> None:
    token = Token("tok_1", "ada", "laptop", scopes, created, "00", agent, expires)
    assert token_from(token_record(token)) == token


def test_every_refusal_has_both_languages() -> None:
    from horae.service.accounts.refusals import CATALOGUE, refuse  # noqa: PLC0415 - looked at here alone

    names = dict.fromkeys(
        (
            "name id what most owner scope allowed value found least used wanted until digest agent version expected "
            "retry_after found_zh least_zh most_zh example example_zh command remedy remedy_zh"
        ).split(),
        "x",
    )
    for code in CATALOGUE:
        refusal: Refusal = refuse(code, **names)
        for language in ("en", "zh"):
            told = refusal.in_language(language)
            assert told.message
            assert told.hint
            assert "{" not in told.message + told.hint
