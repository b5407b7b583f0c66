"""Service of stations: kinds, voters, keys that belong to one station, limits, removal."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest

from horae.errors import Refusal
from horae.model.accounts.principal import LOCAL
from horae.model.stations.presence import StationPresence, presence_record
from horae.model.stations.station import MAX_KEYS, STATION_KEY_KIND, StationKind
from horae.testing.factories import HOUR

from .service_harness import open_harness


async def code_of(call: Awaitable[object]) -> str:
    with pytest.raises(Refusal) as refused:
        await call
    return refused.value.code


def key_of(number: int) -> str:
    return f"{number:040d}"


async def test_keys_are_added_once_and_removed() -> None:
    async with open_harness() as harness:
        stations = harness.service.stations
        first = await stations.allow(LOCAL, "orders", key_of(1))
        assert (first.kind, first.version) == (StationKind.API, 1)
        assert (await stations.allow(LOCAL, "orders", key_of(1))).version == 1
        assert len((await stations.allow(LOCAL, "orders", key_of(2), worker="two")).keys) == 2
        assert await code_of(stations.allow(LOCAL, "others", key_of(1))) == "station_key_taken"
        assert await code_of(stations.allow(LOCAL, "orders", key_of(3), kind="vote")) == "station_kind_differs"
        assert await code_of(stations.remove(LOCAL, "orders", key_of(3))) == "no_such_station_key"
        left = await stations.remove(LOCAL, "orders", key_of(1))
        assert left is not None
        assert [each.key for each in left.keys] == [key_of(2)]
        assert (await stations.allow(LOCAL, "others", key_of(1))).name == "others"
        assert await stations.remove(LOCAL, "orders") is None
        assert await code_of(stations.get(LOCAL, "orders")) == "no_such_station"
        assert await harness.store.get_record(STATION_KEY_KIND, key_of(2)) is None


async def test_each_voter_has_one_key() -> None:
    async with open_harness() as harness:
        stations = harness.service.stations
        assert await code_of(stations.allow(LOCAL, "board", key_of(1), kind="vote")) == "voter_without_name"
        await stations.allow(LOCAL, "board", key_of(1), kind="vote", worker="ann")
        assert await code_of(stations.allow(LOCAL, "board", key_of(2), worker="ann")) == "voter_has_key"
        assert (await stations.allow(LOCAL, "board", key_of(2), worker="bob")).voters == ("ann", "bob")


async def test_names_keys_and_limits_are_checked() -> None:
    async with open_harness() as harness:
        stations = harness.service.stations
        assert await code_of(stations.allow(LOCAL, "a/b", key_of(1))) == "bad_station_name"
        assert await code_of(stations.allow(LOCAL, "a", key_of(1), worker=" ")) == "bad_station_name"
        assert await code_of(stations.allow(LOCAL, "a", "short")) == "bad_station_key"
        assert await code_of(stations.allow(LOCAL, "a", key_of(1), kind="queue")) == "bad_choice"
        for number in range(MAX_KEYS):
            await stations.allow(LOCAL, "a", key_of(number))
        assert await code_of(stations.allow(LOCAL, "a", key_of(MAX_KEYS))) == "too_many_station_keys"


async def test_presences_are_shown_until_they_expire() -> None:
    async with open_harness() as harness:
        await harness.service.stations.allow(LOCAL, "orders", key_of(1))
        now = harness.clock.now()
        presence = StationPresence(LOCAL.owner, "orders", "here", (), 3, now)
        await harness.store.put_record(presence_record(presence, now + HOUR), replacing=None)
        assert (await harness.service.stations.get(LOCAL, "orders")).presences == (presence,)
        harness.advance(2 * HOUR)
        assert (await harness.service.stations.get(LOCAL, "orders")).presences == ()
