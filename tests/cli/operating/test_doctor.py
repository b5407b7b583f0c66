"""`horae doctor`: every check with its grade and its fix, in both languages."""

from __future__ import annotations

import json
import signal

from tests.cli.operating.deployment import Deployment


def test_healthy_deployment_passes_every_check_but_listeners(deployment: Deployment) -> None:
    up = deployment.up().ready()
    # Added to a running node: the start of a node may take longer than the lateness that doctor accepts.
    deployment.add(name="tick", when="every 1s", say="tick")
    up.expect("tick")
    deployment.ok("db", "backup", "copy.db")
    answer = deployment.answer("doctor")
    # `up` prints to a pipe here, which does not count as a listener.
    assert [each["check"] for each in answer["checks"] if each["grade"] != "ok"] == ["listeners"], answer
    grades = {each["check"]: each["grade"] for each in answer["checks"]}
    assert {"python", "store", "integrity", "backup", "clock", "zones", "nodes", "disk", "libraries"} <= grades.keys()
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_doctor_without_a_store_reports_it_and_creates_none(deployment: Deployment) -> None:
    done = deployment.horae("doctor", "--lang", "zh")
    assert done.returncode == 0
    assert "还没有存储" in done.stdout
    assert not deployment.path.exists()


def test_due_unclaimed_entry_is_an_error_with_a_fix(deployment: Deployment) -> None:
    deployment.add(name="due", when="now", say="x")
    done = deployment.horae("doctor")
    assert done.returncode == 1
    assert "✕ 1 is due, and not claimed by any node   → horae up" in done.stdout


def test_task_without_a_matching_node_is_reported(deployment: Deployment) -> None:
    deployment.add(name="stranded", when="now", function="nowhere.at_all")
    up = deployment.up().ready()
    up.expect("waits for a node that can run it")
    done = deployment.horae("doctor", "--json")
    found = {each["check"]: each["grade"] for each in json.loads(done.stdout)["checks"]}
    assert (done.returncode, found["stranded"]) == (1, "error")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_key_file_readable_by_others_is_an_error(deployment: Deployment) -> None:
    deployment.ok("secret", "set", "token", "-", stdin="s3cret")
    (deployment.folder / "horae.key").chmod(0o644)
    done = deployment.horae("doctor")
    assert done.returncode == 1
    assert "chmod 600" in done.stdout
    (deployment.folder / "horae.key").unlink()
    assert "1 secret is sealed, but the key" in deployment.horae("doctor").stdout


def test_list_of_senders_with_a_defect_is_an_error(deployment: Deployment) -> None:
    deployment.ok("add", "every 1h", "--say", "x")
    checks = json.loads(deployment.horae("doctor", "--json").stdout)["checks"]
    assert "senders" not in {each["check"] for each in checks}
    senders = deployment.folder / "agents" / "sender-allowlist.json"
    senders.parent.mkdir(exist_ok=True)
    senders.write_text('{"default": {"allow": "everyone"}}', encoding="utf-8")
    done = deployment.horae("doctor")
    assert done.returncode == 1
    assert "No sender may wake an agent: the list of senders" in done.stdout
    assert "/default/allow" in done.stdout
    senders.write_text('{"default": {"allow": ["ada"]}}', encoding="utf-8")
    found = json.loads(deployment.horae("doctor", "--json").stdout)["checks"]
    assert {each["check"]: each["grade"] for each in found}["senders"] == "ok"


def test_unreadable_settings_are_reported(deployment: Deployment) -> None:
    deployment.write("horae.toml", "stoer = 'x'\n")
    done = deployment.horae("doctor")
    assert done.returncode == 1
    assert "'stoer' is not a setting" in done.stdout


def test_file_that_is_no_store_is_reported(deployment: Deployment) -> None:
    deployment.path.write_text("not a database" * 100)
    done = deployment.horae("doctor")
    assert done.returncode == 1
    assert "not a store of Horae" in done.stdout
    assert deployment.path.read_text() == "not a database" * 100


def test_unused_setting_is_reported_with_the_nearest_name(deployment: Deployment) -> None:
    deployment.write("horae.toml", '[targets.command]\nalow = ["x"]\n')
    environment = {"HORAE_STROE": "x", "TIMEZONE": "UTC", "USE_PRIORITY_QUEUE_SCHEDULER": "true"}
    done = deployment.horae("doctor", environment=environment)
    assert done.returncode == 0, "an unused name is no error"
    assert "! The variable HORAE_STROE is set, but nothing here reads it   → did you mean HORAE_STORE?" in done.stdout
    assert "horae.toml says targets.command.alow" in done.stdout
    assert "→ did you mean targets.command.allow?" in done.stdout
    answer = json.loads(deployment.horae("doctor", "--json", environment=environment).stdout)
    assert [each["check"] for each in answer["checks"]].count("unknown_setting") == 2
    assert "是不是 HORAE_STORE？" in deployment.horae("doctor", "--lang", "zh", environment=environment).stdout


def test_unknown_output_format_is_refused_and_reported(deployment: Deployment) -> None:
    wrong = {"HORAE_OUTPUT": "xml"}
    done = deployment.horae("ls", environment=wrong)
    assert (done.returncode, done.stdout) == (6, "")
    assert "'xml' is not a choice for HORAE_OUTPUT." in done.stderr
    answer = deployment.horae("doctor", environment=wrong)
    assert (answer.returncode, "HORAE_OUTPUT" in answer.stdout) == (1, True)
    deployment.write("horae.toml", 'output = "xml"\n')
    assert "not a choice for output (" in deployment.horae("ls").stderr
    assert deployment.horae("ls", environment={"HORAE_OUTPUT": "text"}).returncode == 0
