"""A file system that can lose its power: what was not synced may be gone, in part, or torn.

Every write also goes to the real file, so that SQLite's locks, shared memory and reads work as ever. Beside it each file
has an image of what is surely on the disk, and the list of writes since the last sync. When the power goes, both stay as
they are, and `wreck` lays down what a machine would find afterwards.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

import apsw

SECTOR: Final = 512
"""What a disk writes as a whole."""
_FOR_GOOD: Final = ("", "-journal", "-wal")
"""Files that survive a process; the index of the log is rebuilt from it."""


class Written(NamedTuple):
    """`data` at `offset`, or, without data, the file cut off there."""

    offset: int
    data: bytes | None


@dataclass(slots=True)
class Disk:
    """One file as the disk has it: not there before its first sync, and not gone before the folder is synced."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Written] = field(default_factory=list)
    exists: bool = False
    deleted: bool = False


class PowerLost(Exception):  # noqa: N818 - it is what happened
    """Whoever hears of this is dead already: a machine without power acknowledges nothing."""


class Power:
    """Goes after so many operations; `lying` is a disk that says that it has synced, and has not."""

    def __init__(self, operations: int | None = None, *, lying: bool = False) -> None:
        self.used = 0
        self.syncs: Counter[str] = Counter()
        self._lying = lying
        self._operations = operations
        self._disks: dict[str, Disk] = {}
        self._lock = Lock()

    def acknowledge(self) -> None:
        """Called after each answer of the store: was there still somebody to hear it?"""
        with self._lock:
            if self._is_off:
                raise PowerLost

    def write(self, path: str, written: Written) -> None:
        with self._lock:
            if self._goes_on():
                if self._disk(path).deleted:
                    self._disks[path] = Disk()
                self._disk(path).pending.append(written)

    def sync(self, path: str) -> None:
        """The first sync of a new file is one of its folder too, as SQLite sees to."""
        with self._lock:
            if self._goes_on() and not self._lying:
                self.syncs[path] += 1
                disk = self._disk(path)
                for written in disk.pending:
                    _apply(disk.durable, written)
                disk.pending.clear()
                if not disk.exists:
                    disk.exists = True
                    self._disks = {name: each for name, each in self._disks.items() if not each.deleted}

    def delete(self, path: str) -> None:
        with self._lock:
            if self._goes_on():
                self._disk(path).deleted = True

    def wreck(self, store: Path, into: Path, chance: random.Random) -> None:
        """What is found after the power has come back."""
        for suffix in _FOR_GOOD:
            disk = self._disks.get(f"{store}{suffix}", Disk())
            left = bytearray(disk.durable)
            for written in _survivors(disk.pending, chance):
                _apply(left, written)
            gone = disk.deleted and chance.random() < 0.5
            if (disk.exists or left) and not gone:
                Path(f"{into}{suffix}").write_bytes(left)

    @property
    def _is_off(self) -> bool:
        return self._operations is not None and self.used >= self._operations

    def _goes_on(self) -> bool:
        if self._is_off:
            return False
        self.used += 1
        return not self._is_off

    def _disk(self, path: str) -> Disk:
        return self._disks.setdefault(path, Disk())


def _survivors(pending: list[Written], chance: random.Random) -> list[Written]:
    """None, the first so many, or any of them in any order of arrival; the last of the first may be torn."""
    kind = chance.choice(("none", "prefix", "subset"))
    if kind == "none" or not pending:
        return []
    if kind == "subset":
        return [written for written in pending if chance.random() < 0.5]
    kept = pending[: chance.randrange(len(pending) + 1)]
    if kept and kept[-1].data is not None:
        sectors = chance.randrange(len(kept[-1].data) // SECTOR + 1)
        kept[-1] = Written(kept[-1].offset, kept[-1].data[: sectors * SECTOR])
    return kept


def _apply(image: bytearray, written: Written) -> None:
    offset, data = written
    if data is None:
        del image[offset:]
        return
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


class LossyFile(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], power: Power) -> None:
        super().__init__("", name, flags)
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._power = power

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's own name
        self._power.write(self._path, Written(offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._power.write(self._path, Written(newsize, None))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002 - the real disk is spared
        self._power.sync(self._path)


class LossyVFS(apsw.VFS):
    def __init__(self, name: str, power: Power) -> None:
        super().__init__(name, "")
        self._power = power

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return LossyFile(name, flags, self._power)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001
        self._power.delete(filename)
        super().xDelete(filename, syncdir)
