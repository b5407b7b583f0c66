"""One connection to MySQL or MariaDB. A round trip may carry several statements, and as few as possible are made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from ...errors import StoreError
from ...model.record import Writing
from ..codec.rows import Row, expiry
from ..sql.connection import AlreadyMadeError
from ..sql.folded_decisions import Folded
from .errors import DUPLICATE, code_of
from .literals import AfterLast
from .templates import Given, Template

_BIRTHS: Final = frozenset({"start_runs", "bear_runs", "insert_runs"})
"""These end in a look whether the ledger has one of the runs already."""
_UNANSWERED: Final = frozenset(
    {"put_standings", "put_entries", "drop_entries", "empty_agendas", "drop_going", "leave_seats", "count"}
)
"""Nobody asks what came of these, and they never meet a name that is taken: they go with whatever is said next."""
_IDLE_SECONDS: Final = 10
_COMMAND_SECONDS: Final = 30.0
"""An answer that takes longer will not come: the connection is half open. It is several times what a slow server needs."""
_GOODBYE_SECONDS: Final = 2.0
_BEGIN: Final = "START TRANSACTION"
_BEGIN_READING: Final = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
)
_LARGEST: Final = 4_000_000
_ROWS_AT_ONCE: Final = 100
"""Of statements that take rows as a query: a server reads each of them as one of its own."""


class MySQLLink:
    """`packet` is the most that the server takes at once, `idle` how long it lets a transaction stand still: whoever was
    frozen in the middle of one must not keep others from its rows."""

    def __init__(
        self, connection: Any, statements: Mapping[str, list[Template]], packet: int, idle: int = _IDLE_SECONDS
    ) -> None:
        self._connection = connection
        self._statements = statements
        self._most = min(_LARGEST, packet // 2)
        self._watched = f"SET SESSION wait_timeout = {idle}; "
        self._first = ""
        """What begins a transaction goes to the server with the first that is said in it."""
        self._unsaid: list[str] = []
        self._events: list[Row] = []
        self._begun = False
        self._open = True

    async def query(self, name: str, *values: Any) -> list[Row]:
        """All rows; of a statement that only writes, as many empty ones as it has written."""
        given = Given(values)
        rows: list[Row] = []
        if self._begun and name in _UNANSWERED:
            (template,) = self._statements[name]
            await self._say_later(template.filled(given))
            return rows
        for place, template in enumerate(self._statements[name]):
            if place and not rows:
                break
            rows = await self._run(template.filled(given._replace(found=rows)))
        return rows

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        (template,) = self._statements[name]
        for some in self._in_pieces(name, width, values):
            text = template.filled(Given(some, width=width))
            if name in _BIRTHS:
                await self._bear(text)
            elif self._begun and name in _UNANSWERED:
                await self._say_later(text)
            else:
                await self._run(text)

    async def _bear(self, text: str) -> None:
        try:
            twice = await self._run(text)
        except Exception as error:
            if code_of(error) == DUPLICATE:
                raise AlreadyMadeError from error
            raise
        if twice:
            raise AlreadyMadeError

    async def _say_later(self, text: str) -> None:
        if 4 * (sum(map(len, self._unsaid)) + len(text)) > self._most:
            await self._run(text)
        else:
            self._unsaid.append(f"{text}; ")

    def _in_pieces(self, name: str, width: int, values: list[Any]) -> Iterator[list[Any]]:
        most = _ROWS_AT_ONCE if name == "end_runs" else len(values)
        start = size = 0
        for row in range(0, len(values), width):
            needed = sum([len(value) if isinstance(value, str) else 20 for value in values[row : row + width]])
            # Each character may take four bytes, or two and a sign before each of them.
            if row > start and (size + 4 * needed > self._most or row - start >= most * width):
                yield values[start:row]
                start, size = row, 0
            size += 4 * needed
        yield values[start:]

    async def write_events(self, rows: Sequence[Row]) -> None:
        """Kept until the end: whoever is given numbers keeps all others from theirs until its transaction is over."""
        self._events += rows

    async def write_at_once(self, folded: Folded) -> bool:  # noqa: ARG002 - one statement changes one table here
        return False

    async def write_records(self, writings: Sequence[Writing]) -> Writing | None:
        """One statement for each, all in one round trip: the number of rows that it has written tells what came of it."""
        left = [(writing, self._recorded(writing)) for writing in writings]
        while left:
            now = self._as_many_as_fit(left)
            results = await self._results("; ".join([text for _, text in now]))
            for (writing, _), (_, written) in zip(now, results[-len(now) :], strict=True):
                if not written:
                    return writing
            left = left[len(now) :]
        return None

    def _as_many_as_fit(self, said: list[tuple[Writing, str]]) -> list[tuple[Writing, str]]:
        sizes = accumulate(4 * len(text) for _, text in said)
        return said[: max(1, sum(size <= self._most for size in sizes))]

    def _recorded(self, writing: Writing) -> str:
        (kind, key, owner, body, _, expires), replacing, dropped = writing
        name = "drop_record" if dropped else "insert_record" if replacing is None else "update_record"
        (template,) = self._statements[name]
        return template.filled(Given((kind, key, owner, body, expiry(expires), replacing)))

    async def begin(self) -> None:
        self._start(_BEGIN)

    async def begin_reading(self) -> None:
        self._start(_BEGIN_READING)

    def _start(self, how: str) -> None:
        self._first = f"{self._watched}{how}; "
        self._unsaid, self._events = [], []
        self._begun = True

    async def commit(self) -> None:
        *events, last = self._numbered() or [""]
        if not self._first or self._unsaid or last:
            for some in events:
                await self._run(some)
            await self._run(f"{last}COMMIT; SET SESSION wait_timeout = DEFAULT")
        self._over()

    async def rollback(self) -> None:
        self._unsaid = []
        if not self._first:
            await self._run("ROLLBACK; SET SESSION wait_timeout = DEFAULT")
        self._over()

    def _over(self) -> None:
        self._first, self._unsaid, self._events = "", [], []
        self._begun = False

    def _numbered(self) -> list[str]:
        """What writes the events, numbered from the last number that was given out on."""
        events, self._events = self._events, []
        if not events:
            return []
        (take,), (insert,) = self._statements["take_event_numbers"], self._statements["insert_events"]
        values = [value for place, row in enumerate(events, 1) for value in (AfterLast(place), *row)]
        pieces = list(self._in_pieces("insert_events", 7, values))
        texts = [f"{insert.filled(Given(some, width=7))}; " for some in pieces]
        texts[0] = f"{take.filled(Given((len(events),)))}; {texts[0]}"
        return texts

    async def _run(self, text: str) -> list[Row]:
        """Of several statements, the rows of the last one that has any."""
        results = await self._results(text)
        found = [rows for rows, _ in results if rows is not None]
        return found[-1] if found else [()] * results[-1][1]

    async def _results(self, text: str) -> list[tuple[list[Row] | None, int]]:
        """Of each statement, the rows that it has found, and how many it has written."""
        connection = self._connection
        packet = _encoded("".join([self._first, *self._unsaid, text]))
        self._first, self._unsaid = "", []
        results: list[tuple[list[Row] | None, int]] = []
        async with asyncio.timeout(_COMMAND_SECONDS):
            # Not by way of a cursor: it would ask for the warnings after each statement that has some.
            await connection.query(packet)
            while True:
                result = connection._result  # noqa: SLF001
                results.append((None if result.rows is None else list(result.rows), result.affected_rows))
                if not result.has_next:
                    break
                await connection.next_result()
        return results

    async def close(self) -> None:
        self._open = False
        async with asyncio.timeout(_GOODBYE_SECONDS):
            await self._connection.ensure_closed()

    def abandon(self) -> None:
        self._open = False
        self._connection.close()

    @property
    def usable(self) -> bool:
        """Not in a transaction that one of its statements has left open."""
        connection = self._connection
        if not self._open or not connection.connected or connection._stream_broken:  # noqa: SLF001 - nobody else knows
            return False
        return not connection.get_transaction_status()


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise StoreError("A text with half a character in it cannot be stored, and nothing was written.") from error
