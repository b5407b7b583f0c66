"""Reads of indexes with their documents, each at one moment: a script reads both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ....model.run import Run
from ..layout.documents import TaskDocument, decode_run_document, decode_task_document
from ..layout.keys import RUN_RANK_LENGTH
from ..transactions.runner import RedisTransactions
from ..transactions.transaction import VERSION_LENGTH, Word

_MAX_COMMANDS: Final = 2_000
"""Commands of one script: it delays all other clients while it runs."""


async def read_at_once(database: RedisTransactions, commands: Sequence[Sequence[Word]]) -> list[Any]:
    """Run commands that only read, at one moment; return their answers as Redis gives them to a script."""
    values = [word for command in commands for word in (len(command), *command)]
    answers: list[Any] = await database.client.run_script("read", [database.keys.schema], values) if commands else []
    # A script leaves out the answers after a missing last one.
    return answers + [None] * (len(commands) - len(answers))


async def fetch_texts(database: RedisTransactions, command: Sequence[Word], prefix: str) -> list[tuple[str, str]]:
    """Run a command that returns members of an index (its second word), and return each with the text of its document."""
    found = await database.client.run_script("fetch", [str(command[1])], [prefix, *command])
    return [(member, value[VERSION_LENGTH:]) for member, value in _groups(found, 2)]


async def fetch_tasks(database: RedisTransactions, command: Sequence[Word]) -> list[TaskDocument]:
    """Return the task documents of an index of task ids."""
    return [decode_task_document(text) for _, text in await fetch_texts(database, command, database.keys.task(""))]


async def read_tasks(database: RedisTransactions, task_ids: Iterable[str]) -> list[TaskDocument]:
    """Return the documents of those of these tasks that exist, in this order."""
    texts = await read_texts(database, map(database.keys.task, dict.fromkeys(task_ids)))
    return [decode_task_document(text) for text in texts if text is not None]


async def fetch_runs(database: RedisTransactions, *commands: Sequence[Word], is_ranked: bool = True) -> list[Run]:
    """Return the runs of indexes, live and ended; members are those of `run_member`, or ids alone."""
    keys = database.keys
    runs: list[Run] = []
    for start in range(0, len(commands), _MAX_COMMANDS):
        words = [word for command in commands[start : start + _MAX_COMMANDS] for word in (len(command), *command)]
        values = [keys.run(""), keys.task(""), RUN_RANK_LENGTH if is_ranked else 0, *words]
        found = await database.client.run_script("fetch_runs", [keys.live], values)
        decoded = (decode_found_run(*row) for row in _groups(found, 3))
        runs += [run for run in decoded if run is not None]
    return runs


async def find_run(database: RedisTransactions, run_id: str) -> Run | None:
    return next(iter(await fetch_runs(database, ("ECHO", run_id), is_ranked=False)), None)


def decode_found_run(run_id: str, task_id: str, value: str) -> Run | None:
    """Decode a run from its own document, or from that of its task while it is live."""
    text = value[VERSION_LENGTH:]
    if not task_id:
        return decode_run_document(text)
    return next((run for run in decode_task_document(text).live if run.id == run_id), None)


async def read_texts(database: RedisTransactions, keys: Iterable[str]) -> list[str | None]:
    """Return the texts of documents, read at one moment."""
    names = list(keys)
    values = await database.client.call("MGET", *names) if names else []
    return [None if value is None else value[VERSION_LENGTH:] for value in values]


def _groups(values: list[str], size: int) -> list[tuple[str, ...]]:
    return list(zip(*(values[start::size] for start in range(size)), strict=True))
