"""Registrations of functions: record round trips, and digests of declarations."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from horae.model.policy import Missed, RetryPolicy, policies_for
from horae.model.task import Target
from horae.schedule import Every
from horae.service.tasks.functions.functions import apply_defaults
from horae.service.tasks.functions.records import (
    Argument,
    Defaults,
    Registration,
    Signature,
    defaults_json,
    options_json,
    read_options,
    read_registration,
    registration_json,
)
from horae.service.tasks.task_request import (
    NEVER,
    NO_OPTIONS,
    MissedRequest,
    Options,
    RetryRequest,
    TaskRequest,
    read_policies,
)

MAIL = Target("function", '{"name":"mail"}')
EVERY = Every(interval=timedelta(hours=1))


@pytest.mark.parametrize(
    "options",
    [
        NO_OPTIONS,
        Options(missed="latest within 1h", retries=0, timeout=90.5),
        Options(
            missed=Missed("all", None, 7), retry=RetryPolicy(None, timedelta(seconds=5), 1.5, timedelta(minutes=2))
        ),
        Options(
            missed=MissedRequest(within=NEVER), retry=RetryRequest(backoff="5s"), give_up_after=NEVER, retries=NEVER
        ),
        Options(overlap="queue", max_duration=timedelta(hours=2), guarantee="at_most_once", priority=3, notify_after=9),
    ],
)
def test_options_mean_the_same_after_a_round_trip(options: Options) -> None:
    text = json.dumps(options_json(options))
    back = read_options(json.loads(text))
    assert json.dumps(options_json(back)) == text
    assert read_policies(EVERY, back) == read_policies(EVERY, options)


def test_registration_is_read_as_it_was_written() -> None:
    user = Argument("user", required=True, wanted="int", accepts=frozenset({"integer"}))
    signature = Signature((user, Argument("any", required=False, wanted="anything")), takes_more=True)
    defaults = Defaults("UTC", "mailer", {"a": "b"}, Options(retries=1))
    one = Registration("mail", "shop", signature, defaults, datetime(2026, 3, 1, tzinfo=UTC))
    assert read_registration("mail", json.dumps(registration_json(one))) == one


def test_unreadable_registration_does_not_hide_others() -> None:
    options = Options(missed="latest within soon")
    assert read_options(options_json(options)).missed == "latest within soon"
    assert defaults_json(Defaults(options=options))["policies"] == {"missed": "latest within soon"}


@pytest.mark.parametrize(
    ("said", "declared", "attempts", "backoff"),
    [
        (Options(), Options(retries=0), 1, 60),
        (Options(retries=2), Options(retries=0), 3, 60),
        (Options(retries=2), Options(retry=RetryPolicy(9, timedelta(seconds=5))), 3, 5),
        (Options(retry=RetryRequest(backoff="5s")), Options(retries=0), 1, 5),
        (Options(retry=RetryRequest(backoff="5s")), Options(retry=RetryRequest(attempts=2)), 2, 5),
        (Options(retry=RetryRequest(attempts=7)), Options(retries=0), 7, 60),
    ],
)
def test_parts_of_retry_are_merged(said: Options, declared: Options, attempts: int, backoff: int) -> None:
    wish, _ = apply_defaults(TaskRequest("x", EVERY, MAIL, options=said), Defaults(options=declared))
    retry = read_policies(EVERY, wish.options).retry
    assert (retry.attempts, retry.backoff) == (attempts, timedelta(seconds=backoff))


def test_missed_keeps_declared_parts_that_the_caller_omits() -> None:
    said, declared = (
        Options(missed=MissedRequest(limit=3)),
        Defaults(options=Options(missed=MissedRequest("all", "1h"))),
    )
    wish, names = apply_defaults(TaskRequest("x", EVERY, MAIL, options=said), declared)
    assert read_policies(EVERY, wish.options).missed == Missed("all", timedelta(hours=1), 3)
    assert names == ("policies.missed",)
    usual = policies_for(EVERY).missed
    assert read_policies(EVERY, said).missed == Missed(usual.mode, usual.within, 3)
