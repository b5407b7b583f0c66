"""What `horae service` asks of systemd itself, by its own command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

_BOOTED: Final = Path("/run/systemd/system")
_PROPERTIES: Final = "ActiveState,SubState,StatusText,StateChangeTimestamp"
_PATIENCE_SECONDS: Final = 60.0


def runs_here() -> bool:
    """Whether this machine was booted by it, as its own documentation tells to find out."""
    return _BOOTED.exists()


def manager(*, user: bool) -> str:
    """The command that speaks with it."""
    return "systemctl --user" if user else "systemctl"


def known_of(unit: str, *, user: bool) -> dict[str, str]:
    """How a unit stands, by the names of its properties; nothing where nobody can be asked."""
    done = _asked("show", unit, f"--property={_PROPERTIES}", user=user)
    return dict(line.split("=", 1) for line in done.splitlines() if "=" in line)


def ended(unit: str, *, user: bool) -> None:
    """Stopped in good order, all instances of it, and never begun again with the machine."""
    _asked("stop", unit.replace("@.", "@*."), user=user)
    _asked("disable", unit, user=user)


def _asked(*words: str, user: bool) -> str:
    program = shutil.which("systemctl")
    if program is None or not runs_here():
        return ""
    command = [program, *(["--user"] if user else []), *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=_PATIENCE_SECONDS)  # noqa: S603
    return done.stdout
