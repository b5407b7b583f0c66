"""The runtime port: starts one isolated process with mounts, limits and sockets, and reaps what a dead host left behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, NamedTuple, Protocol, Self, TypeAlias

MIB = 1024 * 1024


class Mount(NamedTuple):
    """A directory or file of the host inside of the sandbox. `source` is canonical: absolute, without links."""

    source: str
    target: str
    writable: bool = False


class ForwardedSocket(NamedTuple):
    """A unix socket of the host that the process can connect to, also without a network: the way to its model."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Resources of one process with all its children. The caller limits the wall time, by `stop`."""

    memory: int = 2048 * MIB
    """Bytes."""
    processes: int = 256
    """Processes and threads."""
    cpus: float = 1.0
    """Processors, as a share: 0.5 is half of one."""
    open_files: int = 4096
    output: int = 10 * MIB
    """Bytes of stdout, and as many of stderr; a process that writes more is stopped."""
    scratch: int = 512 * MIB
    """Bytes of files in /tmp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeSpec:
    """What to start. Arguments and environment are visible to others on the machine: secrets go by stdin."""

    run: str
    """Names the process: letters, digits, `_`, `-` and `.`, at most 100; only one process at a time may have it."""
    program: Sequence[str]
    mounts: Sequence[Mount] = ()
    sockets: Sequence[ForwardedSocket] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    directory: str = "/"
    limits: Limits = field(default_factory=Limits)


class Output(NamedTuple):
    """A chunk of output, in order within its stream."""

    stream: Literal["stdout", "stderr"]
    data: bytes


ExitCause: TypeAlias = Literal["exited", "stopped", "memory_limit", "output_limit", "not_started", "lost"]


class Exit(NamedTuple):
    """How a process ended. `code` is its exit code, or 128 and the number of the signal that ended it.

    `is_process_limited`: it was refused a further process at its limit, as far as the runtime sees that.

    `exited`: by itself. `stopped`: by `stop`. `memory_limit`, `output_limit`: beyond a limit (a runtime that cannot see
    the first reports `exited` with the code 137). `not_started`: the sandbox could not be made; stderr says why.
    `lost`: its supervisor was killed.
    """

    code: int | None
    cause: ExitCause
    is_process_limited: bool = False


class RuntimeProcess(Protocol):
    """One started process. Leaving its context stops it at once and releases everything."""

    @property
    def name(self) -> str: ...

    async def write(self, data: bytes) -> None:
        """Write to stdin; returns when all is written, or when the process reads no more."""

    def close_input(self) -> None:
        """End stdin."""

    def output(self) -> AsyncIterator[Output]:
        """Yield the output until the process has ended; for one reader. A process whose output is not read waits, at a full pipe."""

    async def wait(self) -> Exit:
        """Wait for the end: nothing of the process is left then. Cancelling this stops nothing."""

    async def stop(self, grace: float = 0.0) -> Exit:
        """Ask the process to end (SIGTERM), kill it after `grace` seconds, and wait for its end."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


Enforcement: TypeAlias = Mapping[str, str]
"""Each limit by its name, with the mechanism that enforces it on this machine, such as `cgroup` or `rlimit`."""


class Runtime(Protocol):
    """Starts processes for one installation of Horae; processes of other installations are never touched."""

    @property
    def is_isolated(self) -> bool:
        """Whether the process sees only its mounts, and no network."""

    @property
    def owner(self) -> tuple[int, int]:
        """User and group that the process has on the host: a writable mount must belong to them."""

    async def check(self) -> Enforcement:
        """Return what enforces each limit here; raise a `Refusal` with a hint when the runtime does not work here."""

    async def start(self, spec: RuntimeSpec) -> RuntimeProcess:
        """Start the process; raise a `Refusal` for a spec that cannot work. It dies with this host process."""

    async def reap(self, keep: Collection[str] = ()) -> Sequence[str]:
        """End processes of this installation whose run is not in `keep`; return the runs."""
