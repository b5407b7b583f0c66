"""`horae doctor`: checks of machine, settings, store and server, each with a fix."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import click

from ..command import Command
from ..messages import operating_messages as words
from ..output.printer import Printer
from ..output.styled_text import Style, StyledText, cell_width, terminal_width

if TYPE_CHECKING:
    from pathlib import Path

    from .machine_checks import Check

_SIGNS: Final[dict[str, tuple[str, Style]]] = {"ok": ("✓", "good"), "warning": ("!", "odd"), "error": ("✕", "bad")}


@click.command("doctor", cls=Command)
def doctor(out: Printer) -> None:
    """Check this deployment for problems; exit code 1 when there is an error."""
    found = _run_checks(out)
    errors = sum(each.grade == "error" for each in found)
    warnings = sum(each.grade == "warning" for each in found)
    if out.json:
        out.data({"errors": errors, "warnings": warnings, "checks": [_shape(out, each) for each in found]})
    else:
        for each in found:
            _show(out, each)
        out.line(("  ", out.translate(words.VERDICT, errors=errors, warnings=warnings)))
    if errors:
        raise click.exceptions.Exit(1)


def _run_checks(out: Printer) -> list[Check]:
    from ...clock import SystemClock  # noqa: PLC0415 - `--help` does without
    from ...errors import HoraeError  # noqa: PLC0415
    from ...runtime.process_settings import store_url  # noqa: PLC0415
    from ...runtime.store_status import driver_of  # noqa: PLC0415
    from ...runtime.stores import is_on_server  # noqa: PLC0415
    from ...runtime.unused_settings import find_unused_settings  # noqa: PLC0415
    from ..session.open_store import process_zone  # noqa: PLC0415
    from .machine_checks import (  # noqa: PLC0415
        ClockReading,
        check_clock,
        check_machine,
        check_python,
        check_settings,
        check_unused_settings,
        check_zones,
    )

    clock = SystemClock()
    before = ClockReading.read(clock)
    try:
        settings = out.settings
    except HoraeError as error:
        return [check_python(), check_settings(error)]
    url, remote = store_url(settings), _check_http_server(out)
    if isinstance(remote, list):
        folder, of_store = None, remote
    else:
        folder, of_store = (None, _check_database_server(out, url)) if is_on_server(url) else _check_store(out)
    return [
        check_python(driver_of(url) if is_on_server(url) else None),
        check_settings(settings),
        *check_unused_settings(find_unused_settings(settings, os.environ)),
        *of_store,
        check_clock(before, ClockReading.read(clock)),
        check_zones(process_zone(None, settings)),
        *check_machine(folder),
    ]


def _check_http_server(out: Printer) -> list[Check] | None:
    """Return the checks of the HTTP server that commands use; None where they use a store."""
    from ...errors import HoraeError  # noqa: PLC0415
    from ..session.servers import server_of  # noqa: PLC0415

    try:
        server = server_of(out)
    except HoraeError as error:
        from .http_checks import connection_failure  # noqa: PLC0415

        return [connection_failure(error)]
    if server is None:
        return None
    from .http_checks import check_server  # noqa: PLC0415

    return check_server(server, out)


def _check_database_server(out: Printer, url: str) -> list[Check]:
    from ...clock import SystemClock  # noqa: PLC0415
    from ...errors import StoreError  # noqa: PLC0415
    from ...runtime.store_status import read_server_status  # noqa: PLC0415
    from ..session.interruptible import run_interruptible  # noqa: PLC0415
    from ..session.open_store import display_location, run_with_existing_app  # noqa: PLC0415
    from .server_checks import check_database_server, check_encryption, refused_store  # noqa: PLC0415
    from .store_checks import check_store  # noqa: PLC0415

    try:
        server = run_interruptible(read_server_status(url, SystemClock()))
        found = [] if server is None else [*check_database_server(server, out.settings), *check_encryption(url)]
        if server is not None and server.schema:
            found += run_with_existing_app(out.settings, lambda app: check_store(app, out.settings, None, server))
    except StoreError as error:
        return [refused_store(error, display_location(out.settings))]
    return found


def _check_store(out: Printer) -> tuple[Path, list[Check]]:
    from pathlib import Path  # noqa: PLC0415

    from ...errors import StoreError  # noqa: PLC0415
    from ...message import Message  # noqa: PLC0415
    from ...runtime.process_settings import store_url  # noqa: PLC0415
    from ...runtime.stores import sqlite_path  # noqa: PLC0415
    from ..session.open_store import (  # noqa: PLC0415
        display_location,
        find_access_problem,
        run_with_existing_app,
    )
    from .machine_checks import escape_braces, make_check  # noqa: PLC0415
    from .server_checks import refused_store  # noqa: PLC0415
    from .store_checks import check_file, check_store  # noqa: PLC0415

    found = sqlite_path(store_url(out.settings))
    path = None if found is None else Path(found).absolute()
    if path is not None and not path.exists():
        return path.parent, [make_check("store", "warning", words.NO_STORE, words.NO_STORE_FIX, path=path)]
    obstacle = None if path is None else find_access_problem(path)
    if path is not None and obstacle is not None:
        refusal = obstacle.refusal()
        message = Message(*(refusal.in_language(each).message for each in ("en", "zh")))
        fix = Message(*(refusal.in_language(each).hint for each in ("en", "zh")))
        return path.parent, [make_check("store", "error", escape_braces(message), escape_braces(fix))]
    try:
        before = [] if path is None else list(check_file(path))
        return path.parent if path else Path.cwd(), [
            *before,
            *run_with_existing_app(out.settings, lambda app: check_store(app, out.settings, path)),
        ]
    except StoreError as error:
        if path is None:
            return Path.cwd(), [refused_store(error, display_location(out.settings))]
        damaged = make_check("store", "error", words.NOT_A_STORE, words.NOT_A_STORE_FIX, path=path, problem=error)
        return path.parent, [damaged]


def _shape(out: Printer, found: Check) -> dict[str, Any]:
    return {
        "check": found.code,
        "grade": found.grade,
        "message": _message(out, found),
        "fix": None if found.fix is None else out.translate(found.fix),
    }


def _message(out: Printer, found: Check) -> str:
    """Return the sentence; lists of names use the comma of the language."""
    facts = dict(found.facts)
    if out.language == "zh":
        facts |= {name: str(facts[name]).replace(", ", "、") for name in ("names", "present") if name in facts}
    return out.translate(found.message, **facts)


def _show(out: Printer, found: Check) -> None:
    """Print the check with its fix on the same line, or below on a narrow terminal."""
    sign, style = _SIGNS[found.grade]
    cell = ("  ", StyledText(sign, style), f" {_message(out, found)}")
    if found.fix is None or found.grade == "ok":
        out.line(cell)
        return
    fix = f"→ {out.translate(found.fix)}"
    whole = (*cell, StyledText(f"   {fix}", "dim"))
    if not out.on_terminal or cell_width(whole) <= terminal_width():
        out.line(whole)
    else:
        out.line(cell)
        out.line(("    ", StyledText(fix, "dim")))
