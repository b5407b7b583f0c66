"""Lookup of ids by unique prefix: every operation accepts the shortened ids that lists show.

A whole id passes through unchanged and costs nothing. A prefix is resolved among what the principal may see, so that a
foreign id and an absent one give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.ids import MIN_PREFIX_DIGITS, SHORT_TASK_DIGITS, is_id_prefix, short_ids
from ...model.page import MAX_PAGE_SIZE
from ...model.refusals import refuse
from ...model.task import Task
from ...ports.records import Records
from ...ports.store import Book
from ..accounts.rights import can_see

TASK: Final = "tsk"
RUN: Final = "run"
MAX_CANDIDATES: Final = 5
"""Number of candidates that a refusal of an ambiguous prefix lists."""


async def resolve_task(book: Book, principal: Principal, text: str) -> str:
    """Return the id of the task with this prefix, or the text itself if there is none; an ambiguous prefix is refused."""
    if not is_id_prefix(TASK, text):
        return text
    tasks = [facts.task for facts in await tasks_by_prefix(book, principal, text)]
    if len(tasks) > 1:
        raise refuse("ambiguous_name", name=text, found=list_tasks(tasks))
    return tasks[0].id if tasks else text


async def tasks_by_prefix(book: Book, principal: Principal, prefix: str) -> list[Facts]:
    """Return the first few visible tasks with this prefix; a task with exactly this id is returned alone."""
    ids = await book.task_ids(prefix, principal.owner_filter, _candidate_limit(principal))
    return await _load_visible(book, principal, (prefix,) if prefix in ids else ids)


async def resolve_run(book: Book, principal: Principal, text: str) -> str:
    """Return the id of the run with this prefix, or the text itself if there is none; an ambiguous prefix is refused."""
    if not is_id_prefix(RUN, text):
        return text
    ids = await book.run_ids(text, principal.owner_filter, _candidate_limit(principal))
    if principal.agent is not None:
        ids = tuple([each for each in ids if await _sees_run(book, principal, each)])
    return _require_unique(text, ids)


async def resolve_record(
    records: Records, owner: str | None, kind: str, letters: str, text: str, within: str = ""
) -> str:
    """Return the id of the record with this prefix, or the text itself if there is none.

    `letters` is the type prefix of its ids, `within` the part of the key before the id.
    """
    if not is_id_prefix(letters, text):
        return text
    page = await records.records(kind, owner, within + _key_before(text), MAX_CANDIDATES + 1)
    keys = [record.key.removeprefix(within) for record in page.items if record.key.startswith(within + text)]
    return _require_unique(text, keys)


def list_tasks(tasks: Sequence[Task]) -> str:
    """Describe candidates such as `tsk_0199f3… report (ada)`."""
    short = short_ids((task.id for task in tasks), SHORT_TASK_DIGITS)
    return ", ".join(f"{short[task.id]} {task.name} ({task.owner})" for task in tasks[:MAX_CANDIDATES])


def _require_unique(text: str, ids: Sequence[str]) -> str:
    if text in ids:
        return text
    if len(ids) > 1:
        short = short_ids(ids, max(MIN_PREFIX_DIGITS, len(text.partition("_")[2])))
        raise refuse("ambiguous_id", id=text, found=", ".join(short[each] for each in ids[:MAX_CANDIDATES]))
    return ids[0] if ids else text


def _key_before(text: str) -> str:
    """Return a key just before this one, because pages of records begin after a key."""
    return text[:-1] + chr(ord(text[-1]) - 1) + "~"


def _candidate_limit(principal: Principal) -> int:
    """An agent sees a part of its owner's tasks, so for an agent all candidates are read and then filtered."""
    return MAX_CANDIDATES + 1 if principal.agent is None else MAX_PAGE_SIZE


async def _load_visible(book: Book, principal: Principal, ids: Iterable[str]) -> list[Facts]:
    visible: list[Facts] = []
    for each in ids:
        facts = await book.facts(each, principal.owner_filter)
        if facts is not None and can_see(principal, facts.task):
            visible.append(facts)
    return visible


async def _sees_run(book: Book, principal: Principal, run_id: str) -> bool:
    run = await book.run(run_id, principal.owner_filter)
    return run is not None and bool(await _load_visible(book, principal, (run.task_id,)))
