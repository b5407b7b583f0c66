"""`horae up` and `horae worker`: node in the foreground; a supervisor process restarts the engine and the API server."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from ....clock import SystemClock
from ...command import Command
from ...messages import operating_messages as words
from ...messages.messages import Message
from ...output.printer import Printer
from ...output.program_name import called_program
from ...parameters import IntegerRange, NumberRange

if TYPE_CHECKING:
    from ...node.api_server import ListenAddress
    from ...node.supervisor import Death
    from ...node.work_order import WorkOrder

_place_argument: Final = click.argument(
    "place",
    required=False,
    metavar="[FILE.py | MODULE[:APP]]",
    help="Where the app with your functions is; without: no functions.",
)
_seconds_option: Final = click.option("--seconds", type=NumberRange(0.1), help="End after so many seconds.")
_verbose_option: Final = click.option(
    "--verbose", "-v", is_flag=True, help="Tell of runs that succeed or are skipped too."
)
_lease_option: Final = click.option(
    "--lease",
    type=NumberRange(1, 3600),
    metavar="SECONDS",
    help="The lease that all nodes on this store share. Default: 15.",
)
_port_option: Final = click.option(
    "--port",
    type=IntegerRange(0, 65535),
    metavar="PORT",
    help="Serve the HTTP API here; 0 finds one. Default: 4672.",
)
_metrics_port_option: Final = click.option(
    "--metrics-port",
    type=IntegerRange(0, 65535),
    metavar="PORT",
    help="Show this node's own metrics here; 0 finds a port. Default: nowhere.",
)
_host_option: Final = click.option(
    "--host", metavar="ADDRESS", help="Let the HTTP API listen beyond this machine. Default: 127.0.0.1."
)
MEMORY: Final = "memory://"
_ENGINE: Final = "engine"
_API: Final = "API"


@click.command("up", cls=Command, local_only=True)
@_place_argument
@click.option("--demo", is_flag=True, help="Put a few demo tasks there; the first fires within 5 seconds.")
@_seconds_option
@_verbose_option
@_lease_option
@_port_option
@_host_option
@_metrics_port_option
@click.option("--no-api", is_flag=True, help="The engine alone, without the HTTP API.")
@click.option("--no-engine", is_flag=True, help="The HTTP API alone; `horae worker` runs the rest.")
def up(
    out: Printer,
    *,
    place: str | None,
    demo: bool,
    seconds: float | None,
    verbose: bool,
    lease: float | None,
    port: int | None,
    host: str | None,
    metrics_port: int | None,
    no_api: bool,
    no_engine: bool,
) -> None:
    """Run the engine and the HTTP API here, until Ctrl-C."""
    order = make_work_order(out, place, demo=demo, verbose=verbose, seconds=seconds, lease=lease, engine=not no_engine)
    address = _listen_address(out, order, host, port, no_api=no_api)
    if address is None:
        run_node(out, order, metrics_port)
        return
    from ...node.api_server import opened_door  # noqa: PLC0415 - `--help` does without

    with opened_door(out, address) as line:
        run_node(out, order if line is None else replace(order, door=line.fileno()), metrics_port)


def _listen_address(
    out: Printer, order: WorkOrder, host: str | None, port: int | None, *, no_api: bool
) -> ListenAddress | None:
    """Return the address for the HTTP API; None where it is off."""
    from ...messages.operating_refusals import refuse  # noqa: PLC0415 - `--help` does without
    from ...node.api_server import listen_address  # noqa: PLC0415
    from ...session.open_store import settings_of  # noqa: PLC0415

    settings = settings_of(out.store)
    is_typed = host is not None or port is not None
    off = no_api or (str(settings.value("api")).strip().lower() == "off" and not is_typed and order.engine)
    if off and not order.engine:
        raise refuse("nothing_to_run")
    if not order.engine and order.store in (None, MEMORY):
        raise refuse("no_engine_in_memory")
    if off:
        return None
    address = listen_address(settings, host, port)
    return address if order.engine else address._replace(chosen=True)


def make_work_order(out: Printer, place: str | None, **chosen: Any) -> WorkOrder:
    """Return the work order of the child processes; `chosen`: its fields."""
    from ...session.open_store import home_zone, opened_url, settings_of  # noqa: PLC0415 - `--help` does without
    from ...session.servers import note_unused_server  # noqa: PLC0415

    note_unused_server(out)
    zone = home_zone(None, settings_of(out.store))
    # An app brings its own store unless --store is given; without an app the store is chosen here.
    store = out.store if place is not None else opened_url(out.store, create=True)
    return replace(_base_order(out, place, SystemClock().steady()), store=store, zone=zone.name, **chosen)


def run_node(out: Printer, order: WorkOrder, metrics_port: int | None = None) -> None:
    """Run the supervisor and its child processes in the foreground until they end."""
    from ...node.metrics_endpoint import looked_at  # noqa: PLC0415 - `--help` does without

    with looked_at(out, order, metrics_port) as complete_order:
        code = _run_supervised(complete_order, out, SystemClock()) if os.name == "posix" else _run_alone(complete_order)
    if code:
        raise click.exceptions.Exit(code)


def _base_order(out: Printer, place: str | None, began: float) -> WorkOrder:
    from ...node.work_order import WorkOrder  # noqa: PLC0415

    return WorkOrder(
        began,
        place,
        json=out.json,
        fields=out.fields,
        quiet=out.quiet,
        language=out.language,
        colour=out.colour,
        program=called_program(),
    )


def _run_supervised(order: WorkOrder, out: Printer, clock: SystemClock) -> int:
    from ...node.sd_notify import ServiceLine, ServiceNotifier  # noqa: PLC0415
    from ...node.supervisor import Supervisor, run_both  # noqa: PLC0415
    from ...output.streams import prepare_streams  # noqa: PLC0415

    prepare_streams()
    line = ServiceLine.taken(os.environ)
    # A memory store, or the store of an app, exists only in the engine process, so that process serves the API too.
    in_one_process = order.door is None or order.store in (None, MEMORY)
    notifier = ServiceNotifier(line, _child_names(order, in_one_process=in_one_process))

    def make_supervisor(module: str, part: WorkOrder, died: Message, kind: str) -> Supervisor:
        def start(line: int, _number: int) -> list[str]:
            # -P: modules of the current folder must not shadow modules of the worker.
            return [sys.executable, "-P", "-m", f"horae.cli.node.{module}", str(line)]

        def encode_order(number: int) -> bytes:
            began = order.began if number == 0 else clock.steady()
            return replace(part, supervised=True, number=number, began=began, beat=line.beat).sent()

        passed = tuple(each for each in (part.door, part.look) if each is not None)
        on_signal = partial(notifier.heard, _ENGINE if kind == "worker.died" else _API)
        return Supervisor(
            start, lambda death: _show_death(out, death, died, kind), clock, encode_order, passed, on_signal
        )

    async def run() -> int:
        server = make_supervisor("api_process", replace(order, look=None), words.SERVER_DIED, "api.died")
        if not order.engine:
            return await server.run(order.seconds)
        worker = make_supervisor(
            "worker_process", order if in_one_process else replace(order, door=None), words.WORKER_DIED, "worker.died"
        )
        return await (worker.run(order.seconds) if in_one_process else run_both(worker, server, order.seconds))

    return asyncio.run(run())


def _child_names(order: WorkOrder, *, in_one_process: bool) -> tuple[str, ...]:
    """Return the names of the child processes; the service manager is notified once all are ready."""
    if not order.engine:
        return (_API,)
    return (_ENGINE,) if in_one_process else (_ENGINE, _API)


def _run_alone(order: WorkOrder) -> int:
    from ...node.supervisor import DRAINED  # noqa: PLC0415
    from ...node.worker_process import run  # noqa: PLC0415

    code = run(order)
    return 0 if code == DRAINED else code


def _show_death(out: Printer, death: Death, died: Message, kind: str) -> None:
    if out.json:
        out.each({"type": kind, **death._asdict()})
        return
    how = words.BY_SIGNAL if death.code < 0 else words.BY_EXIT
    cause = out.translate(how, number=abs(death.code))
    out.line(("! ", out.translate(died, pid=death.pid, how=cause, pause=death.pause)), flush=True)


_LONGEST_POLL = 10.0
"""Upper bound for all nodes: an entry that is due for longer counts as missed."""


@click.command("worker", cls=Command, local_only=True)
@_place_argument
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
@_lease_option
@_seconds_option
@_verbose_option
@_metrics_port_option
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
    order = make_work_order(out, place, **chosen, seconds=seconds, verbose=verbose)
    run_node(out, order, metrics_port)
