"""`horae add --function`: defaults come from the function's declaration, and arguments are checked against it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from horae import Horae
from tests.app.declared_functions import declaring_app, register
from tests.cli.command_line import Cli
from tests.cli.remote.server import RemoteCli

MAIL = ("--function", "mail", "--payload", '{"user": 7}')


def codes(warnings: list[dict[str, str]]) -> list[str]:
    return [each["code"] for each in warnings]


async def test_task_starts_from_the_declaration_of_its_function(cli: Cli) -> None:
    await register(cli.url, labels=False)
    made = cli.process("add", "every day at 09:00", *MAIL, "--json").json
    task, policies = made["task"], made["task"]["policies"]
    assert (task["lane"], task["zone"], task["labels"]) == ("mailer", "Asia/Tokyo", {})
    assert (policies["retry"]["attempts"], policies["guarantee"], policies["timeout"]) == (1, "at_most_once", "PT1M30S")
    assert (policies["missed"]["mode"], policies["overlap"], policies["priority"]) == ("skip", "queue", 7)
    assert set(made["declared"]) == {
        *("lane", "zone", "policies.retry", "policies.guarantee", "policies.timeout"),
        *("policies.missed", "policies.overlap", "policies.priority"),
    }
    assert "no_zone" not in codes(made["warnings"])


async def test_task_has_the_labels_of_the_declaration(cli: Cli) -> None:
    await register(cli.url)
    made = cli("add", "every day at 09:00", *MAIL, "--json").json
    assert made["task"]["labels"] == {"team": "ops"}
    assert "labels" in made["declared"]


async def test_option_of_the_caller_wins_over_the_declaration(cli: Cli) -> None:
    await register(cli.url, labels=False)
    made = cli(
        *("add", "every day at 09:00", *MAIL, "--retries", "5", "--lane", "bulk", "--zone", "Europe/Berlin", "--json")
    ).json
    assert made["task"]["policies"]["retry"]["attempts"] == 6
    assert made["task"]["lane"] == "bulk"
    assert made["task"]["zone"] == "Europe/Berlin"
    assert made["task"]["policies"]["guarantee"] == "at_most_once"
    assert not {"lane", "zone", "policies.retry"} & set(made["declared"])


async def test_receipt_names_what_the_function_declared(cli: Cli) -> None:
    await register(cli.url, labels=False)
    done = cli("add", "now", *MAIL)
    (line,) = [each for each in done.out.splitlines() if "declared by mail" in each]
    assert "lane mailer" in line
    assert "retries 0" in line
    assert "timeout 1m 30s" in line
    assert "由 mail 声明" in cli("--lang", "zh", "add", "now", *MAIL).out


async def test_zone_in_the_schedule_itself_is_not_reported_as_declared(cli: Cli) -> None:
    await register(cli.url, labels=False)
    made = cli("add", "every day at 09:00 America/New_York", *MAIL, "--json").json
    assert made["task"]["zone"] == "America/New_York"
    assert "zone" not in made["declared"]


@pytest.mark.parametrize(
    ("payload", "code", "hint"),
    [
        ('{"usr": 7}', "unknown_argument", "user, subject"),
        ("{}", "missing_argument", "int"),
        ('{"user": "7"}', "bad_arguments", "int"),
        ('{"user": 7, "subject": ["a"]}', "bad_arguments", "str"),
        ("[7]", "arguments_not_object", "by name"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused(cli: Cli, payload: str, code: str, hint: str) -> None:
    await register(cli.url, labels=False)
    done = cli("add", "now", "--function", "mail", "--payload", payload, "--json")
    assert done.code == 6, done.out
    assert done.problem["code"] == code
    assert hint in done.problem["hint"]
    assert cli("ls", "--json").out.strip() in ("", "[]")


async def test_edit_with_arguments_that_do_not_fit_is_refused(cli: Cli) -> None:
    await register(cli.url, labels=False)
    cli("add", "every day at 09:00", *MAIL, "--name", "letters")
    done = cli("edit", "letters", "--payload", '{"user": null}', "--json")
    assert done.code == 6, done.out
    assert done.problem["code"] == "bad_arguments"
    warned = cli("edit", "letters", "--function", "reprot", "--payload", "{}", "--json").json
    assert codes(warned["warnings"]) == ["function_unknown"]
    assert "'report'" in warned["warnings"][0]["message"]


@pytest.mark.parametrize(("typed", "meant"), [("mial", "mail"), ("jobs.report", "report")])
async def test_unknown_function_is_accepted_with_the_nearest_name(cli: Cli, typed: str, meant: str) -> None:
    await register(cli.url, labels=False)
    done = cli("add", "now", "--function", typed)
    assert done.code == 0
    assert f"No node has registered a function '{typed}'. Did you mean '{meant}'?" in done.err
    chinese = cli("--lang", "zh", "add", "now", "--function", typed)
    assert f"是不是“{meant}”" in chinese.err


async def test_function_that_no_running_node_has_is_warned_about(cli: Cli) -> None:
    await register(cli.url, labels=False)
    assert codes(cli("add", "every 1h", *MAIL, "--json").json["warnings"])[0] == "function_not_running"
    await _added_while_running(cli)
    assert codes(cli("add", "every 1h", *MAIL, "--json").json["warnings"])[0] == "function_not_running"


async def _added_while_running(cli: Cli) -> None:
    async with declaring_app(cli.url, engine=True, labels=False):
        done = await asyncio.to_thread(cli, "add", "every 1h", *MAIL, "--json")
    assert not {"function_not_running", "function_unknown"} & set(codes(done.json["warnings"]))


async def test_tasks_file_starts_from_the_declaration(cli: Cli, tmp_path: Path) -> None:
    await register(cli.url, labels=False)
    file = tmp_path / "tasks.json"
    tasks = [
        {"name": "letters", "when": "every day at 09:00", "function": "mail", "payload": {"user": 1}},
        {"name": "typo", "when": "every 1h", "function": "reprt", "zone": "UTC"},
        {"name": "alone", "when": "every 1h", "function": "mail", "payload": {"user": 1}, "lane": None},
    ]
    file.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")
    applied = cli("apply", "-f", str(file), "--yes", "--json").json
    assert codes(applied["tasks"][1]["warnings"]) == ["function_unknown"]
    letters, alone = (cli("show", name, "--json").json["task"] for name in ("letters", "alone"))
    assert (letters["lane"], letters["zone"], letters["policies"]["priority"]) == ("mailer", "Asia/Tokyo", 7)
    assert alone["lane"] is None


def exported(cli: Cli, tmp_path: Path, **fields: Any) -> str:
    """Write an export of the store; `fields` replace those of each task, and None removes a field."""
    documents = [json.loads(line) for line in cli("export").out.splitlines()]
    for document in documents:
        if "task" in document:
            given = document["task"] | fields
            document["task"] = {name: value for name, value in given.items() if fields.get(name, ...) is not None}
    file = tmp_path / "export.jsonl"
    file.write_text("\n".join(map(json.dumps, documents)), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("registered", ["before the import", "while the task exists"])
async def test_import_of_an_export_wins_over_the_declaration(cli: Cli, tmp_path: Path, registered: str) -> None:
    cli("add", "every day at 09:00", *MAIL, "--name", "letters", "--retries", "2", "--key", "letters")
    before = cli("show", "letters", "--json").json["task"]
    file = exported(cli, tmp_path)
    is_new = registered == "before the import"
    if is_new:
        cli("rm", "letters", "--yes")
    await register(cli.url, labels=False)
    imported = cli("import", file, "--json").json
    assert [imported["new"], imported["same"]] == ([1, 0] if is_new else [0, 1])
    after = cli("show", "letters", "--json").json["task"]
    assert {name: before[name] for name in ("lane", "labels", "policies", "zone")} == {
        name: after[name] for name in ("lane", "labels", "policies", "zone")
    }


@pytest.mark.parametrize(
    ("policies", "attempts"),
    [(None, 1), ({"retry": {"attempts": 6}}, 6)],
    ids=["no policies in the file", "one policy in the file"],
)
async def test_import_starts_from_the_declaration(
    cli: Cli, tmp_path: Path, policies: dict[str, Any] | None, attempts: int
) -> None:
    cli("add", "every day at 09:00", *MAIL, "--name", "letters", "--key", "letters")
    when = {"kind": "calendar", "unit": "day", "every": 1, "at": ["09:00"]}
    file = exported(cli, tmp_path, policies=policies, lane=None, zone=None, when=when)
    cli("rm", "letters", "--yes")
    await register(cli.url, labels=False)
    imported = cli("import", file, "--json")
    assert (imported.code, imported.json["new"]) == (0, 1)
    task = cli("show", "letters", "--json").json["task"]
    assert (task["policies"]["guarantee"], task["policies"]["overlap"]) == ("at_most_once", "queue")
    assert (task["policies"]["retry"]["attempts"], task["policies"]["priority"]) == (attempts, 7)
    assert (task["lane"], task["zone"]) == ("mailer", "Asia/Tokyo")


async def test_import_with_arguments_that_do_not_fit_is_refused(cli: Cli, tmp_path: Path) -> None:
    cli("add", "every day at 09:00", *MAIL, "--name", "letters", "--key", "letters")
    file = exported(cli, tmp_path, payload={"usr": 7})
    cli("rm", "letters", "--yes")
    await register(cli.url, labels=False)
    done = cli("import", file, "--json")
    assert done.code == 6, done.out
    assert done.problem["code"] == "unknown_argument"
    assert cli("ls", "--json").json == []


async def test_declaration_counts_through_a_server_too(tmp_path: Path) -> None:
    cli = RemoteCli(tmp_path, members=("bob",))
    try:
        await register(cli.url, labels=False)
        made = cli("add", "every day at 09:00", *MAIL, "--json").json
        task = made["task"]
        assert (task["lane"], task["zone"], task["policies"]["retry"]["attempts"]) == ("mailer", "Asia/Tokyo", 1)
        assert {"zone", "lane", "policies.retry"} <= set(made["declared"])
        assert codes(made["warnings"])[0] == "function_not_running"
        unknown = cli("add", "every 1h", "--function", "mial", "--dry-run", "--json").json
        assert "'mail'" in unknown["warnings"][0]["message"]
        bob = cli("add", "every 1h", *MAIL, "--json", HORAE_TOKEN_FILE=str(cli.token_file("bob"))).json
        assert bob["task"]["lane"] == "mailer"
    finally:
        cli.stop()


JOBS = """
from horae import Horae

app = Horae({url!r})


@app.task(retries=1)
async def report() -> None: ...
"""


def test_manual_names_a_function_of_a_loaded_file_as_it_is_registered(cli: Cli, tmp_path: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
    (named,) = re.findall(r"`report` in `jobs.py` is `([\w.]+)`", manual)
    (tmp_path / "jobs.py").write_text(JOBS.format(url=cli.url), encoding="utf-8")
    assert cli.process("up", "jobs.py", "--seconds", "0.1").code == 0
    made = cli("add", "every 1h", "--function", named, "--json").json
    assert not {"function_unknown", "function_completed"} & set(codes(made["warnings"]))
    assert made["task"]["target"]["name"] == named


def test_function_of_a_loaded_file_keeps_its_declaration(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(JOBS.format(url=cli.url), encoding="utf-8")
    assert cli.process("up", "jobs.py", "--seconds", "0.1").code == 0
    made = cli("add", "every 1h", "--function", "report", "--json").json
    assert made["task"]["policies"]["retry"]["attempts"] == 2


SHOP = """
from horae import Horae

app = Horae()

{beat}

@app.task("every 1d")
async def pay() -> None: ...
"""
BEAT = '@app.task("every 1h")\nasync def bay() -> None: ...\n'


def start_shop(cli: Cli, path: Path, *, with_beat: bool) -> str:
    """Declare the functions of the file, as the start of a node does; return its path."""
    file = path / "shop.py"
    file.write_text(SHOP.format(beat=BEAT if with_beat else ""))
    code = "import asyncio, shop\nasync def main():\n    async with shop.app: pass\nasyncio.run(main())\n"
    subprocess.run(
        [sys.executable, "-c", code], cwd=path, env={**os.environ, "HORAE_STORE": cli.url}, check=True, timeout=60
    )
    return str(file)


def test_why_of_a_removed_declaration_offers_neither_resume_nor_another_function(cli: Cli, tmp_path: Path) -> None:
    start_shop(cli, tmp_path, with_beat=True)
    assert "not paused" in cli("resume", "shop.bay").out
    assert "没有暂停" in cli("resume", "shop.bay", "--lang", "zh").out
    file = start_shop(cli, tmp_path, with_beat=False)
    answer = cli("why", "shop.bay", "--json").json
    assert answer["verdict"] == "paused"
    commands = [each["command"] for each in answer["fixes"]]
    assert "shop.py" in commands[0]
    assert Path(file).name in commands[0]
    assert not [each for each in commands if " resume " in each or "--function" in each]
    cli("resume", "shop.bay")
    cli("run", "shop.bay", "--no-wait")
    waiting = cli("why", "shop.bay", "--json").json
    assert "no longer declared in shop.py" in waiting["sentence"]
    assert "Did you mean" not in waiting["sentence"]
    assert not [each for each in waiting["fixes"] if "--function" in each["command"]]


NARROWED = """
from horae import Horae

app = Horae()

@app.task()
async def mail(user: int{more}) -> None: ...
"""


def run_with_signature(cli: Cli, path: Path, more: str, *deeds: str) -> None:
    (path / "letters.py").write_text(NARROWED.format(more=more))
    code = (
        "import asyncio, letters\nasync def main():\n    async with letters.app as app:\n"
        + "".join(f"        {each}\n" for each in deeds)
        + "asyncio.run(main())\n"
    )
    subprocess.run(
        [sys.executable, "-c", code], cwd=path, env={**os.environ, "HORAE_STORE": cli.url}, check=True, timeout=60
    )


def test_payload_that_no_longer_fits_is_not_called_and_the_fix_is_named(cli: Cli, tmp_path: Path) -> None:
    run_with_signature(cli, tmp_path, "", "await app.schedule('letters.mail', 'in 1d', {'user': 7})")
    run_with_signature(
        cli, tmp_path, ", subject: str", "run = await (await app.get('letters.mail')).run_now()", "await run.wait(30)"
    )
    answer = cli("why", "letters.mail", "--json").json
    assert answer["reason"] == "not_called"
    assert "was not called" in answer["sentence"]
    assert [each["command"].split()[1] for each in answer["fixes"]] == ["edit", "retry"]
    assert (
        "未调用" in cli("runs", "letters.mail", "--lang", "zh").out
        or "没有调用目标" in cli("why", "letters.mail", "--lang", "zh").out
    )


def test_missing_secret_is_not_called_and_the_fix_is_named(cli: Cli) -> None:
    made = cli(
        *("add", "in 1d", "--name", "call", "--http", "https://example.com/x", "--header", "A: @secret:tok", "--json")
    )
    assert made.code == 0, made.err
    asyncio.run(run_once(cli.url))
    answer = cli("why", "call", "--json").json
    assert answer["reason"] == "not_called"
    assert "secret set tok" in answer["fixes"][0]["command"]


async def run_once(url: str) -> None:
    async with Horae(url, zone="UTC") as app:
        run = await (await app.get("call")).run_now()
        await run.wait(30)
