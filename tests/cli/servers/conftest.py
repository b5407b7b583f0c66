"""Fixtures for a store on a database server whose address has a password, which must never be printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cli.command_line import Cli
from tests.cli.operating.deployment import Deployment

PASSWORD: Final = "hush-4711-hush"  # noqa: S105 - the server does not check it


def with_password(url: str) -> str:
    user, _, place = url.partition("@")
    return f"{user}:{PASSWORD}@{place}"


@pytest.fixture
def url(postgres_url: str) -> str:
    return with_password(postgres_url)


@pytest.fixture
def remote_store(tmp_path: Path, url: str) -> Cli:
    made = Cli(tmp_path)
    made.url = url
    return made


@pytest.fixture
def deployment(tmp_path: Path, url: str) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    made.url = url
    yield made
    made.end()
