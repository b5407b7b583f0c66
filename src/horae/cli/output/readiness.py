"""Prints why no node would run a task now, and the command that starts one."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ...choices import Language
from ...errors import HoraeError
from ...lifecycle.explain.explanation import RunningNodes
from ...runtime.process_settings import store_url
from ...runtime.stores import sqlite_path
from ...schedule.warnings import ScheduleWarning
from ...service.tasks.advisories import FUNCTION_CODES, Advisory
from ...service.tasks.functions.functions import start_command
from ..messages import messages
from ..session.servers import server_of
from .printer import Printer


class Readiness(NamedTuple):
    """The nodes that run, and the warning about the task's function where none of them can start it."""

    nodes: RunningNodes
    missing: Advisory | None = None


def node_start_command(out: Printer, source: str | None) -> str:
    """Return the command that starts a node with the functions of this file or module, from the current folder."""
    if source is None or server_of(out) is not None:
        return start_command(source)
    path = _shown_path(source) if source.endswith(".py") else None
    return start_command(source, "up" if _is_file(out) else "worker", path)


def advisory_text(out: Printer, warning: ScheduleWarning | Advisory, language: Language) -> str:
    """Return the warning, with the path of the function's file relative to the current folder."""
    text = warning.in_language(language)
    if isinstance(warning, Advisory) and warning.source is not None:
        text = text.replace(start_command(warning.source), node_start_command(out, warning.source))
    return text


def show_readiness(out: Printer, readiness: Readiness, shown: tuple[ScheduleWarning | Advisory, ...] = ()) -> None:
    """Print why no node runs the task now, unless a shown warning says it."""
    nodes, missing = readiness.nodes, readiness.missing
    warned = next((each for each in shown if each.code in FUNCTION_CODES), None)
    if missing is not None and warned is None:
        out.warn(advisory_text(out, missing, out.language))
    if missing is not None or warned is not None:
        # The warning names the file to start, where one is registered.
        if "function_unknown" in {each.code for each in (missing, warned) if each is not None} and not nodes.live:
            out.note(messages.NO_ENGINE_FILE)
    elif nodes.only_draining:
        out.note(messages.ONLY_DRAINING, node=nodes.draining[0])
    elif not nodes.live:
        out.note(messages.NO_ENGINE)


def _shown_path(source: str) -> str:
    path = Path(source)
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else source


def _is_file(out: Printer) -> bool:
    """Whether the store is a file of this machine, and not on a database server."""
    try:
        url = store_url(out.settings)
    except HoraeError:
        return True
    return sqlite_path(url) is not None
