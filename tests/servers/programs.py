"""Server programs: found on this machine, or installed as root when they are missing."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_DEBIAN_POSTGRES: Final = Path("/usr/lib/postgresql")
_SYSTEM_FOLDERS: Final = "/usr/local/sbin:/usr/sbin:/sbin"
_POLICY: Final = Path("/usr/sbin/policy-rc.d")


class ProgramMissing(RuntimeError):  # noqa: N818 - a condition of the machine, not a defect
    pass


def program(name: str, *, package: str) -> str:
    """Return the path of a program of this Debian package.

    Beside an installation by another test process it waits: the program is unpacked before its account is made.
    """
    with _installation_lock():
        found = _found(name)
    found = found or _installed(name, package)
    if found is None:
        raise ProgramMissing(
            f"the tests need the program {name} (Debian has it in the package {package}): install it, "
            f"or run the tests as root on a machine with apt-get"
        )
    return found


def package_file(path: Path, *, package: str) -> Path:
    """Return a file of this Debian package that is outside of the folders for programs."""
    with _installation_lock():
        is_there = path.exists()
    if not is_there:
        _install_unless(path.exists, package)
    if not path.exists():
        raise ProgramMissing(f"the tests need {path} (Debian has it in the package {package}): install it")
    return path


def account(name: str) -> str | None:
    """Return the account that a server runs under: servers refuse root, and only root can change accounts."""
    return name if os.geteuid() == 0 else None


def _found(name: str) -> str | None:
    # Debian's commands in PATH are wrappers around these, and ten times as slow to start.
    versions = sorted(_DEBIAN_POSTGRES.glob("*/bin"), key=_version, reverse=True)
    places = ":".join([*map(str, versions), os.environ.get("PATH", os.defpath), _SYSTEM_FOLDERS])
    return shutil.which(name, path=places)


def _version(folder: Path) -> float:
    try:
        return float(folder.parent.name)
    except ValueError:
        return 0.0


def _installed(name: str, package: str) -> str | None:
    _install_unless(lambda: _found(name) is not None, package)
    return _found(name)


def _install_unless(is_there: Callable[[], bool], package: str) -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    # Several test processes may need it at once: the first installs it.
    with _installation_lock():
        if not is_there():
            with _no_services():
                _install(package)


@contextmanager
def _installation_lock() -> Iterator[None]:
    with (Path(tempfile.gettempdir()) / f"horae-tests-{os.geteuid()}-apt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install(package: str) -> None:
    if not _apt("install", "--no-install-recommends", package):
        # The package lists are absent or too old.
        _apt("update")
        _apt("install", "--no-install-recommends", package)


def _apt(*words: str) -> bool:
    """Run apt; its errors appear in the output of the failing test."""
    command = ("apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", *words)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, check=False).returncode == 0


@contextmanager
def _no_services() -> Iterator[None]:
    """Debian starts installed services unless this file forbids it; the tests start their own."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink(missing_ok=True)
