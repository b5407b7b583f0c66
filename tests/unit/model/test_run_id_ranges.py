"""Ranges of planned instants that a run id, or a prefix of one, leaves possible."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.model.ids import EPOCH, planned_range_of_id, planned_range_of_prefix, run_id, to_microseconds

INSTANTS = st.datetimes(datetime(1950, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))


@given(planned=INSTANTS, length=st.integers(0, 36))
def test_planned_instant_of_a_run_is_in_the_range_of_each_prefix_of_its_id(planned: datetime, length: int) -> None:
    made = run_id("tsk_1", "schedule", planned, 1)
    found = planned_range_of_prefix(made[: len("run_") + length])
    assert found is not None
    first, last = found
    assert first <= to_microseconds(planned) <= last


@given(planned=INSTANTS)
def test_range_of_an_id_is_its_millisecond(planned: datetime) -> None:
    found = planned_range_of_id(run_id("tsk_1", "schedule", planned, 1))
    assert found is not None
    first, last = found
    assert first <= to_microseconds(planned) <= last
    if planned >= EPOCH + timedelta(milliseconds=1):
        assert last - first == 999


@pytest.mark.parametrize("text", ["tsk_0", "run_xyz", "run"])
def test_text_that_begins_no_run_id_has_no_range(text: str) -> None:
    assert planned_range_of_prefix(text) is None
    assert planned_range_of_id(text) is None


@pytest.mark.parametrize("text", ["run_", "run_019", "run_019a1e30c6fz"])
def test_part_of_an_id_encodes_no_instant(text: str) -> None:
    assert planned_range_of_id(text) is None
