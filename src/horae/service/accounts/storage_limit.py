"""Use of the quota `stored_bytes` by an owner: task definitions, results, errors and logs together."""

from __future__ import annotations

from typing import Final

from ..tasks.task_quota import TaskQuota
from .stored_output import FREQUENT_SECONDS, StoredOutput

_MAX_OWNERS: Final = 10_000


class StorageLimit:
    def __init__(self, seats: TaskQuota, output: StoredOutput) -> None:
        self._seats = seats
        self._output = output
        self._definitions: dict[str, int] = {}
        """Bytes of task definitions by owner, as of the last measurement of the output."""

    async def used(self, name: str, limit: int, *, fresh: bool = False) -> int | None:
        """Bytes of an owner. Where the last measurement is recent enough, nothing is read from the store, unless `fresh`.

        None: tasks were written while their definitions were counted, so ask again later.
        """
        definitions, known = self._definitions.get(name), None
        if definitions is not None and not fresh:
            known = self._output.recall(name, definitions, limit)
        if definitions is None or known is None:
            definitions = await self._seats.definition_bytes(name)
            if definitions is None:
                return None
            output = await self._output.measure(name, 0.0 if fresh else FREQUENT_SECONDS)
            self._keep(name, definitions)
        else:
            output = known.output
        if output >= limit or output + definitions < limit:
            return output + definitions
        # Retention and admins remove tasks without lowering the bytes that are kept of them.
        definitions = await self._seats.definition_bytes(name, exact=True)
        if definitions is None:
            return None
        self._keep(name, definitions)
        return output + definitions

    def _keep(self, name: str, definitions: int) -> None:
        if len(self._definitions) >= _MAX_OWNERS:
            self._definitions.clear()
        self._definitions[name] = definitions
