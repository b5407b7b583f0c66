"""Secrets of a store on a database server: one key file for all machines, named or reported as missing."""

from __future__ import annotations

import asyncio

import pytest

from horae import Horae
from horae.errors import Conflict
from horae.model.accounts.principal import LOCAL_OWNER
from tests.cli.command_line import Cli, CommandResult


def set_token(remote_store: Cli, key: str, name: str = "token") -> CommandResult:
    return remote_store("secret", "set", name, "-", "--json", stdin="s3cret", HORAE_KEY_FILE=key)


async def reveal(url: str) -> str | None:
    async with Horae(url, engine=False) as app:
        return await app.service.secrets.reveal(LOCAL_OWNER, "token")


def reveal_secret(url: str, key: str, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Reveal a secret as a node with that key would."""
    monkeypatch.setenv("HORAE_KEY_FILE", key)
    return asyncio.run(reveal(url))


def test_secret_without_a_key_file_is_refused(remote_store: Cli) -> None:
    refused = set_token(remote_store, "")
    assert (refused.code, refused.problem["code"]) == (5, "key_file_not_named")
    assert "HORAE_KEY_FILE" in refused.problem["hint"]
    assert remote_store("secret", "ls", "--json").json == []
    assert (remote_store("secret", "rotate").code, remote_store("secret", "rm", "token", "--yes").code) == (5, 3)


def test_secret_is_readable_by_every_process_with_the_key(remote_store: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    key = str(remote_store.directory / "key")
    assert set_token(remote_store, key).code == 0
    assert reveal_secret(remote_store.url, key, monkeypatch) == "s3cret"


def test_machine_without_the_key_reports_it_and_makes_no_second_key(
    remote_store: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_key, other_key = remote_store.directory / "key", remote_store.directory / "elsewhere"
    assert set_token(remote_store, str(first_key)).code == 0
    refused = set_token(remote_store, str(other_key), "another")
    assert (refused.code, refused.problem["code"]) == (5, "key_file_missing")
    assert not other_key.exists()
    with pytest.raises(Conflict, match="There is no key file") as missing:
        reveal_secret(remote_store.url, str(other_key), monkeypatch)
    assert missing.value.code == "key_file_missing"
    with pytest.raises(Conflict) as unnamed:
        reveal_secret(remote_store.url, "", monkeypatch)
    assert unnamed.value.code == "key_file_not_named"


def test_rotation_says_to_copy_the_new_key_to_other_machines(
    remote_store: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = remote_store.directory / "key"
    assert set_token(remote_store, str(key)).code == 0
    before = key.read_bytes()
    turned = remote_store("secret", "rotate", HORAE_KEY_FILE=str(key))
    assert turned.code == 0
    assert f"Copy {key} to every machine with a node now" in turned.err
    assert key.read_bytes() != before
    assert reveal_secret(remote_store.url, str(key), monkeypatch) == "s3cret"


def test_move_to_a_file_names_the_key_file_to_copy(remote_store: Cli) -> None:
    target, wanted = (
        f"sqlite:///{remote_store.directory}/there/horae.db",
        remote_store.directory / "there" / "horae.key",
    )
    wanted.parent.mkdir()
    assert remote_store("move", remote_store.url, target, "--dry-run", "--json").json["key_file_wanted"] is None
    assert set_token(remote_store, str(remote_store.directory / "key")).code == 0
    done = remote_store("move", remote_store.url, target)
    assert (done.code, f"to {wanted}" in done.err) == (0, True), done.err
    again = remote_store("move", remote_store.url, target, "--json").json
    assert (again["key_file"], again["key_file_wanted"]) == (None, str(wanted))
    wanted.write_bytes((remote_store.directory / "key").read_bytes())
    assert remote_store("move", remote_store.url, target, "--json").json["key_file_wanted"] is None
