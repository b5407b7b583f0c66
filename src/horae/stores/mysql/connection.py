"""MySQL or MariaDB connection: named statement templates, several statements per round trip, deferred writes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final

from ...errors import StoreError
from ...model.record import RecordWrite
from ..codec.rows import Row, encode_expiry
from ..counter_deltas import Deltas
from ..sql.connection import DuplicateRunError
from ..sql.dialect import Dialect
from .errors import DUPLICATE_KEY, code_of
from .literals import LastInsertOffset
from .templates import Template, TemplateArguments

DIALECT: Final = Dialect(max_claim_slice=256, max_decide_seconds=0.010, has_concurrent_writers=True, stores_nul=False)
"""Row locks block only claims of the same tasks, so a slice may be larger than in a SQLite file."""
_NEW_RUN_STATEMENTS: Final = frozenset({"insert_started_runs", "insert_laned_runs", "insert_live_runs", "insert_runs"})
"""Statements that end with a query for new runs that the ledger has already."""
_DEFERRABLE_STATEMENTS: Final = frozenset(
    {
        "put_statuses",
        "put_entries",
        "drop_entries",
        "delete_entries_of_tasks",
        "drop_live_runs",
        "delete_lane_slots",
        "insert_counter_deltas",
    }
)
"""Statements whose result is not used and that cannot violate a unique key: they are sent with the next statement."""
_IDLE_SECONDS: Final = 10
_COMMAND_SECONDS: Final = 30.0
"""Timeout of a round trip, several times what a slow server needs: after it the connection counts as half open."""
_CLOSE_SECONDS: Final = 2.0
_BEGIN: Final = "START TRANSACTION"
_BEGIN_READ_ONLY: Final = (
    "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY"
)
_MAX_PACKET: Final = 4_000_000
_MAX_UNION_ROWS: Final = 100
"""Limit for statements that take their rows as a UNION of queries: the server plans each row as a query of its own."""


class MySQLConnection:
    """`packet` is the server's max_allowed_packet. `idle` is the idle timeout inside a transaction, in seconds: a process
    that froze in the middle of one must not hold its row locks."""

    dialect = DIALECT
    server = 0
    """Index of the server in the URL."""
    write_ordinary = None

    def __init__(
        self,
        connection: Any,
        statements: Mapping[str, list[Template]],
        packet: int,
        idle: int = _IDLE_SECONDS,
        *,
        begin_check: str = "",
    ) -> None:
        """`begin_check` are statements at the begin of each transaction that writes."""
        self._connection = connection
        self._statements = statements
        self._max_bytes = min(_MAX_PACKET, packet // 2)
        self._set_idle_timeout = f"SET SESSION wait_timeout = {idle}; "
        self._begin_check = begin_check
        self._begin_text = ""
        """BEGIN text, sent together with the first statement of the transaction."""
        self._deferred: list[str] = []
        self._events: list[Row] = []
        self._in_transaction = False
        self._open = True

    async def query(self, name: str, *values: Any) -> list[Row]:
        """Run a named statement. Returns its rows, or one empty tuple per affected row if it only writes."""
        given = TemplateArguments(values)
        rows: list[Row] = []
        if self._in_transaction and name in _DEFERRABLE_STATEMENTS:
            (template,) = self._statements[name]
            await self._defer(template.render(given))
            return rows
        for position, template in enumerate(self._statements[name]):
            if position and not rows:
                break
            rows = await self._run(template.render(given._replace(previous_rows=rows)))
        return rows

    async def write_rows(self, name: str, width: int, values: list[Any]) -> None:
        (template,) = self._statements[name]
        for chunk in self._split_rows(name, width, values):
            text = template.render(TemplateArguments(chunk, width=width))
            if name in _NEW_RUN_STATEMENTS:
                await self._insert_runs(text)
            elif self._in_transaction and name in _DEFERRABLE_STATEMENTS:
                await self._defer(text)
            else:
                await self._run(text)

    async def _insert_runs(self, text: str) -> None:
        try:
            duplicates = await self._run(text)
        except Exception as error:
            if code_of(error) == DUPLICATE_KEY:
                raise DuplicateRunError from error
            raise
        if duplicates:
            raise DuplicateRunError

    async def _defer(self, text: str) -> None:
        if 4 * (sum(map(len, self._deferred)) + len(text)) > self._max_bytes:
            await self._run(text)
        else:
            self._deferred.append(f"{text}; ")

    def _split_rows(self, name: str, width: int, values: list[Any]) -> Iterator[list[Any]]:
        max_rows = _MAX_UNION_ROWS if name == "end_runs" else len(values)
        start = size = 0
        for row in range(0, len(values), width):
            needed = sum([len(value) if isinstance(value, str) else 20 for value in values[row : row + width]])
            # A character takes at most four bytes, also if it is escaped by a backslash.
            if row > start and (size + 4 * needed > self._max_bytes or row - start >= max_rows * width):
                yield values[start:row]
                start, size = row, 0
            size += 4 * needed
        yield values[start:]

    async def new_task_numbers(self, count: int) -> list[int]:
        return [number for (number,) in await self.query("task_numbers", count)]

    async def write_events(self, rows: Sequence[Row]) -> None:
        """Buffer the events until the commit: taking event numbers locks the counter until the transaction ends."""
        self._events += rows

    async def write_counts(self, deltas: Deltas) -> None:
        values = [value for key, number in deltas.items() if number for value in (*key, number)]
        if values:
            await self.write_rows("insert_counter_deltas", 4, values)

    async def write_records(self, writings: Sequence[RecordWrite]) -> RecordWrite | None:
        """Write with one statement per record, all in one round trip; no affected row means that the version changed."""
        remaining = [(writing, self._render_record_write(writing)) for writing in writings]
        while remaining:
            batch = self._take_fitting(remaining)
            results = await self._results("; ".join([text for _, text in batch]))
            for (writing, _), (_, written) in zip(batch, results[-len(batch) :], strict=True):
                if not written:
                    return writing
            remaining = remaining[len(batch) :]
        return None

    def _take_fitting(self, statements: list[tuple[RecordWrite, str]]) -> list[tuple[RecordWrite, str]]:
        sizes = accumulate(4 * len(text) for _, text in statements)
        return statements[: max(1, sum(size <= self._max_bytes for size in sizes))]

    def _render_record_write(self, writing: RecordWrite) -> str:
        (kind, key, owner, body, _, expires), replacing, dropped = writing
        name = "drop_record" if dropped else "insert_record" if replacing is None else "update_record"
        (template,) = self._statements[name]
        return template.render(TemplateArguments((kind, key, owner, body, encode_expiry(expires), replacing)))

    async def begin(self) -> None:
        self._start(_BEGIN, self._begin_check)

    async def begin_read_only(self) -> None:
        self._start(_BEGIN_READ_ONLY)

    def _start(self, begin_text: str, check: str = "") -> None:
        self._begin_text = f"{self._set_idle_timeout}{begin_text}; {check}"
        self._deferred, self._events = [], []
        self._in_transaction = True

    async def commit(self) -> None:
        *events, last = self._render_events() or [""]
        if not self._begin_text or self._deferred or last:
            for chunk in events:
                await self._run(chunk)
            await self._run(f"{last}COMMIT; SET SESSION wait_timeout = DEFAULT")
        self._reset_transaction()

    async def rollback(self) -> None:
        self._deferred = []
        if not self._begin_text:
            await self._run("ROLLBACK; SET SESSION wait_timeout = DEFAULT")
        self._reset_transaction()

    def _reset_transaction(self) -> None:
        self._begin_text, self._deferred, self._events = "", [], []
        self._in_transaction = False

    def _render_events(self) -> list[str]:
        """Return the statements that take event numbers and insert the buffered events."""
        events, self._events = self._events, []
        if not events:
            return []
        (take,), (insert,) = self._statements["take_event_numbers"], self._statements["insert_events"]
        values = [value for position, row in enumerate(events, 1) for value in (LastInsertOffset(position), *row)]
        chunks = list(self._split_rows("insert_events", 7, values))
        texts = [f"{insert.render(TemplateArguments(chunk, width=7))}; " for chunk in chunks]
        texts[0] = f"{take.render(TemplateArguments((len(events),)))}; {texts[0]}"
        return texts

    async def _run(self, text: str) -> list[Row]:
        """Run statements; return the rows of the last query, or one empty tuple per row that the last one wrote."""
        results = await self._results(text)
        found = [rows for rows, _ in results if rows is not None]
        if found:
            return found[-1]
        _, affected_rows = results[-1]
        return [()] * affected_rows

    async def _results(self, text: str) -> list[tuple[list[Row] | None, int]]:
        """Send the deferred statements and `text`; return rows (None: no query) and affected rows of each statement."""
        connection = self._connection
        packet = _encode("".join([self._begin_text, *self._deferred, text]))
        self._begin_text, self._deferred = "", []
        results: list[tuple[list[Row] | None, int]] = []
        async with asyncio.timeout(_COMMAND_SECONDS):
            # A cursor would send an extra query for warnings after each statement that has some.
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
        try:
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._connection.ensure_closed()
        finally:
            # The driver closes its socket only after the server has taken the farewell.
            self._connection.close()

    def abandon(self) -> None:
        self._open = False
        self._connection.close()

    @property
    def is_usable(self) -> bool:
        """Whether the connection is open, intact and outside a transaction."""
        connection = self._connection
        if not self._open or not connection.connected or connection._stream_broken:  # noqa: SLF001 - there is no public attribute
            return False
        return not connection.get_transaction_status()


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise StoreError("A text with a lone surrogate cannot be stored, and nothing was written.") from error
