"""`horae next` and `horae explain` as processes: schedules, zones, languages and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import fork_server


def horae(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("HORAE_", "LC_", "LANG", "TZ", "TIMEZONE"))
    }
    env = {**inherited, "PYTHONUTF8": "1", "LANG": "C.UTF-8", **environment}
    done = fork_server.run(arguments, cwd=Path.cwd(), env=env, timeout=60)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


AFTER = ("--after", "2026-03-07T12:00Z")


def test_next_shows_local_time_offset_relative_and_utc() -> None:
    done = horae("next", "0 9 * * 1-5", "--zone", "Asia/Shanghai", *AFTER, "-n", "2")
    assert done.returncode == 0
    means, first, second = done.stdout.splitlines()
    assert means == "  Means  on Monday to Friday at 09:00, Asia/Shanghai (cron 0 9 * * 1-5)"
    assert first.startswith("  Next   Mon 2026-03-09 09:00 +08:00  ")
    assert first.endswith("  2026-03-09 01:00Z")
    assert second.startswith("         Tue 2026-03-10 09:00 +08:00")
    assert done.stderr == ""


def test_next_needs_no_quotes() -> None:
    quoted = horae("next", "every weekday at 9am", "--zone", "UTC", *AFTER)
    plain = horae("next", "every", "weekday", "at", "9am", "--zone", "UTC", *AFTER)
    assert quoted.stdout == plain.stdout


def test_next_obeys_gap_fold_after_and_until() -> None:
    def fires(*options: str) -> list[str]:
        done = horae(
            "next",
            "30 2 * * *",
            "--zone",
            "America/New_York",
            *AFTER,
            "--until",
            "2026-03-09T12:00Z",
            "--json",
            *options,
        )
        return [fire["at"] for fire in json.loads(done.stdout)["fires"]]

    assert fires() == ["2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"]
    assert fires("--gap", "shift") == ["2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"]
    assert fires("--gap", "skip") == ["2026-03-09T06:30:00Z"]


def test_wall_times_in_options_are_read_in_the_zone() -> None:
    done = horae("next", "0 9 * * *", "--zone", "Asia/Shanghai", "--after", "2026-03-07T09:00", "-n", "1", "--json")
    answer = json.loads(done.stdout)
    assert answer["after"] == "2026-03-07T01:00:00Z"
    assert answer["fires"][0]["at"] == "2026-03-08T01:00:00Z"
    assert answer["fires"][0]["at_local"] == "2026-03-08T09:00:00+08:00"


def test_relative_words_count_from_after() -> None:
    done = horae("next", "today at 9:00", "--zone", "UTC", "--after", "2020-01-01T08:00Z", "--json")
    assert [fire["at"] for fire in json.loads(done.stdout)["fires"]] == ["2020-01-01T09:00:00Z"]


def test_until_includes_the_named_day() -> None:
    done = horae("next", "0 9 * * *", "--zone", "UTC", "--after", "2026-11-13", "--until", "2026-11-14", "--json")
    assert [fire["at"] for fire in json.loads(done.stdout)["fires"]] == ["2026-11-13T09:00:00Z", "2026-11-14T09:00:00Z"]


def test_zone_in_the_text_applies_to_the_options() -> None:
    done = horae("next", "每天9点 北京时间", "--after", "2026-11-13T12:00", "-n", "1", "--json")
    assert json.loads(done.stdout)["after"] == "2026-11-13T04:00:00Z"


def test_chinese_text_is_answered_in_chinese() -> None:
    assert "可能是一次" in horae("next", "周一9点").stderr


@pytest.mark.parametrize(
    ("variable", "value", "zone"),
    [
        ("TZ", ":/usr/share/zoneinfo/Asia/Tokyo", "Asia/Tokyo"),
        ("TZ", "Europe/Paris", "Europe/Paris"),
        ("HORAE_ZONE", "Berlin", "Europe/Berlin"),
    ],
)
def test_zones_from_the_environment(variable: str, value: str, zone: str) -> None:
    assert json.loads(horae("next", "0 9 * * *", "--json", **{variable: value}).stdout)["zone"] == zone


def test_invalid_zone_setting_is_named() -> None:
    done = horae("next", "0 9 * * *", HORAE_ZONE="garbage")
    assert done.returncode == 6
    assert 'HORAE_ZONE is set to "garbage"' in done.stderr


def test_ascii_terminal_and_full_disk_cause_no_traceback() -> None:
    assert "Traceback" not in horae("next", "每天9点", PYTHONIOENCODING="ascii", PYTHONUTF8="0").stderr
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [sys.executable, "-m", "horae", "next", "every 5m"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_explain_prints_meaning_json_and_warnings() -> None:
    done = horae("explain", "*/7 * * * *", "--zone", "Europe/Berlin")
    assert done.returncode == 0
    assert '{"kind": "cron", "expression": "*/7 * * * *", "zone": "Europe/Berlin"}' in done.stdout
    assert "does not mean every 7 minutes" in done.stdout


def test_chinese_answers() -> None:
    done = horae("explain", "每周一早上9点", "--zone", "Asia/Shanghai", "--lang", "zh")
    assert done.stdout.splitlines()[0] == "  含义   每周一 09:00，Asia/Shanghai"


def test_language_follows_the_environment() -> None:
    assert "含义" in horae("next", "every 5m", "--zone", "UTC", LANG="zh_CN.UTF-8").stdout


@pytest.mark.parametrize(
    ("environment", "zone", "why"),
    [
        ({"HORAE_ZONE": "Europe/Paris"}, "Europe/Paris", "HORAE_ZONE says so"),
        ({"TIMEZONE": "Asia/Tokyo"}, "Asia/Tokyo", "TIMEZONE says so"),
        ({"HORAE_ZONE": "Europe/Paris", "TIMEZONE": "Asia/Tokyo"}, "Europe/Paris", "HORAE_ZONE says so"),
    ],
)
def test_default_zone_is_named(environment: dict[str, str], zone: str, why: str) -> None:
    done = horae("next", "0 9 * * *", **environment)
    assert zone in done.stdout
    assert f"No zone was given: {zone} is used, because {why}." in done.stderr


def test_zone_in_the_text_gives_no_warning() -> None:
    assert horae("next", "0 9 * * * UTC").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (
            ["next", "every day at 9"],
            [
                '✕ "9" could be morning or evening.',
                "  every day at 9",
                "               ^",
                '  Did you mean "09:00" or "21:00"?',
            ],
        ),
        (
            ["next", "每天半夜12点", "--lang", "zh"],
            [
                "✕ 半夜12点可能是这一天的开始，也可能是这一天的结束。",
                "  每天半夜12点",
                "          ^",
                "  请写“每天00:00”。",
            ],
        ),
        (
            ["explain", "every wekday at 9am"],
            ['✕ "wekday" is not understood here.', "  every wekday at 9am", "        ^", '  Did you mean "weekday"?'],
        ),
        (
            ["next", "0 9 * * *", "--zone", "Berln"],
            [
                '✕ There is no zone called "Berln".',
                "  Did you mean Europe/Berlin? Zones have IANA names such as Europe/Berlin.",
            ],
        ),
    ],
)
def test_refusal_is_a_sentence_a_position_and_a_hint(arguments: list[str], lines: list[str]) -> None:
    done = horae(*arguments)
    assert done.returncode == 6
    assert done.stdout == ""
    assert done.stderr.splitlines() == lines


def test_schedule_may_begin_with_a_dash() -> None:
    done = horae("next", "-1 * * * *")
    assert done.returncode == 6
    assert done.stderr.splitlines()[2] == "  ^"


def test_refusal_as_json() -> None:
    done = horae("next", "0 24 * * *", "--zone", "UTC", "--json")
    assert done.returncode == 6
    assert done.stdout == ""
    problem = json.loads(done.stderr)
    assert (problem["code"], problem["position"]) == ("out_of_range", 2)


@pytest.mark.parametrize("text", ["\x07every 5m", "x" * 500, "every 5m \x1b[31m", "", "   "])
def test_control_characters_are_escaped(text: str) -> None:
    done = horae("next", text)
    assert done.returncode == 6
    assert "\x1b" not in done.stderr
    assert "\x07" not in done.stderr
    assert max(map(len, done.stderr.splitlines())) < 160
    assert "Traceback" not in done.stderr


def test_usage_error_is_not_a_schedule_error() -> None:
    assert horae("next", "every 5m", "--gap", "perhaps").returncode == 2
    assert horae("next").returncode == 2
    assert horae("nonsense").returncode == 2


def test_output_as_json_by_environment() -> None:
    assert (
        json.loads(horae("next", "every 5m", "--zone", "UTC", HORAE_OUTPUT="json").stdout)["schedule"]["interval"]
        == "PT5M"
    )


def test_schedule_without_further_fires_is_reported() -> None:
    done = horae("next", "every day at 9:00 until 2020-01-01", "--zone", "UTC")
    assert done.stdout.splitlines()[1] == "  Next   nothing"
    assert (
        json.loads(horae("next", "every day at 9:00 until 2020-01-01", "--zone", "UTC", "--json").stdout)["fires"] == []
    )


def test_help_and_version() -> None:
    assert "explain" in horae("--help").stdout
    assert "--fold" in horae("next", "--help").stdout
    assert horae("--version").stdout.startswith("horae 0.")


def test_several_schedules_are_explained_with_their_json() -> None:
    done = horae(
        "next", "every weekday at 9am and Sat at 11am", "--zone", "UTC", "--after", "2026-03-06T08:00Z", "-n", "3"
    )
    means, *fires = done.stdout.splitlines()
    assert means == "  Means  Monday to Friday at 09:00 and every Saturday at 11:00, UTC"
    assert [each[9:29] for each in fires] == [
        "Fri 2026-03-06 09:00",
        "Sat 2026-03-07 11:00",
        "Mon 2026-03-09 09:00",
    ]
    explained = json.loads(horae("explain", "工作日9点以及周六11点", "--zone", "UTC", "--json").stdout)
    assert explained["schedule"]["kind"] == "any_of"
    refused = horae("next", "every weekday at 9am and Sat at 25:00", "--zone", "UTC")
    assert refused.returncode == 6
    assert refused.stderr.splitlines()[2].index("^") == refused.stderr.splitlines()[1].index("25:00")
