"""Every runtime of agents passes the runtime contract, with the real podman and bubblewrap; a missing one is a failure."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest

from horae.ports.runtime import Runtime
from horae.testing.contracts.runtimes import (
    RuntimeCase,
    RuntimeContract,
    RuntimeIsolationContract,
    RuntimeLimitsContract,
)
from tests.deploy.base_image import lay_out
from tests.deploy.podman import Podman
from tests.servers.programs import program

from .runtime_host import open_runtime

HOST = Path(__file__).with_name("runtime_host.py")


class SharedRoot:
    """A root file system with Python, for podman and bubblewrap; and podman's own folders."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        lay_out(self.root, [])
        folder.chmod(0o755)
        self.podman = Podman()

    @property
    def settings(self) -> dict[str, Any]:
        return {"root": str(self.root), "options": list(self.podman.options)}


@pytest.fixture(scope="module", autouse=True)
def shared_root() -> Iterator[None]:
    program("bwrap", package="bubblewrap")
    with TemporaryDirectory(prefix="horae-") as folder, pytest.MonkeyPatch.context() as patch:
        made = SharedRoot(Path(folder).resolve())
        patch.setenv("CONTAINERS_CONF", str(made.podman.settings))
        RealRuntime.shared = made
        yield
        made.podman.clean()


class RealRuntime(RuntimeCase):
    shared: ClassVar[SharedRoot]
    kind: ClassVar[str]
    more: ClassVar[dict[str, Any]] = {}

    def runtime(self, install: str) -> Runtime:
        return open_runtime(self.kind, install, self.shared.settings | self.more)

    def python(self) -> Sequence[str]:
        return ("python3",)

    def host_command(self, install: str, run: str, socket: Path) -> Sequence[str]:
        settings = json.dumps(self.shared.settings | self.more)
        return (sys.executable, str(HOST), self.kind, install, run, str(socket), settings, *self.python())


class TestPodman(RealRuntime, RuntimeContract, RuntimeIsolationContract):
    kind = "podman"
    # The default seccomp profile of podman permits them.
    forbids_user_namespaces = False


class TestBubblewrap(RealRuntime, RuntimeContract, RuntimeIsolationContract):
    kind = "bubblewrap"


class TestBubblewrapWithoutControlGroup(RealRuntime, RuntimeLimitsContract):
    kind = "bubblewrap"
    more: ClassVar = {"use_cgroup": False}


class TestProcess(RealRuntime, RuntimeContract):
    kind = "process"

    def python(self) -> Sequence[str]:
        return (sys.executable, "-I")
