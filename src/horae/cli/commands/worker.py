"""`horae worker`: one node of many, in the foreground; how it looks for work can be said on the command line."""

from __future__ import annotations

import typer

from ..command import command
from ..output.printer import Printer
from .up import LEASE, METRICS_PORT, PLACE, SECONDS, VERBOSE, prepare_options, run_node

_LONGEST_POLL = 10.0
"""The ceiling that all nodes share: what is due for longer than that counts as missed."""


def register(app: typer.Typer) -> None:
    command(app, "worker")(worker)


def worker(
    out: Printer,
    *,
    place: str | None = PLACE,
    poll: float | None = typer.Option(
        None,
        "--poll",
        metavar="SECONDS",
        min=0.1,
        max=_LONGEST_POLL,
        help="Look every so many seconds, instead of sleeping to the next due instant.",
    ),
    batch: int | None = typer.Option(
        None,
        "--batch",
        metavar="N",
        min=1,
        max=100_000,
        help="Claim at most so many in one transaction. Default: as many as there is room for.",
    ),
    concurrency: int | None = typer.Option(
        None,
        "--concurrency",
        metavar="N",
        min=1,
        max=100_000,
        help="Carry at most so many runs at once. Default: 1024.",
    ),
    lease: float | None = LEASE,
    seconds: float | None = SECONDS,
    verbose: bool = VERBOSE,
    metrics_port: int | None = METRICS_PORT,
) -> None:
    """Run the engine as one of many nodes, until SIGTERM."""
    chosen = {"poll": poll, "batch": batch, "concurrency": concurrency, "lease": lease}
    options = prepare_options(out, place, **chosen, seconds=seconds, verbose=verbose)
    run_node(out, options, metrics_port)
