"""One server of each kind for a whole test process, whichever folder asks for it."""

from __future__ import annotations

from tests.servers.fixtures import mariadb_server, mariadb_url, postgres_server, postgres_url

__all__ = ["mariadb_server", "mariadb_url", "postgres_server", "postgres_url"]
