"""`horae why` and `show` of an instant with several rows: which of them decides the answer."""

from __future__ import annotations

from datetime import timedelta

from horae.testing import TimeTravel
from tests.cli.command_line import Cli
from tests.cli.histories import hour_before, make_app


def test_skipped_instant_that_was_run_on_request_is_shown_as_run(cli: Cli) -> None:
    start = hour_before(3)
    app = make_app(cli.path)
    with TimeTravel(app, start, store="own") as time:
        report = time.run(app.schedule("report", "0 * * * *", name="report"))
        time.run(report.skip())
        time.travel("61m")
        time.run(report.backfill(start + timedelta(hours=1), start + timedelta(hours=1)))
        time.travel("1m")
    at = f"{start + timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}"
    answer = cli("why", "report", "--at", at, "--json").json
    assert (answer["verdict"], answer["fixes"]) == ("ran", [])
    assert "It was run on request" in answer["sentence"]
    assert "not run. " not in cli("why", "report", "--at", at).out
    assert cli("why", "report", "--at", at).out.startswith("✓")


def test_failed_run_with_a_superseded_retry_is_shown_as_failed_and_can_be_retried(cli: Cli) -> None:
    app = make_app(cli.path)
    with TimeTravel(app, hour_before(3), store="own") as time:
        backup = time.run(app.schedule("backup", "in 5m", name="backup", give_up_after=9))
        time.travel("5m10s")
        time.run(backup.edit(when="in 20s"))
        time.travel("25s")
    failed = min(cli("runs", "backup", "--state", "failed", "--json").json, key=lambda run: run["planned"])
    shown = cli("why", failed["id"])
    assert shown.out.startswith("✕"), shown.out
    assert "It ran: failed." in shown.out
    assert "Its next attempt was not run." in shown.out
    assert cli("retry", failed["id"]).code == 0


def test_retry_of_a_success_names_commands_that_work(cli: Cli) -> None:
    app = make_app(cli.path)
    with TimeTravel(app, hour_before(3), store="own") as time:
        time.run(app.schedule("report", "0 * * * *", name="report"))
        time.travel("61m")
    (run,) = cli("runs", "report", "--json").json
    refused = cli("retry", run["id"], "--json")
    hint = refused.problem["hint"]
    assert refused.problem["code"] == "nothing_to_retry"
    as_of = hint.rsplit("horae ", 1)[1].split()
    assert cli(*as_of).code == 0, hint


def test_requested_attempt_is_shown_as_a_request(cli: Cli) -> None:
    app = make_app(cli.path)
    with TimeTravel(app, hour_before(3), store="own") as time:
        time.run(app.schedule("backup", "0 * * * *", name="backup", retries=0))
        time.travel("61m")
        (failed,) = time.run(app.service.runs.page(app.who)).items
        time.run(app.service.runs.retry(app.who, failed.id))
        time.travel("1m")
    newest = max(cli("runs", "backup", "--json").json, key=lambda run: run["attempt"])
    assert newest["attempt"] == 2
    assert "tried again on request" in cli("show", newest["id"]).out
    assert "Attempt 2 was requested after attempt 1 ended as failed." in " ".join(cli("why", newest["id"]).out.split())
    first = cli("show", failed.id).out
    assert "on request" not in first
    assert "scheduled" in first
