"""Podman and docker as a runtime, by their command line: no privileges, read-only root, no network, labels for reaping."""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Final, Literal

from ...clock import SystemClock
from ...ports.runtime import Enforcement, Limits, RuntimeSpec
from ..refusals import CATALOGUE
from . import host_processes
from .local import run_once
from .spec_check import DEFAULT_PATH, check_install, check_spec, name_prefix, process_name
from .supervised import Ending, LaunchRequest, SupervisedProcess

NOBODY: Final = (65534, 65534)
INSTALL_LABEL: Final = "horae.install"
RUN_LABEL: Final = "horae.run"
_CHECK_SECONDS: Final = 60.0
_COMMAND_SECONDS: Final = 60.0
_CLIENT_VARIABLES: Final = (
    "PATH",
    "HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "CONTAINER_HOST",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
)
"""The client needs these. No others: podman copies proxy settings, which may hold passwords, into the container."""
_NOT_STARTED: Final = 125
_REMOVAL_ATTEMPTS: Final = 100
_REMOVAL_PAUSE: Final = 0.05
_MAX_USER_PROCESSES: Final = 4096


class ContainerRuntime:
    """`options` precede the command, such as `--root`; `image` is the name of an image that is present.

    `rootfs` is a directory instead of an image (podman only). The container has the user `user`; rootless podman maps the
    user of this process to itself instead.
    """

    is_isolated = True

    def __init__(
        self,
        install: str,
        *,
        program: Literal["podman", "docker"] = "podman",
        image: str = "",
        rootfs: str = "",
        options: Sequence[str] = (),
        user: tuple[int, int] = NOBODY,
    ) -> None:
        if bool(image) == bool(rootfs) or (rootfs and program != "podman"):
            raise CATALOGUE.refuse(
                "runtime_spec", name="image", value=image, allowed="an image, or for podman a rootfs"
            )
        if image.startswith("-"):
            raise CATALOGUE.refuse("runtime_spec", name="image", value=image, allowed="the name of an image")
        self._install = check_install(install)
        self._program = program
        self._root = ("--rootfs", f"{rootfs}:O") if rootfs else (image,)
        self._options = tuple(options)
        self._keeps_user = program == "podman" and os.geteuid() != 0
        self._user = (os.geteuid(), os.getegid()) if self._keeps_user else user

    @property
    def owner(self) -> tuple[int, int]:
        return self._user

    async def check(self) -> Enforcement:
        spec = RuntimeSpec(run=f"check-{os.getpid()}", program=["sh", "-c", ":"], limits=Limits(processes=32))
        code, problem = await run_once(await self.start(spec), _CHECK_SECONDS)
        if code != 0:
            command = " ".join([self._program, *self._options, "run", "--rm", *self._root, "sh", "-c", ":"])
            raise CATALOGUE.refuse("runtime_broken", runtime=self._program, problem=problem, command=command)
        limits = ("memory", "processes", "cpus")
        return dict.fromkeys(limits, "cgroup") | {"open_files": "rlimit", "output": "host", "scratch": "tmpfs"}

    async def start(self, spec: RuntimeSpec) -> SupervisedProcess:
        check_spec(spec)
        name = process_name(self._install, spec.run)
        client = self._client()
        request = LaunchRequest(
            argv=[*client, *self.run_arguments(spec)],
            environment=_client_environment(),
            # Not `stop`, which locks the container while it waits.
            stop=[*client, "kill", "--signal", "TERM", name],
            kill=[*client, *self._remove(name)],
            # The monitor of a container is an orphan by intention.
            adopts=False,
        )
        marks = [f"{key}={value}" for key, value in self._marks(spec).items()]
        return _ContainerProcess(name, request, spec.limits.output, _Removal(self, name), marks)

    def run_arguments(self, spec: RuntimeSpec) -> Sequence[str]:
        """The command `run`. Nothing of it is secret: other users can read the arguments of a process."""
        limits = spec.limits
        environment = {"PATH": DEFAULT_PATH, "HOME": "/tmp", "LANG": "C.UTF-8", **spec.environment, **self._marks(spec)}  # noqa: S108 - inside
        return [
            *("run", "--rm", "--interactive", "--init", "--pull", "never", "--log-driver", "none"),
            *("--name", process_name(self._install, spec.run), "--hostname", "agent"),
            *("--label", f"{INSTALL_LABEL}={self._install}", "--label", f"{RUN_LABEL}={spec.run}"),
            *("--network", "none", "--read-only", *self._podman_flags()),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
            *("--user", f"{self._user[0]}:{self._user[1]}"),
            *("--memory", str(limits.memory), "--memory-swap", str(limits.memory)),
            *("--pids-limit", str(limits.processes), "--cpus", f"{limits.cpus:g}"),
            *_ulimit("nofile", min(limits.open_files, _hard_limit(resource.RLIMIT_NOFILE))),
            # It counts all processes of the user, also of other containers. Podman's default may exceed what is permitted.
            *_ulimit("nproc", min(_MAX_USER_PROCESSES, _hard_limit(resource.RLIMIT_NPROC))),
            *_ulimit("core", 0),
            *("--tmpfs", f"/tmp:rw,exec,nosuid,nodev,size={limits.scratch},mode=1777"),  # noqa: S108 - inside
            *(word for mount in spec.mounts for word in _bind(mount.source, mount.target, writable=mount.writable)),
            *(word for each in spec.sockets for word in _bind(each.source, each.target, writable=True)),
            *(word for name, value in environment.items() for word in ("--env", f"{name}={value}")),
            *("--workdir", spec.directory, "--entrypoint", "", *self._root, *spec.program),
        ]

    async def reap(self, keep: Collection[str] = ()) -> Sequence[str]:
        # The launchers first: one of them may be about to start a container.
        runs = {run: pids for run, pids in host_processes.find_runs(self._install).items() if run not in keep}
        for processes in runs.values():
            host_processes.kill(processes)
        found = set(await self._list_runs()) - set(keep)
        for run in found:
            await self.remove(process_name(self._install, run))
        await self._wait_for_removal(found)
        return sorted((runs.keys() | found) - set(keep))

    async def _list_runs(self) -> Sequence[str]:
        prefix = name_prefix(self._install)
        listed = await self._run(
            "ps", "--all", "--filter", f"label={INSTALL_LABEL}={self._install}", "--format", "{{.Names}}"
        )
        return [name.removeprefix(prefix) for name in listed.split() if name.startswith(prefix)]

    async def _wait_for_removal(self, runs: Collection[str]) -> None:
        """Docker refuses to remove a container that it is removing already, as it does at the end of its program."""
        clock = SystemClock()
        for _ in range(_REMOVAL_ATTEMPTS):
            if not runs or not set(runs).intersection(await self._list_runs()):
                return
            await clock.pause(_REMOVAL_PAUSE)

    async def remove(self, name: str) -> None:
        await self._run(*self._remove(name))

    def _remove(self, name: str) -> Sequence[str]:
        return ("rm", "--force", *(("--time", "0") if self._program == "podman" else ()), name)

    def _podman_flags(self) -> Sequence[str]:
        if self._program != "podman":
            return ()
        # Podman would add temporary directories without a limit.
        return ("--read-only-tmpfs=false", *(("--userns", "keep-id") if self._keeps_user else ()))

    def _marks(self, spec: RuntimeSpec) -> Mapping[str, str]:
        return host_processes.marks(self._install, spec.run)

    def _client(self) -> Sequence[str]:
        program = shutil.which(self._program)
        if program is None:
            package = "podman" if self._program == "podman" else "docker.io"
            raise CATALOGUE.refuse("runtime_missing", program=self._program, package=package)
        return (program, *self._options)

    async def _run(self, *words: str) -> str:
        """Run another command of the client; return its output, whatever its exit code."""
        process = await asyncio.create_subprocess_exec(
            *self._client(),
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_client_environment(),
        )
        try:
            async with asyncio.timeout(_COMMAND_SECONDS):
                output, _ = await process.communicate()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        return output.decode(errors="replace")


class _Removal(Ending):
    def __init__(self, runtime: ContainerRuntime, name: str) -> None:
        self._runtime = runtime
        self._name = name

    async def kill(self) -> None:
        await self._runtime.remove(self._name)


class _ContainerProcess(SupervisedProcess):
    not_started_codes = frozenset({_NOT_STARTED})


def _client_environment() -> Mapping[str, str]:
    return {name: os.environ[name] for name in _CLIENT_VARIABLES if name in os.environ}


def _ulimit(name: str, value: int) -> Sequence[str]:
    return ("--ulimit", f"{name}={value}:{value}")


def _hard_limit(which: int) -> int:
    hard = resource.getrlimit(which)[1]
    return sys.maxsize if hard == resource.RLIM_INFINITY else hard


def _bind(source: str, target: str, *, writable: bool) -> Sequence[str]:
    return ("--mount", f"type=bind,source={source},target={target}{'' if writable else ',readonly'}")
