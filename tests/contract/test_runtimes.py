"""Every runtime of agents passes the runtime contract, with the real podman and bubblewrap; a missing one is a failure."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from horae.ports.runtime import Runtime
from horae.testing.contracts.runtimes import (
    RuntimeCase,
    RuntimeContract,
    RuntimeIsolationContract,
    RuntimeLimitsContract,
)
from tests.deploy.podman import Podman
from tests.servers.programs import program

from .runtime_host import open_runtime

HOST = Path(__file__).with_name("runtime_host.py")


@pytest.fixture(scope="module", autouse=True)
def _shared_root(python_root: Path) -> Iterator[None]:
    program("bwrap", package="bubblewrap")
    podman = Podman()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_CONF", str(podman.settings))
        RealRuntime.settings = {"root": str(python_root), "options": list(podman.options)}
        yield
        podman.clean()


class RealRuntime(RuntimeCase):
    settings: ClassVar[dict[str, Any]]
    kind: ClassVar[str]
    more: ClassVar[dict[str, Any]] = {}

    def runtime(self, install: str) -> Runtime:
        return open_runtime(self.kind, install, self.settings | self.more)

    def python(self) -> Sequence[str]:
        return ("python3",)

    def host_command(self, install: str, run: str, socket: Path) -> Sequence[str]:
        settings = json.dumps(self.settings | self.more)
        return (sys.executable, str(HOST), self.kind, install, run, str(socket), settings, *self.python())


class TestPodman(RealRuntime, RuntimeContract, RuntimeIsolationContract):
    kind = "podman"
    # The default seccomp profile of podman permits them.
    forbids_user_namespaces = False
    # It removes the container with its control group before they can be asked.
    reports_memory_limit = False
    reports_process_limit = False


class TestBubblewrap(RealRuntime, RuntimeContract, RuntimeIsolationContract):
    kind = "bubblewrap"


class TestBubblewrapWithoutControlGroup(RealRuntime, RuntimeLimitsContract):
    kind = "bubblewrap"
    more: ClassVar = {"use_cgroup": False}


class TestProcess(RealRuntime, RuntimeContract):
    kind = "process"

    def python(self) -> Sequence[str]:
        return (sys.executable, "-I")
