"""`horae export` and `horae import`: tasks and history arrive once, also from other schedulers."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from horae.cli.transfer.export_reader import continue_schedule
from horae.model.inputs.run_input import RunInput
from tests.cli.command_line import Cli
from tests.cli.operating.deployment import Deployment
from tests.cli.operating.store_contents import task_definitions
from tests.unit.interchange.nanoclaw_files import GROUP, RUN, TASK, made

ROOT = Path(__file__).parents[3]


@pytest.fixture
def other_deployment(tmp_path: Path) -> Deployment:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return Deployment(folder)


def fill(deployment: Deployment) -> None:
    deployment.add(name="hourly", when="every 1h", say="x", key="mine", labels={"a": "b"}, lane="one")
    deployment.add(name="berlin", when="0 9 * * 1-5", zone="Europe/Berlin", say="x", policies={"retries": 7})
    paused = deployment.add(name="resting", when="every day at 9:00", zone="UTC", http="https://example.com/")
    deployment.call_library(lambda app: app.service.tasks.pause(app.who, paused, note="on holiday"))
    over = deployment.add(name="over", when="every 1h", say="x")
    deployment.call_library(lambda app: app.service.tasks.cancel(app.who, over))
    deployment.call_library(lambda app: app.lane("one", 3))


def test_lane_template_is_set_exported_and_restored_with_the_lanes_that_follow_it(
    deployment: Deployment, other_deployment: Deployment
) -> None:
    for owner in ("ada", "bob", "cyn"):
        deployment.add(name=owner, when="every 1h", say="x", owner=owner, lane="api:{owner}", key=owner)
    deployment.ok("lane", "api:{owner}", "--rate", "5/1s")
    deployment.ok("lane", "api:cyn", "2")
    lanes = {lane["name"]: (lane["limit"], lane["rate"]) for lane in deployment.answer("lanes")}
    assert lanes["api:ada"] == lanes["api:bob"] == lanes["api:{owner}"]
    assert lanes["api:cyn"] == (2, "5/1s")
    deployment.ok("export", "--out", "all.jsonl")
    file = deployment.folder / "all.jsonl"
    exported = [json.loads(line).get("lane") for line in file.read_text().splitlines()]
    assert [lane["name"] for lane in exported if lane] == ["api:cyn", "api:{owner}"]
    other_deployment.ok("import", str(file))
    assert {each["name"]: (each["limit"], each["rate"]) for each in other_deployment.answer("lanes")} == lanes
    other_deployment.ok("lane", "api:{owner}", "--rate", "7/1s")
    after = {each["name"]: each["rate"] for each in other_deployment.answer("lanes")}
    assert after == {"api:ada": "7/1s", "api:bob": "7/1s", "api:cyn": "5/1s", "api:{owner}": "7/1s"}


def test_import_restores_the_exported_tasks(deployment: Deployment, other_deployment: Deployment) -> None:
    fill(deployment)
    answer = deployment.answer("export", "--out", "all.jsonl")
    assert (answer["tasks"], answer["runs"]) == (4, 0)
    file = deployment.folder / "all.jsonl"
    assert json.loads(file.read_text().splitlines()[0])["horae"] == "export"
    first = other_deployment.answer("import", str(file))
    assert (first["new"], first["changed"], first["same"], first["over"]) == (3, 0, 0, 1)
    there, here = task_definitions(deployment), task_definitions(other_deployment)
    assert here.keys() == {"hourly", "berlin", "resting"}
    for name, shape in here.items():
        for field in ("target", "payload", "lane", "labels", "policies", "owner", "zone", "state"):
            assert shape[field] == there[name][field], (name, field)
    assert here["hourly"]["key"] == "mine"
    assert here["berlin"]["key"] == f"import:{there['berlin']['id']}"
    assert here["resting"]["next"] is None
    # The interval grid keeps its phase.
    assert here["hourly"]["next"] == there["hourly"]["next"]
    assert other_deployment.call_library(lambda app: app.store.lanes())[0].limit == 3


def test_importing_twice_changes_nothing(deployment: Deployment, other_deployment: Deployment) -> None:
    fill(deployment)
    text = deployment.ok("export")
    other_deployment.ok("import", "-", stdin=text)
    before, number = (
        task_definitions(other_deployment),
        other_deployment.call_library(lambda app: app.store.last_event()),
    )
    again = other_deployment.answer("import", "-", stdin=text)
    assert (again["new"], again["changed"], again["same"]) == (0, 0, 3)
    assert task_definitions(other_deployment) == before
    assert other_deployment.call_library(lambda app: app.store.last_event()) == number


def test_history_is_imported_once(deployment: Deployment, other_deployment: Deployment) -> None:
    deployment.add(name="ran", when="every 1s", say="x", key="ran")
    up = deployment.up().ready()
    up.expect("ran")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    text = deployment.ok("export", "--runs")
    lines = [json.loads(line) for line in text.splitlines()]
    states = [line["run"]["state"] for line in lines if "run" in line]
    for line in lines:
        if "run" in line:
            assert line["run"]["input"] is None
            line["run"]["input"] = {"merge": {"a": 1}}
    text = "\n".join(map(json.dumps, lines))
    # After a slow start a run may stand for merged instants, which are not part of the history.
    runs, left = states.count("succeeded"), states.count("skipped")
    assert runs >= 1
    assert runs + left == len(states)
    for taken in (runs, 0):
        tried = other_deployment.answer("import", "-", "--dry-run", stdin=text)
        answer = other_deployment.answer("import", "-", stdin=text)
        assert tried["runs"] == answer["runs"] == {"taken": taken, "left": left, "there": runs - taken}
    verb = "is" if runs == 1 else "are"
    assert f"0 runs from before, {runs} {verb} here already" in other_deployment.ok("import", "-", stdin=text)
    (task,) = task_definitions(other_deployment).values()
    rows = other_deployment.runs(task["id"])
    assert len(rows) == runs
    assert all(row.state.value == "succeeded" and row.lateness is not None for row in rows)
    assert {row.input for row in rows} == {RunInput("merge", '{"a": 1}')}
    assert other_deployment.call_library(lambda app: app.store.check()) == ()


def test_history_with_a_shared_key_goes_to_its_owner(deployment: Deployment) -> None:
    def task(name: str) -> str:
        fields = {"id": f"tsk_{name}", "name": name, "owner": name, "key": "same", "when": "every 1h", "say": "x"}
        return json.dumps({"task": fields})

    def run(name: str, hour: int) -> str:
        planned = f"2026-03-01T{hour:02}:00:00Z"
        return json.dumps({"run": {"task_id": f"tsk_{name}", "planned": planned, "state": "succeeded"}})

    lines = ['{"horae": "export", "version": 1}', task("ada"), run("ada", 1), run("ada", 2), task("bob"), run("bob", 3)]
    assert deployment.answer("import", "-", stdin="\n".join(lines))["runs"] == {"taken": 3, "left": 0, "there": 0}
    rows = {name: deployment.runs(shape["id"]) for name, shape in task_definitions(deployment).items()}
    assert {name: sorted(row.planned.hour for row in rows[name]) for name in rows} == {"ada": [1, 2], "bob": [3]}
    assert all(row.owner == name for name in rows for row in rows[name])


def test_import_dry_run_writes_nothing(deployment: Deployment, other_deployment: Deployment) -> None:
    fill(deployment)
    done = other_deployment.horae("import", "-", "--dry-run", stdin=deployment.ok("export"))
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "+ 3 tasks  ~ 0 changed  = 0 as they are  ? 0 unclear"
    assert "nothing written" in done.stderr
    assert not other_deployment.path.exists()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"task": {"name": "x", "when": "every 1h"}}', "line 3: The field 'target' is missing."),
        ('{"task": {"name": "x", "when": "every blue moon", "say": "x"}}', "line 3"),
        ('{"nonsense": {}}', "Line 3 of"),
        ("{", "line 3"),
        ('{"task": 1}', "Line 3 of"),
        ('{"run": {"task_id": "x"}}', "line 3: planned cannot be null"),
        (
            '{"run": {"task_id": "tsk_1", "planned": "2999-01-01T00:00:00Z", "state": "failed"}}',
            "bad.jsonl, line 3: 2999",
        ),
        ('{"group": {"folder": "../up", "jid": "x", "name": "x"}}', "line 3: folder cannot be"),
    ],
)
def test_one_bad_line_refuses_the_whole_file(deployment: Deployment, line: str, words: str) -> None:
    good = '{"task": {"id": "tsk_1", "name": "good", "when": "every 1h", "say": "x"}}'
    file = deployment.write("bad.jsonl", f'{{"horae": "export", "version": 1}}\n{good}\n{line}\n')
    done = deployment.horae("import", str(file))
    assert done.returncode == 6
    assert words in done.stderr
    assert not deployment.path.exists() or task_definitions(deployment) == {}


def test_newer_export_and_unknown_files_are_refused(deployment: Deployment) -> None:
    deployment.write("new.jsonl", '{"horae": "export", "version": 2}\n')
    deployment.write("empty", "")
    assert "version 2" in deployment.horae("import", "new.jsonl").stderr
    assert deployment.horae("import", "empty").returncode == 6
    assert deployment.horae("import", "absent").returncode == 3
    assert deployment.horae("import", "empty", "--format", "xml").returncode == 6
    assert deployment.horae("import", "-", "--format", "nanoclaw").returncode == 2


def test_crontab_is_imported_and_unclear_lines_are_reported(deployment: Deployment) -> None:
    deployment.write("table", "*/5 * * * * /bin/true\n@reboot start\n0 3 * * * /bin/not-allowed\n")
    allowed = {"HORAE_COMMAND_ALLOW": "/bin/true"}
    done = deployment.horae("import", "table", "--zone", "Europe/Berlin", environment=allowed)
    assert done.returncode == 0
    assert done.stdout.startswith("+ 1 task  ~ 0 changed  = 0 as they are  ? 2 unclear")
    assert "line 2: @reboot start" in done.stdout
    assert "is not allowed here" in done.stdout
    (task,) = task_definitions(deployment).values()
    assert (task["zone"], task["target"]["argv"]) == ("Europe/Berlin", ["/bin/true"])
    chinese = deployment.horae("import", "table", "--zone", "Europe/Berlin", "--lang", "zh", environment=allowed)
    assert "1 个不变" in chinese.stdout


def test_import_of_nothing_usable_is_refused_with_every_reason(deployment: Deployment) -> None:
    deployment.write("table", "@reboot start\n0 3 * * * /bin/not-allowed\n")
    assert deployment.horae("import", "table", "--dry-run").returncode == 6
    done = deployment.horae("import", "table")
    assert done.returncode == 6
    assert done.stdout.startswith("+ 0 tasks  ~ 0 changed  = 0 as they are  ? 2 unclear")
    assert "line 1: @reboot start" in done.stdout
    assert "Nothing in 'table' could be imported: 2 entries are unclear." in done.stderr
    answer = deployment.horae("import", "table", "--json")
    assert (answer.returncode, len(json.loads(answer.stdout)["unclear"])) == (6, 2)
    assert json.loads(answer.stderr.splitlines()[-1])["code"] == "nothing_taken_over"
    deployment.write("empty", "# nothing yet\n")
    assert deployment.horae("import", "empty", "--format", "crontab").returncode == 0


def test_nanoclaw_groups_become_records_and_lanes(deployment: Deployment) -> None:
    path = made(deployment.folder, TASK, runs=(RUN,), groups=(GROUP,))
    tried = deployment.answer("import", str(path), "--zone", "UTC", "--dry-run")
    answer = deployment.answer("import", str(path), "--zone", "UTC")
    assert answer["groups"] > 0
    assert tried["runs"] == answer["runs"] == {"taken": 1, "left": 0, "there": 0}
    lanes = {lane.name: lane.limit for lane in deployment.call_library(lambda app: app.store.lanes())}
    groups = deployment.answer("group", "ls")
    assert [each["folder"] for each in groups] == ["family"]
    assert lanes["group:family"] == 1


def test_openclaw_jobs_are_recognised(deployment: Deployment) -> None:
    answer = deployment.answer("import", str(ROOT / "tests/data/interchange/openclaw_jobs.json"), "--dry-run")
    assert len(answer["unclear"]) + len(answer["tasks"]) > 5
    assert all(each["because"] for each in answer["unclear"])


def test_export_to_an_existing_file_requires_yes(deployment: Deployment) -> None:
    fill(deployment)
    deployment.write("all.jsonl", "precious")
    assert deployment.horae("export", "--out", "all.jsonl").returncode == 2
    assert (deployment.folder / "all.jsonl").read_text() == "precious"
    deployment.ok("export", "--out", "all.jsonl", "--yes")
    assert (deployment.folder / "all.jsonl").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("text", ["nonsense\n", "nonsense\nmore nonsense here\n"])
def test_import_dry_run_has_the_result_of_the_import(cli: Cli, text: str) -> None:
    (cli.directory / "crontab").write_text(text, encoding="utf-8")
    arguments = ("import", "crontab", "--format", "crontab", "--json")
    tried, done = cli(*arguments, "--dry-run"), cli(*arguments)
    assert tried.code == done.code != 0
    assert tried.problem["code"] == done.problem["code"] == "nothing_taken_over"


def test_import_prints_the_ids_that_are_stored(deployment: Deployment, other_deployment: Deployment) -> None:
    deployment.add(name="one", when="every 1h", say="1", key="one")
    deployment.add(name="two", when="every 2h", say="2")
    text = deployment.ok("export")
    new = other_deployment.answer("import", "-", stdin=text)
    stored = {task["name"]: task["id"] for task in other_deployment.answer("ls")}
    assert [each["change"] for each in new["tasks"]] == ["new", "new"]
    assert {each["name"]: each["id"] for each in new["tasks"]} == stored
    deployment.ok("edit", "two", "--when", "every 3h")
    again = other_deployment.answer("import", "-", stdin=deployment.ok("export"))
    assert sorted(each["change"] for each in again["tasks"]) == ["changed", "same"]
    assert {each["name"]: each["id"] for each in again["tasks"]} == stored


def test_list_of_schedules_continues_without_the_times_that_have_passed() -> None:
    daily = {"kind": "calendar", "unit": "day", "every": 1, "at": ["09:00"]}
    every = {"kind": "every", "interval": "PT1H", "from": "grid"}
    passed = {"kind": "once", "at": "2026-03-01T10:00:00"}
    ahead = {"kind": "once", "at": "2026-03-09T10:00:00"}
    body = {
        "when": {
            "kind": "any_of",
            "schedules": [daily, every, passed, ahead, {"kind": "now"}],
            "zone": "UTC",
            "repeat": 9,
        },
        "zone": "UTC",
        "created": "2026-03-01T08:30:00.000Z",
        "next": "2026-03-05T09:00:00.000Z",
        "counted": 4,
    }
    assert continue_schedule(body) == {
        "kind": "any_of",
        "schedules": [daily, every, ahead],
        "zone": "UTC",
        "repeat": 5,
        "start": "2026-03-01T08:30:00.000Z",
    }
    fixed = {"kind": "any_of", "schedules": [daily, {**daily, "at": ["10:00"]}], "zone": "UTC"}
    assert continue_schedule({**body, "when": fixed}) == fixed, "nothing in it counts from the creation"
    assert continue_schedule({**body, "when": {**fixed, "schedules": [passed, {"kind": "now"}]}})["schedules"] == [
        passed,
        {"kind": "now"},
    ]
    assert continue_schedule({**body, "when": fixed, "next": None}) == fixed
