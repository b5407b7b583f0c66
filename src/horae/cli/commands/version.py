"""`horae version`: which Horae this is, for people and for programs."""

from __future__ import annotations

import click

from ...version import __version__
from ..command import Command
from ..output.printer import Printer


@click.command("version", cls=Command)
def version(out: Printer) -> None:
    """Show the version."""
    if out.json:
        out.data({"version": __version__})
    elif out.quiet:
        out.ids([__version__])
    else:
        out.line(f"horae {__version__}")
