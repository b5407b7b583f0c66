"""Common part of the runtimes without a daemon (bubblewrap, process): control group, labels, reaping."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ...clock import SystemClock
from ...ports.runtime import Limits, RuntimeSpec
from ..refusals import CATALOGUE
from . import host_processes
from .cgroup import Cgroup, Hierarchy, existing_groups, own_hierarchies
from .spec_check import check_install, check_spec, name_prefix, process_name
from .supervised import Ending, LaunchRequest, ReachedLimits, SupervisedProcess

_REAP_ATTEMPTS: Final = 100
_REAP_PAUSE: Final = 0.02


class LocalEnding(Ending):
    """Kills the remaining processes of one run, and removes its control group."""

    def __init__(self, install: str, run: str, group: Cgroup | None) -> None:
        self._install = install
        self._run = run
        self._group = group

    async def kill(self) -> None:
        host_processes.kill(host_processes.find_runs(self._install).get(self._run, []))

    async def release(self) -> ReachedLimits:
        if self._group is None:
            return ReachedLimits()
        reached = ReachedLimits(self._group.has_exceeded_memory(), self._group.has_reached_processes())
        await self._group.remove()
        return reached


class LocalRuntime:
    """Base class: a subclass makes the launch request of a spec."""

    def __init__(self, install: str, *, use_cgroup: bool = True) -> None:
        self._install = check_install(install)
        self._hierarchies: Sequence[Hierarchy] = own_hierarchies() if use_cgroup else ()

    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        raise NotImplementedError

    async def start(self, spec: RuntimeSpec) -> SupervisedProcess:
        check_spec(spec)
        name = process_name(self._install, spec.run)
        group = self._create_group(name, spec.limits) if self._hierarchies else None
        try:
            request = self.request(spec, [str(folder) for folder in group.folders] if group else [])
            marks = [f"{key}={value}" for key, value in self._marks(spec).items()]
            ending = LocalEnding(self._install, spec.run, group)
            return SupervisedProcess(name, request, spec.limits.output, ending, marks)
        except BaseException:
            if group is not None:
                group.try_remove()
            raise

    async def reap(self, keep: Collection[str] = ()) -> Sequence[str]:
        reaped: set[str] = set()
        for _ in range(_REAP_ATTEMPTS):
            found = {run: pids for run, pids in host_processes.find_runs(self._install).items() if run not in keep}
            if not found:
                break
            reaped |= found.keys()
            for processes in found.values():
                host_processes.kill(processes)
            await SystemClock().pause(_REAP_PAUSE)
        prefix = name_prefix(self._install)
        for name in existing_groups(self._hierarchies, prefix):
            if name.removeprefix(prefix) not in keep:
                group = Cgroup(self._hierarchies, name)
                if group.kill():
                    reaped.add(name.removeprefix(prefix))
                await group.remove()
        return sorted(reaped)

    def _create_group(self, name: str, limits: Limits) -> Cgroup:
        """Without its control group an agent is not started: it would have no limits."""
        try:
            return Cgroup.create(self._hierarchies, name, limits)
        except OSError as error:
            folder = self._hierarchies[0].parent / name
            raise CATALOGUE.refuse(
                "runtime_broken", runtime="cgroup", problem=error, command=f"mkdir {folder}"
            ) from None

    def _marks(self, spec: RuntimeSpec) -> Mapping[str, str]:
        return host_processes.marks(self._install, spec.run)

    def _rlimits(self, limits: Limits) -> dict[str, int]:
        """Without a control group the address space of each process is limited."""
        return {"open_files": limits.open_files} | ({} if self._hierarchies else {"address_space": limits.memory})

    def _enforcement(self) -> dict[str, str]:
        controllers = {name for each in self._hierarchies for name in each.controllers}
        return {
            "memory": "cgroup" if "memory" in controllers else "rlimit (each process)",
            "processes": "cgroup" if "pids" in controllers else "rlimit",
            "cpus": "cgroup" if "cpu" in controllers else "none",
            "open_files": "rlimit",
            "output": "host",
        }


async def run_once(process: SupervisedProcess, seconds: float) -> tuple[int | None, str]:
    """Run a short program; return its exit code, and what it wrote to stderr."""
    errors = b""
    async with process:
        process.close_input()
        try:
            async with asyncio.timeout(seconds):
                async for chunk in process.output():
                    errors += chunk.data if chunk.stream == "stderr" else b""
                return (await process.wait()).code, errors.decode(errors="replace").strip()
        except TimeoutError:
            return None, f"it did not end within {seconds:g} s"
