"""Restores a backup of a SQLite store: checks a copy, refuses while a node runs, renames the old file, swaps atomically."""

from __future__ import annotations

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
from ..session.interruptible import run_interruptible

_SIDE_FILES = ("-wal", "-shm")


def check_backup(backup: Path, here: Path) -> Path:
    """Copy the backup next to the store, migrate it and check its integrity; returns the copy, which is then swapped in."""
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
        problems = run_interruptible(_integrity_problems(draft))
    except StoreError as error:
        return str(error)
    return problems[0] if problems else None


async def _integrity_problems(draft: Path) -> tuple[str, ...]:
    store = make_store(f"sqlite:///{draft}")
    try:
        await store.open()
        return await store.check()
    finally:
        await store.close()


def check_no_live_node(here: Path) -> None:
    """Refuse while a node runs or another process has the file open: it would keep writing to the replaced file."""
    try:
        nodes = run_interruptible(_live_nodes(here))
    except StoreError:
        return  # the store cannot be opened, which is a reason to restore
    if nodes:
        raise refuse("node_is_live", nodes=", ".join(node.id for node in nodes))
    # The last process that closes the file removes its log: if there is one, another process has it open.
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
    """Return the first unused name for the old file, so that those of earlier restores stay."""
    first = f"{here.name}.before-restore"
    names = chain([first], (f"{first}-{number}" for number in count(2)))
    return next(path for name in names if not _is_taken(path := here.with_name(name)))


def _is_taken(path: Path) -> bool:
    return any(os.path.lexists(f"{path}{end}") for end in ("", *_SIDE_FILES))


def replace_store(draft: Path, here: Path) -> Path | None:
    """Replace the store atomically; returns the new path of the old file, if there was one."""
    old = _link_old_file(here) if here.exists() else None
    _own_like(draft, here if old is not None else here.parent)
    _sync(draft)
    draft.replace(here)
    _sync(here.parent)
    return old


def _own_like(draft: Path, other: Path) -> None:
    """As root, give the file the owner of `other`: a service runs as a user of its own."""
    if os.name == "posix" and os.geteuid() == 0:
        status = other.stat()
        os.chown(draft, status.st_uid, status.st_gid)


def _link_old_file(here: Path) -> Path:
    while True:
        old = unused_name(here)
        # Another restore may have taken the name just now.
        with suppress(FileExistsError):
            os.link(here, old)
            break
    for end in _SIDE_FILES:
        # Only a file that could not be opened still has a log, which belongs to the old file.
        with suppress(FileNotFoundError):
            Path(f"{here}{end}").replace(f"{old}{end}")
    return old


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
