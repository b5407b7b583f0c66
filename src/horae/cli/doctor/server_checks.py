"""Checks of `horae doctor` for a store on a database server: version, durability, TLS, and clock offsets."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from ...engine.settings import EngineSettings
from ...errors import Refusal, StoreError
from ...message import Message
from ...ports.store import Node
from ...runtime.plain_connection import plain_connection
from ...runtime.process_settings import read_clock_tolerance
from ...runtime.store_status import ServerStatus
from ...settings import Settings
from ..commands.operate.db import in_bytes
from ..messages import operating_messages as words
from ..output.formatting import duration_message, exact_duration
from ..output.server_store import NOTEWORTHY, clock_offset_message, fill_message, server_location
from .machine_checks import Check, escape_braces, make_check


def check_encryption(url: str) -> Iterator[Check]:
    """Yield a warning for a server on another machine whose URL requires no TLS."""
    connection = plain_connection(url)
    if connection is not None:
        fix = fill_message(words.PLAIN_FIX, option=connection.option)
        yield make_check("encryption", "warning", words.PLAIN_CONNECTION, fix, host=connection.host)


def check_database_server(server: ServerStatus, settings: Settings) -> Iterator[Check]:
    """Yield the checks of the server before the store is opened, since opening it creates or migrates tables."""
    if server.schema == 0:
        yield make_check("store", "warning", words.NO_TABLES, words.NO_STORE_FIX, where=server_location(server))
    else:
        facts: dict[str, Any] = {
            "where": server_location(server),
            "schema": server.schema,
            "size": in_bytes(server.size),
        }
        yield make_check("store", "ok", words.SERVER_FINE, **facts)
    yield _check_durability(server)
    yield _check_offset(server.clock_offset, read_clock_tolerance(settings) or EngineSettings().clock_tolerance)
    yield make_check("backup", "ok", words.DUMPED, dump=server.dump_command)


def refused_store(error: StoreError, place: str) -> Check:
    """Return why the store cannot be opened, with the hint of its refusal."""
    if not isinstance(error, Refusal):
        return make_check("store", "error", words.NOT_A_STORE, words.SERVER_FIX, path=place, problem=error)
    sentences = [error.in_language(each) for each in words.LANGUAGES]
    message = Message(*(each.message for each in sentences))
    fix = Message(*(each.hint for each in sentences))
    return make_check("store", "error", escape_braces(message), escape_braces(fix))


def check_node_clocks(nodes: tuple[Node, ...]) -> Iterator[Check]:
    """Yield a warning for nodes whose clock is off, although they correct it to the server's."""
    off = [node for node in nodes if abs(node.offset) >= NOTEWORTHY]
    if off:
        names = ", ".join(sorted({node.host or node.id for node in off}))
        most = duration_message(exact_duration(max(abs(node.offset) for node in off)))
        yield make_check("node_clocks", "warning", words.NODE_CLOCKS, words.CLOCK_FIX, names=names, by=most)


def _check_durability(server: ServerStatus) -> Check:
    listed = ", ".join(f"{name} {value}" for name, value in server.settings.items())
    if not server.unsafe_settings:
        return make_check("durability", "ok", words.DURABLE, settings=listed)
    fix = fill_message(words.DURABLE_FIX, names=", ".join(server.unsafe_settings))
    return make_check("durability", "warning", words.NOT_DURABLE, fix, settings=listed)


def _check_offset(offset: timedelta, tolerance: timedelta) -> Check:
    if abs(offset) < NOTEWORTHY:
        return make_check("clock_offset", "ok", words.CLOCKS_AGREE, by=duration_message(exact_duration(abs(offset))))
    if abs(offset) <= tolerance:
        return make_check(
            "clock_offset", "warning", words.CLOCK_IS_OFF, words.CLOCK_FIX, off=clock_offset_message(offset)
        )
    facts: dict[str, Any] = {
        "off": clock_offset_message(offset),
        "tolerance": duration_message(exact_duration(tolerance)),
    }
    return make_check("clock_offset", "error", words.CLOCK_TOO_FAR_OFF, words.CLOCK_FIX, **facts)
