"""`horae pause`, `resume`, `skip`, `cancel` and `rm`, single and in bulk, and their confirmations."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from horae.testing import TimeTravel
from tests.cli.command_line import Cli
from tests.cli.histories import hour_before, make_app, write_failure_history
from tests.cli.terminal import Terminal


def state(cli: Cli, name: str) -> str:
    return str(cli("show", name, "--json").json["task"]["state"])


def test_pause_and_resume(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    done = cli("pause", "tick", "--reason", "on holiday", "--until", "tomorrow at 9am")
    assert done.out.startswith("✓ tick is paused until ")
    assert " 09:00 +00:00" in done.out
    pause = cli("show", "tick", "--json").json["task"]["pause"]
    assert (pause["note"], pause["until"][11:]) == ("on holiday", "09:00:00.000Z")
    assert "on holiday" in cli("ls").out
    assert cli("resume", "tick").out == "✓ tick goes on; nothing was missed\n"
    assert state(cli, "tick") == "active"


@pytest.mark.parametrize("until", ["yesterday", "nonsense", "every 5m"])
def test_pause_until_must_be_in_the_future(cli: Cli, until: str) -> None:
    cli("add", "every 5m", "--say", "tick")
    assert cli("pause", "tick", "--until", until).code == 6
    assert state(cli, "tick") == "active"


def test_resume_reports_missed_occurrences(cli: Cli) -> None:
    write_failure_history(cli.path)
    done = cli("resume", "weekly-digest")
    assert done.code == 0
    assert "missed: skip what is missed" in done.out
    rows = cli("runs", "weekly-digest", "--state", "skipped", "--json").json
    assert [row["reason"] for row in rows] == ["paused"]


def add_failed_task(path: Path, when: str) -> None:
    """Add a task that failed once and gave up."""
    app = make_app(path)
    with TimeTravel(app, hour_before(2), store="own") as time:
        time.run(app.schedule("backup", when, name="backup", retries=0, give_up_after=1))
        time.travel("70m")


@pytest.mark.parametrize("when", ["in 5 minutes", "every 1h"])
def test_new_schedule_of_a_failed_task_runs(cli: Cli, when: str) -> None:
    add_failed_task(cli.path, when)
    assert state(cli, "backup") == "failed"
    done = cli("edit", "backup", "--when", "in 20 minutes", "--json")
    assert done.code == 0, done
    shown = cli("show", "backup", "--json").json["task"]
    assert (shown["state"], shown["failures"]) == ("active", 0)
    assert shown["next"] is not None


def test_refused_resume_of_a_failed_task_names_an_edit_that_works(cli: Cli) -> None:
    add_failed_task(cli.path, "in 5 minutes")
    refused = cli("resume", "backup")
    (command,) = re.findall(r"horae (edit \S+ --when '[^']+')", " ".join(refused.err.split()))
    assert cli(*shlex.split(command)).code == 0
    assert state(cli, "backup") == "active"


def test_resume_can_run_missed_occurrences(cli: Cli) -> None:
    write_failure_history(cli.path)
    assert "run all that is missed, in order" in cli("resume", "weekly-digest", "--missed", "all").out
    assert cli("runs", "weekly-digest", "--state", "skipped", "--json").json == []


def test_on_a_terminal_resume_asks_once_with_the_count(cli: Cli) -> None:
    write_failure_history(cli.path)
    with Terminal(cli, "resume", "weekly-digest") as terminal:
        terminal.wait_for("Which? [skip]")
        assert "missed." in terminal.shown
        assert "❯ 1  skip" in terminal.shown
        terminal.press("2\n")
        assert terminal.ended() == 0
    assert "run the latest once" in terminal.shown
    assert state(cli, "weekly-digest") == "active"


def test_on_a_terminal_resume_takes_the_default(cli: Cli) -> None:
    write_failure_history(cli.path)
    with Terminal(cli, "resume", "weekly-digest", LANG="zh_CN.UTF-8") as terminal:
        terminal.wait_for("选择哪一个")
        terminal.press("\n")
        assert terminal.ended() == 0
    assert "错过的跳过" in terminal.shown


@pytest.mark.parametrize("answer", ["clear", "5", "0"])
def test_wrong_answer_names_possible_answers_and_the_option(cli: Cli, answer: str) -> None:
    write_failure_history(cli.path)
    with Terminal(cli, "resume", "weekly-digest", columns=80) as terminal:
        terminal.wait_for("Which? [skip]")
        terminal.press(f"{answer}\n")
        assert terminal.ended() == 2
    shown = " ".join(terminal.shown.split())
    assert f"'{answer}' is not one of the choices. Nothing was done." in shown
    assert "Answer with a number from 1 to 4 or with a word: skip, latest, all, merge." in shown
    assert "--missed WORD" in shown
    assert state(cli, "weekly-digest") != "active"


def test_wrong_answer_in_chinese_names_possible_answers(cli: Cli) -> None:
    write_failure_history(cli.path)
    with Terminal(cli, "resume", "weekly-digest", "--lang", "zh", columns=80) as terminal:
        terminal.wait_for("选择哪一个")
        terminal.press("清除\n")
        assert terminal.ended() == 2
    assert "“清除”不在选项之中，没有执行任何操作。" in terminal.shown
    assert "skip, latest, all, merge" in terminal.shown
    assert "--missed" in terminal.shown


def test_skip_can_be_undone(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    assert cli("skip", "tick", "3").out == "✓ tick: the next 3 occurrences are skipped\n"
    assert cli("show", "tick", "--json").json["task"]["skips_left"] == 3
    assert "the next 3 occurrences are skipped" in cli("show", "tick").out
    assert cli("skip", "tick", "0", "--json").json["skips_left"] == 0


def test_cancel_is_undone_by_the_printed_command(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    cli("pause", "tick", "--reason", "moving")
    cancelled = cli("cancel", "tick")
    (printed,) = (line for line in cancelled.err.splitlines() if "horae undo tsk_" in line)
    restored = cli(*shlex.split(printed.partition("horae ")[2]))
    assert restored.out == "✓ tick is there again, as it was before the cancel\n"
    assert cli("show", "tick", "--json").json["task"]["pause"]["note"] == "moving"
    assert cli("undo", "tick", "--json").problem["code"] == "not_cancelled"
    cli("cancel", "tick")
    assert cli("undo", "tick", "--json").json["state"] == "paused"


def test_bulk_cancel_is_undone(cli: Cli) -> None:
    add_tasks(cli, 3)
    operation = cli("cancel", "--all", "--json").json["undo"]
    assert cli("undo", operation).out == "✓ undo: 3 of 3 tasks\n"
    assert [each["state"] for each in cli("ls", "--json").json] == ["active"] * 3


def test_cancelled_task_is_not_paused(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    assert "its history stays" in cli("cancel", "tick").out
    done = cli("pause", "tick", "--json")
    assert (done.code, done.problem["code"]) == (5, "task_cancelled")


def test_rm_without_yes_is_refused_and_never_hangs(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    done = cli("rm", "tick")
    assert done.code == 2
    assert "--yes" in done.err
    assert cli("rm", "tick", "--no-input").code == 2
    assert state(cli, "tick") == "active"
    removed = cli("rm", "tick", "--yes", "--json")
    assert (removed.code, removed.json["name"], removed.json["removed"]) == (0, "tick", True)
    assert cli("rm", "tick", "--yes").code == 3


@pytest.mark.parametrize(("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)])
def test_rm_on_a_terminal_asks(cli: Cli, answer: str, code: int) -> None:
    cli("add", "every 5m", "--say", "tick")
    with Terminal(cli, "rm", "tick") as terminal:
        terminal.wait_for("Remove tick and its history? [y/N]")
        terminal.press(answer)
        assert terminal.ended() == code
    assert (cli("show", "tick").code == 3) is (code == 0)


def test_no_input_asks_nothing_on_a_terminal(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    with Terminal(cli, "rm", "tick", "--no-input") as terminal:
        assert terminal.ended() == 2
    assert "[y/N]" not in terminal.shown


def add_tasks(cli: Cli, number: int) -> None:
    for each in range(number):
        cli("add", "every 5m", "--say", f"task {each}", "--label", "kind=test", "--quiet")


def test_bulk_command_on_few_tasks_needs_no_yes(cli: Cli) -> None:
    add_tasks(cli, 3)
    cli("add", "every 5m", "--say", "other")
    done = cli("pause", "--label", "kind=test", "--json")
    name = done.json["undo"]
    assert (done.code, done.json) == (0, {"matched": 3, "done": 3, "refused": [], "undo": name})
    assert state(cli, "other") == "active"
    resumed = cli("resume", "--state", "paused")
    assert resumed.out == "✓ resume: 3 of 3 tasks\n"
    assert cli("undo", name, "--json").json["done"] == 0, "they were resumed since"
    (printed,) = (line for line in resumed.err.splitlines() if "horae undo opn_" in line)
    before = cli("ls", "--json").json
    assert cli(*shlex.split(printed.partition("horae ")[2])).out == "✓ undo: 3 of 3 tasks\n"
    assert [each["state"] for each in cli("ls", "--json").json] == ["paused"] * 3 + ["active"]
    assert [each["state"] for each in before] == ["active"] * 4
    assert cli("undo", name, "--json").problem["code"] == "already_undone"
    assert cli("undo", "opn_unknown", "--json").problem["code"] == "no_such_operation"
    cli("resume", "--all")
    assert cli("run", "--label", "kind=test", "--json").json["done"] == 3
    assert cli("cancel", "--text", "task", "--json").json["done"] == 3


def test_bulk_command_on_more_than_twenty_tasks_needs_yes(cli: Cli) -> None:
    add_tasks(cli, 21)
    done = cli("pause", "--all")
    assert (done.code, "21 tasks" in done.err) == (2, True)
    assert cli("ls", "--state", "paused", "--json").json == []
    done = cli("pause", "--all", "--yes")
    assert (done.code, done.out) == (0, "✓ pause: 21 of 21 tasks\n")
    assert "100 %" in done.err


def test_bulk_removal_always_needs_yes(cli: Cli) -> None:
    add_tasks(cli, 2)
    assert cli("rm", "--label", "kind=test").code == 2
    assert cli("rm", "--label", "kind=test", "--yes", "--json").json["done"] == 2
    assert cli("ls", "--json").json == []


def test_refused_task_does_not_stop_a_bulk_command(cli: Cli) -> None:
    add_tasks(cli, 2)
    cli("cancel", "task 0")
    done = cli("pause", "--all", "--json")
    assert (done.json["matched"], done.json["done"]) == (2, 1)
    assert [each["code"] for each in done.json["refused"]] == ["task_cancelled"]
    assert "✕ task 0: 任务已取消" in cli("pause", "--all", "--lang", "zh").err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["pause"], "no_task_named"), (["pause", "x", "--all"], "task_and_filter"), (["rm"], "no_task_named")],
)
def test_task_and_filter_are_exclusive(cli: Cli, arguments: list[str], code: str) -> None:
    done = cli(*arguments, "--json")
    assert (done.code, done.problem["code"]) == (2, code)


def test_edit_shows_both_schedules_in_words(cli: Cli) -> None:
    cli("add", "0 9 * * *", "--say", "x", "--name", "x", "--zone", "UTC")
    answer = cli("edit", "x", "--when", "every day at 08:30", "--dry-run")
    assert "  ~ when: every day at 09:00, UTC (cron 0 9 * * *) → every day at 08:30, UTC\n" in answer.out
    changed = cli("edit", "x", "--when", "every day at 08:30", "--dry-run", "--json").json["changed"]
    assert changed["when"]["from"]["kind"] == "cron"


def test_edited_delay_counts_from_a_whole_second(cli: Cli) -> None:
    cli("add", "in 500s", "--say", "x", "--name", "once")
    assert cli("edit", "once", "--when", "in 700s").code == 0
    assert cli("show", "once", "--json").json["task"]["next"].endswith(".000Z")
