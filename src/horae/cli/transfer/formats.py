"""Reads import files into one `ImportBatch`: exports of Horae, crontabs, NanoClaw and OpenClaw; detects the format."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from ...interchange import ImportResult, crontab, nanoclaw, openclaw
from ...interchange.files import read_bytes
from ...interchange.zone_evidence import AssumedZone, ZoneChoice, ZoneEvidence, choose_zone
from ..messages.operating_refusals import refuse
from .export_reader import MAX_LINE_CHARACTERS, read_export
from .import_batch import ImportBatch, ImportedRun
from .import_groups import request_of_group

Format: TypeAlias = Literal["auto", "jsonl", "crontab", "nanoclaw", "openclaw"]
_DATABASE: Final = "store/messages.db"
"""Database of a NanoClaw installation, within its directory."""
_SQLITE: Final = b"SQLite format 3\0"


class Options(NamedTuple):
    format: Format
    zone: AssumedZone
    owner: str | None = None
    system: bool = False


def read_file(path: Path | None, piped: bytes, options: Options) -> ImportBatch:
    """Read a file; `path` None: `piped` holds standard input."""
    kind = options.format if options.format != "auto" else _kind(path, piped)
    if kind == "jsonl":
        lines = piped.decode(errors="replace").split("\n") if path is None else _lines(path)
        return read_export(str(path or "-"), lines, options.owner)
    if kind == "nanoclaw":
        if path is None:
            raise refuse("only_from_a_file")
        file = path / _DATABASE if path.is_dir() else path
        choice = choose_zone(nanoclaw.zone_evidence(file), options.zone)
        batch = _foreign(nanoclaw.read(file, zone=choice.zone), choice)
        return batch._replace(directory=path if path.is_dir() else None)
    data = piped if path is None else read_bytes(path)
    if kind == "openclaw":
        choice = choose_zone(openclaw.zone_evidence(data), options.zone)
        return _foreign(openclaw.read(data, zone=choice.zone), choice)
    choice = choose_zone(ZoneEvidence(is_needed=True), options.zone, same_machine=True)
    read = crontab.read(data, zone=choice.zone, user=getpass.getuser(), system=options.system, owner=options.owner)
    return _foreign(read, choice)


def _kind(path: Path | None, piped: bytes) -> Format:
    if path is not None and path.is_dir():
        if not (path / _DATABASE).exists():
            raise refuse("no_installation", path=path, file=_DATABASE)
        return "nanoclaw"
    start = piped[:4096] if path is None else _beginning(path)
    if start.startswith(_SQLITE):
        return "nanoclaw"
    text = start.decode(errors="replace").removeprefix("\ufeff").lstrip()
    if not text:
        raise refuse("unknown_format", path=path or "-")
    if text[0] not in "{[":
        return "crontab"
    return "jsonl" if '"horae"' in text.splitlines()[0] else "openclaw"


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError as error:
        raise refuse("unreadable_file", path=path, problem=error.strerror) from None


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open(encoding="utf-8") as file:
            # Bounded, so that a file without line ends is not read into memory.
            while line := file.readline(MAX_LINE_CHARACTERS + 1):
                yield line
    except (OSError, UnicodeDecodeError) as error:
        raise refuse("unreadable_file", path=path, problem=getattr(error, "strerror", None) or "no UTF-8") from None


def _foreign(result: ImportResult, choice: ZoneChoice) -> ImportBatch:
    if choice.note is not None and result.tasks:
        result = result._replace(notes=(choice.note, *result.notes))
    runs = tuple(ImportedRun(past.key, past, past.started) for past in result.past_runs)
    zone = choice.zone if result.tasks else None
    conversations = {each.folder: each for each in result.conversations}
    groups = tuple(request_of_group(each, zone, conversations.get(each.folder)) for each in result.groups)
    return ImportBatch(result, runs, groups=groups)
