"""Stores of host tests: what a host may not lose holds on each of them."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["memory", "sqlite", "postgres", "mariadb"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of an empty store of each kind; the database servers are shared by all tests of the process."""
    match request.param:
        case "memory":
            return "memory://"
        case "sqlite":
            return f"sqlite:///{tmp_path}/horae.db"
        case _:
            return str(request.getfixturevalue(f"{request.param}_url"))
