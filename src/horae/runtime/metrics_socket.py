"""The socket at which a node shows its numbers; light, since the process that only supervises opens it."""

from __future__ import annotations

import socket
from typing import Final

from ..model.refusals import refuse
from ..observe.exposition import check_parts
from ..observe.refusals import refuse as refuse_to_look
from ..observe.scrape_access import read_policy
from ..settings import Settings
from .http_server import listening

_HIGHEST: Final = 65_535


def chosen_line(settings: Settings, port: int | None) -> socket.socket | None:
    """Where a node is to be looked in at: what was said on the command line, else by a setting; None: nowhere."""
    said = str(settings.value("metrics_port") or "").strip() if port is None else str(port)
    if not said or said == "off":
        return None
    if not said.isdecimal() or int(said[:9]) > _HIGHEST:
        raise refuse("bad_number", name="metrics_port", value=said, least=0, most=_HIGHEST)
    check_parts()
    read_policy(str(settings.value("metrics")))
    host = str(settings.value("metrics_host"))
    try:
        return listening(host, int(said))
    except OSError as error:
        problem = error.strerror or type(error).__name__
        raise refuse_to_look("metrics_port_taken", host=host, port=said, problem=problem) from None
