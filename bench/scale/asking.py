"""Read operations in a fresh process, repeated up to a number of samples or a time limit."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Final

from bench.lists.questions import QUESTIONS, Question
from bench.postgres.loop import run
from horae import Horae
from horae.errors import StoreError

_LONG_ENOUGH: Final = 5.0
ASKED: Final[Mapping[str, str]] = {
    "overview": "overview",
    "overview of a small owner": "overview of an owner with 20 tasks",
    "overview of a large owner": "overview of an owner with half of all",
    "tasks, first page, with the newest run of each": "`ls`: a page of tasks with their newest runs",
    "tasks, a page in the middle": "a page in the middle",
    "tasks, failed": "a page of failed tasks",
    "tasks of a small owner": "a page of an owner with 20 tasks",
    "tasks by name": "tasks by name",
    "tasks by a text that ten have": "tasks by a text that ten have",
    "tasks with a label that ten have": "tasks by a label that ten have",
    "upcoming": "upcoming",
    "upcoming of a small owner": "upcoming of an owner with 20 tasks",
    "upcoming of a large owner": "upcoming of an owner with half of all",
    "runs, newest": "newest runs",
    "runs, failed": "newest failed runs",
    "runs of one task": "runs of one task",
    "runs of a small owner": "runs of an owner with 20 tasks",
    "runs of a large owner": "runs of an owner with half of all",
    "why the newest occurrence": "`why`",
}
"""By the question's own name, what it is called here."""


def ask(url: str, times: int) -> dict[str, list[float]]:
    """Seconds of each; none where there was no answer."""
    return run(_ask(url, times))


async def _ask(url: str, times: int) -> dict[str, list[float]]:
    async with Horae(url, engine=False) as app:
        return {told: await _answers(app, QUESTIONS[name], times) for name, told in ASKED.items()}


async def _answers(app: Horae, question: Question, times: int) -> list[float]:
    """The first answer does not count, unless it is the only one that there is time for."""
    seen: list[float] = []
    while len(seen) <= times and sum(seen) < _LONG_ENOUGH:
        started = perf_counter()
        try:
            await question(app)
        except StoreError:
            break
        seen.append(perf_counter() - started)
    return seen[1:] or seen
