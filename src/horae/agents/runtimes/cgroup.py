"""Control group of one agent: limits memory, processes and processor time of all its processes together (v1 and v2)."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ...clock import SystemClock
from ...ports.runtime import Limits

_REQUIRED: Final = ("memory", "pids")
_OPTIONAL: Final = ("cpu",)
_PERIOD: Final = 100_000
"""Microseconds in which the share of processors is counted."""
_REMOVE_ATTEMPTS: Final = 50
_REMOVE_PAUSE: Final = 0.02


class Hierarchy(NamedTuple):
    """A directory in which this process may create groups, with the controllers that it limits."""

    parent: Path
    controllers: tuple[str, ...]
    is_unified: bool


def find_hierarchies(mounts: str, own: str) -> Sequence[Hierarchy]:
    """Return where groups can be created, from /proc/self/mountinfo and /proc/self/cgroup; none unless all limits have one."""
    paths = dict(_own_paths(own))
    found: dict[str, Hierarchy] = {}
    for mount in mounts.splitlines():
        before, _, after = mount.partition(" - ")
        root, place = before.split()[3:5]
        kind, _, options = after.split(" ", 2)
        if kind == "cgroup":
            for name in {*_REQUIRED, *_OPTIONAL} & set(options.replace(" ", ",").split(",")):
                if name in paths:
                    found.setdefault(name, Hierarchy(_locate(place, root, paths[name]), (name,), is_unified=False))
        elif kind == "cgroup2" and "" in paths:
            # A group with processes cannot have limited children: those of an agent are beside that of the host.
            parent = _locate(place, root, paths[""]).parent
            enabled = _read(parent / "cgroup.subtree_control").split()
            for name in {*_REQUIRED, *_OPTIONAL} & set(enabled):
                found.setdefault(name, Hierarchy(parent, (name,), is_unified=True))
    usable = {name: each for name, each in found.items() if os.access(each.parent, os.W_OK)}
    if not all(name in usable for name in _REQUIRED):
        return ()
    return _merged(usable)


def _merged(found: Mapping[str, Hierarchy]) -> Sequence[Hierarchy]:
    """One entry for each directory: in a unified hierarchy all controllers share one."""
    by_parent: dict[Path, list[str]] = {}
    for name in (*_REQUIRED, *_OPTIONAL):
        if name in found:
            by_parent.setdefault(found[name].parent, []).append(name)
    return [Hierarchy(parent, tuple(names), found[names[0]].is_unified) for parent, names in by_parent.items()]


def own_hierarchies() -> Sequence[Hierarchy]:
    return find_hierarchies(_read(Path("/proc/self/mountinfo")), _read(Path("/proc/self/cgroup")))


class Cgroup:
    """The group of one run: `folders` are its directories, one for each hierarchy."""

    def __init__(self, hierarchies: Sequence[Hierarchy], name: str) -> None:
        self._hierarchies = hierarchies
        self.folders = [each.parent / name for each in hierarchies]

    @classmethod
    def create(cls, hierarchies: Sequence[Hierarchy], name: str, limits: Limits) -> Cgroup:
        """Create the group and set its limits; raise `OSError` when one cannot be set."""
        group = cls(hierarchies, name)
        try:
            for hierarchy, folder in zip(hierarchies, group.folders, strict=True):
                folder.mkdir(exist_ok=True)
                for controller in hierarchy.controllers:
                    _set_limit(hierarchy, folder, controller, limits)
        except OSError:
            group.try_remove()
            raise
        return group

    def has_exceeded_memory(self) -> bool:
        """Whether the kernel killed a process of the group at the memory limit."""
        return self._has_event("oom_kill", "memory.oom_control", "memory.events")

    def has_reached_processes(self) -> bool:
        """Whether the kernel refused the group a further process."""
        return self._has_event("max", "pids.events")

    def _has_event(self, name: str, *files: str) -> bool:
        lines = [
            line.split() for folder in self.folders for file in files for line in _read(folder / file).splitlines()
        ]
        return any(line[0] == name and int(line[1]) for line in lines)

    def kill(self) -> bool:
        """Kill all processes of the group; return whether there were any."""
        processes = {int(word) for folder in self.folders for word in _read(folder / "cgroup.procs").split()}
        for process in processes:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        return bool(processes)

    def try_remove(self) -> bool:
        """Remove the directories; return False while one still has processes."""
        for folder in self.folders:
            try:
                folder.rmdir()
            except FileNotFoundError:
                continue
            except OSError:
                return False
        return True

    async def remove(self) -> None:
        """Kill the remaining processes and remove the directories: a killed process leaves its group a moment later."""
        for _ in range(_REMOVE_ATTEMPTS):
            if self.try_remove():
                return
            self.kill()
            await SystemClock().pause(_REMOVE_PAUSE)


def existing_groups(hierarchies: Sequence[Hierarchy], prefix: str) -> Sequence[str]:
    names = {path.name for each in hierarchies for path in each.parent.glob(f"{prefix}*") if path.is_dir()}
    return sorted(names)


def _set_limit(hierarchy: Hierarchy, folder: Path, controller: str, limits: Limits) -> None:
    share = int(limits.cpus * _PERIOD)
    settings: Mapping[str, Sequence[tuple[str, str]]]
    if hierarchy.is_unified:
        settings = {
            "memory": [("memory.max", str(limits.memory))],
            "pids": [("pids.max", str(limits.processes))],
            "cpu": [("cpu.max", f"{share} {_PERIOD}")],
        }
        with suppress(OSError):  # without swap there is no such file
            if controller == "memory":
                (folder / "memory.swap.max").write_text("0")
    else:
        settings = {
            "memory": [("memory.limit_in_bytes", str(limits.memory)), ("memory.swappiness", "0")],
            "pids": [("pids.max", str(limits.processes))],
            "cpu": [("cpu.cfs_period_us", str(_PERIOD)), ("cpu.cfs_quota_us", str(share))],
        }
    for name, value in settings[controller]:
        (folder / name).write_text(value)


def _own_paths(own: str) -> Iterator[tuple[str, str]]:
    """Yield controllers with the group of this process; the unified hierarchy has the name ""."""
    for line in own.splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            yield name, path


def _locate(place: str, root: str, path: str) -> Path:
    relative = path.removeprefix(root) if root != "/" else path
    return Path(place) / relative.strip("/")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
