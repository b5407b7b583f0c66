"""`horae service`: the unit that lets systemd run Horae, with the right paths, and no password where others could read it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final, NamedTuple

import typer

from ..command import command
from ..command_groups import new_group
from ..messages import service_messages as words
from ..messages.service_refusals import refuse
from ..output.printer import Printer
from ..systemd import (
    MARK,
    UnitOptions,
    is_systemd_running,
    stop_unit,
    systemctl_command,
    unit_properties,
    unit_text,
    variable_line,
)

_HOMES: Final = ("/home", "/root", "/run/user")
_USER: Final = typer.Option(False, "--user", help="A service of yours, not of the whole machine.")
_WORKER: Final = typer.Option(False, "--worker", help="horae-worker@.service: engines alone, as many as you like.")
_ROOT: Final = typer.Option(None, "--root", metavar="FOLDER", help="For the system under this folder, as in an image.")


class Places(NamedTuple):
    """Where the files go, and how they are called by the system that is to have them."""

    unit: Path
    variables: Path
    named: str
    """The file of variables as the unit names it: without the folder of an image."""


def register(app: typer.Typer) -> None:
    family = new_group()
    command(family, "install")(install)
    command(family, "uninstall")(uninstall)
    command(family, "status")(status)
    app.add_typer(family, name="service", help="Let systemd run Horae on this machine.")


def install(
    out: Printer,
    *,
    place: str | None = typer.Argument(None, metavar="[FILE.py | MODULE[:APP]]", help="Where your functions are."),
    user: bool = _USER,
    worker: bool = _WORKER,
    root: Path | None = _ROOT,
) -> None:
    """Write the unit, and say what to do next; nothing is started."""
    _check_manager(root)
    store = _store(out, user=user, root=root)
    places = _places(user=user, worker=worker, root=root)
    program = _program(user=user)
    chosen = UnitOptions(program, user, worker, _place(place), places.named)
    _check_ours(places.unit)
    if store is not None and not places.variables.exists():
        _write(places.variables, variable_line("HORAE_STORE", store), 0o600)
        out.note(words.WROTE, path=places.variables)
    elif store is not None:
        out.note(words.KEPT_VARIABLES, path=places.variables)
    text = unit_text(chosen)
    same = places.unit.exists() and places.unit.read_text(encoding="utf-8") == text
    if not same:
        _write(places.unit, text, 0o644)
    _tell(out, chosen, places, same=same)


def uninstall(out: Printer, *, user: bool = _USER, worker: bool = _WORKER, root: Path | None = _ROOT) -> None:
    """Remove the unit; tasks and settings stay."""
    _check_manager(root)
    places = _places(user=user, worker=worker, root=root)
    _check_ours(places.unit, must_exist=True)
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


def status(out: Printer, *, user: bool = _USER, root: Path | None = _ROOT) -> None:
    """Say whether the unit is there, and how it stands."""
    places = _places(user=user, worker=False, root=root)
    _check_ours(places.unit, must_exist=True)
    known = unit_properties(places.unit.name, user=user) if root is None else {}
    if out.json:
        out.data({"unit": str(places.unit), "active": known.get("ActiveState"), "status": known.get("StatusText")})
    else:
        out.line(out.translate(words.INSTALLED, path=places.unit))
        _show(out, known)
    if known and known.get("ActiveState") != "active":
        raise typer.Exit(1)


# --- what is decided ---------------------------------------------------------------------------------------------------


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
    beneath = root.absolute()
    return Places(beneath / (units / name).relative_to("/"), beneath / variables.relative_to("/"), str(variables))


def _store(out: Printer, *, user: bool, root: Path | None) -> str | None:
    """The address that the service is to use; None: the one that it has anyway."""
    from ...runtime.stores import has_secret  # noqa: PLC0415 - `--help` does without

    variables = _places(user=user, worker=False, root=root).named
    if out.store is not None and has_secret(out.store):
        raise refuse("password_as_argument", variables=variables)
    store = out.store or os.environ.get("HORAE_STORE", "").strip() or None
    relative = store is not None and store.startswith("sqlite:///") and not store.startswith("sqlite:////")
    if store is not None and (relative or store.startswith("memory:") or "\n" in store):
        raise refuse("store_for_nobody", url=store)
    return store


def _program(*, user: bool) -> tuple[str, ...]:
    """This very Horae, by its whole path."""
    python = Path(sys.executable)
    beside = python.parent / "horae"
    seen = {str(python.parent.resolve()), str(python.resolve())}
    inside = sorted(each for each in seen if each.startswith(tuple(f"{home}/" for home in _HOMES)))
    if inside and not user:
        raise refuse("program_in_home", path=inside[0])
    return (str(beside),) if beside.exists() else (str(python), "-P", "-m", "horae")


def _place(place: str | None) -> str | None:
    if place is None or not place.partition(":")[0].endswith(".py"):
        return place
    file, mark, name = place.partition(":")
    path = Path(file).expanduser().absolute()
    if not path.is_file():
        raise refuse("no_such_app_file", path=path)
    return f"{path}{mark}{name}"


def _check_ours(unit: Path, *, must_exist: bool = False) -> None:
    if not unit.exists():
        if must_exist:
            raise refuse("not_installed", path=unit)
        return
    if not unit.read_text(encoding="utf-8", errors="replace").startswith(MARK):
        raise refuse("unit_not_ours", path=unit)


# --- what is done ------------------------------------------------------------------------------------------------------


def _write(path: Path, text: str, mode: int) -> None:
    """Complete or not there, and at no moment readable by more people than it should be."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        line = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(line, "w", encoding="utf-8") as file:
            file.write(text)
        fresh.chmod(mode)
        fresh.replace(path)
    except OSError as error:
        raise refuse("needs_root", path=path, problem=error.strerror) from None


def _instance(unit: str) -> str:
    return unit.replace("@.service", "@1") if "@" in unit else unit.removesuffix(".service")


def _steps(chosen: UnitOptions) -> list[str]:
    systemctl, name = systemctl_command(user=chosen.user), _instance(chosen.name)
    log = f"journalctl {'--user ' if chosen.user else ''}-u {name} -f"
    steps = [f"{systemctl} daemon-reload", f"{systemctl} enable --now {name}", log]
    return [*steps, "loginctl enable-linger"] if chosen.user else steps


def _tell(out: Printer, chosen: UnitOptions, places: Places, *, same: bool) -> None:
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


def _show(out: Printer, known: dict[str, str]) -> None:
    if not known:
        out.line(out.translate(words.NO_MANAGER))
        return
    since = known.get("StateChangeTimestamp") or "-"
    out.line(out.translate(words.STANDS, active=known.get("ActiveState"), sub=known.get("SubState"), since=since))
    if known.get("StatusText"):
        out.line(out.translate(words.SAYS, text=known["StatusText"]))
