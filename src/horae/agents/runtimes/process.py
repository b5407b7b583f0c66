"""Plain process as a runtime: limited and killed like the others, and not isolated; only for agents that are trusted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from ...ports.runtime import Enforcement, RuntimeSpec
from ..refusals import CATALOGUE
from .local import LocalRuntime
from .spec_check import DEFAULT_PATH
from .supervised import LaunchRequest, SupervisedProcess


class ProcessRuntime(LocalRuntime):
    """There are no mounts: a word of the program, of the environment, or the directory that is a path below the target of
    a mount becomes the path below its source. The operator must have allowed it.
    """

    is_isolated = False

    def __init__(self, install: str, *, is_allowed: bool = False, use_cgroup: bool = True) -> None:
        super().__init__(install, use_cgroup=use_cgroup)
        self._is_allowed = is_allowed

    @property
    def owner(self) -> tuple[int, int]:
        return os.geteuid(), os.getegid()

    async def check(self) -> Enforcement:
        self._require_permission()
        if not self._hierarchies and os.geteuid() == 0:
            raise CATALOGUE.refuse("runtime_unlimited")
        return self._enforcement() | {"scratch": "none"}

    async def start(self, spec: RuntimeSpec) -> SupervisedProcess:
        self._require_permission()
        return await super().start(spec)

    def request(self, spec: RuntimeSpec, cgroups: Sequence[str]) -> LaunchRequest:
        places = [(mount.target, mount.source) for mount in spec.mounts]
        places += [(socket.target, socket.source) for socket in spec.sockets]
        environment = {name: _translate(value, places) for name, value in spec.environment.items()}
        path = environment.get("PATH", DEFAULT_PATH)
        program, *arguments = (_translate(word, places) for word in spec.program)
        found = shutil.which(program, path=path) or program
        rlimits = self._rlimits(spec.limits)
        if not cgroups:
            # It counts all processes of the user.
            rlimits["processes"] = spec.limits.processes
        return LaunchRequest(
            argv=(found, *arguments),
            environment={"PATH": path, "HOME": "/", "LANG": "C.UTF-8", **environment, **self._marks(spec)},
            directory=_translate(spec.directory, places),
            rlimits=rlimits,
            no_new_privileges=True,
            cgroups=cgroups,
        )

    def _require_permission(self) -> None:
        if not self._is_allowed:
            raise CATALOGUE.refuse("runtime_not_isolated")


def _translate(word: str, places: Sequence[tuple[str, str]]) -> str:
    for target, source in places:
        if word == target or word.startswith(f"{target}/"):
            return source + word[len(target) :]
    return word
