"""Background loops that wait out store errors: their back-off, and what they log."""

from __future__ import annotations

import logging

import pytest

from horae.errors import StoreFull, StoreUnavailable
from horae.store_retry import INITIAL_BACKOFF, MAX_BACKOFF, StoreRetry, repeat_with_backoff, restart_on_error
from horae.virtual_time import VirtualClock

AWAY = StoreUnavailable("out of reach")
FULL = StoreFull("no space left")


class Failing:
    """A step that fails with each of these errors, then succeeds once, then ends the loop."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.calls = 0

    async def __call__(self) -> float:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        if self.calls > 1_000:
            raise SystemExit
        self.calls = 1_000
        return 0.0


async def logged(caplog: pytest.LogCaptureFixture, clock: VirtualClock, step: Failing) -> list[str]:
    with caplog.at_level(logging.WARNING, logger="horae"), pytest.raises(SystemExit):
        await repeat_with_backoff(step, StoreRetry("counting", clock), clock)
    return [record.getMessage() for record in caplog.records]


async def test_outage_is_logged_when_it_begins_and_when_it_ends(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    begin, end = await logged(caplog, clock, Failing(*[AWAY] * 100))
    assert begin == "counting is paused and tried again: out of reach"
    assert end.startswith("counting goes on: the store answers again, after ")


async def test_full_store_is_logged_once_a_minute(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    lines = await logged(caplog, clock, Failing(*[FULL] * 40))
    # 40 attempts, 5 s apart after the first few, take a little more than three minutes.
    assert lines[:-1] == ["counting is paused and tried again: no space left"] * 4


async def test_defect_is_logged_with_its_traceback_and_tried_again(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    await logged(caplog, clock, Failing(*[ZeroDivisionError("a slip")] * 3))
    assert caplog.text.count("Traceback") == 1
    assert "counting goes on" in caplog.text


async def test_backoff_doubles_up_to_the_maximum_and_resets_after_a_success(clock: VirtualClock) -> None:
    retry = StoreRetry("counting", clock)
    pauses = [retry.failed(AWAY) for _ in range(6)]
    assert pauses == [INITIAL_BACKOFF, 1.0, 2.0, 4.0, MAX_BACKOFF, MAX_BACKOFF]
    retry.succeeded()
    assert not retry.is_failing
    assert retry.failed(AWAY) == INITIAL_BACKOFF


async def test_connection_that_flaps_does_not_fill_the_log(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="horae"):
        retry = StoreRetry("counting", clock)
        for _ in range(100):
            await retry.wait(AWAY)
            retry.succeeded()
    assert len(caplog.records) <= 2 * (100 * INITIAL_BACKOFF / 5 + 1)


async def test_loop_with_a_lasting_defect_is_logged_once_a_minute(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        until = clock.steady() + 150

        async def broken() -> None:
            if clock.steady() < until:
                raise ZeroDivisionError("a slip")

        await restart_on_error("counter", broken, clock)
    assert caplog.text.count("the counter failed unexpectedly") == 3
