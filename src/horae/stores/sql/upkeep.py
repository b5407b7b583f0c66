"""What the janitor and an operator ask of a store on a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from ...clock import SystemClock
from ...errors import StoreError
from ...model.counts import KEPT_HOURS, hour_of
from ...ports.store import Trimmed
from .connection import Link
from .event_reader import ServedFeed
from .retention import Search, remove
from .transactions import Session


class ServedUpkeep(ServedFeed):
    _session: Session

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> Trimmed:
        await self._number_events()
        found = await Search(self._session, before, keep_runs, limit).look(after)
        if found.counted:
            await self._session.transact(_fold)
        if not found.anything:
            return Trimmed(more=found.more, after=found.place.text)
        return await self._session.transact(lambda link: remove(link, found, before))

    async def check(self) -> tuple[str, ...]:
        return await self._session.read(_doubts)

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:  # noqa: ARG002
        raise StoreError(
            "A database server is backed up by its own tools (pg_dump, mariadb-dump); "
            "`horae move FROM_URL sqlite:///FILE` copies a deployment into a file."
        )

    async def recall(self, name: str) -> str | None:
        rows = await self._session.ask("recall", name)
        return rows[0][0] if rows else None

    async def remember(self, name: str, value: str) -> None:
        await self._session.ask("remember", name, value)


async def _fold(link: Link) -> None:
    await link.query("fold_counts")
    await link.query("drop_tallies", hour_of(SystemClock().now()), KEPT_HOURS)
    await link.query("drop_unused_lanes")


async def _doubts(link: Link) -> tuple[str, ...]:
    found: list[str] = []
    for name, tell in _QUESTIONS:
        # A task may be told of once for each of its labels.
        found += dict.fromkeys(tell(*row) for row in await link.query(name))
    return tuple(found)


def _questions() -> Iterator[tuple[str, Callable[..., str]]]:
    yield (
        "orphan_entries",
        lambda slot, task: f"The agenda entry {slot} belongs to task number {task}, which is not there.",
    )
    yield "orphan_runs", lambda run_id, task: f"The run {run_id} belongs to task number {task}, which is not there."
    yield "tasks_without_standing", lambda task_id: f"The task {task_id} has no standing."
    yield "mislabelled_tasks", lambda task_id: f"The task {task_id} is not found by the labels that it has."
    yield (
        "wrong_seats",
        lambda lane, taken, sitting: f"The lane {lane} counts {taken} seats taken, but {sitting} live runs sit in it.",
    )
    yield "forgotten_tasks", lambda task_id: f"The task {task_id} is active, but nothing of it is queued or running."
    yield (
        "miscounted_states",
        lambda owner, name, counted, there: (
            f"{counted} tasks of {owner or 'all owners'} are counted as {name}, but there are {there}."
        ),
    )
    yield "both_live_and_over", lambda run_id: f"The run {run_id} goes on, but the ledger says that it has ended."


_QUESTIONS = tuple(_questions())
