"""`horae service`: installs, removes and shows the systemd unit of Horae; store URLs with passwords go to a 0600 file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

import click

from ...command import CommandGroup
from ...messages import service_messages as words
from ...messages.service_messages import refuse
from ...output.printer import Printer
from ...parameters import FILE
from ...systemd import (
    MARK,
    UnitOptions,
    is_systemd_running,
    stop_unit,
    systemctl_command,
    unit_properties,
    unit_text,
    variable_line,
)

_HOME_FOLDERS: Final = ("/home", "/root", "/run/user")
_user_option: Final = click.option("--user", is_flag=True, help="A service of your user, not of the whole machine.")
_worker_option: Final = click.option(
    "--worker", is_flag=True, help="Install horae-worker@.service: engines without the API, any number of them."
)
_root_option: Final = click.option(
    "--root", type=FILE, metavar="FOLDER", help="Install for the system in this folder, such as an image."
)


class Places(NamedTuple):
    """Paths of the unit and of its environment file."""

    unit: Path
    variables: Path
    named: str
    """The environment file as the unit names it: without the root folder of an image."""


service_commands: Final = CommandGroup("service", help="Let systemd run Horae on this machine.")


@service_commands.command("install", local_only=True)
@click.argument(
    "place", required=False, metavar="[FILE.py | MODULE[:APP]]", help="Module or file of the app with your functions."
)
@_user_option
@_worker_option
@_root_option
def install(out: Printer, *, place: str | None, user: bool, worker: bool, root: Path | None) -> None:
    """Write the unit, and show what to do next; nothing is started."""
    _check_manager(root)
    store = _store(out, user=user, root=root)
    places = _places(user=user, worker=worker, root=root)
    program = _program(user=user)
    chosen = UnitOptions(program, user, worker, _absolute_app(place), places.named)
    _check_unit(places.unit)
    if store is not None and not places.variables.exists():
        _write(places.variables, variable_line("HORAE_STORE", store), 0o600)
        out.note(words.WROTE, path=places.variables)
    elif store is not None:
        out.note(words.KEPT_VARIABLES, path=places.variables)
    text = unit_text(chosen)
    same = places.unit.exists() and places.unit.read_text(encoding="utf-8") == text
    if not same:
        _write(places.unit, text, 0o644)
    _show_installed(out, chosen, places, same=same)


@service_commands.command("uninstall", local_only=True)
@_user_option
@_worker_option
@_root_option
def uninstall(out: Printer, *, user: bool, worker: bool, root: Path | None) -> None:
    """Remove the unit; tasks and settings stay."""
    _check_manager(root)
    places = _places(user=user, worker=worker, root=root)
    _check_unit(places.unit, must_exist=True)
    if root is None:
        stop_unit(places.unit.name, user=user)
    try:
        places.unit.unlink()
    except OSError as error:
        raise refuse("needs_root", path=places.unit, problem=error.strerror) from None
    if out.json:
        out.data({"removed": str(places.unit), "variables": str(places.variables)})
        return
    out.line(("✓ ", out.translate(words.REMOVED, path=places.unit)))
    out.note(words.DATA_STAYS, variables=places.variables)


@service_commands.command("status")
@_user_option
@_root_option
def status(out: Printer, *, user: bool, root: Path | None) -> None:
    """Show whether the unit is installed, and its state."""
    places = _places(user=user, worker=False, root=root)
    _check_unit(places.unit, must_exist=True)
    properties = unit_properties(places.unit.name, user=user) if root is None else {}
    if out.json:
        out.data(
            {"unit": str(places.unit), "active": properties.get("ActiveState"), "status": properties.get("StatusText")}
        )
    else:
        out.line(out.translate(words.INSTALLED, path=places.unit))
        _show_state(out, properties)
    if properties and properties.get("ActiveState") != "active":
        raise click.exceptions.Exit(1)


# --- paths and checks --------------------------------------------------------------------------------------------------


def _check_manager(root: Path | None) -> None:
    if root is None and not is_systemd_running():
        raise refuse("no_systemd")


def _places(*, user: bool, worker: bool, root: Path | None) -> Places:
    name = UnitOptions(worker=worker).name
    if user:
        settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
        units, variables = settings / "systemd" / "user", settings / "horae" / "horae.env"
    else:
        units, variables = Path("/etc/systemd/system"), Path("/etc/horae/horae.env")
    if root is None:
        return Places(units / name, variables, str(variables))
    image = root.absolute()
    return Places(image / (units / name).relative_to("/"), image / variables.relative_to("/"), str(variables))


def _store(out: Printer, *, user: bool, root: Path | None) -> str | None:
    """Return the store URL for the service; None: its default."""
    from ....runtime.stores import has_secret  # noqa: PLC0415 - `--help` does without

    variables = _places(user=user, worker=False, root=root).named
    if out.store is not None and has_secret(out.store):
        raise refuse("password_as_argument", variables=variables)
    store = out.store or os.environ.get("HORAE_STORE", "").strip() or None
    relative = store is not None and store.startswith("sqlite:///") and not store.startswith("sqlite:////")
    if store is not None and (relative or store.startswith("memory:") or "\n" in store):
        raise refuse("store_for_nobody", url=store)
    return store


def _program(*, user: bool) -> tuple[str, ...]:
    """Return the command that starts this installation of Horae, by absolute path."""
    python = Path(sys.executable)
    script = python.parent / "horae"
    paths = {str(python.parent.resolve()), str(python.resolve())}
    inside = sorted(each for each in paths if each.startswith(tuple(f"{home}/" for home in _HOME_FOLDERS)))
    if inside and not user:
        raise refuse("program_in_home", path=inside[0])
    return (str(script),) if script.exists() else (str(python), "-P", "-m", "horae")


def _absolute_app(place: str | None) -> str | None:
    if place is None or not place.partition(":")[0].endswith(".py"):
        return place
    file, mark, name = place.partition(":")
    path = Path(file).expanduser().absolute()
    if not path.is_file():
        raise refuse("no_such_app_file", path=path)
    return f"{path}{mark}{name}"


def _check_unit(unit: Path, *, must_exist: bool = False) -> None:
    if not unit.exists():
        if must_exist:
            raise refuse("not_installed", path=unit)
        return
    if not unit.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        raise refuse("unit_not_ours", path=unit)


# --- writing and output ------------------------------------------------------------------------------------------------


def _write(path: Path, text: str, mode: int) -> None:
    """Write the file atomically; its mode is set before the content is written."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.chmod(mode)
        draft.replace(path)
    except OSError as error:
        raise refuse("needs_root", path=path, problem=error.strerror) from None


def _instance_name(unit: str) -> str:
    return unit.replace("@.service", "@1") if "@" in unit else unit.removesuffix(".service")


def _steps(chosen: UnitOptions) -> list[str]:
    systemctl, name = systemctl_command(user=chosen.user), _instance_name(chosen.name)
    log = f"journalctl {'--user ' if chosen.user else ''}-u {name} -f"
    steps = [f"{systemctl} daemon-reload", f"{systemctl} enable --now {name}", log]
    return [*steps, "loginctl enable-linger"] if chosen.user else steps


def _show_installed(out: Printer, chosen: UnitOptions, places: Places, *, same: bool) -> None:
    steps = _steps(chosen)
    if out.json:
        out.data({"unit": str(places.unit), "variables": str(places.variables), "changed": not same, "next": steps})
        return
    out.line(("✓ ", out.translate(words.SAME if same else words.WROTE, path=places.unit)))
    for number, step in enumerate(steps):
        why = f"   ({out.translate(words.LINGER)})" if "linger" in step else ""
        out.line(("  ", (out.translate(words.NEXT) if number == 0 else "").ljust(6), " ", step, why))
    if chosen.worker:
        out.note(words.THEN_WORKER)


def _show_state(out: Printer, properties: dict[str, str]) -> None:
    if not properties:
        out.line(out.translate(words.NO_MANAGER))
        return
    since = properties.get("StateChangeTimestamp") or "-"
    out.line(
        out.translate(words.STANDS, active=properties.get("ActiveState"), sub=properties.get("SubState"), since=since)
    )
    if properties.get("StatusText"):
        out.line(out.translate(words.SAYS, text=properties["StatusText"]))
