"""Schedule text through the command: pasted iCalendar lines, cron edge cases, and ambiguous Chinese phrases."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.cli.command_line import Cli, CommandResult

BERLIN = "Europe/Berlin"
AFTER = ("--after", "2027-01-01T00:00:00Z")


def instants(done: CommandResult) -> list[str]:
    assert done.code == 0, done.err
    return [fire["at"].removesuffix(":00Z") for fire in done.json["fires"]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "DTSTART:20270320T090000Z\nRRULE:FREQ=WEEKLY;COUNT=3",
            ["2027-03-20T09:00", "2027-03-27T09:00", "2027-04-03T09:00"],
            id="start in UTC keeps its hour when the owner's clock changes",
        ),
        pytest.param(
            "DTSTART:20271030T233000Z\nRRULE:FREQ=DAILY;COUNT=3",
            ["2027-10-30T23:30", "2027-10-31T23:30", "2027-11-01T23:30"],
            id="start in UTC on another day of the owner's calendar",
        ),
        pytest.param(
            "DTSTART;TZID=Europe/Berlin:20270105T180000\nRRULE:FREQ=DAILY;COUNT=3\n"
            "EXDATE;TZID=America/New_York:20270106T120000",
            ["2027-01-05T17:00", "2027-01-07T17:00"],
            id="zone of an EXDATE is its own",
        ),
        pytest.param(
            "DTSTART;VALUE=DATE:20270105\nRRULE:FREQ=DAILY;COUNT=2;BYHOUR=9,17",
            ["2027-01-04T23:00", "2027-01-05T23:00"],
            id="times are ignored with a date as the start",
        ),
        pytest.param(
            'RRULE:FREQ=DAILY;\n COUNT=2;\nDTSTART;TZID="America/New_York":20270320T090000',
            ["2027-03-20T13:00", "2027-03-21T13:00"],
            id="rule first, folded, quoted zone, trailing semicolon",
        ),
    ],
)
def test_pasted_calendar_lines_fire_at_their_own_instants(cli: Cli, text: str, expected: list[str]) -> None:
    # In a process: line breaks arrive as a shell passes them.
    assert instants(cli.process("next", text, "--zone", BERLIN, *AFTER, "--json")) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("DTSTART:20270320T090000Z\nRRULE:FREQ=DAILY;COUNT=2\nRRULE:FREQ=WEEKLY;COUNT=2", "RRULE"),
        ("DTSTART:20270320T090000Z\nDTSTART:20270321T090000Z\nRRULE:FREQ=DAILY;COUNT=2", "DTSTART"),
    ],
)
def test_second_rule_or_start_is_refused_and_never_replaces_the_first(cli: Cli, text: str, name: str) -> None:
    done = cli("next", text, "--zone", BERLIN, *AFTER, "--json")
    assert done.code == 6, done.out
    assert done.problem["position"] == text.rindex(name)
    assert name in done.problem["detail"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        pytest.param("0 9 L-2 * *", ["2027-01-29T09:00", "2027-02-26T09:00"], id="days before the last of the month"),
        pytest.param("0 9 * * FRI#L", ["2027-01-29T09:00", "2027-02-26T09:00"], id="last weekday by name"),
        pytest.param("0 9 * * 1#L", ["2027-01-25T09:00", "2027-02-22T09:00"], id="last weekday by number"),
    ],
)
def test_cron_counts_from_the_end_of_the_month(cli: Cli, expression: str, expected: list[str]) -> None:
    assert instants(cli("next", expression, "--zone", "UTC", *AFTER, "-n", "2", "--json")) == expected


@pytest.mark.parametrize(
    ("expression", "english", "chinese"),
    [
        ("*/10 0 * * * *", "every 10 seconds of minute 0 of every hour", "每小时的第 0 分钟内每 10 秒"),
        ("* 0 */4 * * *", "every second of minute 0 of hours 0, 4, 8, …, 20", "每天 0、4、8…20 点的第 0 分钟内每秒"),
        ("*/20 15 * * * *", "every 20 seconds of minute 15 of every hour", "每小时的第 15 分钟内每 20 秒"),
    ],
)
def test_explanation_of_seconds_names_the_only_minute_in_which_they_fire(
    cli: Cli, expression: str, english: str, chinese: str
) -> None:
    assert f"Means  {english}, UTC" in cli("explain", expression, "--zone", "UTC").out
    assert f"含义   {chinese}，UTC" in cli("--lang", "zh", "explain", expression, "--zone", "UTC").out


@pytest.mark.parametrize("weekdays", ["MON-FRI#1", "2-4#3"])
def test_numbered_range_of_weekdays_is_refused_with_the_reason(cli: Cli, weekdays: str) -> None:
    done = cli("explain", f"0 9 * * {weekdays}")
    assert done.code == 6
    assert f"{weekdays} numbers a range of weekdays" in done.err


@pytest.mark.parametrize(
    ("text", "days"),
    [("每隔一天9点", 2), ("每隔一周周一9点", 14)],
)
def test_chinese_interval_skips_the_days_between(cli: Cli, text: str, days: int) -> None:
    fires = instants(cli("next", text, "--zone", "UTC", *AFTER, "-n", "3", "--json"))
    assert {each[11:] for each in fires} == {"09:00"}
    first, second, third = (date.fromisoformat(each[:10]) for each in fires)
    assert second - first == third - second == timedelta(days=days)


@pytest.mark.parametrize(
    ("text", "proposal"),
    [("明天早上", "明天早上8点"), ("后天下午", "后天下午2点"), ("每天晚上", "每天晚上8点")],
)
def test_part_of_the_day_without_an_hour_asks_for_the_hour(cli: Cli, text: str, proposal: str) -> None:
    done = cli("--lang", "zh", "explain", text)
    assert done.code == 6
    assert "几点" in done.err.splitlines()[0]
    assert f"“{proposal}”" in done.err
    assert cli("--lang", "zh", "explain", proposal).code == 0
