"""Shared fixtures: one server of each kind per test process, and assertion rewriting of the shipped contracts."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.sizes import SOAK

# `make test` tries the same examples at every run, so that a failure can be repeated; `make soak-tests` tries new ones. Time
# limits belong to the benchmarks: a busy machine must not fail a property.
settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("search" if SOAK else "repeatable")

# `make soak-tests` runs the contracts on Valkey; `make test` runs them on Redis.
collect_ignore = [] if SOAK else ["contract/test_valkey.py"]

# Tests that run `horae up` need its engine; tests of the API set this themselves.
os.environ.setdefault("HORAE_API", "off")
# `horae` on PATH is the program under test, so that printed commands begin with that name.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

# A shell without a terminal starts background commands with SIGINT ignored. Programs under test would inherit that, and Ctrl-C
# would not end them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest.register_assert_rewrite("horae.testing.contracts")

from tests.collection import (  # noqa: E402 - after the rewriting was registered
    pytest_collection,
    pytest_collection_finish,
)
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
    redis_server,
    redis_url,
)
from tests.virtual_time import clock, pytest_asyncio_loop_factories  # noqa: E402 - after the rewriting was registered

__all__ = [
    "clock",
    "mariadb_server",
    "mariadb_url",
    "postgres_server",
    "postgres_url",
    "pytest_asyncio_loop_factories",
    "pytest_collection",
    "pytest_collection_finish",
    "pytest_collection_modifyitems",
    "pytest_runtest_protocol",
    "pytest_unconfigure",
    "python_root",
    "redis_server",
    "redis_url",
]
