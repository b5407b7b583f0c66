"""Makes the runtime of the settings, and the program with the mounts that it needs inside of the sandbox."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from ..ports.runtime import ForwardedSocket, Mount, Runtime
from .protocol.input import MODEL_SOCKET
from .runtimes.bubblewrap import BubblewrapRuntime
from .runtimes.container import ContainerRuntime
from .runtimes.process import ProcessRuntime
from .settings import RUNNER, AgentSettings
from .workspace import IPC_TARGET, SESSION_TARGET

_MODULE: Final = "horae.agents.runner.main"
_PACKAGE_TARGET: Final = "/opt/horae/package/horae"
_LIBRARY_TARGET: Final = "/opt/horae/site-packages"
_MACHINE: Final = Path("/usr")


class Program(NamedTuple):
    """What the runtime starts for each agent."""

    words: Sequence[str]
    environment: Mapping[str, str]
    mounts: Sequence[Mount] = ()
    sockets: Sequence[ForwardedSocket] = ()


def install_name(directory: str) -> str:
    """Name of this installation: processes of another one are never reaped."""
    return "agents-" + blake2b(os.path.realpath(directory).encode(), digest_size=6).hexdigest()


def make_runtime(settings: AgentSettings, install: str) -> Runtime:
    match settings.runtime:
        case "bubblewrap":
            return BubblewrapRuntime(install, root=None if settings.root is None else Path(settings.root))
        case "process":
            return ProcessRuntime(install, is_allowed=settings.allow_process)
        case "podman" | "docker" as program:
            return ContainerRuntime(
                install,
                program=program,
                image=settings.image or "",
                rootfs=settings.root or "",
                options=settings.runtime_options,
            )


def make_program(settings: AgentSettings) -> Program:
    """Return the program; the runner of this package works in a sandbox without any further setting.

    An image, and a root of the operator, have an interpreter of their own; an image has the runner, too.
    """
    words, environment, mounts = list(settings.program), {"HOME": SESSION_TARGET}, list[Mount]()
    if words[0] == RUNNER and settings.image is None:
        python, found = _interpreter(settings)
        package, library = _package_places(settings)
        mounts = [*found, *package, *library]
        # A directory that is not mounted is visible by its own path.
        path = [str(Path(package[0].target).parent) if package else str(_package().parent)]
        path.append(library[0].target if library else _libraries())
        environment["PYTHONPATH"] = os.pathsep.join(path)
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        # First, so that the program of the mind `command`, after `--`, stays last.
        words = [python, "-m", _MODULE, "--input", f"{IPC_TARGET}/input", *words[1:]]
    socket = settings.model_socket
    sockets = () if socket is None else (ForwardedSocket(os.path.realpath(socket), MODEL_SOCKET),)
    return Program(words, environment, mounts, sockets)


def _interpreter(settings: AgentSettings) -> tuple[str, Sequence[Mount]]:
    """Return the interpreter inside, and the mount that it needs there."""
    if settings.runtime == "process":
        return sys.executable, ()
    if settings.root is not None:
        return "python3", ()
    prefix = Path(os.path.realpath(sys.base_prefix))
    executable = Path(os.path.realpath(sys.executable))
    if executable.is_relative_to(_MACHINE) or not executable.is_relative_to(prefix):
        return str(executable), ()
    # At the same path: the interpreter may look for its own library there, and would take that of another version.
    return str(executable), (Mount(str(prefix), str(prefix)),)


def _package_places(settings: AgentSettings) -> tuple[Sequence[Mount], Sequence[Mount]]:
    """Return the mounts of this package, and of the libraries beside it, as far as the sandbox does not see them."""
    if settings.runtime == "process":
        return (), ()
    library = Path(_libraries())
    # A root of the operator has its own libraries, which fit its interpreter.
    has_libraries = settings.root is not None or library.is_relative_to(_MACHINE)
    package = Mount(str(_package()), _PACKAGE_TARGET)
    return (package,), () if has_libraries else (Mount(str(library), _LIBRARY_TARGET),)


def _package() -> Path:
    return Path(os.path.realpath(__file__)).parents[1]


def _libraries() -> str:
    return os.path.realpath(sysconfig.get_path("purelib"))
