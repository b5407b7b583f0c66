"""`horae token make --output FILE`: creates a private file, or makes no token."""

from __future__ import annotations

import pytest

from tests.cli.json_schemas import check_schema
from tests.cli.remote.server import SESSIONS, RemoteCli, command_for

in_both_sessions = pytest.mark.parametrize("session", SESSIONS)


@in_both_sessions
def test_token_is_written_to_a_private_file_and_opens_the_server(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    made = horae("token", "make", "ci", "--output", "ci.token")
    file = cli.directory / "ci.token"
    assert made.code == 0, made.err
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text(encoding="utf-8")
    assert text.startswith("horae_")
    assert text.strip() not in made.out + made.err
    assert cli("ls", "--json", HORAE_TOKEN_FILE=str(file)).code == 0
    shown = horae("token", "make", "ci", "-o", "other.token", "--json").json
    check_schema("token-made", shown)
    assert (shown["file"], shown["text"]) == ("other.token", None)
    listed = {each["id"] for each in horae("token", "ls", "--json").json}
    assert horae("token", "make", "ci", "-o", "third.token", "-q").out.strip() not in listed


@in_both_sessions
def test_existing_file_is_kept_and_no_token_is_made(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    (cli.directory / "ci.token").write_text("mine", encoding="utf-8")
    before = len(horae("token", "ls", "--json").json)
    refused = horae("token", "make", "ci", "--output", "ci.token", "--json")
    assert (refused.code, refused.problem["code"]) == (2, "token_file_exists")
    assert (cli.directory / "ci.token").read_text(encoding="utf-8") == "mine"
    assert (
        horae("token", "make", "ci", "--output", "absent/ci.token", "--json").problem["code"] == "token_file_unwritable"
    )
    assert len(horae("token", "ls", "--json").json) == before


def test_refused_token_leaves_no_file(cli: RemoteCli) -> None:
    refused = cli("token", "make", "ci", "--owner", "nobody", "--output", "ci.token", "--json")
    assert refused.problem["code"] == "no_such_owner"
    assert not (cli.directory / "ci.token").exists()
