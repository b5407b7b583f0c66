"""Unused variables and target keys are reported with the probable name; used ones are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from horae.doctor.machine_checks import UnusedSetting
from horae.errors import Refusal
from horae.runtime.process_settings import check_output
from horae.runtime.unused_settings import KNOWN_VARIABLES, find_unused_settings
from horae.settings import SETTINGS, read_settings
from horae.targets.command.settings import read_settings as read_command
from horae.targets.event.settings import read_settings as read_event
from horae.targets.http.settings import read_settings as read_http

SOURCE = Path(__file__).parents[2] / "src" / "horae"
NOTHING = read_settings({})


def in_file(tmp_path: Path, text: str) -> tuple[UnusedSetting, ...]:
    file = tmp_path / "horae.toml"
    file.write_text(text, encoding="utf-8")
    return tuple(
        each._replace(file=Path(each.file).name) for each in find_unused_settings(read_settings({}, (file,)), {})
    )


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("HORAE_STROE", "HORAE_STORE"),
        ("HORAE_TIMEZONE", "HORAE_ZONE"),
        ("HORAE_LOGLEVEL", "HORAE_LOG_LEVEL"),
        ("HORAE_SERVER_URL", "HORAE_SERVER"),
        ("HORAE_QUUX", None),
    ],
)
def test_unused_variable_is_found(name: str, nearest: str | None) -> None:
    assert find_unused_settings(NOTHING, {name: "x", "PATH": "/bin"}) == (UnusedSetting(name, "", nearest),)


def test_used_variables_are_not_reported() -> None:
    accepted = [name for setting in SETTINGS for name in setting.variables]
    older = ["TIMEZONE", "USE_PRIORITY_QUEUE_SCHEDULER", "OPENCLAW_DEFAULT_AGENT", "HORAE_SERVER", "HORAE_TOKEN_FILE"]
    assert find_unused_settings(NOTHING, dict.fromkeys([*accepted, *older], "x")) == ()


def test_every_variable_that_the_source_names_is_known() -> None:
    named = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"(?<!-)\bHORAE_[A-Z][A-Z_]*[A-Z]\b", path.read_text(encoding="utf-8"))
    }
    assert named == KNOWN_VARIABLES


def test_unused_target_keys_are_found(tmp_path: Path) -> None:
    text = '[targets.command]\nalow = ["x"]\ngrace = 2\n[targets.htp]\nmode = "x"\n[targets.http]\nfrobnicate = 1\n'
    assert in_file(tmp_path, text) == (
        UnusedSetting("targets.command.alow", "horae.toml", "targets.command.allow"),
        UnusedSetting("targets.htp.mode", "horae.toml", "targets.http.mode"),
        UnusedSetting("targets.http.frobnicate", "horae.toml", None),
    )


def test_used_target_keys_are_not_reported(tmp_path: Path) -> None:
    text = (
        '[targets.command]\nallow = ["x"]\nlimits = {cpu = 1}\n[targets.http]\nuser_agent = "x"\n'
        '[targets.event]\nwebhook_secret = "x"\n[targets.function]\nany = 1\n'
    )
    assert in_file(tmp_path, text) == ()


def test_each_target_reads_its_listed_keys() -> None:
    assert read_command({"grace": 2, "path": "/bin", "limits": {"cpu": 1}}).grace == 2
    assert read_http({"user_agent": "x"}).user_agent == "x"
    assert read_event({"redis": "redis://x", "channel": "y"}).redis is not None


@pytest.mark.parametrize("value", ["xml", "JSON", "yes"])
def test_unknown_output_is_found(value: str) -> None:
    with pytest.raises(Refusal, match="text, json") as refused:
        check_output(read_settings({"HORAE_OUTPUT": value}))
    assert (refused.value.code, refused.value.facts["name"]) == ("bad_choice", "HORAE_OUTPUT")


def test_known_outputs_are_not_reported() -> None:
    for value in ("text", " json ", ""):
        check_output(read_settings({"HORAE_OUTPUT": value}))
