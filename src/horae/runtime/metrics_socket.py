"""Opens the listening socket of a node's metrics server; light to import, since the supervisor process opens it."""

from __future__ import annotations

import socket
from typing import Final

from ..model.refusals import refuse
from ..observe.exposition import check_library
from ..observe.refusals import refuse as refuse_metrics
from ..observe.scrape_access import read_policy
from ..settings import Settings
from .http_server import open_listener

_MAX_PORT: Final = 65_535


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
