"""Store addresses are printed without their password everywhere."""

from __future__ import annotations

import shlex

import pytest

from horae.stores.addresses.masked_url import has_secret, mask_url, without_password
from tests.cli.command_line import Cli
from tests.cli.servers.conftest import PASSWORD


def test_config_shows_the_store_without_the_password(remote_store: Cli) -> None:
    for arguments in (("config",), ("config", "--json"), ("config", "--origin")):
        done = remote_store(*arguments)
        assert "postgresql://***@" in done.out
        assert PASSWORD not in done.out + done.err


def test_next_page_command_has_no_password(remote_store: Cli) -> None:
    for name in ("a", "b"):
        assert remote_store("add", "every 1h", "--say", "x", "--name", name).code == 0
    done = remote_store("ls", "-n", "1", "--store", remote_store.url, HORAE_STORE="")
    plain = remote_store.url.replace(f":{PASSWORD}", "")
    assert f"--store {plain}" in done.err
    assert "PGPASSWORD" in done.err
    assert PASSWORD not in done.out + done.err
    assert f"--store {plain}" in remote_store("ls", "-n", "1", "--store", plain, HORAE_STORE="").err


def test_printed_fix_acts_on_the_typed_store_while_the_variable_names_another(remote_store: Cli) -> None:
    assert (
        remote_store("add", "every 1h", "--say", "x", "--name", "tea", "--pause", "--store", remote_store.url).code == 0
    )
    production = f"sqlite:///{remote_store.directory}/production.db"
    assert remote_store("add", "every 1h", "--say", "x", "--name", "tea", "--pause", HORAE_STORE=production).code == 0
    done = remote_store("why", "tea", "--store", remote_store.url, HORAE_STORE=production)
    assert "$HORAE_STORE" not in done.out + done.err
    (resume,) = [line for line in done.out.splitlines() if " resume tea" in line]
    words = shlex.split(resume.split("horae", 1)[1].split("   ")[0])
    assert remote_store(*words, HORAE_STORE=production).code == 0
    assert remote_store("show", "tea", "--json", HORAE_STORE=production).json["task"]["state"] == "paused"
    assert remote_store("show", "tea", "--json", HORAE_STORE=remote_store.url).json["task"]["state"] == "active"


def test_refusal_names_the_typed_store_and_how_to_give_its_password(remote_store: Cli) -> None:
    refused = remote_store(
        "secret", "rm", "absent", "--yes", "--store", remote_store.url, HORAE_STORE="sqlite:////tmp/other.db"
    )
    assert "$HORAE_STORE" not in refused.err
    assert f"--store {remote_store.url.replace(f':{PASSWORD}', '')}" in refused.err
    assert "PGPASSWORD" in refused.err


def test_variable_is_named_where_it_holds_the_typed_store(remote_store: Cli) -> None:
    assert remote_store("add", "every 1h", "--say", "x", "--name", "tea", "--pause").code == 0
    server = "http://127.0.0.1:1"
    done = remote_store("why", "tea", "--store", remote_store.url, HORAE_SERVER=server)
    assert 'horae --store "$HORAE_STORE" resume tea' in done.out
    assert "PGPASSWORD" not in done.err


def test_move_prints_no_password(remote_store: Cli) -> None:
    done = remote_store("move", remote_store.url, f"sqlite:///{remote_store.directory}/copy.db")
    assert done.code == 0, done.err
    assert PASSWORD not in done.out + done.err


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("sqlite:////home/a@b:c/horae.db", False),
        ("postgresql://user@host/db", False),
        ("postgresql://user:pw@host/db", True),
        ("postgresql://host/db?password=pw", True),
        ("postgresql://host/db?sslpassword=pw", True),
        ("postgresql://host/db?direct=postgresql%3A%2F%2Fu%3Apw%40h%2Fdb", True),
        ("postgresql://[broken/db", True),
        ("mysql://user:@host/db", True),
    ],
)
def test_addresses_with_passwords_are_recognised(url: str, *, secret: bool) -> None:
    assert has_secret(url) is secret
    assert not secret or "pw" not in mask_url(url)


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("postgresql://user:pw@host:5432/db?schema=s", "postgresql://user@host:5432/db?schema=s"),
        ("postgresql://:pw@host/db", "postgresql://host/db"),
        ("postgresql://host/db?password=pw&schema=s&sslpassword=pw", "postgresql://host/db?schema=s"),
        (
            "postgresql://u:pw@pool/db?direct=postgresql%3A%2F%2Fu%3Apw%40h%2Fdb",
            "postgresql://u@pool/db?direct=postgresql%3A%2F%2Fu%40h%2Fdb",
        ),
        ("mysql://user:@host/db", "mysql://user@host/db"),
        ("postgresql://u:pw@[broken/db", "postgresql://***@[broken/db"),
    ],
)
def test_address_without_passwords_names_the_same_store(url: str, plain: str) -> None:
    assert without_password(url) == plain
    assert "pw" not in plain
