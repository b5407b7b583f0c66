"""Printed backup commands name the server of the store and no password."""

from __future__ import annotations

import pytest

from horae.stores.mysql.address import Address as MySQLAddress
from horae.stores.postgres.address import Address as PostgresAddress


@pytest.mark.parametrize(
    ("url", "options"),
    [
        (
            "postgresql://ada:s3cret@db.example:5433/horae",
            ["--host=db.example", "--port=5433", "--username=ada"],
        ),
        ("postgresql:///horae?host=/run/postgresql&user=ada", ["--host=/run/postgresql", "--username=ada"]),
        ("postgresql://localhost/horae", ["--host=localhost"]),
        (
            "postgresql://a%40b:s3cret@pool:6432/horae?direct=postgresql%3A%2F%2Fa%2540b%3As3cret%40db%3A5432%2Fhorae",
            ["--host=db", "--port=5432", "--username=a@b"],
        ),
    ],
)
def test_pg_dump_takes_host_port_and_user_of_the_url(url: str, options: list[str]) -> None:
    assert PostgresAddress.parse(url).dump_options == options


def test_mariadb_dump_takes_host_port_and_user_of_the_url_and_asks_for_the_password() -> None:
    address = MySQLAddress.parse("mysql://ada:s3cret@db.example:3307/horae")
    assert address.dump_options == ["--host=db.example", "--port=3307", "--user=ada", "--password"]
    socket = MySQLAddress.parse("mysql://ada@localhost/horae?socket=/run/mysqld.sock")
    assert socket.dump_options == ["--socket=/run/mysqld.sock", "--user=ada"]
