"""Inbox of agents: claims the request files of every group in turn, reads them once, and writes the answers.

A file is claimed by a rename into a directory that no container has, so that it cannot change its identity afterwards.
The group is the name of the directory, never a field of the content. A claimed file stays until its answer is written:
after a crash it is found again, and the name of the request identifies the repetition.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from .directory import UnsafeFile, open_directory, read_regular_file, write_file

MAX_REQUEST_BYTES: Final = 1024 * 1024
MAX_CLAIMS: Final = 50
"""Files of one directory that are claimed before other groups have their turn."""
MAX_QUARANTINED: Final = 100
"""Refused files of one group that are kept; older ones are removed."""
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,120}\.json")


class RequestBox(StrEnum):
    """Directories of a group that the host reads."""

    TASKS = "tasks"
    MESSAGES = "messages"


class Request(NamedTuple):
    """One claimed file. `document` is its JSON object; `problem` says why there is none."""

    folder: str
    box: RequestBox
    name: str
    document: Mapping[str, Any] | None = None
    problem: str = ""


class Inbox:
    """Files under `root/<folder>/{tasks,messages}`; claimed ones are in `claimed`, refused ones in `quarantine/<folder>`.

    Both are on the file system of `root` and outside of every mount.
    """

    def __init__(self, root: Path, claimed: Path, quarantine: Path) -> None:
        self._root = root
        self._claimed = claimed
        self._quarantine = quarantine
        for each in (root, claimed, quarantine):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)

    def recover(self) -> Iterator[Request]:
        """Return the requests that were claimed and not answered before the host ended."""
        for path in sorted(self._claimed.iterdir()):
            folder, box, name = path.name.split("~", 2)
            yield self._read(folder, RequestBox(box), name)

    def claim(self, folders: Sequence[str], limit: int = MAX_CLAIMS) -> Iterator[Request]:
        """Claim up to `limit` files of each directory, oldest name first. One group cannot keep the others waiting."""
        for folder in folders:
            for box in RequestBox:
                yield from self._claim_box(folder, box, limit)

    def has_more(self, folders: Sequence[str]) -> bool:
        """Return whether files are left, so that the next pass need not wait."""
        return any(self._names(folder, box, 1) for folder in folders for box in RequestBox)

    def answer(self, request: Request, answer: Mapping[str, Any]) -> None:
        """Write the answer under the name of the request, then remove the claimed file."""
        with suppress(UnsafeFile), open_directory(self._root, request.folder, "answers") as answers:
            write_file(request.name, json.dumps(answer, ensure_ascii=False).encode(), answers)
        if request.document is None:
            self._put_aside(request)
        else:
            (self._claimed / _claimed_name(request)).unlink(missing_ok=True)

    def _claim_box(self, folder: str, box: RequestBox, limit: int) -> Iterator[Request]:
        names = self._names(folder, box, limit)
        if not names:
            return
        with suppress(UnsafeFile), open_directory(self._root, folder, box) as source:
            for name in names:
                claimed = self._claimed / _claimed_name(Request(folder, box, name))
                if os.path.lexists(claimed):
                    # Another request of this name has no answer yet.
                    continue
                try:
                    os.rename(name, claimed, src_dir_fd=source)
                except FileNotFoundError:
                    continue
                yield self._read(folder, box, name)

    def _names(self, folder: str, box: RequestBox, limit: int) -> list[str]:
        try:
            with open_directory(self._root, folder, box) as directory, os.scandir(directory) as entries:
                found = [entry.name for entry in entries if _FILE_NAME.fullmatch(entry.name)]
        except UnsafeFile:
            return []
        return sorted(found)[:limit]

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
        with suppress(FileNotFoundError):
            (self._claimed / _claimed_name(request)).rename(folder / f"{number:08d}-{request.name}")
        for path in sorted(folder.iterdir())[:-MAX_QUARANTINED]:
            _remove(path)


def _claimed_name(request: Request) -> str:
    return f"{request.folder}~{request.box}~{request.name}"


def _remove(path: Path) -> None:
    """Remove a file, a link or a directory; links inside of it are not followed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


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
