"""Detection of the server (MySQL or MariaDB) and its version, and refusal of servers that are not supported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from ..refusals import refuse

if TYPE_CHECKING:
    from .address import Address

_VERSION_PATTERN: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_MIN_VERSIONS: Final = {"MariaDB": (10, 6, 0), "MySQL": (8, 0, 17)}
"""First versions with SKIP LOCKED, JSON_TABLE and a collation that compares trailing spaces."""
_COLLATIONS: Final = {"MariaDB": "utf8mb4_nopad_bin", "MySQL": "utf8mb4_0900_bin"}
_INCOMPATIBLE: Final = re.compile(r"tidb|vitess|oceanbase|singlestore|doris|starrocks", re.IGNORECASE)
"""Servers with the MySQL protocol but other guarantees for locks and transactions."""
_OFF: Final = frozenset({0, "0", "OFF"})


class ServerVersion(NamedTuple):
    kind: str
    numbers: tuple[int, ...]
    version_text: str

    @classmethod
    def parse(cls, version: str) -> Self:
        """Parse the result of VERSION(). MariaDB may put "5.5.5-" before its version, for old MySQL clients."""
        kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
        found = _VERSION_PATTERN.search(version.removeprefix("5.5.5-"))
        return cls(kind, tuple(map(int, found.groups())) if found else (), version)

    @property
    def collation(self) -> str:
        """Binary collation that also compares trailing spaces."""
        return _COLLATIONS[self.kind]

    @property
    def table_options(self) -> str:
        return f"ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARACTER SET utf8mb4 COLLATE {self.collation}"

    @property
    def is_supported(self) -> bool:
        return self.numbers >= _MIN_VERSIONS[self.kind] and not _INCOMPATIBLE.search(self.version_text)


async def refuse_unsupported_server(connection: Any, server: ServerVersion, address: Address) -> None:
    place = address.display_url
    if not server.is_supported:
        wanted = " or ".join(f"{kind} {'.'.join(map(str, oldest))}" for kind, oldest in _MIN_VERSIONS.items())
        raise refuse("store_server_too_old", place=place, found=_describe(server), wanted=f"{wanted}, or newer")
    read_only, flushed, engine_read_only, logged, form = await fetch_row(
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


async def fetch_row(connection: Any, text: str) -> tuple[Any, ...]:
    async with connection.cursor() as cursor:
        await cursor.execute(text)
        row: tuple[Any, ...] | None = await cursor.fetchone()
    return () if row is None else row


def _describe(server: ServerVersion) -> str:
    return f"{server.kind} {server.version_text}"
