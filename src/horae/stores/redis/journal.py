"""Journal port of the Redis store: the log lines of a run are a list, bounded by the script that appends to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...model.ids import to_microseconds
from ...model.limits import LOG_LINE_CHARACTERS, LOG_LINES, shorten
from ...ports.journal import PROGRESS_WINDOW, Line, NumberedLine
from ..codec.json_codecs import decode, encode, instant_of, replace_lone_surrogates
from .reads.index_reads import read_at_once
from .transactions.runner import RedisTransactions
from .transactions.transaction import Word

_TRUNCATION_NOTICE: Final = f"More was said; only the first {LOG_LINES:,} lines of a run are kept."
_MAX_LINES: Final = 1_000
"""Lines that one script appends."""


class RedisJournal:
    _database: RedisTransactions

    async def write_lines(self, lines: Sequence[Line]) -> None:
        keys = self._database.keys
        for start in range(0, len(lines), _MAX_LINES):
            words: list[Word] = [keys.run(""), keys.log(""), LOG_LINES]
            for line in lines[start : start + _MAX_LINES]:
                kept = line._replace(text=shorten(line.text, LOG_LINE_CHARACTERS))
                notice = line._replace(level="warning", text=_TRUNCATION_NOTICE)
                words += (line.run_id, encode_line(kept), encode_line(notice))
            await self._database.client.run_script("write_lines", [keys.live, keys.logged_runs], words)

    async def lines(self, run_id: str, after: int = 0, limit: int = 1_000) -> tuple[NumberedLine, ...]:
        if limit <= 0:
            return ()
        start = max(after, 0)
        texts = await self._database.client.call("LRANGE", self._database.keys.log(run_id), start, start + limit - 1)
        return tuple([NumberedLine(number, decode_line(run_id, text)) for number, text in enumerate(texts, start + 1)])

    async def newest_progress(self, run_ids: Sequence[str]) -> dict[str, Line]:
        named = list(dict.fromkeys(run_ids))
        commands = [("LRANGE", self._database.keys.log(run_id), -PROGRESS_WINDOW, -1) for run_id in named]
        found: dict[str, Line] = {}
        for run_id, texts in zip(named, await read_at_once(self._database, commands), strict=True):
            lines = (decode_line(run_id, text) for text in reversed(texts))
            newest = next((line for line in lines if line.level == "progress"), None)
            if newest is not None:
                found[run_id] = newest
        return found

    async def last_line(self, run_id: str) -> int:
        return int(await self._database.client.call("LLEN", self._database.keys.log(run_id)))


def encode_line(line: Line) -> str:
    return encode([to_microseconds(line.at), line.level, replace_lone_surrogates(line.text)])


def decode_line(run_id: str, text: str) -> Line:
    at, level, words = decode(text)
    return Line(run_id, instant_of[at], level, words)
