"""`horae doctor`: checks of machine, settings, store and server, each with a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from ..command import Command
from ..messages import operating_messages as words
from ..output.printer import Printer
from ..output.styled_text import Style, StyledText, cell_width, terminal_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...ports.doctor import Check
    from ...runtime.deployment_examiner import DeploymentExaminer
    from ...settings import Settings
    from .http_checks import ServerFindings

_SIGNS: Final[dict[str, tuple[str, Style]]] = {
    "ok": ("✓", "good"),
    "warning": ("!", "odd"),
    "error": ("✕", "bad"),
    "skipped": ("–", "dim"),
}


@click.command("doctor", cls=Command)
def doctor(out: Printer) -> None:
    """Check this deployment for problems; exit code 1 when there is an error."""
    here, of_server = _run_checks(out)
    found = [*here, *(of_server or ())]
    errors = sum(each.grade == "error" for each in found)
    warnings = sum(each.grade == "warning" for each in found)
    if out.json:
        checks = [_shape(out, each) for each in here]
        server_checks = None if of_server is None else [_shape(out, each) for each in of_server]
        out.data({"errors": errors, "warnings": warnings, "checks": checks, "server_checks": server_checks})
    else:
        for each in here:
            _show(out, each)
        if of_server is not None:
            out.line(("  ", out.translate(words.ON_THE_SERVER)))
            for each in of_server:
                _show(out, each)
        out.line(("  ", out.translate(words.VERDICT, errors=errors, warnings=warnings)))
    if errors:
        raise click.exceptions.Exit(1)


def _run_checks(out: Printer) -> tuple[Sequence[Check], Sequence[Check] | None]:
    """Return the checks that this process makes, and those that a server has made of itself; None: at a store."""
    from ...clock import SystemClock  # noqa: PLC0415 - `--help` does without
    from ...doctor.machine_checks import ClockReading, check_python, check_settings  # noqa: PLC0415
    from ...errors import HoraeError  # noqa: PLC0415
    from ...runtime.deployment_examiner import (  # noqa: PLC0415
        UNLIMITED,
        Deployment,
        DeploymentExaminer,
        driver_versions,
    )
    from ...runtime.process_settings import process_zone, store_url  # noqa: PLC0415
    from ...runtime.stores import DEFAULT_STORE  # noqa: PLC0415
    from ..session.interruptible import run_interruptible  # noqa: PLC0415

    clock = SystemClock()
    before = ClockReading.read(clock)
    try:
        settings = out.settings
    except HoraeError as error:
        return [check_python(driver_versions(DEFAULT_STORE)), check_settings(error)], None
    remote = _check_http_server(out)
    deployment = Deployment(store_url(settings), settings, process_zone(None, settings))
    examiner = DeploymentExaminer(deployment, clock, UNLIMITED, checks_disk=remote is None)
    if remote is not None:
        return run_interruptible(examiner.assemble(remote.checks, before)), remote.of_server
    return run_interruptible(examiner.assemble(_check_store(examiner, settings), before)), None


def _check_http_server(out: Printer) -> ServerFindings | None:
    """Return the checks of the HTTP server that commands use; None where they use a store."""
    from ...errors import HoraeError  # noqa: PLC0415
    from ..session.servers import server_of  # noqa: PLC0415

    try:
        server = server_of(out)
    except HoraeError as error:
        from .http_checks import ServerFindings, connection_failure  # noqa: PLC0415

        return ServerFindings([connection_failure(error)])
    if server is None:
        return None
    from .http_checks import check_server  # noqa: PLC0415

    return check_server(server, out)


def _check_store(examiner: DeploymentExaminer, settings: Settings) -> Sequence[Check]:
    """Look at the store before it is opened: one that does not exist is not created, and a damaged one not touched."""
    from ...errors import StoreError  # noqa: PLC0415
    from ..session.interruptible import run_interruptible  # noqa: PLC0415
    from ..session.open_store import run_with_existing_app  # noqa: PLC0415

    survey = run_interruptible(examiner.survey_store())
    if not survey.can_open:
        return survey.checks
    try:
        return run_with_existing_app(settings, lambda app: examiner.examine_after(survey, app.service))
    except StoreError as error:
        return [examiner.damaged_store(error)]


def _shape(out: Printer, found: Check) -> dict[str, Any]:
    from ...wire.doctor import check_json  # noqa: PLC0415 - text does without
    from ..output.command_hints import complete_commands  # noqa: PLC0415 - it imports the printer

    # Commands in the sentences name the store of this command.
    message = out.translate(found.message, **found.facts_in(out.language))
    shape = {**check_json(found, out.language), "message": message}
    if found.fix is not None:
        shape["fix"] = out.translate(found.fix.text)
        shape["command"] = None if found.fix.command is None else complete_commands(out, found.fix.command)
    return shape


def _show(out: Printer, found: Check) -> None:
    """Print the check with its fix on the same line, or below on a narrow terminal."""
    sign, style = _SIGNS[found.grade]
    cell = ("  ", StyledText(sign, style), f" {out.translate(found.message, **found.facts_in(out.language))}")
    if found.fix is None or found.grade == "ok":
        out.line(cell)
        return
    fix = f"→ {out.translate(found.fix.text)}"
    whole = (*cell, StyledText(f"   {fix}", "dim"))
    if not out.on_terminal or cell_width(whole) <= terminal_width():
        out.line(whole)
    else:
        out.line(cell)
        out.line(("    ", StyledText(fix, "dim")))
