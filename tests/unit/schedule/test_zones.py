"""Zone arithmetic against the standard library, for every zone of the tzdata package."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.resources import files
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
import tzdata

import horae
from horae.schedule import TZDATA_VERSION
from horae.schedule.tzif import read_history, zone_names
from horae.schedule.zones import find_zone

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def standard(name: str) -> ZoneInfo:
    """The standard library's reading of the same file, never of the system's."""
    with files("tzdata.zoneinfo").joinpath(name).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


@pytest.mark.parametrize("name", sorted(zone_names()))
def test_offsets_are_those_of_the_standard_library(name: str) -> None:
    history, zone = read_history(name), standard(name)
    offset = history.first_offset
    for instant, new_offset in history.through(2120):
        if instant > -60_000_000_000:
            before = (EPOCH + timedelta(seconds=instant - 1)).astimezone(zone).utcoffset()
            after = (EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
            assert (before, after) == (timedelta(seconds=offset), timedelta(seconds=new_offset)), instant
        offset = new_offset


def offset_of(zone: ZoneInfo, instant: int) -> float:
    offset = (EPOCH + timedelta(seconds=instant)).astimezone(zone).utcoffset()
    assert offset is not None
    return offset.total_seconds()


def test_no_change_between_ours_is_missed() -> None:
    """Every fourth day of a century in zones whose rules are unlike the others."""
    unusual = ("Africa/Casablanca", "Europe/Dublin", "Asia/Gaza", "America/Godthab", "Antarctica/Troll")
    for name in unusual:
        zone, theirs = find_zone(name), standard(name)
        for days in range(0, 365 * 140, 4):
            assert zone.offset(days * 86_400) == offset_of(theirs, days * 86_400)


def test_the_far_future_follows_the_rule() -> None:
    zone, theirs = find_zone("America/New_York"), standard("America/New_York")
    for year in (2101, 2300, 2499, 2501, 4000, 9990):
        for month in (1, 7):
            instant = int((datetime(year, month, 15, tzinfo=UTC) - EPOCH).total_seconds())
            assert zone.offset(instant) == offset_of(theirs, instant)


def test_gaps_and_folds() -> None:
    zone = find_zone("America/New_York")

    def local(text: str) -> int:
        return int((datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH).total_seconds())

    assert zone.instants(local("2026-03-08T02:30:00")) == []
    assert len(zone.instants(local("2026-11-01T01:30:00"))) == 2
    assert len(zone.instants(local("2026-11-01T02:00:00"))) == 1


def test_the_version_of_the_data_is_known() -> None:
    assert tzdata.IANA_VERSION == TZDATA_VERSION


def test_an_unknown_zone_names_the_nearest() -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        find_zone("Europe/Berln")
    assert refusal.value.code == "unknown_zone"
    assert "Europe/Berlin" in refusal.value.hint


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/localtime", "", "UTC\x00", "zones", "Europe"])
def test_a_zone_is_no_path(name: str) -> None:
    with pytest.raises(horae.InvalidSchedule):
        find_zone(name)


def test_no_two_changes_lie_within_two_days_of_each_other() -> None:
    """The careful path looks at one change at a time; this is why it may."""
    for name in sorted(zone_names()):
        instants = [instant for instant, _ in read_history(name).through(2100)]
        assert all(later - earlier > 2 * 86_400 for earlier, later in pairwise(instants)), name
