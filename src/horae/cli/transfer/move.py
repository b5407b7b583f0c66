"""`horae move`: copies all data to another store, resumable, and compares digests at the end."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from ..command import Command
from ..messages import move_messages as words
from ..messages.operating_refusals import refuse
from ..output.printer import Printer
from ..session.interruptible import run_interruptible
from .mapped_move import MappedMove, resolve_names

if TYPE_CHECKING:
    from ...ports.transfer import Part
    from ...settings import Settings
    from ...transfer import MoveProgress, NamedStore, PartDigest
    from ...transfer.copy import ProgressCallback
    from ..output.progress import ProgressBar

_PROGRESS_ABOVE: Final = 1_000
"""Number of items from which on progress bars are shown."""
_IDENTIFYING_PARAMETERS: Final = frozenset({"host", "port", "schema", "prefix", "socket"})
"""Query parameters of a store URL that identify the store."""


@click.command("move", cls=Command, local_only=True)
@click.argument(
    "source", metavar="FROM_URL", help="The store that holds the deployment; with --owner also its name in horae.toml."
)
@click.argument("target", metavar="TO_URL", help="A new store, or one to which this was begun before.")
@click.option("--owner", metavar="OWNER", help="Move this owner alone, between running deployments.")
@click.option(
    "--place",
    metavar="TEXT",
    help="With --owner: the new address that callers are given; by default the new store, or the url of the named deployment.",
)
@click.option("--wait", metavar="5m", default="5m", help="With --owner: longest time to wait for its live runs.")
@click.option("--to-key-file", metavar="FILE", help="With --owner: the key file of the new place, if it is another.")
@click.option("--abort", is_flag=True, help="With --owner: give up the move that has begun.")
@click.option("--dry-run", is_flag=True, help="Show what would be done; change nothing.")
def move_store(
    out: Printer,
    *,
    source: str,
    target: str,
    owner: str | None,
    place: str | None,
    wait: str,
    to_key_file: str | None,
    abort: bool,
    dry_run: bool,
) -> None:
    """Move everything, or one owner, to another store: resumable, and compared at the end."""
    from ..messages.refusals import refuse as refuse_store  # noqa: PLC0415 - `--help` does without
    from ..session.open_store import display_location, prepare_url, refuse_memory, store_exists  # noqa: PLC0415

    mapped = MappedMove(source, target) if owner is None else resolve_names(out, source, target, owner)
    from_settings, to_settings = map(out.command_settings.with_store, (mapped.source, mapped.target))
    for each in (from_settings, to_settings):
        refuse_memory(each)
    if not store_exists(from_settings):
        raise refuse_store("no_such_store", path=display_location(from_settings))
    if owner is not None:
        from .move_owner import OwnerMoveRequest, move_owner  # noqa: PLC0415

        for each in (from_settings, to_settings):
            if not store_exists(each):
                raise refuse_store("no_such_store", path=display_location(each))
            prepare_url(each, create=False)
        request = OwnerMoveRequest(owner, place or mapped.place, wait, to_key_file, abort, dry_run, mapped.line)
        move_owner(out, request, from_settings, to_settings)
        return
    if place is not None or to_key_file is not None or abort:
        raise refuse("move_needs_owner")
    here = prepare_url(from_settings, create=False)
    there = None if dry_run and not store_exists(to_settings) else prepare_url(to_settings, create=not dry_run)
    result = run_interruptible(_move(out, here, there, target, dry_run=dry_run))
    _show(out, result, _Keys.of(here, target, out.command_settings.base, sealed=result.sealed))


class _MoveResult(NamedTuple):
    """Result of a move or of its dry run, whose `parts` have no digests. `sealed`: the store has secrets."""

    source: str
    target: str
    dry_run: bool
    begun: MoveProgress | None
    parts: dict[Part, PartDigest]
    sealed: bool


async def _move(out: Printer, here: str, there: str | None, typed_target: str, *, dry_run: bool) -> _MoveResult:
    from ...clock import SystemClock  # noqa: PLC0415
    from ...service.accounts.secrets import KIND as SECRET  # noqa: PLC0415
    from ...transfer import PartDigest, move_store, plan_move  # noqa: PLC0415
    from ...transfer.idle_check import LivenessCheck, refuse_local_nodes  # noqa: PLC0415

    liveness = LivenessCheck(SystemClock())
    async with open_named_store(here) as source:
        await refuse_local_nodes(source, liveness)
        sealed = bool((await source.store.records(SECRET, limit=1)).items)
        if there is None:
            plan, name = await plan_move(source, None), _store_name(typed_target)
        else:
            async with open_named_store(there) as target:
                plan, name = await plan_move(source, target), target.name
                await refuse_local_nodes(target, liveness)
                if not dry_run:
                    _note_resumed(out, plan.progress)
                    with _progress_bars(out, shown=sum(plan.stock.values()) >= _PROGRESS_ABOVE) as on_progress:
                        moved = await move_store(source, target, liveness, on_progress)
                    return _MoveResult(source.name, name, False, moved.resumed_from, moved.parts, sealed)
        parts = {part: PartDigest(number) for part, number in plan.stock.items()}
        return _MoveResult(source.name, name, True, plan.progress, parts, sealed)


@asynccontextmanager
async def open_named_store(url: str) -> AsyncIterator[NamedStore]:
    from ...runtime import make_store  # noqa: PLC0415
    from ...transfer import NamedStore  # noqa: PLC0415

    store = make_store(url)
    try:
        await store.open()
        yield NamedStore(_store_name(url), store)
    finally:
        await store.close()


def _store_name(url: str) -> str:
    """Return a stable name of the store, without credentials."""
    from urllib.parse import parse_qsl, urlencode, urlsplit  # noqa: PLC0415

    from ...runtime.stores import sqlite_path  # noqa: PLC0415

    path = sqlite_path(url)
    if path is not None:
        return f"sqlite:///{os.path.realpath(path)}"
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    which = urlencode([each for each in parse_qsl(parts.query) if each[0] in _IDENTIFYING_PARAMETERS], safe="/")
    return f"{place}?{which}" if which else place


@contextmanager
def _progress_bars(out: Printer, *, shown: bool) -> Iterator[ProgressCallback]:
    """Context manager: progress callback with one bar for each stage."""
    from ...transfer import MoveStage  # noqa: PLC0415

    titles = {
        MoveStage.WATCHING: words.WATCHING,
        MoveStage.COPYING: words.COPYING,
        MoveStage.COMPARING: words.COMPARING,
    }
    with ExitStack() as stack:
        bars: dict[MoveStage, ProgressBar] = {}

        def on_progress(stage: MoveStage, share: float) -> None:
            if not shown and stage is not MoveStage.WATCHING:
                return
            if stage not in bars:
                stack.close()
                bars[stage] = stack.enter_context(out.progress(titles[stage], 1))
            bars[stage].show_share(share)

        yield on_progress


# --- output --------------------------------------------------------------------------------------------------------


class _Keys(NamedTuple):
    """Key files of the secrets: `path` now, `wanted` where nodes on the target look; None: set by configuration.

    Both None: nothing has to be done.
    """

    path: Path | None
    wanted: Path | None

    @classmethod
    def of(cls, source: str, target: str, settings: Settings, *, sealed: bool) -> _Keys:
        from ...encryption.key_location import key_path  # noqa: PLC0415
        from ...runtime.stores import sqlite_path  # noqa: PLC0415

        named = settings.value("key_file")
        # For a store on a server only a configured key file is known.
        paths = [sqlite_path(url) or named for url in (source, target)]
        here, there = (None if path is None else key_path(path, named) for path in paths)
        if here is None:
            # The key file is on the nodes of the server.
            return cls(None, there if sealed and there is not None and not there.exists() else None)
        return cls(here, there) if here.exists() and here != there else cls(None, None)


def _note_resumed(out: Printer, begun: MoveProgress | None) -> None:
    if begun is not None and begun.part is not None:
        out.note(words.GOES_ON, part=begun.part)


def _show(out: Printer, result: _MoveResult, keys: _Keys) -> None:
    if out.json:
        out.data(_shape(result, keys))
        return
    titles = [out.translate(each) for each in (words.PART, words.NUMBER, words.DIGEST)]
    digests = {part: "" if result.dry_run else digest.hex_digest for part, digest in result.parts.items()}
    out.table(titles, [[part.value, f"{result.parts[part].item_count}", digests[part]] for part in result.parts])
    names = {"source": result.source, "target": result.target}
    if result.dry_run:
        _note_resumed(out, result.begun)
        out.note(words.WOULD_MOVE, **names)
        return
    before = result.begun is not None and result.begun.done
    if not out.plain:
        out.line(("✓ ", out.translate(words.MOVED_BEFORE if before else words.MOVED, **names)))
    if keys.path is not None:
        out.note(words.NAME_THE_KEY if keys.wanted is None else words.TAKE_THE_KEY, **keys._asdict())
    elif keys.wanted is not None:
        out.note(words.BRING_THE_KEY, wanted=keys.wanted)
    out.note(words.ONLY_THERE, **names)


def _shape(result: _MoveResult, keys: _Keys) -> dict[str, Any]:
    return {
        "from": result.source,
        "to": result.target,
        "owner": None,
        "dry_run": result.dry_run,
        "resumed": result.begun is not None and not result.begun.done,
        "moved_before": result.begun is not None and result.begun.done,
        "given_up": False,
        "map_line": None,
        "parts": [
            {"part": part.value, "number": digest.item_count, "digest": None if result.dry_run else digest.hex_digest}
            for part, digest in result.parts.items()
        ],
        "key_file": None if keys.path is None else str(keys.path),
        "key_file_wanted": None if keys.wanted is None else str(keys.wanted),
    }
