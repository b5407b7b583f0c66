"""Stores with one defect each in the rates of lanes, and the contract tests that must notice it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from horae.lifecycle.lanes.rate import record_starts
from horae.model.lanes.rate import Rate
from horae.stores.memory import MemoryStore
from horae.stores.memory.data import Data


class _Defective(MemoryStore):
    data: type[Data]

    def __init__(self) -> None:
        super().__init__()
        self._data = self.data()


class _UncountedData(Data):
    def _record_start(self, lane: str) -> None:
        """No start is counted."""


class CountsNoStarts(_Defective):
    data = _UncountedData


class _EarlyData(Data):
    def _record_start(self, lane: str) -> None:
        rate, now = self.lane_rates.get(lane), self.claim_instant
        if rate is not None and now is not None:
            kept = tuple(each for each in self.lane_starts.get(lane) or () if each.at <= now)
            self.lane_starts.write(lane, record_starts(rate, kept, now, 1))
            self._freed_lanes.add(lane)


class ForgetsStartsOfFasterClocks(_Defective):
    data = _EarlyData


class _SleepingData(Data):
    def next_due(self) -> datetime | None:
        return self.entries.next_due()


class HidesTheWakeUp(_Defective):
    data = _SleepingData


class _ForgetfulData(Data):
    def set_rate(self, lane: str, rate: Rate | None) -> None:
        self.lane_starts.write(lane, None)
        super().set_rate(lane, rate)


class ForgetsStartsWithEachRate(_Defective):
    data = _ForgetfulData


class _StickyData(Data):
    def set_rate(self, lane: str, rate: Rate | None) -> None:
        super().set_rate(lane, rate or self.lane_rates.get(lane))


class NeverRemovesARate(_Defective):
    data = _StickyData


RATE_DEFECTS: Final[dict[type[MemoryStore], tuple[str, ...]]] = {
    CountsNoStarts: (
        "test_a_claim_starts_at_most_what_the_rate_allows",
        "test_every_window_counts_not_only_whole_periods",
        "test_limit_and_rate_hold_together",
        "test_a_freed_slot_waits_for_the_rate",
        "test_a_lost_run_counts_as_a_start",
        "test_owners_take_turns_in_a_lane_with_a_rate",
        "test_many_starts_stay_within_the_rate",
        "test_readers_see_the_rate_and_the_next_start",
        "test_rate_starts_and_wake_up_are_moved",
    ),
    ForgetsStartsOfFasterClocks: ("test_a_start_on_a_clock_that_is_behind_counts_as_late_as_the_last",),
    HidesTheWakeUp: (
        "test_the_agenda_has_one_wake_up_for_those_that_wait",
        "test_several_lanes_with_a_rate_are_woken_each_in_its_time",
        "test_a_clock_that_was_set_back_allows_no_further_start",
    ),
    ForgetsStartsWithEachRate: ("test_a_lower_rate_counts_the_starts_before",),
    NeverRemovesARate: (
        "test_a_removed_rate_lets_all_go_on_at_once",
        "test_a_removed_rate_leaves_the_limit",
        "test_a_removed_rate_forgets_its_starts",
    ),
}
