"""A store that fails at one write, before it is done or after."""

from __future__ import annotations

from typing import Any, Final, cast

from horae.ports.full_store import FullStore

WRITES: Final = frozenset(
    {"add", "change", "import_page", "put_record", "drop_record", "write_records", "delete_stream", "set_lane"}
)


class PowerFailure(Exception):  # noqa: N818 - it is planned
    """Power failed."""


class Power:
    """Counts the writes of both stores; fails at the so-manieth one, before it is done or after."""

    def __init__(self) -> None:
        self.writes = 0
        self.fails_at = -1
        self.after = False

    async def write(self, work: Any, *arguments: Any, **options: Any) -> Any:
        self.writes += 1
        fails = self.writes == self.fails_at
        if fails and not self.after:
            raise PowerFailure
        result = await work(*arguments, **options)
        if fails:
            raise PowerFailure
        return result


class PoweredStore:
    def __init__(self, store: FullStore, power: Power) -> None:
        self._store = store
        self._power = power

    def __getattr__(self, name: str) -> Any:
        work = getattr(self._store, name)
        if name not in WRITES:
            return work

        async def write(*arguments: Any, **options: Any) -> Any:
            return await self._power.write(work, *arguments, **options)

        return write


def powered(store: FullStore, power: Power) -> FullStore:
    return cast(FullStore, PoweredStore(store, power))
