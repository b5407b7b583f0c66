"""Opens the sockets of the workers' metrics, for Prometheus and for the process that merges them into its own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.util import find_spec
from secrets import token_hex
from typing import Final, TypeVar

from ..model.refusals import refuse
from ..observe.exposition import check_library
from ..observe.refusals import refuse as refuse_metrics
from ..observe.scrape_access import read_policy
from ..runtime.http_server import DEFAULT_HOST, address_of, open_listener
from ..runtime.stores import MEMORY
from ..settings import Settings
from .options import NodeOptions

Options = TypeVar("Options", bound=NodeOptions)
_MAX_PORT: Final = 65_535
_LOOPBACK_OF: Final = {"0.0.0.0": DEFAULT_HOST, "::": "::1"}  # noqa: S104 - the address that reaches it from this machine


@contextmanager
def open_metrics_endpoint(
    options: Options, settings: Settings, port: int | None, on_open: Callable[[str], None]
) -> Iterator[Options]:
    """Yield the options with the open sockets, if metrics are served; `on_open` gets the URL if a port was chosen.

    The supervisor process opens them, so that a restarted worker has the same socket.
    """
    first = _open(options, settings, port, on_open)
    if first is None:
        yield options
        return
    with ExitStack() as stack:
        stack.enter_context(first)
        others = [stack.enter_context(open_listener(DEFAULT_HOST, 0)) for _ in range(1, options.processes)]
        listeners = (first, *others)
        yield replace(
            options,
            metrics_sockets=tuple(each.fileno() for each in listeners),
            metrics_addresses=tuple(map(_local_address, listeners)),
            metrics_key=token_hex(16),
        )


def _local_address(listener: socket.socket) -> tuple[str, int]:
    """Return where processes of this machine reach the socket."""
    host, number = listener.getsockname()[:2]
    return _LOOPBACK_OF.get(host, host), number


def _open(
    options: NodeOptions, settings: Settings, port: int | None, on_open: Callable[[str], None]
) -> socket.socket | None:
    if not options.engine:
        return None
    chosen = open_metrics_socket(settings, port)
    if chosen is not None:
        on_open(f"{address_of(chosen)}/metrics")
        return chosen
    has_api_process = options.api_socket is not None and options.store != MEMORY
    is_installed = find_spec("prometheus_client") is not None
    return open_listener(DEFAULT_HOST, 0) if has_api_process and is_installed else None


def open_metrics_socket(settings: Settings, port: int | None) -> socket.socket | None:
    """Bind the metrics socket to the port of the command line, else of the settings; None: no metrics server."""
    value = str(settings.value("metrics_port") or "").strip() if port is None else str(port)
    if not value or value == "off":
        return None
    if not value.isdecimal() or int(value[:9]) > _MAX_PORT:
        raise refuse("bad_number", name="metrics_port", value=value, least=0, most=_MAX_PORT)
    check_library()
    read_policy(str(settings.value("metrics")))
    host = str(settings.value("metrics_host"))
    try:
        return open_listener(host, int(value))
    except OSError as error:
        problem = error.strerror or type(error).__name__
        raise refuse_metrics("metrics_port_taken", host=host, port=value, problem=problem) from None
