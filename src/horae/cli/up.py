"""`horae up`: the engine in the foreground, with a supervisor that outlives whatever its tasks do to their process."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from shutil import which
from typing import TYPE_CHECKING, Any, Final

import typer

from ..clock import SystemClock
from . import operating_words as words
from .frame import command
from .out import Out

if TYPE_CHECKING:
    from .supervising import Death
    from .work_order import WorkOrder


PLACE: Final = typer.Argument(
    None, metavar="[FILE.py | MODULE[:APP]]", help="Where the app with your functions is; without: no functions."
)
SECONDS: Final = typer.Option(None, "--seconds", min=0.1, help="End after so many seconds.")
VERBOSE: Final = typer.Option(False, "--verbose", "-v", help="Tell of runs that succeed or are skipped too.")
LEASE: Final = typer.Option(
    None,
    "--lease",
    metavar="SECONDS",
    min=1,
    max=3600,
    help="The lease that all nodes on this store share. Default: 15.",
)


def register(app: typer.Typer) -> None:
    command(app, "up")(up)


def up(
    out: Out,
    place: str | None = PLACE,
    demo: bool = typer.Option(False, "--demo", help="Put a few demo tasks there; the first fires within 5 seconds."),
    seconds: float | None = SECONDS,
    verbose: bool = VERBOSE,
    lease: float | None = LEASE,
) -> None:
    """Run the engine here, until Ctrl-C."""
    run_node(out, place, demo=demo, verbose=verbose, seconds=seconds, lease=lease)


def run_node(out: Out, place: str | None, **chosen: Any) -> None:
    """A supervisor and its worker, in the foreground; `chosen` are fields of the order that the worker gets."""
    from .session import home_zone, opened_url, settings_of  # noqa: PLC0415 - `--help` does without

    clock = SystemClock()
    zone = home_zone(None, settings_of(out.store))
    # Without an app of its own, the store is chosen here; an app has one, unless another is asked for.
    store = out.store if place is not None else opened_url(out.store, create=True)
    order = _order(out, place, clock.steady())
    order = replace(order, store=store, zone=zone.name, **chosen)
    code = _supervised(order, out, clock) if os.name == "posix" else _alone(order)
    if code:
        raise typer.Exit(code)


def _order(out: Out, place: str | None, began: float) -> WorkOrder:
    from .work_order import WorkOrder  # noqa: PLC0415

    return WorkOrder(
        began,
        place,
        json=out.json,
        quiet=out.quiet,
        language=out.language,
        colour=out.colour,
        program=_program(),
    )


def _program() -> str:
    """What has to be typed to get at us again."""
    if which("horae"):
        return "horae"
    return "python -m horae" if sys.argv[0].endswith(".py") else sys.argv[0]


def _supervised(order: WorkOrder, out: Out, clock: SystemClock) -> int:
    from .streams import prepare_streams  # noqa: PLC0415
    from .supervising import Supervisor  # noqa: PLC0415

    prepare_streams()

    def start(line: int, _number: int) -> list[str]:
        # Nothing in the folder that we happen to be in may take the place of a module that the worker needs.
        return [sys.executable, "-P", "-m", "horae.cli.worker", str(line)]

    def ordered(number: int) -> bytes:
        began = order.began if number == 0 else clock.steady()
        return replace(order, supervised=True, number=number, began=began).sent()

    async def run() -> int:
        return await Supervisor(start, lambda death: _tell(out, death), clock, ordered).run(order.seconds)

    return asyncio.run(run())


def _alone(order: WorkOrder) -> int:
    from .supervising import DRAINED  # noqa: PLC0415
    from .worker import run  # noqa: PLC0415

    code = run(order)
    return 0 if code == DRAINED else code


def _tell(out: Out, death: Death) -> None:
    if out.json:
        out.each({"type": "worker.died", **death._asdict()})
        return
    how = words.BY_SIGNAL if death.code < 0 else words.BY_EXIT
    said = out.told(how, number=abs(death.code))
    out.line(("! ", out.told(words.WORKER_DIED, pid=death.pid, how=said, pause=death.pause)), flush=True)
