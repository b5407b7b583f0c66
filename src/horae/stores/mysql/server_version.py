"""Which server it is, and whether it will do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from ..refusals import refuse

if TYPE_CHECKING:
    from .address import Address

_NUMBERS: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_OLDEST: Final = {"MariaDB": (10, 6, 0), "MySQL": (8, 0, 17)}
"""The first that pass over rows which others hold, read JSON as a table, and tell texts apart by their last blanks."""
_COLLATIONS: Final = {"MariaDB": "utf8mb4_nopad_bin", "MySQL": "utf8mb4_0900_bin"}
_STRANGERS: Final = re.compile(r"tidb|vitess|oceanbase|singlestore|doris|starrocks", re.IGNORECASE)
"""They speak the same language, and keep other promises."""
_OFF: Final = frozenset({0, "0", "OFF"})


class Server(NamedTuple):
    kind: str
    numbers: tuple[int, ...]
    said: str

    @classmethod
    def told(cls, version: str) -> Self:
        """From what it says of its own version. MariaDB may say first which MySQL it can stand in for."""
        kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
        found = _NUMBERS.search(version.removeprefix("5.5.5-"))
        return cls(kind, tuple(map(int, found.groups())) if found else (), version)

    @property
    def collation(self) -> str:
        """By which texts are compared: each character for itself, and the last blanks too."""
        return _COLLATIONS[self.kind]

    @property
    def table_options(self) -> str:
        return f"ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {self.collation}"

    @property
    def is_known(self) -> bool:
        return self.numbers >= _OLDEST[self.kind] and not _STRANGERS.search(self.said)


async def refuse_what_will_not_do(connection: Any, server: Server, address: Address) -> None:
    place = address.shown
    if not server.is_known:
        wanted = " or ".join(f"{kind} {'.'.join(map(str, oldest))}" for kind, oldest in _OLDEST.items())
        raise refuse("store_server_too_old", place=place, found=_named(server), wanted=f"{wanted}, or newer")
    read_only, flushed, engine_read_only, logged, form = await one_row(
        connection,
        "SELECT @@global.read_only, @@global.innodb_flush_log_at_trx_commit, @@global.innodb_read_only,"
        " @@global.log_bin, @@global.binlog_format",
    )
    if read_only not in _OFF or engine_read_only not in _OFF:
        raise refuse("store_read_only", place=place)
    if int(flushed) != 1:
        problem = f"its setting innodb_flush_log_at_trx_commit is {flushed} instead of 1"
        raise refuse("store_not_durable", place=place, problem=problem)
    if logged not in _OFF and form == "STATEMENT":
        raise refuse(
            "store_server_too_old",
            place=place,
            found="with binlog_format=STATEMENT",
            wanted="binlog_format=ROW or MIXED",
        )


async def one_row(connection: Any, text: str) -> tuple[Any, ...]:
    async with connection.cursor() as cursor:
        await cursor.execute(text)
        row: tuple[Any, ...] | None = await cursor.fetchone()
    return () if row is None else row


def _named(server: Server) -> str:
    return f"{server.kind} {server.said}"
