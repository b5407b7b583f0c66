"""`horae worker`: one node of many, in the foreground; how it looks for work can be said on the command line."""

from __future__ import annotations

import click

from ..command import Command
from ..output.printer import Printer
from ..parameters import IntegerRange, NumberRange
from .up import lease_option, metrics_port_option, place_argument, prepared, run_node, seconds_option, verbose_option

_LONGEST_POLL = 10.0
"""The ceiling that all nodes share: what is due for longer than that counts as missed."""


@click.command("worker", cls=Command, local_only=True)
@place_argument
@click.option(
    "--poll",
    type=NumberRange(0.1, _LONGEST_POLL),
    metavar="SECONDS",
    help="Look every so many seconds, instead of sleeping to the next due instant.",
)
@click.option(
    "--batch",
    type=IntegerRange(1, 100_000),
    metavar="N",
    help="Claim at most so many in one transaction. Default: as many as there is room for.",
)
@click.option(
    "--concurrency",
    type=IntegerRange(1, 100_000),
    metavar="N",
    help="Carry at most so many runs at once. Default: 1024.",
)
@lease_option
@seconds_option
@verbose_option
@metrics_port_option
def worker(
    out: Printer,
    *,
    place: str | None,
    poll: float | None,
    batch: int | None,
    concurrency: int | None,
    lease: float | None,
    seconds: float | None,
    verbose: bool,
    metrics_port: int | None,
) -> None:
    """Run the engine as one of many nodes, until SIGTERM."""
    chosen = {"poll": poll, "batch": batch, "concurrency": concurrency, "lease": lease}
    order = prepared(out, place, **chosen, seconds=seconds, verbose=verbose)
    run_node(out, order, metrics_port)
