"""Bubblewrap as a runtime: namespaces without a daemon or an image; the root is a directory or the machine's own /usr."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from ...ports.runtime import Enforcement, Limits, RuntimeSpec
from ..refusals import CATALOGUE
from .local import LocalRuntime, run_once
from .spec_check import DEFAULT_PATH, check_source
from .supervised import LaunchRequest

NOBODY: Final = (65534, 65534)
_CHECK_SECONDS: Final = 10.0
_SCRATCH: Final = "/tmp"  # noqa: S108 - inside of the sandbox
_MACHINE_FOLDERS: Final = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_MACHINE_SETTINGS: Final = (
    "etc/alternatives",
    "etc/ld.so.cache",
    "etc/localtime",
    "etc/ssl/certs",
    "etc/ca-certificates.conf",
)
"""Of /etc only these: the rest may hold secrets."""
_ROOT_LEFT_OUT: Final = frozenset({"proc", "dev", "sys", "tmp", "run", "mnt", "workspace"})


class BubblewrapRuntime(LocalRuntime):
    """As root, the sandbox has an unprivileged user, `user`; otherwise the user of this process.

    The memory and processes of the whole sandbox are limited by a control group where this process can create one;
    otherwise the address space of each process, and the number of processes by a limit that counts the sandbox only.
    """

    is_isolated = True

    def __init__(
        self,
        install: str,
        *,
        root: Path | None = None,
        user: tuple[int, int] = NOBODY,
        use_cgroup: bool = True,
        program: str = "bwrap",
    ) -> None:
        super().__init__(install, use_cgroup=use_cgroup)
        self._root = None if root is None else root.resolve()
        self._user = user if os.geteuid() == 0 else None
        self._program = program

    @property
    def owner(self) -> tuple[int, int]:
        return self._user or (os.geteuid(), os.getegid())

    async def check(self) -> Enforcement:
        spec = RuntimeSpec(
            run=f"check-{os.getpid()}", program=["sh", "-c", ":"], limits=Limits(processes=16, scratch=65536)
        )
        code, problem = await run_once(await self.start(spec), _CHECK_SECONDS)
        if code != 0:
            command = f"{self._program} --unshare-all --ro-bind / / true"
            raise CATALOGUE.refuse("runtime_broken", runtime="bubblewrap", problem=problem, command=command)
        return self._enforcement() | {"scratch": "tmpfs"}

    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        program = shutil.which(self._program)
        if program is None:
            raise CATALOGUE.refuse("runtime_missing", program=self._program, package="bubblewrap")
        binds = [*self._root_binds(), *((each.source, each.target, each.writable) for each in spec.mounts)]
        # Connecting to a socket needs a writable mount.
        binds += [(each.source, each.target, True) for each in spec.sockets]
        is_staged = self._user is not None
        places = [(f"/tmp/{number}", *bind[1:]) for number, bind in enumerate(binds)] if is_staged else binds  # noqa: S108 - of the stage
        is_gated = not cgroups
        environment = {"PATH": DEFAULT_PATH, "HOME": "/tmp", "LANG": "C.UTF-8", **spec.environment, **self._marks(spec)}  # noqa: S108 - inside
        return LaunchRequest(
            argv=[
                program,
                *(
                    "--unshare-all",
                    "--unshare-user",
                    "--disable-userns",
                    "--die-with-parent",
                    "--new-session",
                    "--clearenv",
                ),
                *("--json-status-fd", "{status}", *(("--block-fd", "{gate}") if is_gated else ())),
                *("--hostname", "agent"),
                *(word for source, target, writable in places for word in _bind(source, target, writable=writable)),
                *self._root_links(),
                *("--dev", "/dev", "--proc", "/proc"),
                *("--perms", "1777", "--size", str(spec.limits.scratch), "--tmpfs", _SCRATCH),
                *("--remount-ro", "/", "--chdir", spec.directory),
                *(word for name, value in environment.items() for word in ("--setenv", name, value)),
                "--",
                *spec.program,
            ],
            # The labels are here too, so that the monitor of the sandbox is found by them.
            environment=self._marks(spec),
            rlimits=self._rlimits(spec.limits),
            processes=spec.limits.processes,
            user=self._user,
            no_new_privileges=True,
            cgroups=cgroups,
            stage=[(source, writable) for source, _, writable in binds] if is_staged else (),
            has_status=True,
            gated=is_gated,
        )

    def _root_binds(self) -> Iterator[tuple[str, str, bool]]:
        for path in self._root_entries():
            if not path.is_symlink():
                yield str(path), f"/{path.relative_to(self._root or '/')}", False
        if self._root is None:
            for name in _MACHINE_SETTINGS:
                if (source := Path("/", name)).exists():
                    yield os.path.realpath(source), f"/{name}", False

    def _root_links(self) -> Iterator[str]:
        """On most systems /bin and /lib are links into /usr."""
        for path in self._root_entries():
            if path.is_symlink():
                yield from ("--symlink", str(path.readlink()), f"/{path.name}")

    def _root_entries(self) -> Iterator[Path]:
        if self._root is None:
            yield from (path for name in _MACHINE_FOLDERS if (path := Path("/", name)).exists())
            return
        check_source(str(self._root))
        yield from (path for path in sorted(self._root.iterdir()) if path.name not in _ROOT_LEFT_OUT)


def _bind(source: str, target: str, *, writable: bool) -> Sequence[str]:
    return ("--bind" if writable else "--ro-bind", source, target)
