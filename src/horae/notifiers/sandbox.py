"""Confinement of the process that sends one message: vetted addresses only, no files, no other programs.

An audit hook sees every connection of every library in the process and cannot be removed, so that a service's plugin, a
redirect or a second name lookup cannot reach what the first check refused.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NoReturn

from ..outgoing.addresses import Networks, is_reachable, network_of, read_address

_CONNECTIONS: Final = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_PROGRAMS: Final = frozenset(
    {
        "subprocess.Popen",
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.startfile",
        "os.system",
        "pty.spawn",
        "ctypes.dlopen",
    }
)
_FILE_CHANGES: Final = frozenset(
    {
        "os.chmod",
        "os.chown",
        "os.link",
        "os.mkdir",
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.symlink",
        "os.truncate",
        "shutil.copyfile",
        "shutil.move",
        "shutil.rmtree",
    }
)
_WRITE_FLAGS: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_SYSTEM_FILES: Final = (
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/ssl",
    "/usr/share/zoneinfo",
    "/dev/null",
    "/dev/urandom",
)


class ForbiddenError(PermissionError):
    """Raised where the sandbox stops an operation."""


class Sandbox:
    """Records what it stopped, because plugins turn every error into a plain failure.

    `is_host_allowed`: an operator has allowed a schema that acts on this machine; addresses are vetted all the same.
    """

    def __init__(self, allowed: Networks, *, is_host_allowed: bool = False) -> None:
        self.networks: dict[str, None] = {}
        """Networks that were refused, in order."""
        self._allowed = allowed
        self._is_host_allowed = is_host_allowed
        libraries = (*sys.path, sys.prefix, sys.base_prefix)
        self._readable = (
            *(f"{os.path.realpath(each)}{os.sep}" for each in libraries if each and Path(each).is_dir()),
            *_SYSTEM_FILES,
        )

    def enter(self) -> None:
        """Confine this process for the rest of its life."""
        socket.getaddrinfo = _guarded_lookup(socket.getaddrinfo, self.check_address)
        sys.addaudithook(self.audit)

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Raise `ForbiddenError` for an operation that a message never needs."""
        if event in _CONNECTIONS:
            self._check_connection(*arguments[:2])
        elif self._is_host_allowed:
            return
        elif event == "open":
            self._check_file(arguments[0], arguments[2])
        elif event in _PROGRAMS or event in _FILE_CHANGES:
            raise ForbiddenError(event)

    def check_address(self, host: object) -> None:
        """Raise `ForbiddenError` unless the address is public or allowed; a name is refused, because it was not vetted."""
        address = read_address(str(host).partition("%")[0])
        if address is None:
            raise ForbiddenError("an address that is no IP address")
        if not is_reachable(address, self._allowed):
            self.networks[network_of(address)] = None
            raise ForbiddenError("an address that is not public")

    def _check_connection(self, connection: socket.socket, address: Any) -> None:
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            # `sendmsg` on a connected socket has no address: its connection was checked.
            if address is not None:
                self.check_address(address[0])
        elif not self._is_host_allowed:
            raise ForbiddenError("a socket of this machine")

    def _check_file(self, path: object, flags: int | None) -> None:
        if isinstance(path, int):
            return  # an open file, such as a pipe
        name = os.path.realpath(os.fsdecode(path)) if isinstance(path, str | bytes | os.PathLike) else ""
        is_written = bool((flags or 0) & _WRITE_FLAGS) and name != os.devnull
        if is_written or not name.startswith(self._readable):
            raise ForbiddenError("a file")


def _guarded_lookup(lookup: Callable[..., Any], check: Callable[[object], None]) -> Callable[..., Any]:
    """Return a name lookup that refuses a name if any of its addresses is refused."""

    def guarded(host: Any, *arguments: Any, **options: Any) -> Any:
        found = lookup(host, *arguments, **options)
        for each in found:
            check(each[4][0])
        return found

    return guarded


def refuse_redirects(session_class: Any) -> None:
    """Let sessions of the HTTP library return a redirect as the answer: a message goes where its owner said."""

    def no_target(_session: object, _response: object) -> None:
        return None

    session_class.get_redirect_target = no_target


def stop_process(code: int) -> NoReturn:
    os._exit(code)
