"""Lookup of ids by unique prefix: every operation accepts what a list shows shortened.

A whole id passes through unchanged and costs nothing. A prefix is resolved among what the principal may see, so that a
foreign id and an absent one give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ...model.accounts.principal import Principal
from ...model.change import Facts
from ...model.ids import LEAST_DIGITS, SHORT_TASK_DIGITS, is_shortened, short_ids
from ...model.page import LARGEST_PAGE
from ...model.refusals import refuse
from ...model.task import Task
from ...ports.records import Records
from ...ports.store import Book
from ..accounts.rights import sees

TASK: Final = "tsk"
RUN: Final = "run"
CANDIDATES: Final = 5
"""So many are listed where a prefix is ambiguous."""


async def resolve_task(book: Book, who: Principal, text: str) -> str:
    """The id of the task whose id begins so; the text itself where there is none."""
    if not is_shortened(TASK, text):
        return text
    tasks = [facts.task for facts in await tasks_by_prefix(book, who, text)]
    if len(tasks) > 1:
        raise refuse("ambiguous_name", name=text, found=list_tasks(tasks))
    return tasks[0].id if tasks else text


async def tasks_by_prefix(book: Book, who: Principal, prefix: str) -> list[Facts]:
    """The first few tasks whose id begins so, of those that the principal may see; the one with exactly this id alone."""
    found = await book.task_ids(prefix, who.scope, _most(who))
    return await _visible(book, who, (prefix,) if prefix in found else found)


async def resolve_run(book: Book, who: Principal, text: str) -> str:
    if not is_shortened(RUN, text):
        return text
    found = await book.run_ids(text, who.scope, _most(who))
    if who.agent is not None:
        found = tuple([each for each in found if await _sees_run(book, who, each)])
    return _only(text, found)


async def resolve_record(
    records: Records, owner: str | None, kind: str, letters: str, text: str, within: str = ""
) -> str:
    """The id of the record of this kind that begins so; `letters` are how its ids begin, `within` what stands before an
    id in its key."""
    if not is_shortened(letters, text):
        return text
    page = await records.records(kind, owner, within + _before(text), CANDIDATES + 1)
    keys = [record.key.removeprefix(within) for record in page.items if record.key.startswith(within + text)]
    return _only(text, keys)


def list_tasks(tasks: Sequence[Task]) -> str:
    """`tsk_0199f3… report (ada)`: what tells the candidates apart."""
    short = short_ids((task.id for task in tasks), SHORT_TASK_DIGITS)
    return ", ".join(f"{short[task.id]} {task.name} ({task.owner})" for task in tasks[:CANDIDATES])


def _only(text: str, found: Sequence[str]) -> str:
    if text in found:
        return text
    if len(found) > 1:
        short = short_ids(found, max(LEAST_DIGITS, len(text.partition("_")[2])))
        raise refuse("ambiguous_id", id=text, found=", ".join(short[each] for each in found[:CANDIDATES]))
    return found[0] if found else text


def _before(text: str) -> str:
    """A key just before this one: pages of records begin after a key."""
    return text[:-1] + chr(ord(text[-1]) - 1) + "~"


def _most(who: Principal) -> int:
    """An agent sees a part of its owner's tasks: all candidates are read, and those that it sees are kept."""
    return CANDIDATES + 1 if who.agent is None else LARGEST_PAGE


async def _visible(book: Book, who: Principal, ids: Iterable[str]) -> list[Facts]:
    found: list[Facts] = []
    for each in ids:
        facts = await book.facts(each, who.scope)
        if facts is not None and sees(who, facts.task):
            found.append(facts)
    return found


async def _sees_run(book: Book, who: Principal, run_id: str) -> bool:
    run = await book.run(run_id, who.scope)
    return run is not None and bool(await _visible(book, who, (run.task_id,)))
