"""A file system that can lose its power: what was not synced may be gone, in part, or torn.

Every write also goes to the real file, so that SQLite's locks, shared memory and reads work as ever. Beside it each file
has an image of what is surely on the disk, and the list of writes since the last sync. When the power goes, nothing is
written any more, and `wreck` lays down what a machine would find afterwards.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

import apsw

SECTOR: Final = 512
"""What a disk writes as a whole."""
_FOR_GOOD: Final = ("", "-wal")
"""Files that survive a process; the index of the log is rebuilt from it."""


class Written(NamedTuple):
    """`data` at `offset`, or, without data, the file cut off there."""

    offset: int
    data: bytes | None


@dataclass(slots=True)
class Disk:
    """One file as the disk has it; it is not there at all before its first sync."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Written] = field(default_factory=list)
    exists: bool = False


class PowerLost(apsw.IOError):
    """Nothing can be written any more."""


class Power:
    """Goes after so many operations; `lying` is a disk that says that it has synced, and has not."""

    def __init__(self, operations: int | None = None, *, lying: bool = False) -> None:
        self.used = 0
        self.lying = lying
        self._left = operations
        self._disks: dict[str, Disk] = {}
        self._lock = Lock()

    @property
    def is_off(self) -> bool:
        return self._left is not None and self._left <= 0

    def write(self, path: str, written: Written) -> None:
        with self._lock:
            self._use()
            self._disk(path).pending.append(written)

    def sync(self, path: str) -> None:
        with self._lock:
            self._use()
            if not self.lying:
                disk = self._disk(path)
                for written in disk.pending:
                    _apply(disk.durable, written)
                disk.pending.clear()
                disk.exists = True

    def delete(self, path: str) -> None:
        """As far as a crash can tell: a deletion may be lost, and then the file is there again."""
        with self._lock:
            self._use()
            self._disk(path).pending.append(Written(0, None))

    def wreck(self, store: Path, into: Path, chance: random.Random) -> None:
        """What is found after the power has come back."""
        for suffix in _FOR_GOOD:
            disk = self._disks.get(f"{store}{suffix}", Disk())
            left = bytearray(disk.durable)
            for written in _survivors(disk.pending, chance):
                _apply(left, written)
            if disk.exists or left:
                Path(f"{into}{suffix}").write_bytes(left)

    def _use(self) -> None:
        self.used += 1
        if self._left is not None:
            self._left -= 1
        if self.is_off:
            raise PowerLost("the power is gone")

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
