"""Values of stations: records round-trip, names and keys are checked, a ballot takes one vote of each participant."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.model.plans.codes import Status
from horae.model.stations.ballot import Ballot, Vote, ballot_from, ballot_record, open_ballot
from horae.model.stations.presence import StationPresence, WorkerPresence, presence_from, presence_record
from horae.model.stations.station import (
    Cause,
    Station,
    StationKey,
    StationKind,
    is_station_key,
    is_station_name,
    key_owner_from,
    key_record,
    station_from,
    station_record,
)

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
KEY = "k" * 40


def test_station_survives_its_record() -> None:
    station = Station("a/b", "orders", StationKind.VOTE, (StationKey(KEY, "ann"), StationKey("l" * 40)), NOW)
    assert station_from(station_record(station)) == station
    assert station.voters == ("ann",)
    assert station.worker_of(KEY) == StationKey(KEY, "ann")
    assert station.worker_of("x") is None
    assert key_owner_from(key_record(station, KEY)) == ("a/b", "orders")


def test_presence_survives_its_record() -> None:
    worker = WorkerPresence("one", 4, 1, 7, NOW, NOW, "OK", NOW)
    new = WorkerPresence("two", 4, 0, 0, NOW, NOW)
    presence = StationPresence("a/b", "orders", "here", (worker, new), 2, NOW)
    assert presence_from(presence_record(presence, NOW)) == presence


@pytest.mark.parametrize(("name", "is_valid"), [("orders-1.x_y", True), ("", False), ("-a", False), ("a/b", False)])
def test_station_names(name: str, is_valid: bool) -> None:  # noqa: FBT001 - a parameter
    assert is_station_name(name) is is_valid
    assert not is_station_name(None)


def test_station_keys() -> None:
    assert is_station_key(KEY)
    for key in ("", KEY + "k", "é" * 40, " " * 40, None):
        assert not is_station_key(key)


def test_ballot_takes_one_vote_of_each_participant() -> None:
    """All participants are registered up front; a voter who votes twice is refused."""
    ballot = open_ballot("ada", "occ_1", "tsk_1", ["bob", "ann", "bob"])
    assert ballot.missing == ("ann", "bob")
    assert ballot.status == Status.OK
    once = ballot.cast("ann", Vote(Status.OK, "yes"))
    assert isinstance(once, Ballot)
    assert once.cast("ann", Vote(Status.OK, "no")) is None
    assert once.cast("eve", Vote(Status.OK, "no")) is None
    assert once.missing == ("bob",)
    both = once.cast("bob", Vote(Status.ERROR))
    assert isinstance(both, Ballot)
    assert both.status == Status.ERROR
    assert both.result()["ann"] == {"status": 1, "content": "yes"}
    assert once.result()["bob"] is None
    assert ballot_from(ballot_record(both, NOW)) == both._replace(version=1)


def test_another_attempt_asks_again_only_where_a_vote_was_an_error() -> None:
    ballot = Ballot(
        "ada", "occ_1", "tsk_1", (("ann", Vote(Status.FAILED)), ("bob", Vote(Status.TIMEOUT)), ("cyd", None))
    )
    assert ballot.reopen().missing == ("bob", "cyd")


def test_causes_of_refusals_are_short_words() -> None:
    """They are labels of a metric."""
    assert all(each.value.replace("_", "").isalpha() and each.value.islower() for each in Cause)
