"""Crontab import: every line becomes an equivalent task or is reported with a reason."""

from __future__ import annotations

import string
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae import InvalidSchedule
from horae.interchange import ImportedTask, crontab
from horae.schedule import Cron
from tests.strategies import EXPRESSIONS
from tests.unit.interchange.sample_files import by_source, codes_of, reasons, sample, spec_of

BERLIN = "Europe/Berlin"


def only(line: str, *, system: bool = False) -> ImportedTask:
    (found,) = crontab.read(line, zone=BERLIN, user="ann", system=system).tasks
    return found


class TestUserCrontab:
    imported = crontab.read(sample("user.crontab"), zone=BERLIN, user="ann")
    found = by_source(imported)

    def test_every_line_is_imported_or_reported(self) -> None:
        assert list(self.found) == ["line 8", "line 9", "line 11", "line 16", "line 18"]
        assert reasons(self.imported) == {
            "line 12": "cron_reboot",
            "line 19": "step_too_large",
            "line 20": "never",
            "line 21": "cron_not_a_line",
            "line 22": "cron_no_command",
        }

    def test_refused_line_is_reported_with_the_refusal_in_both_languages(self) -> None:
        with pytest.raises(InvalidSchedule) as refused:
            Cron("*/90 * * * *")
        (unclear,) = [each for each in self.imported.rejected if each.source == "line 19"]
        assert unclear.note.english == str(refused.value)
        assert refused.value.in_language("zh").message in unclear.note.chinese
        assert unclear.text == "*/90 * * * * /bin/true"

    def test_names_come_from_the_comment_above_or_at_the_end_else_from_the_command(self) -> None:
        assert [found.request.name for found in self.imported.tasks] == [
            "Nightly backup",
            "ping the status page",
            "logrotate --state /var/lib/state /etc/logrotate.conf",
            'mail -s "Market closed%" trader',
            "cd /srv/app && ./report.sh",
        ]

    def test_a_simple_command_needs_no_shell(self) -> None:
        assert spec_of(self.found["line 8"])["argv"] == ["/usr/local/bin/backup", "--all"]
        assert "cron_shell" not in codes_of(self.found["line 8"])

    def test_shell_text_runs_in_a_shell_with_a_note(self) -> None:
        found = self.found["line 9"]
        command = "/usr/bin/curl -fsS https://status.example.org/ping > /dev/null 2>&1"
        assert spec_of(found)["argv"] == ["/bin/sh", "-c", command]
        assert "cron_shell" in codes_of(found)

    def test_the_zone_is_the_machines_until_the_crontab_sets_another(self) -> None:
        assert self.found["line 11"].request.when == Cron("@daily", zone=BERLIN)
        assert self.found["line 16"].request.when == Cron("0 16 * * 1-5", zone="America/New_York")

    def test_text_after_a_percent_sign_is_input(self) -> None:
        spec = spec_of(self.found["line 16"])
        assert spec["argv"] == ["mail", "-s", "Market closed%", "trader"]
        assert spec["stdin"] == "It is four o'clock.\nGo home.\n"

    def test_variables_count_for_the_lines_below_them(self) -> None:
        assert spec_of(self.found["line 8"])["environment"] == {"BACKUP_TOKEN": "not really"}
        assert {"cron_mailto", "cron_secret"} <= set(codes_of(self.found["line 8"]))
        assert "cron_mailto" not in codes_of(self.found["line 18"])

    def test_runs_behave_as_in_cron(self) -> None:
        options = self.found["line 8"].request.options
        assert (options.missed, options.overlap, options.retries) == ("skip", "parallel", 0)
        assert [note.code for note in self.imported.notes] == ["cron_manners", "cron_surroundings"]


class TestSystemCrontab:
    imported = crontab.read(sample("system.crontab"), zone="UTC", user="", system=True)
    hourly, rotate, backup = imported.tasks

    def test_user_column_of_a_system_crontab_is_read(self) -> None:
        assert not self.imported.rejected
        users = [(found.request.labels or {})["user"] for found in self.imported.tasks]
        assert users == ["root", "www-data", "backup"]
        assert all("cron_user" in codes_of(found) for found in self.imported.tasks)

    def test_shell_sets_variables_that_no_task_may_set(self) -> None:
        shell, flag, text = spec_of(self.hourly)["argv"]
        assert (shell, flag) == ("/bin/bash", "-c")
        assert text == (
            "cd /var/lib/jobs || exit\n"
            "export PATH=/usr/local/sbin:/usr/local/bin:/sbin:/bin:/usr/sbin:/usr/bin\n"
            "export HOME=/var/lib/jobs\n"
            "cd / && run-parts --report /etc/cron.hourly"
        )

    def test_plain_program_runs_without_these_variables_with_a_note(self) -> None:
        spec = spec_of(self.rotate)
        assert spec["argv"] == ["/usr/sbin/rotate", "--now"]
        assert spec["environment"] == {"SHELL": "/bin/bash"}
        (note,) = [note for note in self.rotate.notes if note.code == "cron_reserved"]
        assert "PATH, HOME" in note.english
        assert self.rotate.request.name == "Rotate the logs"

    def test_user_column_is_not_part_of_the_command(self) -> None:
        assert spec_of(self.backup)["argv"] == ["/opt/backup/run"]
        assert spec_of(self.backup)["stdin"] == "first line\n"
        assert self.backup.request.when == Cron("@weekly", zone="UTC")


class TestKeys:
    def test_a_line_that_moves_or_gets_another_time_or_comment_is_the_same_task(self) -> None:
        before = only("0 5 * * * /bin/a --x")
        text = "A=1\n0 1 * * * /bin/other\n\n# named\n30 6 * * * /bin/a --x  # and so"
        other, after = crontab.read(text, zone=BERLIN, user="ann").tasks
        assert before.request.key == after.request.key != other.request.key
        assert str(before.request.key).startswith("crontab:ann:")

    def test_the_same_command_twice_is_two_tasks(self) -> None:
        text = "0 5 * * * /bin/a\n0 6 * * * /bin/a\n0 7 * * * /bin/b\n0 8 * * * /bin/a%input\n"
        keys = [found.request.key for found in crontab.read(text, zone=BERLIN, user="ann").tasks]
        assert len(set(keys)) == 4
        assert keys == [found.request.key for found in crontab.read(text, zone=BERLIN, user="ann").tasks]

    def test_two_users_with_the_same_line_are_two_tasks(self) -> None:
        assert (
            only("0 5 * * * ann /bin/a", system=True).request.key
            != only("0 5 * * * bob /bin/a", system=True).request.key
        )


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("0 5 * * * date +\\%F", ["date", "+%F"]),
        ("0 5 * * * echo 'a b' c", ["echo", "a b", "c"]),
        ("0 5 * * * NAME=x run", ["/bin/sh", "-c", "NAME=x run"]),
        ("0 5 * * * test -e /tmp/x", ["/bin/sh", "-c", "test -e /tmp/x"]),
        ("0 5 * * * bin/run", ["/bin/sh", "-c", "bin/run"]),
        ("0 5 * * * ~/run", ["/bin/sh", "-c", "~/run"]),
        ("0 5 * * * echo 'open", ["/bin/sh", "-c", "echo 'open"]),
        ("SHELL=/bin/zsh\n0 5 * * * a && b", ["/bin/zsh", "-c", "a && b"]),
        ("SHELL=/usr/bin/python3\n0 5 * * * print(1) # x", ["/usr/bin/python3", "-c", "print(1) # x"]),
        ("PATH=/opt/bin\n0 5 * * * tool", ["/bin/sh", "-c", "export PATH=/opt/bin\ntool"]),
        ("PATH='/a b'\n0 5 * * * tool", ["/bin/sh", "-c", "export PATH='/a b'\ntool"]),
        ("  0\t5  * * *   /bin/a   ", ["/bin/a"]),
        ("0 5 * * * /bin/a\r", ["/bin/a"]),
    ],
)
def test_commands_of_crontab_lines(line: str, argv: list[str]) -> None:
    assert spec_of(only(line))["argv"] == argv


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("NAME = value", "NAME", "value"),
        ("NAME=  spaces inside  ", "NAME", "spaces inside"),
        ('NAME="  kept  "', "NAME", "  kept  "),
        ("\"NAME\" = 'x'", "NAME", "x"),
        ("NAME=a=b", "NAME", "a=b"),
        ("NAME=$HOME/x", "NAME", "$HOME/x"),
        ("NAME=", "NAME", ""),
    ],
)
def test_variables_are_read_as_cron_reads_them(line: str, name: str, value: str) -> None:
    assert spec_of(only(f"{line}\n0 5 * * * /bin/a"))["environment"] == {name: value}


@pytest.mark.parametrize(
    ("comment", "name"),
    [
        ("# Nightly backup", "Nightly backup"),
        ("### --- Nightly --- ###", "Nightly"),
        ("#0 5 * * * /bin/old", "/bin/a"),
        ("# @daily /bin/old", "/bin/a"),
        ("# m h  dom mon dow   command", "/bin/a"),
        ("# ---------", "/bin/a"),
        ("# Far above\n", "/bin/a"),
        ("# 每晚备份", "每晚备份"),
        ("# " + "x" * 300, "x" * 79 + "…"),
    ],
)
def test_comments_that_become_names(comment: str, name: str) -> None:
    assert only(f"{comment}\n0 5 * * * /bin/a").request.name == name


def test_tz_is_for_the_command_alone_as_in_cron() -> None:
    found = only("TZ=Asia/Tokyo\n0 5 * * * /bin/a")
    assert found.request.when == Cron("0 5 * * *", zone=BERLIN)
    assert spec_of(found)["environment"] == {"TZ": "Asia/Tokyo"}
    assert "cron_tz" in codes_of(found)


def test_unknown_zone_refuses_only_later_lines() -> None:
    imported = crontab.read(
        "0 5 * * * a\nCRON_TZ=Mars/Base\n0 5 * * * b\nCRON_TZ=\n0 5 * * * c", zone=BERLIN, user="ann"
    )
    assert list(by_source(imported)) == ["line 1", "line 5"]
    assert reasons(imported) == {"line 3": "unknown_zone"}


def test_the_callers_zone_must_exist() -> None:
    with pytest.raises(InvalidSchedule):
        crontab.read("", zone="Mars/Base", user="ann")


def test_a_shell_runs_the_text_as_cron_would() -> None:
    """The prelude, the quoting and the input, seen by a real shell."""
    line = 'HOME=/usr\nPATH=/bin:/usr/bin:/it\'s\n0 5 * * * pwd; echo "$PATH"; cat%one%two \\% three'
    spec = spec_of(only(line))
    done = subprocess.run(spec["argv"], input=spec["stdin"], capture_output=True, text=True, check=True)
    assert done.stdout == "/usr\n/bin:/usr/bin:/it's\none\ntwo % three\n"


words = st.text(string.ascii_letters + string.digits + "/-_.:+@,", min_size=1, max_size=12)
commands = st.lists(words, min_size=1, max_size=5).map(lambda found: "/bin/" + " ".join(found))
five_fields = st.sampled_from(
    [each for each in EXPRESSIONS if len(each.split()) == 5] + ["@daily", "@hourly", "@yearly"]
)
blanks = st.text(" \t", min_size=1, max_size=3)


@given(five_fields, commands, blanks, st.sampled_from(["UTC", BERLIN, "Asia/Shanghai"]), st.sampled_from(["", "ann"]))
def test_line_is_parsed_into_its_schedule_and_command(
    expression: str, command: str, blank: str, zone: str, column: str
) -> None:
    line = blank.join([*expression.split(), *column.split(), command])
    (found,) = crontab.read(line, zone=zone, user="ann", system=bool(column)).tasks
    assert found.request.when == Cron(expression, zone=zone)
    assert spec_of(found)["argv"] == command.split()


@given(five_fields, st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=60))
def test_schedule_of_a_line_is_independent_of_its_command(expression: str, command: str) -> None:
    imported = crontab.read(f"{expression} {command}", zone=BERLIN, user="ann")
    assert len(imported.tasks) + len(imported.rejected) == 1
    for found in imported.tasks:
        assert found.request.when == Cron(expression, zone=BERLIN)


@given(st.text(max_size=300))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    if "\0" not in text:
        crontab.read(text, zone=BERLIN, user="ann")
        crontab.read(text, zone=BERLIN, user="ann", system=True)
