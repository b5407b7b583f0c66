"""Connection to a remote database server without TLS: nodes and `horae doctor` warn."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from horae.runtime.plain_connection import PlainConnection, plain_connection
from tests.cli.operating.deployment import Deployment

NAME: Final = "127.1"
"""Loopback address in another form: the server answers there, and it is not recognised as local."""


@pytest.fixture
def deployment(tmp_path: Path, mariadb_url: str) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    made.url = mariadb_url.replace("127.0.0.1", NAME)
    yield made
    made.end()


def test_node_and_doctor_warn_about_mariadb_without_tls(deployment: Deployment) -> None:
    up = deployment.up(command="worker").ready()
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    assert sum(f"the connection to {NAME} is not encrypted" in line for line in up.output) == 1
    done = deployment.horae("doctor")
    assert f"The connection to {NAME} is not encrypted" in done.stdout
    assert "put ssl-mode=verify-identity into the address of the store" in done.stdout
    assert "未加密" in deployment.horae("doctor", "--lang", "zh").stdout


def test_plain_connection_to_this_machine_is_no_warning(tmp_path: Path, mariadb_url: str) -> None:
    deployment = Deployment(tmp_path)
    deployment.url = mariadb_url
    assert "not encrypted" not in deployment.horae("doctor").stdout


@pytest.mark.parametrize(
    ("url", "option"),
    [
        ("mysql://db.example/horae", "ssl-mode=verify-identity"),
        ("mariadb://u:p@10.0.0.7:3306/horae?ssl-mode=disabled", "ssl-mode=verify-identity"),
        ("mysql://db.example/horae?ssl-mode=required", None),
        ("mysql://localhost/horae", None),
        ("mysql://[::1]/horae", None),
        ("mysql://db.example/horae?socket=/run/mysqld.sock", None),
        ("postgresql://db.example/horae?sslmode=disable", "sslmode=verify-full"),
        ("postgresql://db.example/horae?sslmode=require", None),
        ("postgresql://db.example/horae", None),
        ("postgresql://127.0.0.1/horae?sslmode=disable", None),
        ("sqlite:///horae.db", None),
        ("mysql://[broken/horae", None),
    ],
)
def test_plain_connection_is_found_from_the_address(url: str, option: str | None) -> None:
    found = plain_connection(url, {})
    assert (None if found is None else found.option) == option


def test_variable_of_postgres_counts_like_its_option() -> None:
    found = plain_connection("postgresql://db.example/horae", {"PGSSLMODE": "disable"})
    assert found == PlainConnection("db.example", "sslmode=verify-full")
