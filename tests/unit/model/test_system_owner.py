"""Owners of system tasks: derived names, and what lists and reads by id include."""

from __future__ import annotations

import pytest

from horae.model.accounts.principal import Principal, Scope
from horae.model.accounts.system_owner import (
    EVERY_OWNER,
    EVERY_SYSTEM_OWNER,
    account_of,
    is_listed,
    is_readable,
    is_scope,
    is_system_owner,
    system_owner,
)
from horae.model.counts import ALL_OWNERS, counters_key, total_owner
from horae.model.lanes.lane import block_reason, fill_lane_name, owner_lane, owner_lane_prefix
from horae.model.lanes.route import describe_route
from horae.model.reason import Reason


def test_name_is_derived_and_leads_back_to_the_account() -> None:
    assert system_owner("ada") == system_owner("horae:ada") == "horae:ada"
    assert (account_of("horae:ada"), account_of("ada")) == ("ada", "ada")
    assert (is_system_owner("horae:ada"), is_system_owner("ada")) == (True, False)


@pytest.mark.parametrize(
    ("scope", "listed", "readable"),
    [
        ("ada", {"ada"}, {"ada", "horae:ada"}),
        ("horae:ada", {"horae:ada"}, {"horae:ada"}),
        (EVERY_OWNER, {"ada", "bob"}, {"ada", "bob"}),
        (EVERY_SYSTEM_OWNER, {"horae:ada"}, {"horae:ada"}),
        (None, {"ada", "bob", "horae:ada"}, {"ada", "bob", "horae:ada"}),
        ("", set(), set()),
    ],
)
def test_lists_leave_system_tasks_out_and_reads_by_id_do_not(
    scope: str | None, listed: set[str], readable: set[str]
) -> None:
    owners = ("ada", "bob", "horae:ada")
    assert {each for each in owners if is_listed(scope, each)} == listed
    assert {each for each in owners if is_readable(scope, each)} == readable
    assert is_scope(scope) is (scope in (None, EVERY_OWNER, EVERY_SYSTEM_OWNER))


def test_counters_have_a_total_of_each_scope() -> None:
    assert (total_owner("ada"), total_owner("horae:ada")) == (ALL_OWNERS, EVERY_SYSTEM_OWNER)
    assert counters_key(None) == counters_key(EVERY_OWNER) == ALL_OWNERS
    assert (counters_key("ada"), counters_key(EVERY_SYSTEM_OWNER)) == ("ada", EVERY_SYSTEM_OWNER)


def test_reader_of_system_tasks_has_the_own_ones_or_all_and_writes_nothing() -> None:
    ada, admin = Principal("ada"), Principal("root", admin=True)
    assert (ada.list_scope, admin.list_scope) == ("ada", EVERY_OWNER)
    assert (ada.as_system_reader().list_scope, admin.as_system_reader().list_scope) == ("horae:ada", EVERY_SYSTEM_OWNER)
    assert ada.as_system_reader().as_system_reader() == ada.as_system_reader()
    assert admin.as_system_reader().scopes == {Scope.READ}


def test_lanes_and_blocks_are_those_of_the_account() -> None:
    assert owner_lane("horae:ada") == owner_lane("ada") == "owner:ada"
    assert owner_lane_prefix("horae:ada") == "ada/"
    assert fill_lane_name("api:{owner}", "horae:ada", {}) == "api:ada"
    for reason, expected in ((Reason.OWNER_REVOKED, Reason.OWNER_REVOKED), (Reason.QUOTA, None), (None, None)):
        assert block_reason("horae:ada", None, {"ada": reason}.get) is expected
        assert block_reason("ada", None, {"ada": reason}.get) is reason
    blocked = {"ada/agent:robot": Reason.AGENT_QUOTA}
    assert block_reason("ada", "ada/agent:robot", blocked.get) is Reason.AGENT_QUOTA
    assert block_reason("horae:ada", "ada/agent:robot", blocked.get) is None


def test_route_is_described_by_what_a_node_must_have() -> None:
    assert describe_route("where:gpu=a100,zone=eu;function:train") == "gpu=a100,zone=eu"
    assert describe_route("function:train") == "train"
    assert describe_route("target:http") == "target:http"
