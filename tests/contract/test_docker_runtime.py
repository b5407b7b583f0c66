"""Docker passes the runtime contract with a dockerd of its own, a part of it in `make test`; a missing one is a failure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from horae.testing.contracts.runtimes import RuntimeContract, RuntimeIsolationContract, RuntimeOrphansContract
from tests.servers.docker import IMAGE, DockerServer
from tests.sizes import SOAK

from .test_runtimes import RealRuntime


@pytest.fixture(scope="module", autouse=True)
def _docker(python_root: Path) -> Iterator[None]:
    with DockerServer() as server:
        server.load_root(python_root)
        TestDocker.settings = {"image": IMAGE, "options": list(server.options)}
        yield


if SOAK:

    class Contract(RuntimeContract, RuntimeIsolationContract):
        """All of it: each start of docker takes half a second."""

else:

    class Contract(RuntimeOrphansContract, RuntimeIsolationContract):  # type: ignore[no-redef]
        """Where docker is not like podman: how containers are removed, and its defaults."""


class TestDocker(RealRuntime, Contract):
    kind = "docker"
    # It removes the container with its control group before they can be asked.
    reports_memory_limit = False
    reports_process_limit = False
