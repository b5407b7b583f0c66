"""Review before approval shows the whole task on every front end, and an agent uses only granted secrets."""

from __future__ import annotations

from typing import Any

from horae.wire.problems import ExitCode
from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema
from tests.cli.terminal import Terminal
from tests.mcp.stdio_server import connect_stdio

CALL: dict[str, Any] = {
    "http": {
        "url": "https://example.com/hook",
        "method": "PUT",
        "headers": {"X-Token": {"secret": "tok"}, "X-Note": "plain"},
        "body": {"text": "safe\u202eelif.exe", "long": "y" * 300 + "THE-END"},
        "redirects": 2,
    },
    "payload": {"amount": 7},
}
EXPECTED = (
    'SECRET "tok"',
    "target.headers.X-Token",
    'target.headers.X-Note = "plain"',
    "\\u202e",
    "THE-END",
    "target.redirects = 2",
    "payload.amount = 7",
    'target.method = "PUT"',
)


async def schedule_hook(cli: Cli) -> dict[str, Any]:
    async with connect_stdio(cli, "--agent", "helper") as tools:
        return await tools("schedule_task", when="every 1h, 3 times", do=CALL, name="hook")


async def test_agent_cannot_reference_a_secret_before_it_is_granted(cli: Cli) -> None:
    cli("secret", "set", "tok", "-", stdin="hush-hush")
    refused = await schedule_refused(cli)
    assert refused == ("secret_not_granted", "horae secret grant tok --agent helper --owner local")
    # The hint works as written.
    assert cli(*refused[1].split()[1:]).code == ExitCode.OK
    made = await schedule_hook(cli)
    assert made["awaiting_approval"] is True


async def schedule_refused(cli: Cli) -> tuple[str, str]:
    async with connect_stdio(cli, "--agent", "helper") as tools:
        line = await tools.line("schedule_task", when="every 1h, 3 times", do=CALL, name="hook")
        code = await tools.refused("schedule_task", when="every 1h, 3 times", do=CALL, name="hook")
        return code, line[line.index("horae secret grant") :].rstrip(".")


async def test_secret_that_does_not_exist_is_refused_like_one_without_a_grant(cli: Cli) -> None:
    assert (await schedule_refused(cli))[0] == "secret_not_granted"


def test_grants_are_listed_and_revoked(cli: Cli) -> None:
    cli("secret", "set", "tok", "-", stdin="hush-hush")
    check_schema("secret", cli("secret", "grant", "tok", "--agent", "helper", "--json").json)
    assert cli("secret", "grant", "tok", "--agent", "helper", "--json").json["agents"] == ["helper"]
    listed = cli("secret", "ls", "--json")
    check_schema("secrets", listed.json)
    assert listed.json[0]["agents"] == ["helper"]
    assert "helper" in cli("secret", "ls").out
    cli("secret", "set", "tok", "-", stdin="another")
    assert cli("secret", "ls", "--json").json[0]["agents"] == ["helper"], "a new value keeps its grants"
    assert cli("secret", "rotate").code == ExitCode.OK
    assert cli("secret", "ls", "--json").json[0]["agents"] == ["helper"], "a new key keeps the grants"
    assert cli("secret", "revoke", "tok", "--agent", "helper", "--json").json["agents"] == []
    assert cli("secret", "grant", "absent", "--agent", "helper").code == ExitCode.NOT_FOUND
    assert cli("secret", "grant", "tok", "--agent", "no such name").code == ExitCode.INVALID


async def test_approve_shows_the_whole_task_on_a_terminal_of_80_columns(cli: Cli) -> None:
    cli("secret", "set", "tok", "-", stdin="hush-hush")
    cli("secret", "grant", "tok", "--agent", "helper")
    made = await schedule_hook(cli)
    with Terminal(cli, "approve", "hook", COLUMNS="80") as terminal:
        terminal.wait_for("[y/N]")
        for expected in EXPECTED:
            assert expected in terminal.shown
        assert "\u202e" not in terminal.raw
        assert terminal.shown.index('SECRET "tok"') < terminal.shown.index("target.url")
        terminal.press("y\n")
        assert terminal.ended() == ExitCode.OK
    shown = cli("show", "hook").out
    for expected in EXPECTED:
        assert expected in shown
    assert "\u202e" not in shown
    assert "\u202e" not in cli("show", "hook", "--json").out
    assert made["review"] is not None
    for expected in EXPECTED:
        assert any(expected in line for line in made["review"])


async def test_approval_is_refused_after_the_grant_was_revoked(cli: Cli) -> None:
    cli("secret", "set", "tok", "-", stdin="hush-hush")
    cli("secret", "grant", "tok", "--agent", "helper")
    await schedule_hook(cli)
    cli("secret", "revoke", "tok", "--agent", "helper")
    refused = cli("approve", "hook", "--yes", "--json")
    assert (refused.code, refused.problem["code"]) == (ExitCode.NOT_ALLOWED, "secret_not_granted")


async def test_edit_with_a_secret_without_a_grant_is_refused(cli: Cli) -> None:
    await check_edits(cli)


async def check_edits(cli: Cli) -> None:
    async with connect_stdio(cli, "--agent", "helper") as tools:
        await tools("schedule_task", when="every 1h, 3 times", do={"http": "https://example.com/hook"}, name="hook")
        assert await tools.refused("update_task", id="hook", do=CALL) == "secret_not_granted"
        line = {"payload": {"key": {"secret": "tok"}}}
        assert await tools.refused("update_task", id="hook", do={**CALL, **line}) == "secret_not_granted"
        shown = (await tools("get_task", id="hook"))["review"]
        assert 'target.url = "https://example.com/hook"' in shown


def test_show_quotes_arguments_unambiguously(cli: Cli) -> None:
    allowed = {"HORAE_COMMAND_ALLOW": "*"}
    done = cli("add", "every 1h", "--name", "args", "--command", "--", "echo", "a b", "c", "", **allowed)
    assert done.code == ExitCode.OK, done.err
    shown = cli("show", "args").out
    assert 'target.argv = ["echo", "a b", "c", ""]' in shown
    assert "echo 'a b' c ''" in shown
