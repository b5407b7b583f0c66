"""Directories of agents on the host: those of each group, the shared one, and those that no sandbox sees."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from ..model.agents.group import SHARED_FOLDER, Group
from ..ports.runtime import Mount

GROUP_TARGET: Final = "/workspace/group"
SHARED_TARGET: Final = "/workspace/global"
IPC_TARGET: Final = "/workspace/ipc"
SESSION_TARGET: Final = "/workspace/session"
"""Home of the agent inside: what its mind keeps between runs."""
MEMORY_FILE: Final = "CLAUDE.md"
_IPC_FOLDERS: Final = ("tasks", "messages", "input", "answers")


class Workspace(NamedTuple):
    """Layout below one directory, as in NanoClaw: `groups/<folder>`, `data/ipc/<folder>`, `data/sessions/<folder>`."""

    root: Path

    @property
    def ipc(self) -> Path:
        return self.root / "data" / "ipc"

    @property
    def shared(self) -> Path:
        return self.root / "groups" / SHARED_FOLDER

    @property
    def claimed(self) -> Path:
        """Requests that the host has claimed; on the file system of `ipc` and in no sandbox."""
        return self.root / "host" / "claimed"

    @property
    def reserved(self) -> Sequence[Path]:
        """Directories of which no group may mount a part: a process that writes to `data/ipc/<folder>` acts as that group."""
        return self.root / "data", self.root / "host", self.root / "groups"

    @property
    def quarantine(self) -> Path:
        return self.root / "host" / "quarantine"

    def group(self, folder: str) -> Path:
        return self.root / "groups" / folder

    def group_ipc(self, folder: str) -> Path:
        return self.ipc / folder

    def input(self, folder: str) -> Path:
        """Further messages for a live agent."""
        return self.ipc / folder / "input"

    def sessions(self, folder: str) -> Path:
        return self.root / "data" / "sessions" / folder

    def logs(self, folder: str) -> Path:
        """Logs of the runs of a group; on the host only."""
        return self.root / "host" / "logs" / folder

    def prepare(self, folder: str, owner: tuple[int, int]) -> None:
        """Make the directories of a group; those that its agent writes belong to the user of the runtime."""
        for path in (self.root, self.root / "host", self.logs(folder), self.claimed, self.quarantine):
            _make(path, 0o700)
        _make(self.shared, 0o755)
        inside = [self.group_ipc(folder) / name for name in _IPC_FOLDERS]
        for path in inside:
            # An earlier agent can have replaced it, by a link too.
            with suppress(FileNotFoundError):
                if not stat.S_ISDIR(path.lstat().st_mode):
                    path.unlink()
        for path in (self.group(folder), self.sessions(folder), self.group_ipc(folder), *inside):
            _make(path, 0o755)
            _give(path, owner)
        for directory in (self.shared, self.group(folder)):
            memory = directory / MEMORY_FILE
            if not os.path.lexists(memory):
                memory.touch(mode=0o644)
                if directory != self.shared:
                    _give(memory, owner)

    def mounts(self, group: Group) -> Sequence[Mount]:
        """Return the mounts that every agent of the group has."""
        return (
            Mount(str(self.group(group.folder)), GROUP_TARGET, writable=True),
            Mount(str(self.shared), SHARED_TARGET, writable=False),
            Mount(str(self.group_ipc(group.folder)), IPC_TARGET, writable=True),
            Mount(str(self.sessions(group.folder)), SESSION_TARGET, writable=True),
        )


def _make(path: Path, mode: int) -> None:
    """Make a directory that is missing. The look is much cheaper than the attempt to make one that is there."""
    if not path.is_dir():
        path.mkdir(mode=mode, parents=True, exist_ok=True)


def _give(path: Path, owner: tuple[int, int]) -> None:
    found = path.lstat()
    if (found.st_uid, found.st_gid) != owner and os.geteuid() == 0:
        os.chown(path, *owner, follow_symlinks=False)
