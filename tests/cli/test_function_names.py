"""Function names: the same for a file however it is loaded, and earlier names in a store still work."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any, Final

import pytest

from horae import Horae
from tests.cli.command_line import Cli, CommandResult

JOBS: Final = """
from horae import Horae

app = Horae(zone="UTC")

@app.task({declared})
def morning_report() -> str:
    return "ran"

@app.task{plain}
def mail(user: int = 1) -> int:
    return user

class Reports:
    @staticmethod
    @app.task
    def weekly() -> None: ...

if __name__ == "__main__":
    import asyncio

    async def opened() -> None:
        async with app:
            pass

    asyncio.run(opened())
"""
CURRENT: Final = JOBS.format(declared='"every 1h"', plain="")
FORMER: Final = JOBS.format(declared='"every 1h", name="morning_report"', plain='(name="mail")')
"""Registers names without the module, as earlier versions did for a script."""
OPENED: Final = """
import asyncio
from {module} import app

async def opened():
    async with app:
        pass

asyncio.run(opened())
"""


def write_jobs(cli: Cli, text: str = CURRENT, file: str = "jobs.py") -> None:
    path = cli.directory / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run_python(cli: Cli, *arguments: str) -> CommandResult:
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cli.directory,
        env=cli.environment(),
    )
    assert done.returncode == 0, done.stderr
    return CommandResult(done.returncode, done.stdout, done.stderr)


def load(cli: Cli, how: str) -> None:
    """Open the app of jobs.py: imported, run as a script, or by a command."""
    match how.split():
        case ["import", module]:
            run_python(cli, "-c", OPENED.format(module=module))
        case ["python", *arguments]:
            run_python(cli, *arguments)
        case arguments:
            done = cli.process(*arguments, "--seconds", "0.1")
            assert done.code == 0, done.err


def tasks(cli: Cli) -> dict[str, dict[str, Any]]:
    found: list[dict[str, Any]] = cli("ls", "--all", "--json").json
    return {each["name"]: each for each in found}


def registered(cli: Cli) -> list[str]:
    return asyncio.run(_registered(cli.url))


async def _registered(url: str) -> list[str]:
    async with Horae(url, zone="UTC", engine=False) as app:
        return [each.registration.name for each in await app.service.functions.all(app.who)]


@pytest.mark.parametrize("how", ["up jobs.py", "worker jobs.py", "worker jobs:app", "python jobs.py", "python -m jobs"])
def test_file_declares_the_same_task_however_it_is_loaded(cli: Cli, how: str) -> None:
    write_jobs(cli)
    load(cli, "import jobs")
    before = tasks(cli)
    assert set(before) == {"jobs.morning_report"}
    load(cli, how)
    assert tasks(cli).keys() == before.keys()
    assert tasks(cli)["jobs.morning_report"]["id"] == before["jobs.morning_report"]["id"]
    assert registered(cli) == ["jobs.Reports.weekly", "jobs.mail", "jobs.morning_report"]


@pytest.mark.parametrize("how", ["up shop/work/jobs.py", "python -m shop.work.jobs", "python shop/work/jobs.py"])
def test_file_in_a_package_has_its_dotted_name(cli: Cli, how: str) -> None:
    write_jobs(cli, CURRENT, "shop/work/jobs.py")
    for package in ("shop", "shop/work"):
        (cli.directory / package / "__init__.py").write_text("")
    load(cli, "import shop.work.jobs")
    load(cli, how)
    assert set(tasks(cli)) == {"shop.work.jobs.morning_report"}
    assert registered(cli)[0] == "shop.work.jobs.Reports.weekly"


def test_file_in_a_package_may_use_relative_imports(cli: Cli) -> None:
    write_jobs(
        cli, CURRENT.replace("import Horae", "import Horae\nfrom .more import NOTHING\nimport more"), "shop/jobs.py"
    )
    (cli.directory / "shop/__init__.py").write_text("")
    (cli.directory / "shop/more.py").write_text("NOTHING = None")
    load(cli, "up shop/jobs.py")
    assert set(tasks(cli)) == {"shop.jobs.morning_report"}


def test_task_no_longer_declared_is_paused_however_the_file_is_loaded(cli: Cli) -> None:
    write_jobs(cli)
    load(cli, "up jobs.py")
    write_jobs(cli, JOBS.format(declared="", plain=""))
    load(cli, "import jobs")
    task = tasks(cli)["jobs.morning_report"]
    assert (task["state"], task["pause"]["cause"]) == ("paused", "orphaned")
    write_jobs(cli)
    load(cli, "up jobs.py")
    assert tasks(cli)["jobs.morning_report"]["state"] == "active"


@pytest.mark.parametrize("how", ["up jobs.py", "import jobs", "worker jobs:app"])
def test_declared_task_of_an_earlier_version_continues_under_its_new_name(cli: Cli, how: str) -> None:
    write_jobs(cli, FORMER)
    load(cli, "python jobs.py")
    before = tasks(cli)["morning_report"]
    write_jobs(cli)
    load(cli, how)
    (after,) = tasks(cli).values()
    assert (after["id"], after["name"], after["state"]) == (before["id"], "jobs.morning_report", "active")
    assert after["target"]["name"] == "jobs.morning_report"
    assert cli("show", "morning_report", "--json").json["task"]["id"] == before["id"]
    load(cli, "up jobs.py")
    assert set(tasks(cli)) == {"jobs.morning_report"}


def test_task_that_exists_under_both_names_is_run_once(cli: Cli) -> None:
    write_jobs(cli)
    load(cli, "import jobs")
    write_jobs(cli, FORMER)
    load(cli, "python jobs.py")
    cli("resume", "jobs.morning_report")
    write_jobs(cli)
    load(cli, "worker jobs.py")
    states = {name: each["state"] for name, each in tasks(cli).items()}
    assert states == {"morning_report": "paused", "jobs.morning_report": "active"}
    assert "jobs.morning_report" in cli("show", "morning_report").out


def test_declared_task_that_was_cancelled_under_its_earlier_name_stays_cancelled(cli: Cli) -> None:
    write_jobs(cli, FORMER)
    load(cli, "python jobs.py")
    assert cli("cancel", "morning_report", "--yes").code == 0
    write_jobs(cli)
    load(cli, "up jobs.py")
    assert {name: each["state"] for name, each in tasks(cli).items()} == {"jobs.morning_report": "cancelled"}


def test_stored_task_with_an_earlier_function_name_still_runs(cli: Cli) -> None:
    write_jobs(cli, FORMER)
    load(cli, "python jobs.py")
    made = cli("add", "now", "--function", "mail", "--payload", '{"user": 7}', "--json").json["task"]
    assert made["target"]["name"] == "mail"
    write_jobs(cli)
    done = cli.process("up", "jobs.py", "--seconds", "1", "-v")
    assert done.code == 0
    (run,) = cli("runs", made["id"], "--json").json
    assert (run["state"], run["result"]) == ("succeeded", 7)


def test_function_of_another_file_with_the_same_name_does_not_take_over(cli: Cli) -> None:
    write_jobs(cli, FORMER)
    load(cli, "python jobs.py")
    write_jobs(cli, CURRENT, "night.py")
    load(cli, "up night.py")
    assert {name: each["state"] for name, each in tasks(cli).items()} == {
        "morning_report": "active",
        "night.morning_report": "active",
    }


def test_function_name_without_its_module_is_completed_where_it_is_unique(cli: Cli) -> None:
    write_jobs(cli)
    load(cli, "import jobs")
    made = cli("add", "in 1h", "--function", "mail", "--json").json
    assert made["task"]["target"]["name"] == "jobs.mail"
    assert made["warnings"][0]["code"] == "function_completed"
    assert "'jobs.mail'" in made["warnings"][0]["message"]
    write_jobs(cli, CURRENT, "night.py")
    load(cli, "import night")
    unsure = cli("add", "in 1h", "--function", "mail", "--json").json
    assert unsure["task"]["target"]["name"] == "mail"
    assert unsure["warnings"][0]["code"] == "function_unknown"


def test_function_of_a_prompt_has_no_module(cli: Cli) -> None:
    code = "from horae import Horae\napp = Horae()\n@app.task\ndef greet(): ...\nprint(greet.name)"
    assert run_python(cli, "-c", code).out.strip() == "greet"
