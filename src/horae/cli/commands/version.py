"""`horae version`: which Horae this is, for people and for programs."""

from __future__ import annotations

import typer

from ...version import __version__
from ..command import command
from ..output.printer import Printer


def register(app: typer.Typer) -> None:
    command(app, "version")(version)


def version(out: Printer) -> None:
    """Show the version."""
    if out.json:
        out.data({"version": __version__})
    elif out.quiet:
        out.ids([__version__])
    else:
        out.line(f"horae {__version__}")
