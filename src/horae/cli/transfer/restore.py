"""A backup comes back: it is looked at first, nobody may be at work, and what was there is kept."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

from ...engine.process_identity import is_gone
from ...errors import StoreError
from ...ports.store import Node
from ...runtime import make_store
from ..messages.operating_refusals import refuse

_SIDE_FILES = ("-wal", "-shm")


def check_backup(backup: Path, here: Path) -> Path:
    """A copy beside the store, opened, brought up to date and looked through: what is put in place is what was checked."""
    here.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".horae-restore-", dir=here.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as target, backup.open("rb") as source:
            shutil.copyfileobj(source, target)
        problem = _problem_with(draft)
    except BaseException:
        _remove(draft)
        raise
    if problem is not None:
        _remove(draft)
        raise refuse("bad_backup", path=backup, problem=problem)
    return draft


def _problem_with(draft: Path) -> str | None:
    if draft.stat().st_size == 0:
        return "It is empty."
    try:
        doubts = asyncio.run(_integrity_problems(draft))
    except StoreError as error:
        return str(error)
    return doubts[0] if doubts else None


async def _integrity_problems(draft: Path) -> tuple[str, ...]:
    store = make_store(f"sqlite:///{draft}")
    try:
        await store.open()
        return await store.check()
    finally:
        await store.close()


def check_no_live_node(here: Path) -> None:
    """No engine, and nobody else who has the file open: they would go on writing to what is no longer the store."""
    try:
        nodes = asyncio.run(_live_nodes(here))
    except StoreError:
        return  # what is there cannot be opened: a good reason to restore
    if nodes:
        raise refuse("node_is_live", nodes=", ".join(node.id for node in nodes))
    # Whoever closes a file last removes its log: where one is left, somebody else has it open.
    if any(Path(f"{here}{end}").exists() for end in _SIDE_FILES):
        raise refuse("store_in_use", path=here)


async def _live_nodes(here: Path) -> tuple[Node, ...]:
    store = make_store(f"sqlite:///{here}")
    try:
        await store.open()
        return tuple(node for node in await store.nodes() if not is_gone(node.home))
    finally:
        await store.close()


def unused_name(here: Path) -> Path:
    """The first name that nothing has: what an earlier restore kept stays."""
    first = f"{here.name}.before-restore"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(kept for name in names if not _is_taken(kept := here.with_name(name)))


def _is_taken(path: Path) -> bool:
    return any(os.path.lexists(f"{path}{end}") for end in ("", *_SIDE_FILES))


def replace_store(draft: Path, here: Path) -> Path | None:
    """At no moment is there no store, or half of one. The file that was there, under its new name."""
    kept = _keep(here) if here.exists() else None
    _own_like(draft, here if kept is not None else here.parent)
    _sync(draft)
    draft.replace(here)
    _sync(here.parent)
    return kept


def _own_like(draft: Path, other: Path) -> None:
    """What root puts in place belongs to whoever is to work with it: a service has a user of its own."""
    if os.name == "posix" and os.geteuid() == 0:
        there = other.stat()
        os.chown(draft, there.st_uid, there.st_gid)


def _keep(here: Path) -> Path:
    while True:
        kept = unused_name(here)
        # Another restore may have taken the name just now.
        with suppress(FileExistsError):
            os.link(here, kept)
            break
    for end in _SIDE_FILES:
        # Only what could not be opened still has a log; it belongs to the file that is kept.
        with suppress(FileNotFoundError):
            Path(f"{here}{end}").replace(f"{kept}{end}")
    return kept


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove(draft: Path) -> None:
    for end in ("", *_SIDE_FILES):
        with suppress(FileNotFoundError):
            Path(f"{draft}{end}").unlink()
