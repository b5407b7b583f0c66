"""Secrets of a store on a server: one key for all machines, named, or clearly missed."""

from __future__ import annotations

import asyncio

import pytest

from horae import Horae
from horae.errors import Conflict
from horae.model.accounts.principal import LOCAL_OWNER
from tests.cli.command_line import Cli, CommandResult


def set_token(served: Cli, key: str, name: str = "token") -> CommandResult:
    return served("secret", "set", name, "-", "--json", stdin="s3cret", HORAE_KEY_FILE=key)


async def reveal(url: str) -> str | None:
    async with Horae(url, engine=False) as app:
        return await app.service.secrets.reveal(LOCAL_OWNER, "token")


def revealed(url: str, key: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """As a node on a machine with that key would see it."""
    monkeypatch.setenv("HORAE_KEY_FILE", key)
    return asyncio.run(reveal(url))


def test_without_a_named_key_nothing_is_sealed(served: Cli) -> None:
    refused = set_token(served, "")
    assert (refused.code, refused.problem["code"]) == (5, "key_file_not_named")
    assert "HORAE_KEY_FILE" in refused.problem["hint"]
    assert served("secret", "ls", "--json").json == []
    assert (served("secret", "rotate").code, served("secret", "rm", "token", "--yes").code) == (5, 3)


def test_every_process_with_the_key_opens_what_another_one_sealed(served: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    key = str(served.directory / "key")
    assert set_token(served, key).code == 0
    assert revealed(served.url, key, monkeypatch) == "s3cret"


def test_a_machine_without_the_key_says_so_and_makes_no_second_one(
    served: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, elsewhere = served.directory / "key", served.directory / "elsewhere"
    assert set_token(served, str(here)).code == 0
    refused = set_token(served, str(elsewhere), "another")
    assert (refused.code, refused.problem["code"]) == (5, "key_file_missing")
    assert not elsewhere.exists()
    with pytest.raises(Conflict, match="There is no key file") as missing:
        revealed(served.url, str(elsewhere), monkeypatch)
    assert missing.value.code == "key_file_missing"
    with pytest.raises(Conflict) as unnamed:
        revealed(served.url, "", monkeypatch)
    assert unnamed.value.code == "key_file_not_named"


def test_a_new_key_is_to_be_taken_to_the_other_machines(served: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    key = served.directory / "key"
    assert set_token(served, str(key)).code == 0
    before = key.read_bytes()
    turned = served("secret", "rotate", HORAE_KEY_FILE=str(key))
    assert turned.code == 0
    assert f"Copy {key} to every machine with a node now" in turned.err
    assert key.read_bytes() != before
    assert revealed(served.url, str(key), monkeypatch) == "s3cret"


def test_a_move_to_a_file_says_where_the_key_of_the_servers_nodes_belongs(served: Cli) -> None:
    target, wanted = f"sqlite:///{served.directory}/there/horae.db", served.directory / "there" / "horae.key"
    wanted.parent.mkdir()
    assert served("move", served.url, target, "--dry-run", "--json").json["key_file_wanted"] is None
    assert set_token(served, str(served.directory / "key")).code == 0
    done = served("move", served.url, target)
    assert (done.code, f"to {wanted}" in done.err) == (0, True), done.err
    again = served("move", served.url, target, "--json").json
    assert (again["key_file"], again["key_file_wanted"]) == (None, str(wanted))
    wanted.write_bytes((served.directory / "key").read_bytes())
    assert served("move", served.url, target, "--json").json["key_file_wanted"] is None
