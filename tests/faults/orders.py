"""What a worker is told when it is started."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal, TypeAlias

from horae.engine.settings import EngineSettings
from horae.ports.store import Terms
from tests.faults.place import Place

Point: TypeAlias = Literal["claiming", "claimed", "starting", "started", "settling", "settled", "deciding", "ending"]
"""Where a worker stops, the first time that it gets there, and says so: before or after one call of its store; or, frozen
by its own hand, in the middle of the transaction of a claim (`deciding`) or of a settlement (`ending`)."""

ELSEWHERE: Final = "another machine/1/1"
"""Whoever says to live there can be seen by nobody here to be gone: only its lease tells."""
LEASE = 2.0
CEILING = 1.0


@dataclass(frozen=True, slots=True)
class Orders:
    folder: str
    url: str
    point: Point | None = None
    defect: str | None = None
    lease: float = LEASE
    ceiling: float = CEILING
    capacity: int = 512
    home: str | None = None
    """Where it says that it lives, when others on this machine are to take it for a stranger."""

    @property
    def place(self) -> Place:
        return Place(Path(self.folder), self.url)

    @property
    def settings(self) -> EngineSettings:
        terms = Terms(timedelta(seconds=self.lease), timedelta(seconds=self.ceiling))
        return EngineSettings(terms=terms, capacity=self.capacity, grace=timedelta(seconds=1))

    def written(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def read(text: str) -> Orders:
        return Orders(**json.loads(text))
