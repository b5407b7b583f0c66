"""The chain of one root occurrence: every link that was reached, with the state of its last run."""

from __future__ import annotations

from typing import Final, NamedTuple

from ...model.chain_row import ChainRow, ChainState
from ...model.origin import Origin, RootOccurrence
from ...model.page import MAX_PAGE_SIZE
from ...model.reason import Reason
from ...model.run import Run
from ...ports.store import Book, RunFilter

MAX_LINKS: Final = 500
"""Links of one chain that are read; a chain may fan out at every level."""
_STATES: Final = {ChainState.OPEN: "open", ChainState.FIRED: "planned", ChainState.SKIPPED: "skipped"}


class ChainLink(NamedTuple):
    """A task of the chain. `state` is that of its last run; without one `open` (a join waits), `planned` or `skipped`.

    `parents` are the ids of the tasks that it runs after and whose occurrences have ended.
    """

    task_id: str
    state: str
    run_id: str | None
    reason: Reason | None = None
    parents: tuple[str, ...] = ()
    name: str | None = None
    """None: the task is gone, or the caller may not see it."""


class RunChain(NamedTuple):
    """`links` begin with the root, each after its parents. `cut`: there are more links than were read."""

    root: RootOccurrence
    links: tuple[ChainLink, ...]
    cut: bool = False


def links_below(chain: RunChain, parent: ChainLink) -> tuple[ChainLink, ...]:
    """Return the links that stand below one in a tree: a join stands below the last of its predecessors."""
    return tuple(link for link in chain.links[1:] if _tree_parent(chain, link) == parent.task_id)


def _tree_parent(chain: RunChain, link: ChainLink) -> str:
    known = [each.task_id for each in chain.links[: chain.links.index(link)] if each.task_id in link.parents]
    return known[-1] if known else chain.links[0].task_id


async def load_chain(book: Book, owner: str | None, root: RootOccurrence) -> RunChain:
    """Read the chain of a root; `owner` None is an admin."""
    rows = await book.chain(root)
    links = [await _root_link(book, owner, root)]
    links += [await _link(book, owner, row) for row in rows[:MAX_LINKS]]
    return RunChain(root, _in_order(links), len(rows) > MAX_LINKS)


async def _root_link(book: Book, owner: str | None, root: RootOccurrence) -> ChainLink:
    run = await _last_run(book, RunFilter(owner, root.task_id, since=root.planned, until=root.planned), root.origin)
    return _make_link(root.task_id, run, "planned", ())


async def _link(book: Book, owner: str | None, row: ChainRow) -> ChainLink:
    run = None
    if row.planned is not None:
        wanted = RunFilter(owner, row.task_id, since=row.planned, until=row.planned)
        run = await _last_run(book, wanted, Origin.CHAIN)
    parents = tuple(dict.fromkeys(each.predecessor for each in row.arrivals))
    return _make_link(row.task_id, run, _STATES[row.state], parents)


def _make_link(task_id: str, run: Run | None, without_run: str, parents: tuple[str, ...]) -> ChainLink:
    if run is None:
        return ChainLink(task_id, without_run, None, parents=parents)
    return ChainLink(task_id, run.state.value, run.id, run.reason, parents)


async def _last_run(book: Book, run_filter: RunFilter, origin: Origin) -> Run | None:
    page = await book.runs(run_filter, None, MAX_PAGE_SIZE)
    return max((run for run in page.items if run.origin is origin), key=lambda run: run.attempt, default=None)


def _in_order(links: list[ChainLink]) -> tuple[ChainLink, ...]:
    """Return the links level by level; what has no known parent comes last."""
    placed: dict[str, ChainLink] = {links[0].task_id: links[0]}
    left = links[1:]
    while left:
        ready = [each for each in left if placed.keys() >= set(each.parents)] or left
        placed |= {each.task_id: each for each in ready}
        left = [each for each in left if each.task_id not in placed]
    return tuple(placed.values())
