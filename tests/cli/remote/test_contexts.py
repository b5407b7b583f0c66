"""Login and contexts: the order of server settings, and no token in any output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from horae.runtime.local_servers import LocalServer, register_server
from tests.cli.command_line import CommandResult
from tests.cli.json_schemas import check_schema
from tests.cli.remote.server import RemoteCli


@pytest.fixture
def file(cli: RemoteCli) -> Path:
    return cli.directory / "horae" / "contexts.json"


def without_settings(cli: RemoteCli, *arguments: str, stdin: str = "", **environment: str) -> CommandResult:
    """Run a command without server and store settings in the environment."""
    return cli(
        *arguments, stdin=stdin, **({"HORAE_SERVER": "", "HORAE_TOKEN_FILE": "", "HORAE_STORE": ""} | environment)
    )


def login(cli: RemoteCli, *arguments: str) -> CommandResult:
    return without_settings(
        cli, "login", cli.server.url, "--token-stdin", *arguments, stdin=f"{cli.server.tokens['local']}\n"
    )


def test_commands_go_to_the_server_after_login(cli: RemoteCli, file: Path) -> None:
    done = login(cli, "--name", "prod", "--json")
    check_schema("login", done.json)
    assert (done.json["owner"], done.json["admin"]) == ("local", True)
    assert file.stat().st_mode & 0o077 == 0
    without_settings(cli, "add", "every 1h", "--say", "x", "--name", "there")
    assert [each["name"] for each in cli.on_store("ls", "--json").json] == ["there"]
    listed = without_settings(cli, "context", "ls", "--json")
    check_schema("contexts", listed.json)
    assert listed.json == [{"name": "prod", "server": cli.server.url, "owner": "local", "current": True}]
    assert "* " in without_settings(cli, "context", "ls").out


def test_refused_token_is_not_stored(cli: RemoteCli, file: Path) -> None:
    wrong = f"horae_{'0' * 32}_{'1' * 64}"
    done = without_settings(cli, "login", cli.server.url, "--token-stdin", "--json", stdin=wrong)
    assert (done.code, done.problem["code"]) == (4, "bad_token")
    assert wrong not in done.err
    assert not file.exists()


def test_order_of_server_and_store_settings(cli: RemoteCli) -> None:
    """--server, --store, HORAE_SERVER, HORAE_STORE, the current context, and then the default."""
    login(cli, "--name", "prod")
    without_settings(cli, "add", "every 1h", "--say", "x", "--name", "there")
    other_store = f"sqlite:///{cli.directory}/other.db"
    cli("add", "every 1h", "--say", "x", "--name", "here", "--store", other_store)

    def names(*arguments: str, **environment: str) -> list[str]:
        return [each["name"] for each in without_settings(cli, "ls", "--json", *arguments, **environment).json]

    nowhere = "http://127.0.0.1:9"
    assert names() == ["there"]
    assert names(HORAE_STORE=other_store) == ["here"]
    assert names(HORAE_STORE=other_store, HORAE_SERVER=cli.server.url) == ["there"]
    assert names("--store", other_store, HORAE_SERVER=nowhere) == ["here"]
    assert names("--store", other_store, "--server", cli.server.url) == ["there"]
    assert names("--server", "prod", HORAE_SERVER=nowhere) == ["there"]
    (cli.directory / "horae.toml").write_text(f'store = "{other_store}"\n', encoding="utf-8")
    assert names() == ["here"]
    assert (
        without_settings(cli, "--server", "prod", "ls", "--quiet").out
        == without_settings(cli, "ls", "--quiet", "--server", "prod").out
    )


def test_contexts_are_selected_and_removed(cli: RemoteCli, file: Path) -> None:
    login(cli, "--name", "one")
    login(cli, "--name", "two")
    used = without_settings(cli, "context", "use", "one", "--json")
    check_schema("context-used", used.json)
    assert without_settings(cli, "config", "--json").json[0]["value"] == cli.server.url
    assert without_settings(cli, "context", "use", "none", "--json").json == {"current": None}
    assert without_settings(cli, "ls", "--json").json == []
    gone = without_settings(cli, "context", "rm", "two", "--json")
    check_schema("forgotten", gone.json)
    assert list(json.loads(file.read_text(encoding="utf-8"))["contexts"]) == ["one"]
    assert without_settings(cli, "context", "use", "two", "--json").problem["code"] == "no_such_context"
    assert without_settings(cli, "ls", "--server", "two", "--json").problem["code"] == "no_such_context"


def test_token_is_never_printed(cli: RemoteCli, file: Path) -> None:
    login(cli, "--name", "prod")
    token = cli.server.tokens["local"]
    assert token in file.read_text(encoding="utf-8")
    for arguments in (
        ["context", "ls", "--json"],
        ["config", "--origin", "--json"],
        ["doctor", "--json"],
        ["ls", "--json"],
    ):
        done = without_settings(cli, *arguments)
        assert token not in done.out + done.err, arguments
    shown = {row["setting"]: row["value"] for row in without_settings(cli, "config", "--json").json}
    assert (shown["HORAE_SERVER"], shown["HORAE_TOKEN_FILE"]) == (cli.server.url, "********")


def test_context_file_readable_by_others_is_refused(cli: RemoteCli, file: Path) -> None:
    login(cli, "--name", "prod")
    file.chmod(0o644)
    done = without_settings(cli, "ls", "--json")
    assert (done.code, done.problem["code"]) == (4, "contexts_open_to_others")
    file.chmod(0o600)
    file.write_text('{"contexts": [], "token": "horae_secret"}', encoding="utf-8")
    broken = without_settings(cli, "ls", "--json")
    assert (broken.code, broken.problem["code"]) == (6, "contexts_unreadable")
    assert "horae_secret" not in broken.err


def test_login_without_a_token_is_refused_with_a_hint(cli: RemoteCli) -> None:
    for stdin in ("", "two words\n"):
        done = without_settings(cli, "login", cli.server.url, "--token-stdin", "--json", stdin=stdin)
        assert (done.code, done.problem["code"]) == (2, "no_token_given")
    assert without_settings(cli, "login", "ftp://x", "--token-stdin", "--json").problem["code"] == "bad_server_address"
    named = without_settings(cli, "login", cli.server.url, "--token-stdin", "--name", "a/b", "--json", stdin="x")
    assert named.problem["code"] == "bad_context_name"


def test_local_server_is_called_with_its_first_token(cli: RemoteCli, monkeypatch: pytest.MonkeyPatch) -> None:
    """`horae up` stores the first token next to its store, readable by its user only, and registers its address."""
    token_path = cli.path.with_name("horae.db.token")
    token_path.touch(mode=0o600)
    token_path.write_text(cli.server.tokens["local"], encoding="utf-8")
    done = cli("ls", "--json", HORAE_TOKEN_FILE="")
    assert (done.code, done.problem["code"]) == (4, "no_token_here"), "the file alone names no address"
    monkeypatch.setenv("XDG_DATA_HOME", str(cli.directory))
    with register_server(LocalServer(cli.server.url, token_path, "")):
        assert cli("ls", "--json", HORAE_TOKEN_FILE="").json == []
        assert cli("login", cli.server.url, "--json", HORAE_TOKEN_FILE="").json["owner"] == "local"
        token_path.chmod(0o644)
        (cli.directory / "horae" / "contexts.json").unlink()
        done = cli("ls", "--json", HORAE_TOKEN_FILE="")
        assert (done.code, done.problem["code"]) == (4, "no_token_here")


def test_token_file_of_the_variable_wins_over_the_login_of_the_same_address(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    cli = RemoteCli(tmp_path, members=("bob",))
    request.addfinalizer(cli.stop)
    login(cli, "--name", "prod")
    bob = {"HORAE_TOKEN_FILE": str(cli.token_file("bob"))}
    for chosen in ({"HORAE_SERVER": cli.server.url}, {}):  # the address of the context, and the current context
        assert owner_of_a_new_task(cli, **chosen, **bob) == "bob", chosen
        assert token_origin(cli, **chosen, **bob) == "HORAE_TOKEN_FILE"
    # A context that is selected by name uses its own token.
    assert owner_of_a_new_task(cli, HORAE_SERVER="prod", **bob) == "local"
    assert token_origin(cli) == "context prod"


def owner_of_a_new_task(cli: RemoteCli, **environment: str) -> str:
    done = without_settings(cli, "add", "every 1h", "--say", "x", "--json", **environment)
    return str(done.json["task"]["owner"])


def token_origin(cli: RemoteCli, **environment: str) -> str:
    rows = without_settings(cli, "config", "--json", "--origin", **environment).json
    (origin,) = [str(row["origin"]) for row in rows if row["setting"] == "HORAE_TOKEN_FILE"]
    return origin


def test_missing_token_file_is_refused_despite_a_login(cli: RemoteCli) -> None:
    login(cli, "--name", "prod")
    done = without_settings(cli, "ls", "--json", HORAE_TOKEN_FILE=str(cli.directory / "absent"))
    assert (done.code, done.problem["code"]) == (4, "token_file_unreadable")


def test_login_says_that_the_token_file_of_the_variable_wins(cli: RemoteCli) -> None:
    token = cli.server.tokens["local"]
    done = cli("login", cli.server.url, "--token-stdin", "--name", "prod", stdin=f"{token}\n")
    assert "HORAE_TOKEN_FILE" in done.err
    assert "HORAE_TOKEN_FILE" not in login(cli, "--name", "prod").err


def test_missing_token_file_is_refused(cli: RemoteCli) -> None:
    done = cli("ls", "--json", HORAE_TOKEN_FILE=str(cli.directory / "absent"))
    assert (done.code, done.problem["code"]) == (4, "token_file_unreadable")


STORE_COMMANDS = (("db", "check"), ("db", "path"), ("mcp",), ("secret", "rotate"))


@pytest.mark.parametrize("command", STORE_COMMANDS, ids=" ".join)
def test_store_command_refused_by_a_context_names_the_way_back(cli: RemoteCli, command: tuple[str, ...]) -> None:
    login(cli, "--name", "prod")
    refused = without_settings(cli, *command, "--json")
    assert (refused.code, refused.problem["code"]) == (2, "only_here_context")
    assert "horae context use none" in refused.problem["hint"]
    assert "--server" not in refused.problem["hint"]
    assert without_settings(cli, "context", "use", "none").code == 0
    blank = {"HORAE_SERVER": "", "HORAE_TOKEN_FILE": "", "HORAE_STORE": ""}
    assert "only_here" not in cli.process(*command, "--json", **blank).err


@pytest.mark.parametrize("command", STORE_COMMANDS, ids=" ".join)
def test_store_command_refused_by_the_variable_names_the_variable(cli: RemoteCli, command: tuple[str, ...]) -> None:
    refused = without_settings(cli, *command, "--json", HORAE_SERVER=cli.server.url)
    assert (refused.code, refused.problem["code"]) == (2, "only_here_variable")
    assert "unset HORAE_SERVER" in refused.problem["hint"]
    chinese = without_settings(cli, *command, "--json", "--lang", "zh", HORAE_SERVER=cli.server.url)
    assert "unset HORAE_SERVER" in chinese.problem["hint"]


@pytest.mark.parametrize("command", ["up", "worker"])
def test_node_runs_on_its_store_and_says_that_the_context_does_not_apply(cli: RemoteCli, command: str) -> None:
    login(cli, "--name", "prod")
    blank = {"HORAE_SERVER": "", "HORAE_TOKEN_FILE": "", "HORAE_STORE": ""}
    done = cli.process(command, "--seconds", "0.1", **blank)
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if "does not apply" in line]
    assert "prod" in line
    assert cli.server.url in line
    assert "horae context use none" in line
    named = cli.process(command, "--seconds", "0.1", "--store", f"sqlite:///{cli.directory}/other.db", **blank)
    assert "does not apply" not in named.err


def test_node_says_that_the_server_variable_does_not_apply(cli: RemoteCli) -> None:
    blank = {"HORAE_SERVER": cli.server.url, "HORAE_TOKEN_FILE": "", "HORAE_STORE": ""}
    done = cli.process("worker", "--seconds", "0.1", **blank)
    assert done.code == 0, done.err
    assert "unset HORAE_SERVER" in done.err
