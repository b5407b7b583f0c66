"""`horae move`: a whole deployment goes from one store to another."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from ..command import command
from ..messages import move_messages as words
from ..output.printer import Printer

if TYPE_CHECKING:
    from ...ports.transfer import Part
    from ...transfer import MoveProgress, NamedStore, PartDigest
    from ...transfer.copy import ProgressCallback

_MANY: Final = 1_000
"""Fewer are moved before a bar could be read."""
_WHICH: Final = frozenset({"host", "port", "schema", "prefix", "socket"})
"""What else an address may say of which store it is."""


def register(app: typer.Typer) -> None:
    command(app, "move")(move_store)


def move_store(
    out: Printer,
    source: str = typer.Argument(..., metavar="FROM_URL", help="The store that holds the deployment."),
    target: str = typer.Argument(..., metavar="TO_URL", help="A new store, or one to which this was begun before."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Only say what would be done."),
) -> None:
    """Move everything to another store: resumable, and compared at the end."""
    from ..messages.refusals import refuse as refuse_store  # noqa: PLC0415 - `--help` does without
    from ..session.open_store import display_location, prepare_url, store_exists  # noqa: PLC0415 - `--help` does without

    _refuse_memory(source, target)
    if not store_exists(source):
        raise refuse_store("no_such_store", path=display_location(source))
    here = prepare_url(source, create=False)
    there = None if dry_run and not store_exists(target) else prepare_url(target, create=not dry_run)
    told = asyncio.run(_move(out, here, there, target, dry_run=dry_run))
    _tell(out, told, _Keys.of(here, target, sealed=told.sealed))


class _Told(NamedTuple):
    """What came of it, or would: `parts` have no digests where nothing was done. `sealed`: there are secrets."""

    source: str
    target: str
    dry_run: bool
    begun: MoveProgress | None
    parts: dict[Part, PartDigest]
    sealed: bool


def _refuse_memory(*urls: str) -> None:
    from ..session.open_store import refuse_memory  # noqa: PLC0415

    for url in urls:
        refuse_memory(url)


async def _move(out: Printer, here: str, there: str | None, asked_for: str, *, dry_run: bool) -> _Told:
    from ...clock import SystemClock  # noqa: PLC0415
    from ...service.accounts.secrets import KIND as SECRET  # noqa: PLC0415
    from ...transfer import PartDigest, move_store, plan_move  # noqa: PLC0415
    from ...transfer.idle_check import LivenessCheck, refuse_local_nodes  # noqa: PLC0415

    watching = LivenessCheck(SystemClock())
    async with _opened(here) as source:
        await refuse_local_nodes(source, watching)
        sealed = bool((await source.store.records(SECRET, limit=1)).items)
        if there is None:
            plan, name = await plan_move(source, None), _name_of(asked_for)
        else:
            async with _opened(there) as target:
                plan, name = await plan_move(source, target), target.name
                await refuse_local_nodes(target, watching)
                if not dry_run:
                    _tell_of(out, plan.progress)
                    with _bars(out, shown=sum(plan.stock.values()) >= _MANY) as tell:
                        moved = await move_store(source, target, watching, tell)
                    return _Told(source.name, name, False, moved.resumed_from, moved.parts, sealed)
        parts = {part: PartDigest(number) for part, number in plan.stock.items()}
        return _Told(source.name, name, True, plan.progress, parts, sealed)


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[NamedStore]:
    from ...runtime import make_store  # noqa: PLC0415
    from ...transfer import NamedStore  # noqa: PLC0415

    store = make_store(url)
    try:
        await store.open()
        yield NamedStore(_name_of(url), store)
    finally:
        await store.close()


def _name_of(url: str) -> str:
    """The same for the same store from one try to the next, and nothing in it that nobody may read."""
    from urllib.parse import parse_qsl, urlencode, urlsplit  # noqa: PLC0415

    from ...runtime.stores import sqlite_path  # noqa: PLC0415

    path = sqlite_path(url)
    if path is not None:
        return f"sqlite:///{os.path.realpath(path)}"
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    which = urlencode([each for each in parse_qsl(parts.query) if each[0] in _WHICH], safe="/")
    return f"{place}?{which}" if which else place


@contextmanager
def _bars(out: Printer, *, shown: bool) -> Iterator[ProgressCallback]:
    """One bar for each stage, as it comes."""
    from ...transfer import MoveStage  # noqa: PLC0415

    titles = {
        MoveStage.WATCHING: words.WATCHING,
        MoveStage.COPYING: words.COPYING,
        MoveStage.COMPARING: words.COMPARING,
    }
    with ExitStack() as going:
        bars: dict[MoveStage, Any] = {}

        def tell(stage: MoveStage, share: float) -> None:
            if not shown and stage is not MoveStage.WATCHING:
                return
            if stage not in bars:
                going.close()
                bars[stage] = going.enter_context(out.progress(titles[stage], 1))
            bars[stage].share(share)

        yield tell


# --- told ----------------------------------------------------------------------------------------------------------


class _Keys(NamedTuple):
    """Where the key of the secrets is, and where nodes on the target look for theirs; None: wherever it is named.

    Both None: nothing has to be done.
    """

    path: Path | None
    wanted: Path | None

    @classmethod
    def of(cls, source: str, target: str, *, sealed: bool) -> _Keys:
        from ...encryption.key_location import key_path  # noqa: PLC0415
        from ...runtime.stores import sqlite_path  # noqa: PLC0415
        from ..session.open_store import settings_of  # noqa: PLC0415

        named = settings_of(None).value("key_file")
        # Of a store on a server, only a file that is named is known.
        paths = [sqlite_path(url) or named for url in (source, target)]
        here, there = (None if path is None else key_path(path, named) for path in paths)
        if here is None:
            # It is on the nodes of the server, wherever that may be.
            return cls(None, there if sealed and there is not None and not there.exists() else None)
        return cls(here, there) if here.exists() and here != there else cls(None, None)


def _tell_of(out: Printer, begun: MoveProgress | None) -> None:
    if begun is not None and begun.part is not None:
        out.note(words.GOES_ON, part=begun.part)


def _tell(out: Printer, told: _Told, keys: _Keys) -> None:
    if out.json:
        out.data(_shape(told, keys))
        return
    titles = [out.translate(each) for each in (words.PART, words.NUMBER, words.DIGEST)]
    digests = {part: "" if told.dry_run else carried.hex_digest for part, carried in told.parts.items()}
    out.table(titles, [[part.value, f"{told.parts[part].item_count}", digests[part]] for part in told.parts])
    names = {"source": told.source, "target": told.target}
    if told.dry_run:
        _tell_of(out, told.begun)
        out.note(words.WOULD_MOVE, **names)
        return
    before = told.begun is not None and told.begun.done
    if not out.plain:
        out.line(("✓ ", out.translate(words.MOVED_BEFORE if before else words.MOVED, **names)))
    if keys.path is not None:
        out.note(words.NAME_THE_KEY if keys.wanted is None else words.TAKE_THE_KEY, **keys._asdict())
    elif keys.wanted is not None:
        out.note(words.BRING_THE_KEY, wanted=keys.wanted)
    out.note(words.ONLY_THERE, **names)


def _shape(told: _Told, keys: _Keys) -> dict[str, Any]:
    return {
        "from": told.source,
        "to": told.target,
        "dry_run": told.dry_run,
        "resumed": told.begun is not None and not told.begun.done,
        "moved_before": told.begun is not None and told.begun.done,
        "parts": [
            {"part": part.value, "number": carried.item_count, "digest": None if told.dry_run else carried.hex_digest}
            for part, carried in told.parts.items()
        ],
        "key_file": None if keys.path is None else str(keys.path),
        "key_file_wanted": None if keys.wanted is None else str(keys.wanted),
    }
