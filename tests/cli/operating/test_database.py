"""`horae db`: backup during writes, restore, check and upgrade."""

from __future__ import annotations

import json
import signal
import sqlite3
import stat
from pathlib import Path

from horae.model.task import TaskState
from tests.cli.operating.deployment import Deployment
from tests.cli.operating.store_contents import task_names


def test_backup_is_complete_private_and_recorded(deployment: Deployment) -> None:
    deployment.add(name="kept", when="every 1h", say="x")
    up = deployment.up().ready()
    answer = deployment.answer("db", "backup", "copy.db")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    copy = deployment.folder / "copy.db"
    assert answer == {"path": str(copy), "bytes": copy.stat().st_size, "size": answer["size"], "tasks": 1}
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert list(deployment.folder.glob(".horae-*")) == []
    checked = deployment.horae("db", "check", "--store", f"sqlite:///{copy}")
    assert checked.returncode == 0
    doctor = deployment.answer("doctor")
    assert next(each for each in doctor["checks"] if each["check"] == "backup")["grade"] == "ok"


def test_existing_file_is_not_overwritten_without_yes(deployment: Deployment) -> None:
    deployment.add(name="kept", when="every 1h", say="x")
    deployment.write("copy.db", "precious")
    refused = deployment.horae("db", "backup", "copy.db")
    assert refused.returncode == 2
    assert (deployment.folder / "copy.db").read_text() == "precious"
    deployment.ok("db", "backup", "copy.db", "--yes")
    assert deployment.horae("db", "backup", "horae.db", "--yes").returncode == 6


def test_restore_replaces_the_store_and_keeps_the_previous_file(deployment: Deployment) -> None:
    deployment.add(name="before", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    deployment.add(name="after", when="every 1h", say="x")
    assert deployment.horae("db", "restore", "copy.db").returncode == 2
    assert task_names(deployment) == ["after", "before"]
    deployment.ok("db", "restore", "copy.db", "--yes")
    assert task_names(deployment) == ["before"]
    previous = Deployment(deployment.folder)
    previous.url = f"sqlite:///{deployment.path}.before-restore"
    assert task_names(previous) == ["after", "before"]


def test_restore_without_yes_describes_what_it_would_do(deployment: Deployment) -> None:
    deployment.add(name="first", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    done = deployment.horae("db", "restore", "copy.db")
    assert done.returncode == 2
    assert f"{deployment.path}.before-restore" in done.stderr


def test_backup_into_a_missing_folder_is_refused(deployment: Deployment) -> None:
    deployment.add(name="first", when="every 1h", say="x")
    done = deployment.horae("db", "backup", "nowhere/copy.db")
    assert (done.returncode, "Errno" in done.stderr) == (6, False)
    assert f"{deployment.folder}/nowhere is no folder" in done.stderr


def test_restore_without_an_existing_store(deployment: Deployment) -> None:
    deployment.add(name="only", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    deployment.path.unlink()
    deployment.ok("db", "restore", "copy.db")
    assert task_names(deployment) == ["only"]
    assert not Path(f"{deployment.path}.before-restore").exists()


def test_restore_replaces_a_damaged_store(deployment: Deployment) -> None:
    deployment.add(name="only", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    deployment.path.write_text("torn" * 1000)
    assert deployment.horae("ls").returncode == 7
    deployment.ok("db", "restore", "copy.db", "--yes")
    assert task_names(deployment) == ["only"]
    assert Path(f"{deployment.path}.before-restore").read_text() == "torn" * 1000


def test_restore_is_refused_while_an_engine_runs(deployment: Deployment) -> None:
    deployment.add(name="kept", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    up = deployment.up().ready()
    refused = deployment.horae("db", "restore", "copy.db", "--yes")
    assert refused.returncode == 5
    assert "An engine runs on this store" in refused.stderr
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    deployment.ok("db", "restore", "copy.db", "--yes")


def test_restore_is_refused_while_another_process_has_the_file_open(deployment: Deployment) -> None:
    deployment.add(name="kept", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    reader = sqlite3.connect(deployment.path)
    try:
        reader.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        refused = deployment.horae("db", "restore", "copy.db", "--yes")
    finally:
        reader.close()
    assert refused.returncode == 5
    assert "Another process has" in refused.stderr


def test_file_that_is_no_backup_is_refused(deployment: Deployment) -> None:
    deployment.add(name="kept", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    whole = (deployment.folder / "copy.db").read_bytes()
    deployment.write("text.db", "no database at all, whatever its name says" * 40)
    deployment.write("empty.db", "")
    (deployment.folder / "torn.db").write_bytes(whole[: len(whole) // 2])
    other = sqlite3.connect(deployment.folder / "other.db")
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    for name in ("text.db", "empty.db", "torn.db", "other.db"):
        refused = deployment.horae("db", "restore", name, "--yes")
        assert refused.returncode == 6, name
        assert "cannot be restored" in refused.stderr
    assert deployment.horae("db", "restore", "absent.db", "--yes").returncode == 3
    assert task_names(deployment) == ["kept"]
    assert list(deployment.folder.glob(".horae-*")) == []


def test_check_reports_inconsistencies(deployment: Deployment) -> None:
    task = deployment.add(name="kept", when="every 1h", say="x")
    assert "nothing is wrong" in deployment.ok("db", "check")
    link = sqlite3.connect(deployment.path)
    link.execute("DELETE FROM agenda")
    link.commit()
    link.close()
    done = deployment.horae("db", "check", "--json")
    assert done.returncode == 1
    assert any(task in doubt for doubt in json.loads(done.stdout)["doubts"])
    doctor = deployment.horae("doctor")
    assert doctor.returncode == 1
    assert "✕" in doctor.stdout


def test_upgrade_names_both_schema_versions(deployment: Deployment) -> None:
    deployment.add(name="kept", when="every 1h", say="x")
    answer = deployment.answer("db", "upgrade")
    assert answer["before"] == answer["after"] > 0
    assert deployment.ok("db", "path").strip() == str(deployment.path)


def test_db_commands_without_a_store_create_none(deployment: Deployment) -> None:
    for arguments in (("db", "check"), ("db", "upgrade"), ("db", "backup", "copy.db"), ("export",)):
        assert deployment.horae(*arguments).returncode == 3, arguments
    assert not deployment.path.exists()
    assert deployment.horae("db", "path", "--store", "memory://").returncode == 6


def test_doctor_reports_a_failed_task_as_an_error(deployment: Deployment) -> None:
    deployment.write(
        "bad.py",
        f"from horae import Horae\napp = Horae({deployment.url!r})\n@app.task\ndef bad():\n    raise ValueError('no')\n",
    )
    up = deployment.up("bad.py").ready()
    deployment.add(name="doomed", when="now", function="bad", policies={"retries": 0})
    up.expect("has given up")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    done = deployment.horae("doctor", "--json")
    found = {each["check"]: each for each in json.loads(done.stdout)["checks"]}
    assert done.returncode == 1
    assert found["failed"]["grade"] == "error"
    assert "doomed" in found["failed"]["message"]
    assert found["failed"]["fix"]
    (task,) = deployment.call_library(lambda app: app.tasks())
    assert deployment.call_library(lambda app: app.service.tasks.get(app.who, task.id)).status.state is TaskState.FAILED
