"""Checks of a process and its machine, with injected readings."""

from __future__ import annotations

from pathlib import Path

import pytest

from horae.choices import Language
from horae.doctor.machine_checks import (
    FULL_DISK_BYTES,
    LOW_DISK_BYTES,
    ClockReading,
    UnusedSetting,
    check_clock,
    check_disk,
    check_key,
    check_python,
    check_settings,
    check_unused_settings,
    check_zones,
)
from horae.model.refusals import refuse
from horae.settings import DefaultZone


def test_clock_jump_is_reported() -> None:
    assert check_clock(ClockReading(0.0, 0.0), ClockReading(10.0, 10.0)).grade == "ok"
    jumped = check_clock(ClockReading(0.0, 0.0), ClockReading(70.0, 10.0))
    assert (jumped.grade, "60000 ms" in jumped.sentence("en")) == ("warning", True)
    assert jumped.fix is not None
    assert jumped.fix.command == "timedatectl set-ntp true"


@pytest.mark.parametrize(
    ("free", "grade"),
    [(LOW_DISK_BYTES, "ok"), (LOW_DISK_BYTES - 1, "warning"), (FULL_DISK_BYTES - 1, "error")],
)
def test_disk_is_graded_by_its_free_space(tmp_path: Path, free: int, grade: str) -> None:
    read: list[Path] = []

    def read_free(folder: Path) -> int:
        read.append(folder)
        return free

    assert check_disk(tmp_path / "not" / "yet", read_free).grade == grade
    assert read == [tmp_path]


def test_unused_setting_has_the_nearest_name_or_the_list_of_all() -> None:
    near, far = check_unused_settings(
        [UnusedSetting("HORAE_STROE", "", "HORAE_STORE"), UnusedSetting("a.b", "f", None)]
    )
    assert near.fix is not None
    assert far.fix is not None
    assert (near.fix.text.in_language("en"), near.fix.command) == ("did you mean HORAE_STORE?", None)
    assert (far.sentence("en"), far.fix.command) == ("f says a.b, but nothing here reads it", "horae config")


def test_refused_settings_are_reported_in_both_languages() -> None:
    refused = check_settings(refuse("bad_settings", file="horae.toml", problem="{x}"))
    assert refused.grade == "error"
    assert "{x}" in refused.sentence("en")
    assert refused.sentence("en") != refused.sentence("zh")


def test_unknown_and_missing_default_zones_are_reported() -> None:
    assert check_zones(DefaultZone("Nowhere/Land", "flag", "--zone")).grade == "error"
    assert check_zones(DefaultZone("UTC", "nowhere", "")).grade == "warning"
    assert check_zones(DefaultZone("UTC", "environment", "TZ")).grade == "ok"


def test_key_file_is_checked_without_opening_it(tmp_path: Path) -> None:
    key = tmp_path / "a {b} key"
    assert check_key(key, 0).grade == "ok"
    assert check_key(key, 1).grade == check_key(None, 1).grade == "error"
    key.touch(mode=0o600)
    assert check_key(key, 1).grade == "ok"
    key.chmod(0o640)
    exposed = check_key(key, 1)
    assert exposed.fix is not None
    assert (exposed.grade, exposed.fix.command) == ("error", f"chmod 600 '{key}'")
    assert str(key) in exposed.sentence("zh")


def test_driver_is_named_with_its_version() -> None:
    assert check_python("asyncpg 1.2").sentence("en").endswith(", asyncpg 1.2")
    assert check_python(("3.51", "3.52")).sentence("en").endswith("SQLite 3.51 (apsw 3.52)")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_interpreter_without_optimisation_is_named_with_its_cost(language: Language) -> None:
    check = check_python("asyncpg 1.2", "plain")
    assert "25" in check.sentence(language)
    assert check.grade == "ok"
    assert check.fix is not None
    optimised, unknown = check_python("asyncpg 1.2", "optimised"), check_python("asyncpg 1.2", "unknown")
    assert optimised.fix is unknown.fix is None
    assert len({each.sentence(language) for each in (check, optimised, unknown)}) == 3
