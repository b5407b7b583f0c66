"""What a worker is told when it is started."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from horae.engine.settings import EngineSettings
from horae.ports.store import Terms
from tests.faults.place import Place

Point: TypeAlias = Literal["claiming", "claimed", "starting", "started", "settling", "settled"]
"""Where a worker stops, the first time that it gets there, and says so: before or after one call of its store."""

LEASE = 2.0
CEILING = 1.0


@dataclass(frozen=True, slots=True)
class Orders:
    folder: str
    store: str
    point: Point | None = None
    defect: str | None = None
    lease: float = LEASE
    ceiling: float = CEILING

    @property
    def place(self) -> Place:
        return Place(Path(self.folder), Path(self.store))

    @property
    def settings(self) -> EngineSettings:
        terms = Terms(timedelta(seconds=self.lease), timedelta(seconds=self.ceiling))
        return EngineSettings(terms=terms, grace=timedelta(seconds=1))

    def written(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> Orders:
        return Orders(**json.loads(text))
