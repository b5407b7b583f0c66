"""Where a node can be looked in at: for whoever scrapes it, and for the process that serves the API beside it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from ...runtime.http_server import DEFAULT_HOST, address_of, open_listener
from ...runtime.metrics_socket import open_metrics_socket
from ..messages import operating_messages as words
from ..output.printer import START_LABEL, Printer
from ..session.open_store import MEMORY, settings_of

if TYPE_CHECKING:
    from .work_order import WorkOrder

_EVERYWHERE: Final = {"0.0.0.0": DEFAULT_HOST, "::": "::1"}  # noqa: S104 - where such a door is found from here


@contextmanager
def looked_at(out: Printer, order: WorkOrder, port: int | None) -> Iterator[WorkOrder]:
    """The order with the door in it, where there is one. It is opened here, so that a worker that begins anew has it too."""
    line = _opened(out, order, port)
    if line is None:
        yield order
        return
    with line:
        host, number = line.getsockname()[:2]
        found = _EVERYWHERE.get(host, host)
        yield replace(order, look=line.fileno(), look_host=found, look_port=number, look_key=token_hex(16))


def _opened(out: Printer, order: WorkOrder, port: int | None) -> socket.socket | None:
    if not order.engine:
        return None
    chosen = open_metrics_socket(settings_of(order.store), port)
    if chosen is not None:
        _tell(out, f"{address_of(chosen)}/metrics")
        return chosen
    beside = order.door is not None and order.store != MEMORY
    return open_listener(DEFAULT_HOST, 0) if beside and find_spec("prometheus_client") is not None else None


def _tell(out: Printer, url: str) -> None:
    if out.json:
        out.each({"type": "metrics.ready", "url": url})
    else:
        out.row(out.translate(words.METRICS), url, width=START_LABEL, flush=True)
