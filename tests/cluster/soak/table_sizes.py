"""Table sizes and dead rows of a store, or numbers of its keys, which must not grow without limit during a soak."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from tests.cluster.stores import StoreKind
from tests.faults import raw_redis
from tests.faults.store_snapshot import query
from tests.faults.testbed import Testbed

_QUESTIONS: Final[dict[StoreKind, str]] = {
    "postgres": """
SELECT relname::text, pg_total_relation_size(relid)::bigint, n_dead_tup::bigint FROM pg_stat_user_tables
ORDER BY relname
""",
    "mariadb": """
SELECT table_name, data_length + index_length, data_free FROM information_schema.tables
WHERE table_schema = database() ORDER BY table_name
""",
    "sqlite": "SELECT 'the file', page_count * page_size, 0 FROM pragma_page_count(), pragma_page_size()",
}
DEAD: Final[dict[StoreKind, str]] = {"postgres": "dead rows", "mariadb": "bytes free", "sqlite": "", "redis": "keys"}


class Size(NamedTuple):
    table: str
    size: int
    dead: int


def sizes(testbed: Testbed, kind: StoreKind) -> list[Size]:
    if kind == "redis":
        return [Size(*each) for each in raw_redis.read_sizes(testbed.url)]
    return [Size(str(table), int(size or 0), int(dead or 0)) for table, size, dead in query(testbed, _QUESTIONS[kind])]


def render_lines(seen: Iterable[tuple[float, list[Size]]], kind: StoreKind) -> list[str]:
    """Render one line per table, one column per measurement."""
    looks = list(seen)
    tables = sorted({each.table for _, found in looks for each in found})
    head = f"{'kB, ' + DEAD[kind] if DEAD[kind] else 'kB':24}" + "".join(f"{at:>16.0f} s" for at, _ in looks)
    lines = [head]
    for table in tables:
        cells = []
        for _, found in looks:
            size = next((each for each in found if each.table == table), Size(table, 0, 0))
            cell = f"{size.size / 1024:,.0f}" + (f" ({size.dead:,})" if DEAD[kind] else "")
            cells.append(f"{cell:>18}")
        lines.append(f"{table:24}" + "".join(cells))
    return lines
