"""Fixtures of tests with sandboxes: podman with the image of agents, and a folder that their user can enter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.agents.minds.sandbox import build_image
from tests.deploy.podman import Podman


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    made = Podman()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_CONF", str(made.settings))
        yield made
        made.clean()


@pytest.fixture(scope="session")
def image(podman: Podman, tmp_path_factory: pytest.TempPathFactory) -> str:
    return build_image(podman, tmp_path_factory.mktemp("image"))


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="horae-") as name:
        path = Path(name).resolve()
        path.chmod(0o755)
        yield path
