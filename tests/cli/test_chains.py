"""Chains on the command line: `add --after`, `show --tree`, `rm --force`, and tasks files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command_line import Cli


def test_chain_is_added_and_shown_as_a_tree(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "a", "--name", "a")
    assert "after a" in cli("add", "--after", "a", "--say", "b", "--name", "b").out
    cli("add", "--after", "a:ended", "--after", "b", "--after-mode", "all", "--say", "c", "--name", "c")
    tree = cli("show", "a", "--tree").out.splitlines()
    assert tree[0].startswith("a ")
    assert any(line.startswith("├─ b succeeded") for line in tree)
    assert any("└─ c" in line and "(all)" in line for line in tree)
    assert "after a (ended) and b" in cli("show", "c").out
    chinese = cli("--lang", "zh", "show", "a", "--tree").out.splitlines()
    assert any(line.startswith("├─ b 成功后") for line in chinese)
    assert any("└─ c" in line and "（全部）" in line for line in chinese)
    node = cli("show", "a", "--tree", "--json").json["tree"]
    assert [each["name"] for each in node["successors"]] == ["b", "c"]


def test_schedule_and_after_exclude_each_other(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "a", "--name", "a")
    assert cli("add", "every 1h", "--after", "a", "--say", "b").code == 6
    assert cli("add", "--say", "b").code == 2
    assert cli("add", "--after", "nothing", "--say", "b").code == 6
    assert "succeeded, failed or ended" in cli("add", "--after", "a:maybe", "--say", "b").err


def test_edit_changes_predecessors_and_mode(cli: Cli) -> None:
    for name in ("a", "b"):
        cli("add", "every 1h", "--say", name, "--name", name)
    cli("add", "--after", "a", "--say", "c", "--name", "c")
    assert cli("edit", "c", "--after", "a:ended", "--after", "b").code == 0
    assert "after a (ended) or b" in cli("show", "c").out
    assert cli("edit", "c", "--after-mode", "any").code == 0
    assert cli("edit", "b", "--after", "a").code == 0
    assert cli("edit", "c", "--after-mode", "all").code == 0
    assert "after a (ended) and b" in cli("show", "c").out
    assert cli("edit", "c", "--after", "b").code == 0
    assert cli("show", "c", "--json").json["task"]["when"]["mode"] == "all"


def test_edit_of_links_is_refused_like_a_new_link(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "a", "--name", "a")
    cli("add", "--after", "a", "--say", "b", "--name", "b")
    assert "after_and_schedule" in cli("edit", "b", "--when", "every 2h", "--after", "a", "--json").err
    assert "missing_field" in cli("edit", "a", "--after-mode", "all", "--json").err
    assert "missing_field" in cli("add", "every 1h", "--after-mode", "all", "--say", "x", "--json").err
    assert cli("edit", "a", "--after", "b").code == 6


def test_schedule_line_names_the_predecessors_and_no_zone(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "a", "--name", "one")
    added = cli("add", "--after", "one", "--say", "b", "--name", "b")
    shown = cli("show", "b")
    assert "after one\n" in added.out
    assert "after one\n" in shown.out
    assert "after one" in cli("ls").out
    assert "在 one 成功之后" in cli("--lang", "zh", "ls").out
    assert [each["means"] for each in cli("ls", "--json").json] == ["every hour, UTC", "after one"]
    edited = cli("edit", "b", "--after", "one:ended").out
    assert "after one → after one (ended)" in edited


def test_predecessor_that_has_ended_is_a_warning(cli: Cli) -> None:
    for name in ("a", "b"):
        cli("add", "every 1h", "--say", name, "--name", name)
    cli("cancel", "a")
    added = cli("add", "--after", "a", "--after", "b", "--say", "c", "--name", "c", "--json").json
    assert "predecessor_finished" in [each["code"] for each in added["warnings"]]
    assert "'a', which it runs after, is cancelled" in cli("add", "--after", "a", "--say", "d", "--name", "d").err
    cli("add", "--after", "b", "--say", "e", "--name", "e")
    edited = cli("edit", "e", "--after", "a", "--json").json
    assert [each["code"] for each in edited["warnings"]] == ["predecessor_finished"]
    assert "predecessor_finished" not in cli("edit", "e", "--after", "b", "--json").out


@pytest.mark.usefixtures("node")
def test_chain_of_a_run_is_shown_as_a_tree(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "a", "--name", "a")
    cli("add", "--after", "a", "--say", "b", "--name", "b")
    cli("add", "--after", "a:failed", "--say", "c", "--name", "c")
    run = cli("run", "a", "--wait", "--json").json
    tree = cli("show", run["id"], "--tree", "--json").json
    assert [(each["task"], each["state"]) for each in tree["links"] if each["task"] != "b"] == [
        ("a", "succeeded"),
        ("c", "skipped"),
    ]
    lines = cli("show", run["id"], "--tree").out.splitlines()
    assert lines[0].startswith("a  succeeded")
    assert any(line.startswith("├─ b") for line in lines)
    assert "└─ c  skipped" in lines
    assert "└─ c  跳过" in cli("--lang", "zh", "show", run["id"], "--tree").out.splitlines()


def test_removal_of_a_predecessor_needs_force(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "a", "--name", "a")
    cli("add", "--after", "a", "--say", "b", "--name", "b")
    refused = cli("rm", "a", "--yes")
    assert refused.code != 0
    assert "rm" in refused.err
    assert "--force" in refused.err
    assert cli("rm", "a", "--yes", "--force").code == 0
    assert cli("show", "b", "--json").json["task"]["pause"]["cause"] == "predecessor_deleted"
    assert "predecessor deleted: a" in " ".join(cli("show", "b").out.split())
    assert "前置任务已删除" in cli("--lang", "zh", "ls").out
    assert "paused: a task that it ran after was deleted" in cli("status").out
    why = cli("why", "b").out
    assert "horae edit b --after TASK" in why
    assert "horae resume b" in why


def test_file_of_tasks_may_name_successors_first(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tasks.yaml"
    file.write_text(
        "tasks:\n"
        "- {name: report, after: [{task: backup}], say: r}\n"
        "- {name: alarm, after: [{task: backup, on: failed}], say: x}\n"
        "- {name: backup, when: every 1h, say: b}\n",
        encoding="utf-8",
    )
    done = cli("apply", "-f", str(file), "--yes")
    assert done.code == 0, done.err
    tree = cli("show", "backup", "--tree", "--json").json["tree"]
    assert {(each["name"], each["on"]) for each in tree["successors"]} == {("report", "succeeded"), ("alarm", "failed")}
    assert "= 3" in cli("apply", "-f", str(file), "--yes").out.replace("3 same", "= 3")


def test_export_and_import_keep_the_links(cli: Cli, tmp_path: Path) -> None:
    cli("add", "every 1h", "--say", "a", "--name", "a")
    cli("add", "--after", "a:failed", "--say", "b", "--name", "b")
    exported = tmp_path / "export.jsonl"
    exported.write_text(cli("export").out, encoding="utf-8")
    other = f"sqlite:///{tmp_path}/other.db"
    done = cli("--store", other, "import", str(exported))
    assert done.code == 0, done.err
    tree = cli("--store", other, "show", "a", "--tree", "--json").json["tree"]
    assert [(each["name"], each["on"]) for each in tree["successors"]] == [("b", "failed")]
