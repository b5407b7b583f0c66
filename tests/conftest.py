"""Shared fixtures: one server of each kind per test process, and assertion rewriting of the shipped contracts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# Tests that run `horae up` need its engine; tests of the API set this themselves.
os.environ.setdefault("HORAE_API", "off")
# `horae` on PATH is the program under test, so that printed commands begin with that name.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

pytest.register_assert_rewrite("horae.testing.contracts")

from tests.contract.python_root import python_root  # noqa: E402 - after the rewriting was registered
from tests.serial import (  # noqa: E402 - after the rewriting was registered
    pytest_collection_modifyitems,
    pytest_runtest_protocol,
    pytest_unconfigure,
)
from tests.servers.fixtures import (  # noqa: E402 - after the rewriting was registered
    mariadb_server,
    mariadb_url,
    postgres_server,
    postgres_url,
)
from tests.virtual_time import clock, pytest_asyncio_loop_factories  # noqa: E402 - after the rewriting was registered

__all__ = [
    "clock",
    "mariadb_server",
    "mariadb_url",
    "postgres_server",
    "postgres_url",
    "pytest_asyncio_loop_factories",
    "pytest_collection_modifyitems",
    "pytest_runtest_protocol",
    "pytest_unconfigure",
    "python_root",
]
