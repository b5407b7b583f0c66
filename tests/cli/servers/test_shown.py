"""Wherever an address is shown, its password is not."""

from __future__ import annotations

import pytest

from horae.stores.masked_url import has_secret, masked
from tests.cli.driving import Cli
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
    assert '--store "$HORAE_STORE"' in done.err
    assert PASSWORD not in done.out + done.err
    plain = served.url.replace(f":{PASSWORD}", "")
    assert f"--store {plain}" in served("ls", "-n", "1", "--store", plain, HORAE_STORE="").err


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
    assert not secret or "pw" not in masked(url)
