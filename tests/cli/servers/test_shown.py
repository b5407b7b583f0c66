"""Wherever an address is shown, its password is not."""

from __future__ import annotations

import shlex

import pytest

from horae.stores.masked_url import has_secret, mask_url, without_password
from tests.cli.command_line import Cli
from tests.cli.servers.conftest import PASSWORD


def test_the_settings_show_the_place_alone(served: Cli) -> None:
    for arguments in (("config",), ("config", "--json"), ("config", "--origin")):
        done = served(*arguments)
        assert "postgresql://***@" in done.out
        assert PASSWORD not in done.out + done.err


def test_the_way_to_the_next_page_does_not_say_it(served: Cli) -> None:
    for name in ("a", "b"):
        assert served("add", "every 1h", "--say", "x", "--name", name).code == 0
    done = served("ls", "-n", "1", "--store", served.url, HORAE_STORE="")
    plain = served.url.replace(f":{PASSWORD}", "")
    assert f"--store {plain}" in done.err
    assert "PGPASSWORD" in done.err
    assert PASSWORD not in done.out + done.err
    assert f"--store {plain}" in served("ls", "-n", "1", "--store", plain, HORAE_STORE="").err


def test_printed_fix_acts_on_the_typed_store_while_the_variable_names_another(served: Cli) -> None:
    assert served("add", "every 1h", "--say", "x", "--name", "tea", "--pause", "--store", served.url).code == 0
    production = f"sqlite:///{served.directory}/production.db"
    assert served("add", "every 1h", "--say", "x", "--name", "tea", "--pause", HORAE_STORE=production).code == 0
    done = served("why", "tea", "--store", served.url, HORAE_STORE=production)
    assert "$HORAE_STORE" not in done.out + done.err
    (resume,) = [line for line in done.out.splitlines() if " resume tea" in line]
    words = shlex.split(resume.split("horae", 1)[1].split("   ")[0])
    assert served(*words, HORAE_STORE=production).code == 0
    assert served("show", "tea", "--json", HORAE_STORE=production).json["task"]["state"] == "paused"
    assert served("show", "tea", "--json", HORAE_STORE=served.url).json["task"]["state"] == "active"


def test_refusal_names_the_typed_store_and_how_to_give_its_password(served: Cli) -> None:
    refused = served("secret", "rm", "absent", "--yes", "--store", served.url, HORAE_STORE="sqlite:////tmp/other.db")
    assert "$HORAE_STORE" not in refused.err
    assert f"--store {served.url.replace(f':{PASSWORD}', '')}" in refused.err
    assert "PGPASSWORD" in refused.err


def test_variable_is_named_where_it_holds_the_typed_store(served: Cli) -> None:
    assert served("add", "every 1h", "--say", "x", "--name", "tea", "--pause").code == 0
    server = "http://127.0.0.1:1"
    done = served("why", "tea", "--store", served.url, HORAE_SERVER=server)
    assert 'horae --store "$HORAE_STORE" resume tea' in done.out
    assert "PGPASSWORD" not in done.err


def test_a_move_does_not_say_it(served: Cli) -> None:
    done = served("move", served.url, f"sqlite:///{served.directory}/copy.db")
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
def test_which_addresses_give_something_away(url: str, *, secret: bool) -> None:
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
def test_address_without_its_passwords_leads_to_the_same_place(url: str, plain: str) -> None:
    assert without_password(url) == plain
    assert "pw" not in plain
