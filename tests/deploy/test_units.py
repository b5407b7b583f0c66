"""The units: what systemd itself says of them, and `horae service`, which writes them."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from unittest.mock import patch

import pytest

from horae.cli.messages import service_messages
from horae.cli.systemd import PROGRAM, UnitOptions, quote_word, unit_text, variable_line
from horae.message import Message
from tests.cli.command_line import Cli, CommandResult
from tests.docs.pages import ROOT
from tests.servers.programs import program

UNITS: Final = ROOT / "deploy" / "systemd"
MOST_EXPOSED: Final = 20
"""Tenths: systemd calls what is below 2.0 well guarded."""
KINDS: Final = [UnitOptions(user=user, worker=worker) for user in (False, True) for worker in (False, True)]


def analyze(*words: str) -> subprocess.CompletedProcess[str]:
    command = [program("systemd-analyze", package="systemd"), *words]
    with TemporaryDirectory() as folder:
        environment = os.environ | {"XDG_RUNTIME_DIR": folder}
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, env=environment)


def verified(folder: Path, chosen: UnitOptions) -> subprocess.CompletedProcess[str]:
    """With a program that is there."""
    path = folder / chosen.name.replace("@", "@1")
    path.write_text(unit_text(chosen._replace(program=(sys.executable, "-m", "horae"))))
    return analyze("verify", *(["--user"] if chosen.user else []), str(path))


@pytest.mark.parametrize("worker", [False, True])
def test_what_is_shipped_is_what_is_written(worker: bool) -> None:  # noqa: FBT001 - a parameter
    chosen = UnitOptions(worker=worker)
    assert (UNITS / chosen.name).read_text(encoding="utf-8") == unit_text(chosen)


@pytest.mark.parametrize("chosen", KINDS)
def test_systemd_understands_every_line(tmp_path: Path, chosen: UnitOptions) -> None:
    done = verified(tmp_path, chosen)
    complaints = [line for line in done.stderr.splitlines() if "horae" in line]
    assert (done.returncode, complaints) == (0, []), done.stderr


def test_systemd_would_complain_about_a_mistake(tmp_path: Path) -> None:
    path = tmp_path / "horae.service"
    path.write_text(unit_text(UnitOptions(program=(sys.executable,))).replace("ProtectHome=", "ProtectHouse="))
    assert "ProtectHouse" in analyze("verify", str(path)).stderr


@pytest.mark.parametrize("worker", [False, True])
def test_they_are_well_guarded(tmp_path: Path, worker: bool) -> None:  # noqa: FBT001 - a parameter
    unit = UNITS / UnitOptions(worker=worker).name
    path = tmp_path / unit.name.replace("@", "")
    path.write_text(unit.read_text(encoding="utf-8"))
    guarded = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", str(path))
    assert guarded.returncode == 0, guarded.stdout[-300:]
    path.write_text(path.read_text().replace("ProtectSystem=strict\n", "").replace("CapabilityBoundingSet=\n", ""))
    careless = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", str(path))
    assert careless.returncode != 0


def test_words_are_words_whatever_is_in_them(tmp_path: Path) -> None:
    assert quote_word("/srv/my jobs/100%$HOME.py") == '"/srv/my jobs/100%%$$HOME.py"'
    chosen = UnitOptions(program=(sys.executable,), place='/srv/a "b"/100%$HOME\'s;.py')
    path = tmp_path / "horae.service"
    path.write_text(unit_text(chosen))
    assert analyze("verify", str(path)).returncode == 0


def test_a_shell_reads_the_variables_as_they_are(tmp_path: Path) -> None:
    value = "postgresql://u:p%40'$HOME`id`\"\\@db/horae?x=1 2"
    file = tmp_path / "horae.env"
    file.write_text(variable_line("HORAE_STORE", value))
    script = f'. {shlex.quote(str(file))}; printf %s "$HORAE_STORE"'
    assert subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True).stdout == value


# --- horae service -----------------------------------------------------------------------------------------------------


class Machine:
    """The root of some other system, and a Horae that is installed where a service may look."""

    def __init__(self, folder: Path) -> None:
        self.cli = Cli(folder)
        self.root = folder / "image"
        self.python = folder / "opt" / "bin" / "python"
        self.python.parent.mkdir(parents=True)
        for each in (self.python, self.python.with_name("horae")):
            each.write_text("#!/bin/sh\n")
            each.chmod(0o755)
        self.unit = self.root / "etc/systemd/system/horae.service"
        self.variables = self.root / "etc/horae/horae.env"

    def service(self, *words: str, store: str = "", python: Path | None = None) -> CommandResult:
        with patch.object(sys, "executable", str(python or self.python)):
            return self.cli("service", *words, HORAE_STORE=store)

    def rooted(self, deed: str, *words: str, store: str = "") -> CommandResult:
        return self.service(deed, "--root", str(self.root), *words, store=store)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_it_writes_a_unit_with_the_right_paths_and_says_what_to_do_next(machine: Machine) -> None:
    done = machine.rooted("install")
    assert done.code == 0, done.err
    text = machine.unit.read_text()
    assert text == unit_text(UnitOptions(program=(str(machine.python.with_name("horae")),)))
    assert "systemctl enable --now horae" in done.out
    assert not machine.variables.exists()
    again = machine.rooted("install")
    assert (again.code, "as it should be" in again.out) == (0, True)


def test_a_password_goes_into_a_file_that_nobody_else_can_read_and_nowhere_else(machine: Machine) -> None:
    secret = "postgresql://horae:s3cr3t@db.example.com/horae"  # noqa: S105 - it opens nothing
    refused = machine.rooted("install", "--store", secret)
    assert refused.code == 2
    assert "s3cr3t" not in refused.err + refused.out
    assert not machine.unit.exists()
    done = machine.rooted("install", store=secret)
    assert done.code == 0
    assert "s3cr3t" not in done.out + done.err + machine.unit.read_text()
    assert machine.variables.read_text() == f'HORAE_STORE="{secret}"\n'
    assert stat.S_IMODE(machine.variables.stat().st_mode) == 0o600
    kept = machine.rooted("install", store="sqlite:////srv/other.db")
    assert "stays as it is" in kept.err
    assert "s3cr3t" in machine.variables.read_text()


@pytest.mark.parametrize("store", ["memory://", "sqlite:///horae.db"])
def test_a_store_that_no_service_could_find_again_is_refused(machine: Machine, store: str) -> None:
    done = machine.rooted("install", "--store", store, "--json")
    assert (done.code, done.problem["code"]) == (6, "store_for_nobody")


def test_a_user_may_have_one_of_their_own_and_workers_are_many(machine: Machine) -> None:
    done = machine.rooted("install", "--user", "--worker", "--json")
    assert done.code == 0, done.err
    unit = Path(done.json["unit"])
    assert unit.name == "horae-worker@.service"
    assert unit.is_relative_to(machine.root)
    assert "DynamicUser" not in unit.read_text()
    assert done.json["next"][:2] == ["systemctl --user daemon-reload", "systemctl --user enable --now horae-worker@1"]


def test_the_functions_of_an_app_are_named_by_their_whole_path(machine: Machine) -> None:
    jobs = machine.cli.directory / "jobs.py"
    jobs.write_text("")
    assert machine.rooted("install", "jobs.py:app").code == 0
    assert f" up {jobs}:app $HORAE_OPTIONS\n" in machine.unit.read_text()
    assert machine.rooted("install", "absent.py").code == 3


def test_a_program_where_a_service_may_not_look_is_refused(machine: Machine) -> None:
    done = machine.service(
        "install", "--root", str(machine.root), "--json", python=Path("/root/nobody-made-this/bin/python")
    )
    assert (done.code, done.problem["code"]) == (6, "program_in_home")


def test_without_systemd_it_says_so_and_writes_nothing(machine: Machine) -> None:
    with patch("horae.cli.commands.operate.service.is_systemd_running", return_value=False):
        for deed in ("install", "uninstall"):
            done = machine.service(deed, "--json")
            assert (done.code, done.problem["code"]) == (6, "no_systemd")


def test_what_somebody_else_wrote_stays(machine: Machine) -> None:
    machine.unit.parent.mkdir(parents=True)
    machine.unit.write_text("[Service]\n")
    for deed in ("install", "uninstall", "status"):
        done = machine.rooted(deed, "--json")
        assert (done.code, done.problem["code"]) == (5, "unit_not_ours")
    assert machine.unit.read_text() == "[Service]\n"


def test_it_goes_again_and_the_settings_stay(machine: Machine) -> None:
    assert machine.rooted("status").code == 3
    machine.rooted("install", store="sqlite:////srv/horae.db")
    assert str(machine.unit) in machine.rooted("status").out
    done = machine.rooted("uninstall")
    assert done.code == 0
    assert not machine.unit.exists()
    assert machine.variables.exists()
    assert machine.rooted("uninstall").code == 3


def test_where_nothing_can_be_written_it_says_so(machine: Machine) -> None:
    machine.root.write_text("a file, not a folder")
    done = machine.rooted("install", "--json")
    assert (done.code, done.problem["code"]) == (4, "needs_root")


def test_the_words_exist_in_both_languages_and_are_said() -> None:
    source = (Path(service_messages.__file__).parents[1] / "commands" / "operate" / "service.py").read_text(
        encoding="utf-8"
    )
    for name, said in vars(service_messages).items():
        if isinstance(said, Message):
            assert all(said), name
            assert f"words.{name}" in source, name
    for code in service_messages.CATALOGUE:
        assert f'refuse("{code}"' in source, code


def test_the_program_is_where_an_update_puts_it() -> None:
    script = (ROOT / "deploy" / "update.sh").read_text(encoding="utf-8")
    assert PROGRAM == "/opt/horae/current/bin/horae"
    assert "HORAE_HOME:-/opt/horae" in script
