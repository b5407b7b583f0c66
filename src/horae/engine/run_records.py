"""Records of a run: reads the data of its task, and stages changes of it that commit with the settlement."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from ..model.task_data import TASK_DATA_KIND, check_value_name, decode_values, encode_value, task_data_write
from ..ports.records import Records
from .run_messages import RunContext, StagedWrites


class RunRecords:
    """Implements `ports/target.py` RunRecords for one run; built on first use.

    The data is read once, and again after each commit: the commit has written another version.
    """

    def __init__(self, store: Records, run: RunContext, staged: StagedWrites) -> None:
        self._store = store
        self._run = run
        self._staged = staged
        self._lock = asyncio.Lock()
        self._values: dict[str, str] = {}
        self._version: int | None = None
        self._commits: int | None = None
        """Commits of the run when the data was read; None: it has not been read."""

    async def get(self, name: str, default: Any = None) -> Any:
        async with self._lock:
            await self._load()
            text = self._values.get(check_value_name(name))
            return default if text is None else json.loads(text)

    async def put(self, name: str, value: Any) -> None:
        text = encode_value(check_value_name(name), value)
        async with self._lock:
            await self._load()
            self._stage({**self._values, name: text})

    async def delete(self, name: str) -> None:
        async with self._lock:
            await self._load()
            if name in self._values:
                self._stage({each: text for each, text in self._values.items() if each != name})

    async def _load(self) -> None:
        if self._commits == self._staged.commits:
            return
        run = self._run.run
        record = await self._store.get_record(TASK_DATA_KIND, run.task_id, run.owner)
        self._values, self._version = decode_values(record), None if record is None else record.version
        self._commits = self._staged.commits

    def _stage(self, values: dict[str, str]) -> None:
        run = self._run.run
        self._staged.add_records([task_data_write(run.task_id, run.owner, values, self._version)])
        self._values = values
