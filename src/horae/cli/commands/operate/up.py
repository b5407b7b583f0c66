"""`horae up` and `horae worker`: node in the foreground; a supervisor process restarts the engine and the API server."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ....clock import SystemClock
from ...command import Command
from ...messages import operating_messages as words
from ...output.command_hints import called_program
from ...output.printer import Printer
from ...parameters import FILE, IntegerRange, NumberRange

if TYPE_CHECKING:
    import socket

    from ....node.api_server import ListenAddress
    from ....node.processes import ChildKind
    from ....node.supervisor import ChildExit
    from ...node_options import UpOptions

MAX_PROCESSES: Final = 64
_place_argument: Final = click.argument(
    "place",
    required=False,
    metavar="[FILE.py | MODULE[:APP]]",
    help="Module or file of the app with your functions; without it, no functions.",
)
_seconds_option: Final = click.option("--seconds", type=NumberRange(0.1), help="End after this number of seconds.")
_verbose_option: Final = click.option(
    "--verbose", "-v", is_flag=True, help="Report runs that succeed or are skipped too."
)
_lease_option: Final = click.option(
    "--lease",
    type=NumberRange(1, 3600),
    metavar="SECONDS",
    help="Lease in seconds, the same for all nodes on this store. Default: 15.",
)
port_option: Final = click.option(
    "--port",
    type=IntegerRange(0, 65535),
    metavar="PORT",
    help="Port of the HTTP API; 0 takes a free one. Default: 4672.",
)
_metrics_port_option: Final = click.option(
    "--metrics-port",
    type=IntegerRange(0, 65535),
    metavar="PORT",
    help="Port of this node's own metrics; 0 takes a free one. Default: none.",
)
host_option: Final = click.option(
    "--host", metavar="ADDRESS", help="Address on which the HTTP API listens. Default: 127.0.0.1."
)


socket_option: Final = click.option(
    "--socket", "socket_path", type=FILE, metavar="PATH", help="Let the HTTP API listen on this unix socket too."
)


_agents_option: Final = click.option(
    "--agents", is_flag=True, help="Run the agents of chat groups too: channels, turns, answers."
)
_stations_option: Final = click.option(
    "--stations", is_flag=True, help="Let stations join over ZeroMQ, so that tasks can call them."
)
_processes_option: Final = click.option(
    "--processes",
    type=IntegerRange(1, MAX_PROCESSES),
    metavar="N",
    default=1,
    help="Number of processes with an engine, to use several cores; each is a node of its own. Default: 1.",
)
_label_option: Final = click.option(
    "--label", "labels", multiple=True, metavar="K=V", help="A label of this node, for tasks with --where; repeatable."
)
_node_name_option: Final = click.option(
    "--node-name", metavar="NAME", help="Stable name of this node, its label 'node'. Default: the machine's."
)
_require_durable_option: Final = click.option(
    "--require-durable", is_flag=True, help="Refuse a store that can lose what it has acknowledged."
)


@click.command("up", cls=Command, local_only=True)
@_place_argument
@click.option("--demo", is_flag=True, help="Make a few demo tasks; the first fires within 5 seconds.")
@_agents_option
@_stations_option
@_seconds_option
@_verbose_option
@_lease_option
@_label_option
@_node_name_option
@_require_durable_option
@_processes_option
@port_option
@host_option
@socket_option
@_metrics_port_option
@click.option("--no-api", is_flag=True, help="Run the engine alone, without the HTTP API.")
@click.option("--no-engine", is_flag=True, help="Serve the HTTP API alone; `horae worker` runs the tasks.")
def up(
    out: Printer,
    *,
    place: str | None,
    demo: bool,
    agents: bool,
    stations: bool,
    seconds: float | None,
    verbose: bool,
    lease: float | None,
    labels: tuple[str, ...],
    node_name: str | None,
    require_durable: bool,
    processes: int,
    port: int | None,
    host: str | None,
    socket_path: Path | None,
    metrics_port: int | None,
    no_api: bool,
    no_engine: bool,
) -> None:
    """Run the engine and the HTTP API here, until Ctrl-C."""
    node = _check_node(labels, node_name)
    if agents and no_engine:
        from ...messages.operating_refusals import refuse  # noqa: PLC0415 - `--help` does without

        raise refuse("agents_without_engine")
    if stations and no_engine:
        from ...messages.operating_refusals import refuse  # noqa: PLC0415 - `--help` does without

        raise refuse("stations_without_engine")
    if processes > 1 and no_engine:
        from ...messages.operating_refusals import refuse  # noqa: PLC0415 - `--help` does without

        raise refuse("processes_without_engine")
    options = prepare_options(
        out,
        place,
        demo=demo,
        agents=agents,
        stations=stations,
        verbose=verbose,
        seconds=seconds,
        lease=lease,
        engine=not no_engine,
        require_durable=require_durable,
        processes=processes,
        **node,
    )
    address = _api_address(out, options, host, port, no_api=no_api)
    if address is None:
        if socket_path is not None:
            from ...messages.operating_refusals import refuse  # noqa: PLC0415 - `--help` does without

            raise refuse("socket_without_api")
        run_node(out, options, metrics_port)
        return
    if socket_path is not None:
        address = address._replace(chosen=True)
    from ....node.api_server import open_api_socket  # noqa: PLC0415 - `--help` does without
    from ...output.startup_lines import show_no_api  # noqa: PLC0415

    with (
        open_api_socket(address, partial(show_no_api, out, address)) as listener,
        unix_socket(socket_path) as local,
    ):
        if listener is not None:
            local_number = None if local is None else local.fileno()
            options = replace(options, api_socket=listener.fileno(), api_unix_socket=local_number)
        run_node(out, options, metrics_port)


@contextmanager
def unix_socket(path: Path | None) -> Iterator[socket.socket | None]:
    if path is None:
        yield None
        return
    from ....runtime.http_server import open_unix_listener  # noqa: PLC0415 - `--help` does without

    with open_unix_listener(path.absolute()) as listener:
        yield listener


def _api_address(
    out: Printer, options: UpOptions, host: str | None, port: int | None, *, no_api: bool
) -> ListenAddress | None:
    """Return where the API is to listen; None: it is switched off."""
    from ....node.api_server import listen_address  # noqa: PLC0415 - `--help` does without
    from ...messages.operating_refusals import refuse  # noqa: PLC0415

    settings = out.settings
    is_chosen = host is not None or port is not None
    off = no_api or (str(settings.value("api")).strip().lower() == "off" and not is_chosen and options.engine)
    if off and not options.engine:
        raise refuse("nothing_to_run")
    if not options.engine and options.serves_api_in_worker:
        raise refuse("no_engine_in_memory")
    if off:
        return None
    address = listen_address(settings, host, port)
    return address if options.engine else address._replace(chosen=True)


def _check_node(labels: tuple[str, ...], name: str | None) -> dict[str, Any]:
    """Return name and labels of the node as options of the child processes; bad ones are refused here."""
    from ....model.lanes.node_labels import check_node_name, parse_node_labels  # noqa: PLC0415 - `--help` does without

    parse_node_labels(labels)
    return {"labels": labels, "node_name": None if name is None else check_node_name(name)}


def prepare_options(out: Printer, place: str | None, **chosen: Any) -> UpOptions:
    """Return the options for the child processes; `chosen` are fields of them."""
    from ...node_options import UpOptions  # noqa: PLC0415 - `--help` does without
    from ...session.open_store import prepare_url, process_zone  # noqa: PLC0415
    from ...session.servers import note_unused_server  # noqa: PLC0415

    note_unused_server(out)
    zone = process_zone(None, out.settings)
    # Without an app of its own, the store is chosen here; an app has one, unless another is asked for.
    store = out.store if place is not None else prepare_url(out.settings, create=True)
    return UpOptions(
        SystemClock().steady(),
        store=store,
        zone=zone.name,
        place=place,
        json=out.json,
        fields=out.fields,
        quiet=out.quiet,
        language=out.language,
        colour=out.colour,
        program=called_program(),
        **chosen,
    )


def run_node(out: Printer, options: UpOptions, metrics_port: int | None = None) -> None:
    """Run the child processes under a supervisor, in the foreground."""
    from ....node.metrics_endpoint import open_metrics_endpoint  # noqa: PLC0415 - `--help` does without
    from ....node.options import check_processes  # noqa: PLC0415
    from ...output.startup_lines import show_metrics_url  # noqa: PLC0415

    check_processes(options.processes, options.store)
    settings = out.command_settings.with_store(options.store)
    if options.stations and options.store is not None:
        from ....runtime.agents.runtime import STATION, check_station_settings  # noqa: PLC0415

        check_station_settings(out.settings.target(STATION), options.store)
    with open_metrics_endpoint(options, settings, metrics_port, partial(show_metrics_url, out)) as complete:
        code = _run_supervised(complete, out) if os.name == "posix" else _run_here(complete)
    if code:
        raise click.exceptions.Exit(code)


def _run_supervised(options: UpOptions, out: Printer) -> int:
    from ....node.processes import ChildModules, run_supervised  # noqa: PLC0415
    from ...output.streams import prepare_streams  # noqa: PLC0415

    prepare_streams()
    modules = ChildModules("horae.cli.worker_process", "horae.cli.api_process")
    return run_supervised(options, modules, SystemClock(), partial(_show_exit, out))


def _run_here(options: UpOptions) -> int:
    """Run the worker in this process, where no child process can inherit a socket."""
    from ....node.supervisor import DRAINED  # noqa: PLC0415
    from ...worker_process import run  # noqa: PLC0415

    code = run(options)
    return 0 if code == DRAINED else code


def _show_exit(out: Printer, kind: ChildKind, ended: ChildExit) -> None:
    if out.json:
        out.each({"type": f"{kind}.died", **ended._asdict()})
        return
    how = words.BY_SIGNAL if ended.code < 0 else words.BY_EXIT
    code = out.translate(how, number=abs(ended.code))
    message = words.WORKER_DIED if kind == "worker" else words.SERVER_DIED
    out.line(("! ", out.translate(message, pid=ended.pid, how=code, pause=ended.pause)), flush=True)


_LONGEST_POLL = 60.0


@click.command("worker", cls=Command, local_only=True)
@_place_argument
@click.option(
    "--poll",
    type=NumberRange(0.1, _LONGEST_POLL),
    metavar="SECONDS",
    help="Poll with this period in seconds, instead of sleeping until the next due instant.",
)
@click.option(
    "--batch",
    type=IntegerRange(1, 100_000),
    metavar="N",
    help="Largest number of entries that one transaction claims. Default: as many as there is room for.",
)
@click.option(
    "--concurrency",
    type=IntegerRange(1, 100_000),
    metavar="N",
    help="Largest number of concurrent runs. Default: 1024.",
)
@_lease_option
@_label_option
@_node_name_option
@_require_durable_option
@_processes_option
@_agents_option
@_stations_option
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
    labels: tuple[str, ...],
    node_name: str | None,
    require_durable: bool,
    processes: int,
    agents: bool,
    stations: bool,
    seconds: float | None,
    verbose: bool,
    metrics_port: int | None,
) -> None:
    """Run the engine as one of many nodes, until SIGTERM."""
    chosen: dict[str, Any] = {"poll": poll, "batch": batch, "concurrency": concurrency, "lease": lease}
    chosen |= {**_check_node(labels, node_name), "require_durable": require_durable, "processes": processes}
    options = prepare_options(out, place, **chosen, agents=agents, stations=stations, seconds=seconds, verbose=verbose)
    run_node(out, options, metrics_port)
