"""Owners: rights to create and edit them, default quotas by role, and revocation."""

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
from tests.unit.service.service_harness import ADA, CHIEF, ROOT, ServiceHarness, code_of, open_harness


async def test_owner_is_created_and_edited_field_by_field() -> None:
    async with open_harness() as harness:
        accounts = harness.service.accounts
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


def test_default_quotas_are_configurable() -> None:
    members = MEMBER_QUOTAS._replace(active_tasks=7)
    assert quotas_of(Role.VIEWER, (), members) == members
    assert quotas_of(Role.MEMBER, (("active_tasks", None),), members).active_tasks is None
    assert quotas_of(Role.ADMIN, (), members) == NO_QUOTAS


async def test_concurrent_runs_are_a_lane() -> None:
    async with open_harness() as harness:
        accounts = harness.service.accounts

        async def seats() -> dict[str, int]:
            return {lane.name: lane.limit for lane in await harness.store.lanes()}

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
async def test_invalid_owner_is_refused(name: str, wanted: dict[str, Any], code: str) -> None:
    async with open_harness() as harness:
        assert await code_of(harness.service.accounts.put(CHIEF, name, **wanted)) == code
        assert not (await harness.store.records("owner")).items
        assert not (await harness.store.records("audit.open")).items


def test_valid_owner_names_are_accepted() -> None:
    assert all(map(is_owner_name, ["ada", "a.b-c_d", "group:garden", "ada@example.org", "7", "A" * 100]))


async def test_edit_of_an_owner_checks_the_expected_version() -> None:
    async with open_harness() as harness:
        accounts = harness.service.accounts
        await accounts.put(CHIEF, "ada")
        await accounts.put(CHIEF, "ada", note="x", expected=1)
        assert await code_of(accounts.put(CHIEF, "ada", note="y", expected=1)) == "stale_owner"


async def test_only_admins_create_owners_and_owners_choose_their_zone() -> None:
    async with open_harness() as harness:
        accounts = harness.service.accounts
        ada = await harness.make_member("ada")
        eve = await harness.make_member("eve", Role.VIEWER)
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


async def test_admin_cannot_revoke_or_demote_itself() -> None:
    async with open_harness() as harness:
        accounts = harness.service.accounts
        chief = await harness.make_member("boss", Role.ADMIN)
        assert await code_of(accounts.revoke(chief, "boss")) == "own_account"
        assert await code_of(accounts.put(chief, "boss", role=Role.MEMBER)) == "own_account"
        await accounts.put(chief, "boss", note="still here")


async def test_revoked_owner_is_blocked_until_restored() -> None:
    async with open_harness() as harness:
        accounts = harness.service.accounts
        task = await harness.add("every 1h")
        assert await code_of(accounts.revoke(CHIEF, "ada")) == "no_such_owner"
        await accounts.put(CHIEF, "ada")
        gone = await accounts.revoke(CHIEF, "ada")
        assert gone.revoked == harness.clock.now()
        assert await accounts.revoke(CHIEF, "ada") == gone
        facts = await harness.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason == "owner_revoked"
        assert (await accounts.restore(CHIEF, "ada")).revoked is None
        facts = await harness.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason is None


async def test_concurrent_edits_of_an_owner_all_succeed() -> None:
    async with open_harness() as harness:
        accounts = harness.service.accounts
        await accounts.put(CHIEF, "ada")
        await asyncio.gather(*(accounts.put(CHIEF, "ada", note=f"{number}") for number in range(20)))
        assert (await accounts.get(ROOT, "ada")).version == 21


# --- runs per day --------------------------------------------------------------------------------------------------


async def _run_times(harness: ServiceHarness, number: int, who: Principal) -> None:
    for _ in range(number):
        await harness.add("now", who=who)
        (run,) = await harness.claim()
        await harness.settle(run)


async def test_owner_over_runs_per_day_is_skipped_until_the_next_day() -> None:
    async with open_harness() as harness:
        daily, accounts = harness.service.daily_quota, harness.service.accounts
        ada = await harness.make_member("ada", runs_per_day=3, active_tasks=None)
        await _run_times(harness, 2, ada)
        assert await daily.enforce(harness.clock.now()) == 0
        await _run_times(harness, 1, ada)
        assert await daily.enforce(harness.clock.now()) == 1
        assert await daily.enforce(harness.clock.now()) == 0, "once"
        assert (await accounts.get(ROOT, "ada")).exhausted_on == harness.clock.now().date()
        late = await harness.add("now", who=ada)
        assert await harness.claim() == []
        why = await harness.explanations.explain(ROOT, late.id, None)
        assert why.explanation.reason == "quota"
        harness.advance(12 * HOUR)
        assert await daily.enforce(harness.clock.now()) == 1
        await _run_times(harness, 1, ada)
        assert (await accounts.get(ROOT, "ada")).exhausted_on is None


async def test_higher_runs_per_day_unblocks_the_same_day() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada", runs_per_day=1)
        await _run_times(harness, 1, ada)
        assert await harness.service.daily_quota.enforce(harness.clock.now()) == 1
        await harness.service.accounts.put(CHIEF, "ada", quotas={"runs_per_day": 5})
        assert await harness.service.daily_quota.enforce(harness.clock.now()) == 0, "it was lifted with the change"
        await _run_times(harness, 1, ada)


async def test_new_day_does_not_lift_a_revocation() -> None:
    async with open_harness() as harness:
        daily, accounts = harness.service.daily_quota, harness.service.accounts
        ada = await harness.make_member("ada", runs_per_day=1)
        task = await harness.add("every 1h", who=ada)
        await _run_times(harness, 1, ada)
        await daily.enforce(harness.clock.now())
        await accounts.revoke(CHIEF, "ada")
        harness.advance(12 * HOUR)
        await daily.enforce(harness.clock.now())
        facts = await harness.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason == "owner_revoked"
        await accounts.restore(CHIEF, "ada")
        facts = await harness.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason is None


async def test_revocation_during_quota_enforcement_is_kept() -> None:
    """The bar of a quota must not take the place of one that was set a moment before."""

    async with open_harness() as harness:
        accounts = harness.service.accounts
        await harness.make_member("ada", runs_per_day=1)
        seen = await accounts.get(ROOT, "ada")
        await accounts.revoke(CHIEF, "ada")
        assert not await accounts.block_for_quota(seen, harness.clock.now())
        task = await harness.add(who=ROOT, owner="ada")
        facts = await harness.store.facts(task.id, None)
        assert facts is not None
        assert facts.block_reason == "owner_revoked"


async def test_owner_without_a_record_has_no_limit() -> None:
    async with open_harness() as harness:
        await _run_times(harness, 5, ADA)
        assert await harness.service.daily_quota.enforce(harness.clock.now()) == 0


# --- values --------------------------------------------------------------------------------------------------------

LENGTHS = st.none() | st.timedeltas(timedelta(milliseconds=1), timedelta(days=400))
NUMBERS = st.none() | st.integers(0, 10**9)
QUOTAS = st.builds(Quotas, LENGTHS, NUMBERS, NUMBERS, NUMBERS, NUMBERS, LENGTHS)
INSTANTS = st.datetimes().map(lambda naive: naive.replace(tzinfo=NOON.tzinfo))


@given(QUOTAS)
def test_quotas_survive_a_record_round_trip(quotas: Quotas) -> None:
    chosen = tuple(quotas._asdict().items())
    back = limits_from(limits_json(chosen))
    assert quotas_of(Role.MEMBER, back) == quotas


@given(QUOTAS, QUOTAS)
def test_stricter_of_two_quotas_forbids_what_either_forbids(one: Quotas, other: Quotas) -> None:
    both = strictest_quotas(one, other)
    assert both == strictest_quotas(other, one)
    assert strictest_quotas(both, one) == both
    for mine, theirs in zip(both[1:], one[1:], strict=True):
        assert theirs is None or (mine is not None and mine <= theirs)  # type: ignore[operator]
    assert one.shortest_interval is None or (both.shortest_interval or timedelta(0)) >= one.shortest_interval
    assert strictest_quotas(agent_quotas(one), one) == agent_quotas(one), "an agent has at most what its owner has"
    assert agent_quotas(one, tuple(NO_QUOTAS._asdict().items())) == one


@given(st.sampled_from(Role), QUOTAS, INSTANTS, st.none() | INSTANTS, st.text(max_size=20))
def test_owner_survives_a_record_round_trip(role: Role, quotas: Quotas, created: Any, revoked: Any, note: str) -> None:
    chosen = tuple(quotas._asdict().items())
    owner = Owner("ada", role, created, "UTC", quotas, note, revoked, 1, chosen, NOON.date())
    assert owner_from(owner_record(owner)) == owner


@given(st.frozensets(st.sampled_from(Scope)), INSTANTS, st.none() | INSTANTS, st.none() | st.just("robot"))
def test_token_survives_a_record_round_trip(
    scopes: frozenset[Scope], created: Any, expires: Any, agent: str | None
) -> None:
    token = Token("tok_1", "ada", "laptop", scopes, created, "00", agent, expires)
    assert token_from(token_record(token)) == token


def test_every_refusal_has_both_languages() -> None:
    from horae.service.accounts.refusals import CATALOGUE, refuse  # noqa: PLC0415 - looked at here alone

    names = dict.fromkeys(
        (
            "name id what most owner scope allowed value found least used wanted until digest agent version expected "
            "retry_after depth found_zh least_zh most_zh example example_zh command remedy remedy_zh claim email domain more place"
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


async def test_owner_chooses_its_own_zone_and_language() -> None:
    async with open_harness() as harness:
        accounts = harness.service.accounts
        await accounts.put(CHIEF, "ada", language="en")
        assert (await accounts.put(ADA, "ada", language="zh")).language == "zh"
        assert (await accounts.get(ADA, "ada")).language == "zh"
        assert (await accounts.put(ADA, "ada", zone="UTC")).language == "zh"
        assert (await accounts.put(ADA, "ada", language="")).language is None
        assert await code_of(accounts.put(ADA, "ada", language="fr")) == "bad_choice"
        assert await code_of(accounts.put(ADA, "bob", language="zh")) == "not_allowed"
        assert await code_of(accounts.put(ADA, "ada", language="zh", note="x")) == "not_allowed"
