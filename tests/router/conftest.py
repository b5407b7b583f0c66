"""Fixtures: one cluster for tests that change no deployment, and one of its own for each that does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.router.deployments import Cluster, run_cluster


@pytest.fixture(scope="module")
def shared_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    yield from _prepared(tmp_path_factory.mktemp("cluster"))


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    yield from _prepared(tmp_path)


def _prepared(folder: Path) -> Iterator[Cluster]:
    with run_cluster(folder) as cluster:
        asyncio.run(cluster.make_owners())
        yield cluster
