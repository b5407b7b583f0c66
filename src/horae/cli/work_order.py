"""What the supervisor tells the worker that it starts: one value, as text on its command line."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from ..choices import Language
from .operating_refusals import refuse
from .out import Colour, Out


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """All that a worker is told by the process that starts it. `began` is an instant of the steady clock."""

    began: float
    place: str | None = None
    store: str | None = None
    zone: str | None = None
    demo: bool = False
    verbose: bool = False
    seconds: float | None = None
    poll: float | None = None
    batch: int | None = None
    lease: float | None = None
    number: int = 0
    line: int | None = None
    json: bool = False
    quiet: bool = False
    language: Language = "en"
    colour: Colour = "auto"
    program: str = "horae"
    """What to type for another command."""

    def written(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> WorkOrder:
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError):
            raise refuse("not_supervised_here", value=text) from None

    @property
    def out(self) -> Out:
        return Out(self.language, self.store, json=self.json, quiet=self.quiet, colour=self.colour)
