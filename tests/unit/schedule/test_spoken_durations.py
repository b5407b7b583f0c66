"""Durations as text are exact in both languages, or refused."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import horae
from horae.errors import InvalidSchedule
from horae.schedule import Every

MILLISECOND = timedelta(milliseconds=1)
LONGEST = timedelta(days=36_525)


def interval(text: str) -> timedelta:
    schedule = horae.parse(text, zone="UTC")
    assert isinstance(schedule, Every)
    return schedule.interval


@given(st.integers(1, LONGEST // MILLISECOND), st.sampled_from(["every {}ms", "every {} milliseconds"]))
def test_any_number_of_milliseconds(number: int, spelling: str) -> None:
    assert interval(spelling.format(number)) == number * MILLISECOND


@given(st.integers(1, 10**10 - 1))
def test_any_number_of_milliseconds_in_chinese(number: int) -> None:
    """Ten digits are the most there."""
    assert interval(f"每{number}毫秒") == number * MILLISECOND


@given(st.integers(1, LONGEST // timedelta(seconds=1)), st.sampled_from(["every {}s", "每{}秒"]))
def test_any_number_of_seconds(number: int, spelling: str) -> None:
    assert interval(spelling.format(number)) == timedelta(seconds=number)


@given(st.integers(10**16, 10**40), st.sampled_from(["every {}ms", "每{}毫秒", "every {}s"]))
def test_too_long_duration_is_refused(number: int, spelling: str) -> None:
    with pytest.raises(InvalidSchedule):
        horae.parse(spelling.format(number), zone="UTC")


@pytest.mark.parametrize("text", ["every 1.0000001s", "每1.0000001秒", "every 0.5ms", "every 1.00000000000001s"])
def test_parts_of_a_millisecond_are_refused_however_small(text: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        horae.parse(text, zone="UTC")
    assert refusal.value.code == "sub_millisecond"


def test_trailing_zeros_are_ignored() -> None:
    assert interval("every 1.500000000s") == timedelta(seconds=1.5)
