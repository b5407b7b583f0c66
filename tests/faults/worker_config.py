"""Configuration of a worker process, passed as JSON in its argument."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final, Literal, TypeAlias

from horae.engine.settings import EngineSettings
from horae.ports.store import Terms
from tests.faults.testbed import Testbed

Point: TypeAlias = Literal["claiming", "claimed", "starting", "started", "settling", "settled", "deciding", "ending"]
"""Where a worker stops the first time it gets there, and prints it: before or after one call of its store; or, by
SIGSTOP, inside the transaction of a claim (`deciding`) or of a settlement (`ending`).
"""

OTHER_MACHINE: Final = "another machine/1/1"
"""Process identity on another machine: peers notice its death only by its lease."""
LEASE = 2.0
CEILING = 1.0


@dataclass(frozen=True, slots=True)
class WorkerConfig:
    folder: str
    url: str
    point: Point | None = None
    defect: str | None = None
    lease: float = LEASE
    ceiling: float = CEILING
    capacity: int = 512
    home: str | None = None
    """Process identity to report, so that peers on this machine take the worker for a remote one."""

    @property
    def testbed(self) -> Testbed:
        return Testbed(Path(self.folder), self.url)

    @property
    def settings(self) -> EngineSettings:
        terms = Terms(timedelta(seconds=self.lease), timedelta(seconds=self.ceiling))
        return EngineSettings(terms=terms, capacity=self.capacity, grace=timedelta(seconds=1))

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> WorkerConfig:
        return WorkerConfig(**json.loads(text))
