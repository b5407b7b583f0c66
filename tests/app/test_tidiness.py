"""Garbage is looked for less often while an app is open, and as before when the last one is closed."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator

import pytest

from horae import Horae

USUAL = (700, 10, 10)


@pytest.fixture(autouse=True)
def usual_threshold() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*USUAL)
    yield
    gc.set_threshold(*before)


def test_seldom_while_any_app_is_open() -> None:
    async def two() -> None:
        async with Horae("memory://"):
            assert gc.get_threshold()[0] > USUAL[0]
            async with Horae("memory://"):
                assert gc.get_threshold()[0] > USUAL[0]
            assert gc.get_threshold()[0] > USUAL[0]

    asyncio.run(two())
    assert gc.get_threshold() == USUAL


@pytest.mark.parametrize("chosen", [(100_000, 5, 5), (0, 10, 10)])
def test_who_has_chosen_keeps_their_numbers(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)

    async def one() -> None:
        async with Horae("memory://"):
            assert gc.get_threshold() == chosen

    asyncio.run(one())
    assert gc.get_threshold() == chosen


def test_numbers_chosen_meanwhile_stay() -> None:
    async def one() -> None:
        async with Horae("memory://"):
            gc.set_threshold(5_000, 10, 10)

    asyncio.run(one())
    assert gc.get_threshold() == (5_000, 10, 10)


def test_an_app_that_could_not_open_leaves_no_trace() -> None:
    async def one() -> None:
        async with Horae("sqlite:////dev/null/no.db"):
            raise AssertionError

    with pytest.raises(Exception, match="cannot be"):
        asyncio.run(one())
    assert gc.get_threshold() == USUAL
