"""While an app is open garbage is looked for less often and threads change sooner; afterwards all is as before."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator

import pytest

from horae import Horae
from horae.app.gc_tuning import InterpreterTuning
from horae.app.horae import Item
from horae.errors import InvalidSchedule

USUAL = (700, 10, 10)
USUAL_SWITCH = 0.005


@pytest.fixture(autouse=True)
def _usual_numbers() -> Iterator[None]:
    before, switch = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(*USUAL)
    sys.setswitchinterval(USUAL_SWITCH)
    yield
    gc.set_threshold(*before)
    sys.setswitchinterval(switch)


async def test_seldom_while_any_app_is_open() -> None:
    async with Horae("memory://"):
        assert gc.get_threshold()[0] > USUAL[0]
        async with Horae("memory://"):
            assert gc.get_threshold()[0] > USUAL[0]
        assert gc.get_threshold()[0] > USUAL[0]
        assert sys.getswitchinterval() < USUAL_SWITCH
    assert gc.get_threshold() == USUAL
    assert sys.getswitchinterval() == pytest.approx(USUAL_SWITCH)


@pytest.mark.parametrize("chosen", [(100_000, 5, 5), (0, 10, 10)])
async def test_who_has_chosen_keeps_their_numbers(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    sys.setswitchinterval(0.0001)

    async with Horae("memory://"):
        assert gc.get_threshold() == chosen
        assert sys.getswitchinterval() == pytest.approx(0.0001)
    assert gc.get_threshold() == chosen


async def test_numbers_chosen_meanwhile_stay() -> None:
    async with Horae("memory://"):
        gc.set_threshold(5_000, 10, 10)
        sys.setswitchinterval(0.002)
    assert gc.get_threshold() == (5_000, 10, 10)
    assert sys.getswitchinterval() == pytest.approx(0.002)


async def test_an_app_that_could_not_open_leaves_no_trace() -> None:
    with pytest.raises(Exception, match="cannot be"):
        async with Horae("sqlite:////dev/null/no.db"):
            raise AssertionError
    assert gc.get_threshold() == USUAL


async def test_many_tasks_are_added_without_a_look_for_garbage() -> None:
    seen: list[bool] = []
    async with Horae("memory://", engine=False) as app:

        @app.task
        async def work() -> None: ...

        def wanted() -> Iterator[Item]:
            seen.append(gc.isenabled())
            yield work, "in 1h", None

        await app.schedule_many(wanted())
        seen.append(gc.isenabled())
        with pytest.raises(InvalidSchedule):
            await app.schedule_many([(work, "whenever", None)])
        seen.append(gc.isenabled())
        gc.disable()
        await app.schedule_many(wanted())
        seen.append(gc.isenabled())
        gc.enable()
    assert seen == [False, True, True, False, False]


def test_a_process_of_our_own_lets_threads_have_their_turn_at_once() -> None:
    interpreter = InterpreterTuning()
    interpreter.acquire()
    guest = sys.getswitchinterval()
    interpreter.dedicate_process()
    try:
        assert sys.getswitchinterval() < guest < USUAL_SWITCH
    finally:
        gc.unfreeze()
        interpreter.release()
    sys.setswitchinterval(0.00005)
    interpreter.dedicate_process()
    gc.unfreeze()
    assert sys.getswitchinterval() == pytest.approx(0.00005), "who has chosen a shorter one keeps it"
