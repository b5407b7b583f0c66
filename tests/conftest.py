"""One server of each kind for a whole test process, whichever folder asks for it; and failures in the shipped contracts
show what was compared, as those in the tests themselves do."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("horae.testing.contracts")

from tests.servers.fixtures import (  # noqa: E402 - after the rewriting was asked for
    mariadb_server,
    mariadb_url,
    postgres_server,
    postgres_url,
)

__all__ = ["mariadb_server", "mariadb_url", "postgres_server", "postgres_url"]
