"""What the supervisor tells the worker that it starts: one value, as text on the line between the two.

Not as an argument: everybody on the machine can read those, and the address of a store may hold a password.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass, replace
from typing import Final

from ...choices import Language
from ..messages.operating_refusals import refuse
from ..output.failure import ErrorStyle
from ..output.printer import Colour, Printer

_PART: Final = 65_536


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
    concurrency: int | None = None
    lease: float | None = None
    number: int = 0
    supervised: bool = False
    """Whether somebody stands behind it who ends it when it does not."""
    json: bool = False
    fields: tuple[str, ...] = ()
    """The fields that `--fields` names."""
    quiet: bool = False
    language: Language = "en"
    colour: Colour = "auto"
    program: str = "horae"
    """What to type for another command."""
    door: int | None = None
    """The number of the socket that the HTTP API is to be served on; None: it is not, or not by this one."""
    engine: bool = True
    """Whether a worker runs beside the server."""
    look: int | None = None
    """The number of the socket that the worker shows its numbers at."""
    look_host: str = "127.0.0.1"
    look_port: int = 0
    """Where the server finds them; 0: nowhere."""
    look_key: str = ""
    """And the key with which the server asks."""
    beat: float | None = None
    """How often it is to give a sign of life, in seconds; None: nobody waits for any."""

    def sent(self) -> bytes:
        """One line: whoever reads it knows where it ends."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def heard(cls, line: socket.socket) -> WorkOrder:
        text = b""
        while not text.endswith(b"\n") and (part := line.recv(_PART)):
            text += part
        try:
            order = cls(**json.loads(text))
            return replace(order, fields=tuple(order.fields))
        except (ValueError, TypeError):
            raise refuse("not_supervised_here", value="?") from None

    @property
    def out(self) -> Printer:
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
    def manner(self) -> ErrorStyle:
        """How a failure is told."""
        return ErrorStyle(self.language, self.json, program=self.program)
