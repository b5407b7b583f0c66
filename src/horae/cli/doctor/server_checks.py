"""What `horae doctor` looks at on the server of a store: which it is, what it promises, how far our clocks are apart."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from ...engine.settings import EngineSettings
from ...errors import Refusal, StoreError
from ...ports.store import Node
from ...runtime.plain_connection import plain_connection
from ...runtime.process_settings import read_clock_tolerance
from ...runtime.store_status import ServerStatus
from ...settings import Settings
from ..commands.operate.db import in_bytes
from ..messages import operating_messages as words
from ..messages.messages import Message
from ..output.formatting import fine, in_sentence
from ..output.server_store import NOTEWORTHY, filled, off_by, where
from .machine_checks import Check, check, plain_words


def about_encryption(url: str) -> Iterator[Check]:
    """A server beyond this machine whose address asks for no TLS."""
    found = plain_connection(url)
    if found is not None:
        fix = filled(words.PLAIN_FIX, option=found.option)
        yield check("encryption", "warning", words.PLAIN_CONNECTION, fix, host=found.host)


def about_server(server: ServerStatus, settings: Settings) -> Iterator[Check]:
    """Before the store is opened: to open it would make its tables, or bring them up to date."""
    if server.schema == 0:
        yield check("store", "warning", words.NO_TABLES, words.NO_STORE_FIX, where=where(server))
    else:
        facts: dict[str, Any] = {"where": where(server), "schema": server.schema, "size": in_bytes(server.size)}
        yield check("store", "ok", words.SERVER_FINE, **facts)
    yield _about_durability(server)
    yield _about_offset(server.clock_offset, read_clock_tolerance(settings) or EngineSettings().clock_tolerance)
    yield check("backup", "ok", words.DUMPED, dump=server.dump_command)


def about_refusal(error: StoreError, place: str) -> Check:
    """Why it cannot be opened, and what would help, as whoever refused it said."""
    if not isinstance(error, Refusal):
        return check("store", "error", words.NOT_A_STORE, words.SERVER_FIX, path=place, problem=error)
    told = [error.in_language(each) for each in words.LANGUAGES]
    said, fix = Message(*(each.message for each in told)), Message(*(each.hint for each in told))
    return check("store", "error", plain_words(said), plain_words(fix))


def about_clocks(nodes: tuple[Node, ...]) -> Iterator[Check]:
    """Nodes correct their clocks to the server's; a machine that is far off is worth a look all the same."""
    off = [node for node in nodes if abs(node.offset) >= NOTEWORTHY]
    if off:
        names = ", ".join(sorted({node.host or node.id for node in off}))
        most = in_sentence(fine(max(abs(node.offset) for node in off)))
        yield check("node_clocks", "warning", words.NODE_CLOCKS, words.CLOCK_FIX, names=names, by=most)


def _about_durability(server: ServerStatus) -> Check:
    listed = ", ".join(f"{name} {value}" for name, value in server.settings.items())
    if not server.unsafe_settings:
        return check("durability", "ok", words.DURABLE, settings=listed)
    fix = filled(words.DURABLE_FIX, names=", ".join(server.unsafe_settings))
    return check("durability", "warning", words.NOT_DURABLE, fix, settings=listed)


def _about_offset(offset: timedelta, tolerance: timedelta) -> Check:
    if abs(offset) < NOTEWORTHY:
        return check("clock_offset", "ok", words.CLOCKS_AGREE, by=in_sentence(fine(abs(offset))))
    if abs(offset) <= tolerance:
        return check("clock_offset", "warning", words.CLOCK_IS_OFF, words.CLOCK_FIX, off=off_by(offset))
    facts: dict[str, Any] = {"off": off_by(offset), "tolerance": in_sentence(fine(tolerance))}
    return check("clock_offset", "error", words.CLOCK_TOO_FAR_OFF, words.CLOCK_FIX, **facts)
