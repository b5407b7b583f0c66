"""`horae view`: saved queries, and lists and bulk actions by them."""

from __future__ import annotations

from tests.cli.command_line import Cli
from tests.cli.histories import write_failure_history
from tests.cli.json_schemas import check_schema


def test_views_are_saved_used_and_removed(cli: Cli) -> None:
    write_failure_history(cli.path)
    saved = cli("view", "add", "on holiday / 假期", "state:paused", "--json").json
    check_schema("view", saved)
    assert (saved["list"], saved["query"]) == ("tasks", "state:paused")
    added = cli("view", "add", "broken", "state:failed", "--list", "runs")
    assert (added.code, added.out) == (0, "✓ Saved the view broken: use it with runs --view.\n")
    listed = cli("view", "ls", "--json").json
    check_schema("views", listed)
    assert [each["name"] for each in listed] == ["broken", "on holiday / 假期"]
    assert cli("view", "ls", "--list", "runs", "--quiet").out == "broken\n"
    assert "tasks  on holiday / 假期  state:paused" in cli("view", "ls").out
    tasks = cli("ls", "--view", "on holiday / 假期", "--json").json
    assert [each["name"] for each in tasks] == ["weekly-digest"]
    failed = cli("runs", "--view", "broken", "--query", "task:nightly-backup", "--json").json
    assert {each["state"] for each in failed} == {"failed"}
    assert cli("runs", "report", "--view", "broken", "--json").json == []
    resumed = cli("resume", "--view", "on holiday / 假期", "--json").json
    assert (resumed["matched"], resumed["done"]) == (1, 1)
    removed = cli("view", "rm", "broken", "--list", "runs", "--json").json
    check_schema("forgotten", removed)
    assert [each["name"] for each in cli("view", "ls", "--json").json] == ["on holiday / 假期"]


def test_absent_and_contradicting_views_are_refused(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x")
    assert cli("view", "ls", "--json").json == []
    assert 'horae view add "to do" state:failed,paused' in cli("view", "ls").err
    for arguments in (["ls", "--view", "x"], ["runs", "--view", "x"], ["pause", "--view", "x"], ["view", "rm", "x"]):
        done = cli(*arguments, "--json")
        assert (done.code, done.problem["code"]) == (3, "no_such_view"), arguments
    cli("view", "add", "failing", "state:failed")
    cli("view", "add", "everything", "")
    assert cli("ls", "--view", "failing", "--state", "paused", "--json").problem["code"] == "query_key_twice"
    assert cli("rm", "--view", "everything", "--yes", "--json").problem["code"] == "no_task_named"
    assert len(cli("ls", "--json").json) == 1
