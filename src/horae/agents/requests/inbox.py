"""Inbox of agents: claims the request files of every group in turn, reads them once, and writes the answers.

A file is claimed by a rename into a directory that no container has, so that it cannot change its identity afterwards.
The group is the name of the directory, never a field of the content. A claimed file stays until its answer is written:
after a crash it is found again, and the name of the request identifies the repetition.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from ...clock import Clock, SystemClock
from ...model.ids import from_microseconds
from .directory import UnsafeFile, open_directory, read_regular_file, remove_tree, write_file

MAX_REQUEST_BYTES: Final = 1024 * 1024
MAX_CLAIMS: Final = 50
"""Files of one directory that are claimed before other groups have their turn."""
MAX_QUARANTINED: Final = 100
"""Refused files of one group that are kept; older ones are removed."""
MAX_ANSWERS: Final = 1_000
"""Answers of one group that are kept; the oldest are removed."""
_ANSWERS_PER_SWEEP: Final = 100
_MAX_SCANNED: Final = 20_000
"""Names of one directory that one look reads."""
CLAIM_LEASE_SECONDS: Final = 15.0
"""How long another host may have a request claimed; after that it has ended or hangs, and this one carries the request out.
An effect commits with the record of its request, so that it happens once also where both do."""
_CONFIRM_SECONDS: Final = 0.1
"""Longer than the steps of the clock of any file system."""
_NO_NUMBER: Final = 1 << 63
_log: Final = logging.getLogger(__name__)
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,120}\.json")


class RequestBox(StrEnum):
    """Directories of a group that the host reads."""

    TASKS = "tasks"
    MESSAGES = "messages"


class Request(NamedTuple):
    """One claimed file. `document` is its JSON object; `problem` says why there is none.

    `written` is when the file got its last content or name, which no program in a container can set; None where that is
    not known: the host ended after the claim.
    """

    folder: str
    box: RequestBox
    name: str
    document: Mapping[str, Any] | None = None
    problem: str = ""
    written: datetime | None = None


class Inbox:
    """Files under `root/<folder>/{tasks,messages}`; claimed ones are in `claimed`, refused ones in `quarantine/<folder>`.

    Both are on the file system of `root` and outside of every mount.
    """

    def __init__(self, root: Path, claimed: Path, quarantine: Path, clock: Clock | None = None) -> None:
        self._root = root
        self._claimed = claimed
        self._quarantine = quarantine
        self._clock = clock or SystemClock()
        self._waiting: dict[tuple[str, RequestBox], deque[str]] = {}
        """Names that a look has found and that are not claimed yet: a flood is listed once, not for every claim."""
        self._empty: dict[tuple[str, RequestBox], _EmptyDirectory] = {}
        self._answered: dict[str, int] = {}
        self._foreign: dict[tuple[str, int], float] = {}
        """When a file that another host has claimed was seen first, by its name and inode."""
        self._unsafe: dict[tuple[str, RequestBox], str] = {}
        """Directories that are not read, and why."""
        for each in (root, claimed, quarantine):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)

    def recover(self) -> Iterator[Request]:
        """Return the requests that were claimed and not answered before the host ended."""
        for path in sorted(self._claimed.iterdir()):
            parts = path.name.split("~", 2)
            if len(parts) == 3 and parts[1] in set(RequestBox):
                yield self._read(parts[0], RequestBox(parts[1]), parts[2])

    def adopt(self, own: Sequence[Request]) -> Iterator[Request]:
        """Return the requests that another host has claimed and does not answer; `own` are those that this one has."""
        own_names = {_claimed_name(each) for each in own}
        now, seen, self._foreign = self._clock.steady(), self._foreign, {}
        for path in sorted(self._claimed.iterdir()):
            parts = path.name.split("~", 2)
            if path.name in own_names or len(parts) != 3 or parts[1] not in set(RequestBox):
                continue
            with suppress(FileNotFoundError):  # it was answered meanwhile
                key = path.name, path.lstat().st_ino
                since = self._foreign[key] = seen.get(key, now)
                if now - since >= CLAIM_LEASE_SECONDS:
                    yield self._read(parts[0], RequestBox(parts[1]), parts[2])

    def unsafe_directories(self) -> Mapping[tuple[str, RequestBox], str]:
        """Return the directories that are not read, and why: a link in the place of one leads elsewhere."""
        return dict(self._unsafe)

    def claim(self, folders: Sequence[str], limit: int = MAX_CLAIMS) -> Iterator[Request]:
        """Claim up to `limit` files of each directory, oldest name first. One group cannot keep the others waiting."""
        for folder in folders:
            for box in RequestBox:
                yield from self._claim_box(folder, box, limit)

    def has_more(self, folders: Sequence[str]) -> bool:
        """Return whether files are left, so that the next pass need not wait."""
        return any(self._look(folder, box) for folder in folders for box in RequestBox)

    def has_known(self, folders: Sequence[str]) -> bool:
        """Return whether an earlier look has found files that are not claimed yet; reads no directory."""
        return any(self._waiting.get((folder, box)) for folder in folders for box in RequestBox)

    def answer(self, request: Request, answer: Mapping[str, Any]) -> None:
        """Write the answer under the name of the request, then remove the claimed file."""
        content = json.dumps(answer, ensure_ascii=False).encode(errors="replace")
        try:
            with open_directory(self._root, request.folder, "answers") as answers:
                write_file(request.name, content, answers)
                self._sweep_answers(request.folder, answers)
        except (UnsafeFile, OSError) as error:
            # The container can write to the directory: no file there may stop the requests of others.
            _log.warning("The answer %s of the group %s was not written: %s", request.name, request.folder, error)
        if request.document is None:
            self._put_aside(request)
        else:
            (self._claimed / _claimed_name(request)).unlink(missing_ok=True)

    def _claim_box(self, folder: str, box: RequestBox, limit: int) -> Iterator[Request]:
        names = self._look(folder, box)
        if not names:
            return
        with suppress(UnsafeFile, OSError), open_directory(self._root, folder, box) as source:
            for _ in range(min(limit, len(names))):
                name = names.popleft()
                claimed = self._claimed / _claimed_name(Request(folder, box, name))
                if os.path.lexists(claimed):
                    # Another request of this name has no answer yet.
                    continue
                try:
                    # Before the rename, which is a change as well.
                    changed = os.stat(name, dir_fd=source, follow_symlinks=False).st_ctime_ns
                    os.rename(name, claimed, src_dir_fd=source)
                except OSError:
                    # It has gone, or is a directory that its owner has made read-only.
                    continue
                yield self._read(folder, box, name)._replace(written=from_microseconds(changed // 1000))

    def _look(self, folder: str, box: RequestBox) -> deque[str]:
        """Return the names of the files that wait, oldest first; lists the directory when none is known and it has changed."""
        place = (folder, box)
        known = self._waiting.get(place)
        if known:
            return known
        try:
            changed = (self._root / folder / box).lstat().st_mtime_ns
        except OSError:
            return deque()
        empty = self._empty.get(place)
        if empty is not None and empty.is_confirmed and empty.changed == changed:
            return deque()
        names = self._waiting[place] = deque(self._list(folder, box))
        if names:
            self._empty.pop(place, None)
        else:
            # A file that came within the same step of the clock would not show: look again until that is ruled out.
            now = self._clock.steady()
            since = now if empty is None or empty.changed != changed else empty.since
            self._empty[place] = _EmptyDirectory(changed, since, is_confirmed=now - since >= _CONFIRM_SECONDS)
        return names

    def _list(self, folder: str, box: RequestBox) -> list[str]:
        try:
            with open_directory(self._root, folder, box) as directory, os.scandir(directory) as entries:
                found = [
                    (*_order(each), each.name)
                    for each in islice(entries, _MAX_SCANNED)
                    if _FILE_NAME.fullmatch(each.name)
                ]
        except UnsafeFile as problem:
            self._unsafe[folder, box] = str(problem)
            return []
        except OSError:
            return []
        self._unsafe.pop((folder, box), None)
        return [name for *_, name in sorted(found)]

    def _sweep_answers(self, folder: str, answers: int) -> None:
        """Remove the oldest answers now and then; what else the container keeps there is its own."""
        number = self._answered.get(folder, 0)
        self._answered[folder] = (number + 1) % _ANSWERS_PER_SWEEP
        if number:
            return
        with os.scandir(answers) as entries:
            names = [
                (*_order(each), each.name)
                for each in islice(entries, _MAX_SCANNED)
                if _FILE_NAME.fullmatch(each.name) and each.is_file(follow_symlinks=False)
            ]
        for *_, name in sorted(names, key=lambda each: each[1])[:-MAX_ANSWERS]:
            with suppress(OSError):
                os.unlink(name, dir_fd=answers)

    def _read(self, folder: str, box: RequestBox, name: str) -> Request:
        request = Request(folder, box, name)
        with open_directory(self._claimed) as claimed:
            try:
                content = read_regular_file(_claimed_name(request), claimed, MAX_REQUEST_BYTES)
                return request._replace(document=read_object(content))
            except (UnsafeFile, ValueError) as problem:
                return request._replace(problem=str(problem))

    def _put_aside(self, request: Request) -> None:
        """Keep a refused file for the operator, as it came: nothing opens it again."""
        folder = self._quarantine / request.folder
        folder.mkdir(mode=0o700, exist_ok=True)
        number = max((int(path.name.split("-", 1)[0]) for path in folder.iterdir()), default=0) + 1
        with suppress(OSError):
            (self._claimed / _claimed_name(request)).rename(folder / f"{number:08d}-{request.name}")
        with open_directory(folder) as directory:
            for path in sorted(folder.iterdir())[:-MAX_QUARANTINED]:
                remove_tree(path.name, directory)


class _EmptyDirectory(NamedTuple):
    """Directory without requests: when it was changed, since when that is known, and whether it needs no further look."""

    changed: int
    since: float
    is_confirmed: bool


def _order(entry: os.DirEntry[str]) -> tuple[int, int]:
    """Return the order of writing: the number at the beginning of the name, which is in milliseconds, then the file's time."""
    prefix = entry.name.partition("-")[0].partition(".")[0]
    number = int(prefix) if prefix.isdecimal() and len(prefix) <= 18 else _NO_NUMBER
    try:
        return number, entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return number, 0


def _claimed_name(request: Request) -> str:
    return f"{request.folder}~{request.box}~{request.name}"


def read_object(content: bytes) -> Mapping[str, Any]:
    """Read a JSON object strictly: UTF-8 without lone surrogates, no repeated field, no NaN, bounded nesting."""
    try:
        document = json.loads(content.decode(), object_pairs_hook=_read_fields, parse_constant=_refuse_constant)
        json.dumps(document, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("a JSON object is expected")  # noqa: TRY004 - an error of the content, like the others
    return document


def _read_fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is given twice")
    return fields


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
