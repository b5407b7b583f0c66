"""Options of `horae up` and `horae worker` for their child processes: those of the node, and those of the output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from ..choices import Language
from ..node.options import NodeOptions
from .output.failure import ErrorStyle
from .output.printer import Colour, Printer


@dataclass(frozen=True, slots=True)
class UpOptions(NodeOptions):
    """Options that the supervisor process sends to the worker and API processes."""

    place: str | None = None
    """File or module with the app; None: an app without functions."""
    demo: bool = False
    verbose: bool = False
    json: bool = False
    fields: tuple[str, ...] = ()
    """The fields that `--fields` names."""
    quiet: bool = False
    language: Language = "en"
    colour: Colour = "auto"
    program: str = "horae"
    """First word of printed commands."""

    @classmethod
    def decode(cls, fields: dict[str, Any]) -> Self:
        lists = {name: tuple(fields.get(name, ())) for name in ("fields", "labels")}
        return super(UpOptions, cls).decode({**fields, **lists})

    def make_printer(self) -> Printer:
        return Printer(
            self.language,
            self.store,
            json=self.json,
            fields=self.fields,
            quiet=self.quiet,
            colour=self.colour,
            program=self.program,
        )

    @property
    def error_style(self) -> ErrorStyle:
        return ErrorStyle(self.language, self.json, program=self.program)
