"""Asks every question of all files, in a fresh process: warm again and again, and cold as the first question of all.

The files take turns, question by question, so that whatever else the machine does hits all of them alike.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from time import perf_counter

from bench.lists.questions import QUESTIONS, Question, forget_pages
from horae import Horae

Seconds = dict[str, list[float]]


def ask_all(paths: Sequence[str], repetitions: int, cold: int) -> list[dict[str, Seconds]]:
    """For each file `warm` and `cold`, each with the seconds by question."""
    return asyncio.run(_ask_all(paths, repetitions, cold))


async def _ask_all(paths: Sequence[str], repetitions: int, cold: int) -> list[dict[str, Seconds]]:
    told: list[dict[str, Seconds]] = [{"warm": {}, "cold": {}} for _ in paths]
    for name, question in QUESTIONS.items():
        for _ in range(cold):
            for path, seen in zip(paths, told, strict=True):
                seen["cold"].setdefault(name, []).append(await _cold(path, question))
    async with AsyncExitStack() as stack:
        apps = [await stack.enter_async_context(_opened(path)) for path in paths]
        for name, question in QUESTIONS.items():
            for number in range(repetitions + 1):
                for app, seen in zip(apps, told, strict=True):
                    seconds = await _timed(app, question)
                    if number:  # the first time is neither warm nor cold
                        seen["warm"].setdefault(name, []).append(seconds)
    return told


def _opened(path: str) -> Horae:
    return Horae(f"sqlite:///{path}", engine=False)


async def _cold(path: str, question: Question) -> float:
    forget_pages(path)
    async with _opened(path) as app:
        return await _timed(app, question)


async def _timed(app: Horae, question: Question) -> float:
    started = perf_counter()
    await question(app)
    return perf_counter() - started
