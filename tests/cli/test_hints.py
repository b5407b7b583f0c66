"""Hints of refusals work as written."""

from __future__ import annotations

import re
import shlex

import pytest

from horae import Horae, RetryPolicy
from horae.errors import InvalidTask
from tests.cli.command_line import Cli
from tests.mcp.stdio_server import connect_stdio
from tests.mcp.tool_client import text_of


def commands_in(text: str) -> list[list[str]]:
    """Return quoted commands and those at a line's end after a colon, without the program name."""
    found = re.findall(r"[“'](horae [^'”]+)['”]", text) + re.findall(r": (horae .+)$", text, re.MULTILINE)
    return [shlex.split(each)[1:] for each in found]


def follow(cli: Cli, text: str, *more: str) -> None:
    for command in commands_in(text):
        done = cli(*command, *more)
        assert done.code == 0, (command, done.err)


def test_an_owner_is_added_by_name_alone(cli: Cli) -> None:
    assert cli("owner", "add", "bob").code == 0
    assert cli("owner", "show", "bob", "--json").json["role"] == "member"
    again = cli("owner", "add", "bob", "--json")
    assert (again.code, again.problem["code"]) == (5, "owner_exists")


def test_set_without_options_adds_an_owner_that_is_not_there(cli: Cli) -> None:
    assert cli("owner", "set", "bob").code == 0
    assert cli("owner", "set", "bob", "--json").problem["code"] == "nothing_set"
    assert cli("token", "make", "laptop", "--owner", "bob").code == 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_token_for_an_unknown_owner_leads_to_adding_it(cli: Cli, language: str) -> None:
    refused = cli("token", "make", "laptop", "--owner", "bob", "--lang", language)
    assert refused.code == 3
    assert commands_in(refused.err) == [["owner", "add", "bob"]]
    follow(cli, refused.err)
    assert cli("token", "make", "laptop", "--owner", "bob").code == 0


def test_moving_from_a_file_that_is_absent_names_the_argument(cli: Cli) -> None:
    refused = cli("move", f"sqlite:///{cli.directory}/absent.db", f"sqlite:///{cli.directory}/new.db", "--json")
    assert refused.problem["code"] == "no_such_store"
    assert "FROM_URL" in refused.problem["hint"]
    assert not (cli.directory / "absent.db").exists()


def test_a_store_that_is_absent_is_named_in_the_command_that_makes_it(cli: Cli) -> None:
    store = f"sqlite:///{cli.directory}/other file.db"
    refused = cli("show", "tick", "--store", store)
    follow(cli, refused.err)
    assert [task["name"] for task in cli("ls", "--store", store, "--json").json] == ["tick"]


@pytest.mark.parametrize("command", ["ls", "overview"])
def test_empty_list_names_the_store(cli: Cli, command: str) -> None:
    store = f"sqlite:///{cli.directory}/other.db"
    follow(cli, cli(command, "--store", store).err)
    assert len(cli("ls", "--store", store, "--json").json) == 1


@pytest.mark.parametrize(
    "command",
    [
        ("ls",),
        ("nodes",),
        ("owner", "add", "bob"),
        ("token", "make", "laptop"),
        ("show", "tick"),
        ("pause", "tick"),
        ("webhook", "ls"),
        ("audit", "ls"),
        ("export",),
        ("add", "every 10s", "--say", "tick"),
    ],
    ids=" ".join,
)
def test_memory_store_is_refused_with_a_durable_one_in_the_hint(cli: Cli, command: tuple[str, ...]) -> None:
    refused = cli(*command, "--store", "memory://", "--json")
    assert refused.problem["code"] == "nothing_would_be_kept"
    ((option, url),) = re.findall(r"(--store) (\S+)", refused.problem["hint"])
    again = cli(*command, option, url, "--json")
    assert again.code == 0 or again.problem["code"] in ("no_such_task", "no_store_yet", "no_such_owner")


def test_dry_run_accepts_a_memory_store(cli: Cli) -> None:
    assert cli("add", "every 10s", "--say", "tick", "--dry-run", "--store", "memory://").code == 0


def test_up_on_a_memory_store_recommends_no_other_process(cli: Cli) -> None:
    result = cli.process("up", "--seconds", "0.1", "--store", "memory://", "--demo")
    assert result.code == 0
    assert "horae --store memory://" not in result.out


def test_stop_of_a_task_that_never_ran_leads_to_running_it(cli: Cli) -> None:
    cli("add", "in 1h", "--name", "one", "--say", "hi")
    refused = cli("stop", "one")
    assert refused.code == 3
    follow(cli, refused.err)


def test_a_completed_task_cannot_be_paused_and_leads_to_running_it_again(cli: Cli) -> None:
    (cli.directory / "jobs.py").write_text("", encoding="utf-8")
    cli("add", "now", "--name", "one", "--say", "hi")
    assert cli.process("up", "--seconds", "1", "--no-api").code == 0
    refused = cli("pause", "one", "--json")
    assert refused.problem["code"] == "task_over"
    ((verb, task),) = re.findall(r"horae (run) (\S+)'", refused.problem["hint"])
    assert cli(verb, task).code == 0
    ((verb, task, option),) = re.findall(r"horae (edit) (\S+) (--when)", refused.problem["hint"])
    assert cli(verb, task, option, "in 2h").code == 0
    chinese = cli("pause", "one", "--lang", "zh").err + refused.problem["hint"]
    assert "run now" not in chinese
    assert "立即运行" not in chinese


def test_a_run_that_is_over_cannot_be_stopped_and_leads_to_another_one(cli: Cli) -> None:
    cli("add", "now", "--name", "one", "--say", "hi")
    assert cli.process("up", "--seconds", "1", "--no-api").code == 0
    refused = cli("stop", cli("runs", "--json").json[0]["id"])
    assert refused.code == 5
    follow(cli, refused.err)


def test_why_takes_the_day_as_the_operations_page_writes_it(cli: Cli) -> None:
    cli("add", "every 1h", "--name", "one", "--say", "hi")
    assert cli("why", "one", "--at", "2026-11-16").code == 0


async def pause_without_a_reason(cli: Cli) -> str:
    async with connect_stdio(cli) as tools:
        made = await tools("schedule_task", when="every day at 09:00 10 times", do="look", zone="UTC")
        paused = await tools("pause_task", id=made["task"]["id"])
    return str(paused["task"]["state"])


async def test_mcp_pauses_a_task_without_a_reason(cli: Cli) -> None:
    assert (await pause_without_a_reason(cli)) == "paused"


async def schedule_again_after_cancelling(cli: Cli, *, name: str | None) -> tuple[str, str]:
    """The refusal of the same key, and the state of the task that is made by its hint."""
    said = {"when": "every day at 09:00 10 times", "do": "look", "zone": "UTC"}
    async with connect_stdio(cli) as tools:
        made = await tools("schedule_task", key="k", **said)
        await tools("cancel_task", id=made["task"]["id"])
        changed = {} if name is None else {"name": name}
        refused = text_of(await tools.raw("schedule_task", key="k", **said, **changed))
        (other,) = re.findall(r'key "([^"]+)"', refused)
        again = await tools("schedule_task", key=other, **said)
    return refused, str(again["task"]["state"])


@pytest.mark.parametrize("name", [None, "another name"], ids=["same", "changed"])
async def test_mcp_schedules_again_with_another_key_after_cancelling(cli: Cli, name: str | None) -> None:
    refused, state = await schedule_again_after_cancelling(cli, name=name)
    assert refused.startswith("key_of_cancelled")
    assert state == "active"


def test_the_key_of_a_cancelled_task_is_free_after_its_removal(cli: Cli) -> None:
    adding = ("add", "every 1h", "--name", "one", "--say", "hi", "--key", "k")
    cli(*adding)
    cli("cancel", "one")
    refused = cli(*adding)
    assert refused.code == 5
    undo, remove = commands_in(refused.err)
    assert cli(*undo).code == 0
    cli("cancel", "one")
    assert cli(*remove, "--yes").code == 0
    assert cli(*adding).code == 0


async def schedule_with_retry(value: object) -> None:
    app = Horae("memory://", engine=False)

    @app.task(name="job")
    async def job() -> None: ...

    async with app:
        await app.schedule("job", "in 1h", retry=value)  # type: ignore[arg-type]


async def test_a_number_as_retry_recommends_the_class_of_policies() -> None:
    with pytest.raises(InvalidTask) as refused:
        await schedule_with_retry(3)
    (recommended,) = re.findall(r"(RetryPolicy\([^)]*\))", refused.value.hint)
    (await schedule_with_retry(eval(recommended, {"RetryPolicy": RetryPolicy})))  # noqa: S307 - text of the hint under test


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (
            ["add", "every 1h", "--say", "x", "--timeout", "5x"],
            "bad_duration",
            "from 1ms to 30d, for example '90s' or '2m'",
        ),
        (
            ["add", "every 1h", "--say", "x", "--timeout", "0s"],
            "bad_duration",
            "from 1ms to 30d, for example '90s' or '2m'",
        ),
        (["add", "every 1h", "--say", "x", "--max-duration", "5x"], "bad_duration", "from 1ms to "),
        (["add", "every 1h", "--say", "x", "--retries", "many"], "bad_number", "from 0 to 999, or never"),
        (
            ["add", "every day at 9am until 2020-01-01", "--say", "x"],
            "never_fires",
            "horae explain 'every day at 9am until 2020-01-01'",
        ),
        (["edit", "report", "--when", "2020-01-01 09:00"], "never_fires", "horae explain '2020-01-01 09:00'"),
        (["pause", "report", "--until", "tomorow"], "unclear_moment", "'tomorrow at 9am'"),
        (["token", "make", "x", "--expires", "soonish"], "unclear_moment", "'in 2h'"),
        (["simulate", "--for", "foo"], "bad_duration", "from 1ms to 3660d"),
        (["help", "lss"], "bad_choice", "Choose one of: ls, schedules"),
        (["ls", "--kind", "htpp"], "bad_choice", "Choose one of: http, "),
        (["pause", "--kind", "comand"], "bad_choice", "Choose one of: command, "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_hint_names_accepted_values(cli: Cli, arguments: list[str], code: str, hint: str) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "report")
    refused = cli(*arguments, "--json").problem
    assert refused["code"] == code
    assert hint in refused["hint"]
    assert "timedelta" not in refused["hint"]


def test_a_refused_span_names_the_option(cli: Cli) -> None:
    assert cli("simulate", "--for", "foo", "--json").problem["detail"] == "--for cannot be 'foo'."
    assert cli("simulate", "--takes", "foo", "--json").problem["detail"] == "--takes cannot be 'foo'."


@pytest.mark.parametrize(
    "moment", ["2099-12-01T09:00Z", "2099-12-01 09:00", "2099-12-01", "tomorrow", "next Monday 18:00"]
)
def test_moments_of_the_hint_are_accepted(cli: Cli, moment: str) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "report")
    assert cli("pause", "report", "--until", moment).code == 0


@pytest.mark.usefixtures("node")
def test_fixes_for_a_failed_once_task_are_accepted(cli: Cli) -> None:
    cli("add", "now", "--function", "broken", "--retries", "0", "--name", "call")
    while cli("show", "call", "--json").json["task"]["state"] == "active":
        pass  # each iteration runs a command
    why = cli("why", "call", "--json").json
    assert "The task has given up" in why["sentence"]
    assert not any(fix["command"].startswith("horae resume") for fix in why["fixes"])
    assert cli("resume", "call").code == 5
    (failed,) = [each for each in cli("doctor", "--json").json["checks"] if each["check"] == "failed"]
    assert failed["fix"] == "horae why TASK, then horae retry TASK"
    retried = cli("retry", "call")
    assert retried.code == 0, retried.err


def test_command_for_another_token_works_as_printed(cli: Cli) -> None:
    starting = ("up", "--port", "0", "--seconds", "0.2")
    assert cli.process(*starting, HORAE_API="on").code == 0
    (cli.directory / "horae.db.token").unlink()
    again = cli.process(*starting, HORAE_API="on")
    (command,) = re.findall(r"(token make .*)", again.out)
    made = cli(*shlex.split(command), "--quiet")
    assert made.code == 0, made.err
    assert made.out.startswith("horae_")
