"""Server versions: which MySQL and MariaDB servers are supported."""

from __future__ import annotations

import pytest

from horae.stores.mysql.server_version import ServerVersion


@pytest.mark.parametrize(
    ("version", "kind", "numbers"),
    [
        ("10.11.6-MariaDB-0+deb12u1", "MariaDB", (10, 11, 6)),
        ("5.5.5-10.6.0-MariaDB", "MariaDB", (10, 6, 0)),
        ("11.4.2-MariaDB-log", "MariaDB", (11, 4, 2)),
        ("8.0.17", "MySQL", (8, 0, 17)),
        ("8.0.36-28", "MySQL", (8, 0, 36)),
        ("9.1.0-commercial", "MySQL", (9, 1, 0)),
    ],
)
def test_supported_servers_are_accepted(version: str, kind: str, numbers: tuple[int, ...]) -> None:
    server = ServerVersion.parse(version)
    assert (server.kind, server.numbers, server.is_supported) == (kind, numbers, True)


@pytest.mark.parametrize(
    "version", ["5.5.5-10.5.21-MariaDB", "10.3.39-MariaDB", "5.7.44-log", "8.0.16", "8.0.11-TiDB-v7.5.0", "", "unknown"]
)
def test_unsupported_servers_are_refused(version: str) -> None:
    assert not ServerVersion.parse(version).is_supported


def test_each_server_has_its_own_binary_collation() -> None:
    """Comparison is binary and includes trailing blanks; the servers name that collation differently."""
    assert ServerVersion.parse("10.11.6-MariaDB").collation == "utf8mb4_nopad_bin"
    assert ServerVersion.parse("8.4.0").collation == "utf8mb4_0900_bin"
