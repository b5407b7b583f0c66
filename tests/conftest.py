"""One server of each kind for a whole test process, whichever folder asks for it; and failures in the shipped contracts
show what was compared, as those in the tests themselves do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# Who runs `horae up` in a test wants its engine; the tests of the server ask for that by themselves.
os.environ.setdefault("HORAE_API", "off")
# `horae` on PATH is the program under test: then printed commands begin with that name, however a test starts it.
os.environ["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))

pytest.register_assert_rewrite("horae.testing.contracts")

from tests.serial import pytest_runtest_protocol, pytest_unconfigure  # noqa: E402 - after the rewriting was asked for
from tests.servers.fixtures import (  # noqa: E402 - likewise
    mariadb_server,
    mariadb_url,
    postgres_server,
    postgres_url,
)
from tests.virtual_time import clock, pytest_asyncio_loop_factories  # noqa: E402 - likewise

__all__ = [
    "clock",
    "mariadb_server",
    "mariadb_url",
    "postgres_server",
    "postgres_url",
    "pytest_asyncio_loop_factories",
    "pytest_runtest_protocol",
    "pytest_unconfigure",
]
