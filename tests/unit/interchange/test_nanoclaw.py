"""NanoClaw's database: tasks, history and groups of every version, read without leaving a trace."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.errors import Conflict, Refusal
from horae.interchange import AgentGroup, ImportedTask, PastRun, nanoclaw
from horae.model.gate import Gate
from horae.model.run import RunState
from horae.schedule import Cron, Every, Once
from tests.unit.interchange.nanoclaw_files import GROUP, RUN, SHANGHAI, TASK, TASKS_BEFORE, made
from tests.unit.interchange.sample_files import codes_of, payload_of, reasons, spec_of


def found_in(folder: Path, **changes: Any) -> ImportedTask:
    (found,) = nanoclaw.read(made(folder, {**TASK, **changes}, groups=(GROUP,)), zone=SHANGHAI).tasks
    return found


def test_task_keeps_group_chat_and_prompt(tmp_path: Path) -> None:
    found = found_in(tmp_path, context_mode="group")
    request = found.request
    assert (request.owner, request.lane, request.key) == ("group:family", "group:family", "nanoclaw:task-1")
    assert (request.name, request.when) == ("Send the weather.", Cron("0 9 * * *", zone=SHANGHAI))
    assert request.target.kind == "agent"
    assert spec_of(found) == {"group": "family", "chat": "1203@g.us", "context_mode": "group"}
    assert request.options.gate is None
    assert payload_of(found) == {"prompt": "Send the weather.\nAll of it."}
    assert (found.paused, found.source, found.notes) == (False, "task-1", ())


def test_script_of_a_task_is_its_gate(tmp_path: Path) -> None:
    script = 'new=$(cat /workspace/group/new)\necho "{\\"wakeAgent\\": ${new:-false}}"\n'
    found = found_in(tmp_path, script=script)
    gate = found.request.options.gate
    assert isinstance(gate, Gate)
    assert (gate.kind, json.loads(gate.spec)) == ("command", {"argv": ["bash", "-c", script]})
    assert (gate.timeout, gate.state) == (timedelta(seconds=30), False)
    assert "script" not in spec_of(found)
    assert codes_of(found) == ["nanoclaw_script"]


def test_empty_script_is_no_gate(tmp_path: Path) -> None:
    assert found_in(tmp_path, script="").request.options.gate is None


def test_interval_counts_from_the_end_and_has_its_next_run(tmp_path: Path) -> None:
    found = found_in(tmp_path, schedule_type="interval", schedule_value="3600000")
    assert found.request.when == Every(timedelta(hours=1), "end")
    assert codes_of(found) == ["nanoclaw_next_run"]
    assert "2026-02-24T01:00:00.000Z" in found.notes[0].chinese


def test_once_is_local_time_in_the_zone_of_the_installation(tmp_path: Path) -> None:
    found = found_in(tmp_path, schedule_type="once", schedule_value="2026-03-01T15:00:00")
    assert found.request.when == Once(datetime(2026, 3, 1, 15), zone=SHANGHAI)
    assert codes_of(found) == ["compat_once_local"]


@pytest.mark.parametrize(
    ("changes", "paused", "codes"),
    [
        ({"status": "paused"}, True, []),
        ({"status": "dreaming"}, True, ["nanoclaw_status"]),
        ({"next_run": None}, True, ["nanoclaw_no_next_run"]),
        ({"context_mode": "odd"}, False, ["nanoclaw_context"]),
        ({"context_mode": None}, False, []),
        ({"group_folder": "gone"}, False, ["nanoclaw_no_group"]),
    ],
)
def test_imported_task_states(tmp_path: Path, changes: dict[str, Any], paused: bool, codes: list[str]) -> None:  # noqa: FBT001
    found = found_in(tmp_path, **changes)
    assert (found.paused, codes_of(found)) == (paused, codes)
    assert spec_of(found)["context_mode"] == "isolated"


def test_a_completed_task_is_only_in_the_history(tmp_path: Path) -> None:
    path = made(tmp_path, {**TASK, "status": "completed", "next_run": None}, runs=(RUN,), groups=(GROUP,))
    imported = nanoclaw.read(path, zone=SHANGHAI)
    assert not imported.tasks
    assert [past.key for past in imported.past_runs] == ["nanoclaw:task-1"]
    assert [note.code for note in imported.notes] == ["nanoclaw_completed"]


def test_history_is_ordered_and_start_precedes_the_log_time(tmp_path: Path) -> None:
    failed = {**RUN, "run_at": "2026-02-24T01:00:01Z", "status": "error", "result": None, "error": "no network"}
    runs = (failed, RUN, {**RUN, "run_at": "yesterday"}, {**RUN, "status": "odd"})
    imported = nanoclaw.read(made(tmp_path, TASK, runs=runs, groups=(GROUP,)), zone=SHANGHAI)
    five = timedelta(seconds=5)
    first, second = datetime(2026, 2, 23, 1, tzinfo=UTC), datetime(2026, 2, 24, 0, 59, 56, tzinfo=UTC)
    assert imported.past_runs == (
        PastRun("nanoclaw:task-1", first, five, RunState.SUCCEEDED, "Sunny.", None),
        PastRun("nanoclaw:task-1", second, five, RunState.FAILED, None, "no network"),
    )
    assert [note.code for note in imported.notes] == ["nanoclaw_bad_runs"]


def test_long_history_is_cut_to_the_newest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nanoclaw, "MAX_RUNS", 2)
    runs = tuple({**RUN, "run_at": f"2026-02-{day}T01:00:00Z", "result": str(day)} for day in (12, 14, 10, 13))
    imported = nanoclaw.read(made(tmp_path, TASK, runs=runs, groups=(GROUP,)), zone=SHANGHAI)
    assert [past.result for past in imported.past_runs] == ["13", "14"]
    assert "nanoclaw_old_runs" in [note.code for note in imported.notes]


def test_groups_are_read_with_all_fields(tmp_path: Path) -> None:
    main = {**GROUP, "jid": "me@s", "folder": "main", "is_main": 1, "requires_trigger": 0}
    main["container_config"] = '{"timeout": 600000}'
    leaving = {**GROUP, "jid": "x@s", "folder": "../etc"}
    imported = nanoclaw.read(made(tmp_path, TASK, groups=(GROUP, main, leaving)), zone=SHANGHAI)
    added = "2026-02-01T00:00:00.000Z"
    family, home = imported.groups
    assert family == AgentGroup("family", "1203@g.us", "Family", "@Andy", added=added)
    assert home.to_json() == {
        "folder": "main",
        "jid": "me@s",
        "name": "Family",
        "trigger": "@Andy",
        "requires_trigger": False,
        "is_main": True,
        "added": added,
        "config": {"timeout": 600000},
    }
    assert reasons(imported) == {"group x@s": "import_bad_field"}


def test_older_version_with_fewer_columns_is_read_with_a_note_about_its_groups(tmp_path: Path) -> None:
    imported = nanoclaw.read(made(tmp_path, TASK, schema=TASKS_BEFORE, runs=(RUN,)), zone=SHANGHAI)
    (found,) = imported.tasks
    assert spec_of(found) == {"group": "family", "chat": "1203@g.us", "context_mode": "isolated"}
    assert (found.notes, len(imported.past_runs), imported.groups) == ((), 1, ())
    assert [note.code for note in imported.notes] == ["nanoclaw_groups_elsewhere"]


def test_the_groups_of_an_older_version_are_a_json_file() -> None:
    text = """{"1@g.us": {"name": "Family", "folder": "family", "trigger": "@Andy", "added_at": "2026-02-01"},
               "2@g.us": {"name": "Me", "folder": "main", "trigger": "@Andy", "containerConfig": {"timeout": 1}},
               "3@g.us": {"name": "Bad", "folder": "a/b"}}"""
    imported = nanoclaw.read_groups(text)
    assert [(group.folder, group.is_main, group.config) for group in imported.groups] == [
        ("family", False, None),
        ("main", True, {"timeout": 1}),
    ]
    assert reasons(imported) == {"group 3@g.us": "import_bad_field"}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"schedule_value": "61 * * * *"}, "out_of_range"),
        ({"schedule_type": "interval", "schedule_value": "0"}, "compat_bad_milliseconds"),
        ({"schedule_type": "sometimes"}, "compat_unknown_choice"),
        ({"group_folder": "../../etc"}, "import_bad_field"),
        ({"group_folder": "global"}, "import_bad_field"),
        ({"prompt": ""}, "import_bad_field"),
        ({"prompt": b"\xff\xfe"}, "import_bad_field"),
        ({"script": b"\xff\xfe"}, "import_bad_field"),
        ({"prompt": "x" * 300_000}, "payload_too_large"),
        ({"id": "x" * 300}, "bad_text"),
        ({"id": "a\x1b[2Jb"}, "bad_text"),
        ({"schedule_value": b"\x00\x01"}, "compat_not_text"),
    ],
)
def test_broken_task_is_reported_and_others_are_read(tmp_path: Path, changes: dict[str, Any], code: str) -> None:
    imported = nanoclaw.read(made(tmp_path, {**TASK, "id": "bad", **changes}, {**TASK, "id": "good"}), zone=SHANGHAI)
    assert [found.source for found in imported.tasks] == ["good"]
    (unclear,) = imported.rejected
    assert unclear.note.code == code
    assert (unclear.source + unclear.text).isprintable()


class TestNothingIsWritten:
    """No byte of the database and its WAL changes, and no file is created next to them."""

    def test_closed_database_is_unchanged(self, tmp_path: Path) -> None:
        path = made(tmp_path, TASK)
        before = everything(tmp_path)
        assert len(nanoclaw.read(path, zone=SHANGHAI).tasks) == 1
        assert everything(tmp_path) == before

    def test_closed_database_in_wal_mode_is_unchanged(self, tmp_path: Path) -> None:
        path = made(tmp_path, TASK, schema="PRAGMA journal_mode = WAL;" + TASKS_BEFORE)
        before = everything(tmp_path)
        assert list(before) == ["messages.db"]
        assert len(nanoclaw.read(path, zone=SHANGHAI).tasks) == 1
        assert everything(tmp_path) == before

    def test_database_in_use_with_rows_in_the_wal(self, tmp_path: Path) -> None:
        path = made(tmp_path, TASK, schema="PRAGMA journal_mode = WAL;" + TASKS_BEFORE)
        with in_use(path, "BEGIN", ANOTHER_TASK, "COMMIT"):
            before = everything(tmp_path)
            assert list(before) == ["messages.db", "messages.db-shm", "messages.db-wal"]
            assert [found.source for found in nanoclaw.read(path, zone=SHANGHAI).tasks] == ["task-1", "task-2"]
            assert everything(tmp_path) == before

    def test_database_during_a_write(self, tmp_path: Path) -> None:
        path = made(tmp_path, TASK, schema="PRAGMA journal_mode = WAL;" + TASKS_BEFORE)
        with in_use(path, "BEGIN", ANOTHER_TASK):
            before = everything(tmp_path)
            assert [found.source for found in nanoclaw.read(path, zone=SHANGHAI).tasks] == ["task-1"]
            assert everything(tmp_path) == before

    def test_a_copy_with_its_log(self, tmp_path: Path) -> None:
        path = made(tmp_path, TASK, schema="PRAGMA journal_mode = WAL;" + TASKS_BEFORE)
        copy = tmp_path / "copy"
        copy.mkdir()
        with in_use(path, "BEGIN", ANOTHER_TASK, "COMMIT"):
            for name in ("messages.db", "messages.db-wal"):
                (copy / name).write_bytes((tmp_path / name).read_bytes())
        before = everything(copy)
        assert len(nanoclaw.read(copy / "messages.db", zone=SHANGHAI).tasks) == 2
        assert everything(copy) == before

    def test_a_file_that_stays_locked_is_refused(self, tmp_path: Path) -> None:
        path = made(tmp_path, TASK)
        with in_use(path, "BEGIN EXCLUSIVE"), pytest.raises(Conflict) as refused:
            nanoclaw.read(path, zone=SHANGHAI)
        assert refused.value.code == "import_database_busy"

    def test_database_with_an_interrupted_write_is_refused_and_unchanged(self, tmp_path: Path) -> None:
        path = made(tmp_path, TASK, schema=TASKS_BEFORE)
        with in_use(path, "PRAGMA cache_size = 1", "BEGIN", *[MANY_TASKS] * 3):
            pass
        before = everything(tmp_path)
        assert list(before) == ["messages.db", "messages.db-journal"]
        with pytest.raises(Conflict) as refused:
            nanoclaw.read(path, zone=SHANGHAI)
        assert refused.value.code == "import_database_busy"
        assert everything(tmp_path) == before


MANY_TASKS = """
INSERT INTO scheduled_tasks
WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 500)
SELECT hex(randomblob(8)), 'a', 'b', hex(zeroblob(200)), 'c', 'd', NULL, NULL, NULL, 'active', 'e' FROM up
"""
ANOTHER_TASK = """
INSERT INTO scheduled_tasks (id, group_folder, chat_jid, prompt, schedule_type, schedule_value, next_run, created_at)
SELECT 'task-2', group_folder, chat_jid, prompt, schedule_type, schedule_value, next_run, created_at FROM scheduled_tasks
"""
_USER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    connection.execute(statement)
print("ready", flush=True)
sys.stdin.read()
"""


@contextmanager
def in_use(path: Path, *statements: str) -> Iterator[None]:
    """Open the database in another process, as NanoClaw does: within one process SQLite shares its locks."""
    command = [sys.executable, "-c", _USER, str(path), *statements]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield
        # The process is killed, because a regular exit would checkpoint the WAL.
        process.kill()


def everything(folder: Path) -> dict[str, tuple[int, bytes]]:
    paths = sorted(path for path in folder.iterdir() if path.is_file())
    return {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in paths}


def test_path_with_url_characters(tmp_path: Path) -> None:
    folder = tmp_path / "a?b#c%20d"
    folder.mkdir()
    assert len(nanoclaw.read(made(folder, TASK), zone=SHANGHAI).tasks) == 1


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "import_not_a_database"),
        (b"hello", "import_not_a_database"),
        (b"SQLite format 3\0" + b"\xff" * 4096, "import_not_a_database"),
    ],
)
def test_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "messages.db"
    path.write_bytes(content)
    with pytest.raises(Refusal) as refused:
        nanoclaw.read(path, zone=SHANGHAI)
    assert refused.value.code == code


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path, *({**TASK, "id": f"task-{number}"} for number in range(200)))
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(Refusal) as refused:
        nanoclaw.read(path, zone=SHANGHAI)
    assert refused.value.code == "import_not_a_database"


def test_database_of_another_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refusal) as refused:
        nanoclaw.read(made(tmp_path, schema="CREATE VIEW scheduled_tasks AS SELECT 1 AS id"), zone=SHANGHAI)
    assert refused.value.code == "import_no_table"


def test_endless_generated_column_is_interrupted(tmp_path: Path) -> None:
    """A generated column may hold any expression; the steps are counted, not the seconds."""
    schema = """
    CREATE TABLE scheduled_tasks (id TEXT, n AS (id || id LIKE '%a%b%c%d%'));
    WITH RECURSIVE up(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 2000)
    INSERT INTO scheduled_tasks (id) SELECT n FROM up;
    """
    path = made(tmp_path, schema=schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("horae.interchange.database._MAX_CALLBACKS", 3)
        patch.setattr("horae.interchange.database._STEPS_PER_CALLBACK", 1000)
        with pytest.raises(Refusal) as refused:
            nanoclaw.read(path, zone=SHANGHAI)
    assert refused.value.code == "import_too_much_work"


def test_too_many_tasks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nanoclaw, "MAX_TASKS", 2)
    path = made(tmp_path, *({**TASK, "id": str(number)} for number in range(3)))
    with pytest.raises(Refusal) as refused:
        nanoclaw.read(path, zone=SHANGHAI)
    assert refused.value.code == "import_too_many"


@pytest.mark.parametrize(("name", "code"), [("absent.db", "import_no_file"), (".", "import_not_a_file")])
def test_path_that_is_no_file_is_refused(tmp_path: Path, name: str, code: str) -> None:
    with pytest.raises(Refusal) as refused:
        nanoclaw.read(tmp_path / name, zone=SHANGHAI)
    assert refused.value.code == code
