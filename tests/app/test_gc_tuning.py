"""Interpreter settings: while an app is open the GC threshold is higher and the switch interval shorter; both are restored."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from horae import Horae
from horae.app.garbage_collection import InterpreterTuning
from horae.app.horae import Item
from horae.errors import InvalidSchedule

DEFAULT_THRESHOLD = (700, 10, 10)
DEFAULT_SWITCH_INTERVAL = 0.005


@pytest.fixture(autouse=True)
def _default_settings() -> Iterator[None]:
    before, switch = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(*DEFAULT_THRESHOLD)
    sys.setswitchinterval(DEFAULT_SWITCH_INTERVAL)
    yield
    gc.set_threshold(*before)
    sys.setswitchinterval(switch)


async def test_settings_are_changed_while_any_app_is_open() -> None:
    async with Horae("memory://"):
        assert gc.get_threshold()[0] > DEFAULT_THRESHOLD[0]
        async with Horae("memory://"):
            assert gc.get_threshold()[0] > DEFAULT_THRESHOLD[0]
        assert gc.get_threshold()[0] > DEFAULT_THRESHOLD[0]
        assert sys.getswitchinterval() < DEFAULT_SWITCH_INTERVAL
    assert gc.get_threshold() == DEFAULT_THRESHOLD
    assert sys.getswitchinterval() == pytest.approx(DEFAULT_SWITCH_INTERVAL)


@pytest.mark.parametrize("chosen", [(100_000, 5, 5), (0, 10, 10)])
async def test_settings_chosen_before_are_left_alone(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    sys.setswitchinterval(0.0001)

    async with Horae("memory://"):
        assert gc.get_threshold() == chosen
        assert sys.getswitchinterval() == pytest.approx(0.0001)
    assert gc.get_threshold() == chosen


async def test_settings_chosen_while_the_app_is_open_are_left_alone() -> None:
    async with Horae("memory://"):
        gc.set_threshold(5_000, 10, 10)
        sys.setswitchinterval(0.002)
    assert gc.get_threshold() == (5_000, 10, 10)
    assert sys.getswitchinterval() == pytest.approx(0.002)


async def test_failed_open_restores_the_settings() -> None:
    with pytest.raises(Exception, match="cannot be"):
        async with Horae("sqlite:////dev/null/no.db"):
            raise AssertionError
    assert gc.get_threshold() == DEFAULT_THRESHOLD


async def test_gc_is_disabled_during_schedule_many() -> None:
    seen: list[bool] = []
    async with Horae("memory://", engine=False) as app:

        @app.task
        async def work() -> None: ...

        def items() -> Iterator[Item]:
            seen.append(gc.isenabled())
            yield work, "in 1h", None

        await app.schedule_many(items())
        seen.append(gc.isenabled())
        with pytest.raises(InvalidSchedule):
            await app.schedule_many([(work, "whenever", None)])
        seen.append(gc.isenabled())
        gc.disable()
        await app.schedule_many(items())
        seen.append(gc.isenabled())
        gc.enable()
    assert seen == [False, True, True, False, False]


def test_dedicated_process_has_a_shorter_switch_interval() -> None:
    interpreter = InterpreterTuning()
    interpreter.acquire()
    shared = sys.getswitchinterval()
    interpreter.dedicate_process()
    try:
        assert sys.getswitchinterval() < shared < DEFAULT_SWITCH_INTERVAL
    finally:
        gc.unfreeze()
        interpreter.release()
    sys.setswitchinterval(0.00005)
    interpreter.dedicate_process()
    gc.unfreeze()
    assert sys.getswitchinterval() == pytest.approx(0.00005), "a shorter interval is left alone"
