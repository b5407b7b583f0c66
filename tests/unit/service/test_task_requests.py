"""Task requests: durations, missed policies and retries as text, with refusals and hints."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.policy import DEFAULT_POLICIES, ONE_SHOT_POLICIES, Missed, Policies, RetryPolicy, policies_for
from horae.schedule import Cron, Every, Now, Once
from horae.service.tasks.task_request import (
    NEVER,
    NO_OPTIONS,
    Options,
    apply_options,
    read_duration,
    read_missed,
    read_policies,
    read_when,
    request_of,
)
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND, a_task

EVERY = Every(interval=HOUR)


@pytest.mark.parametrize(
    ("when", "schedule"),
    [
        ("every 1h", EVERY),
        ("now", Now()),
        ("in 20m", Once(at=NOON + 20 * MINUTE, zone="Asia/Shanghai")),
        ("0 9 * * *", Cron(expression="0 9 * * *", zone="Asia/Shanghai")),
        ("at 2026-03-02 15:00", Once(at=datetime(2026, 3, 2, 15), zone="Asia/Shanghai")),
        (datetime(2026, 3, 2, 15), Once(at=datetime(2026, 3, 2, 15), zone="Asia/Shanghai")),
        (datetime(2026, 3, 2, 15, tzinfo=UTC), Once(at=datetime(2026, 3, 2, 15, tzinfo=UTC), zone="Asia/Shanghai")),
        ({"kind": "every", "interval": "PT1H"}, EVERY),
        ({"kind": "cron", "expression": "0 9 * * *"}, Cron(expression="0 9 * * *", zone="Asia/Shanghai")),
        (Cron(expression="0 9 * * *"), Cron(expression="0 9 * * *", zone="Asia/Shanghai")),
        (Cron(expression="0 9 * * *", zone="Europe/Berlin"), Cron(expression="0 9 * * *", zone="Europe/Berlin")),
    ],
)
def test_accepted_forms_of_when(when: Any, schedule: object) -> None:
    read = read_when(when, "Asia/Shanghai", NOON)
    assert read == schedule or read == getattr(schedule, "with_defaults")("Asia/Shanghai")  # noqa: B009 - of any kind


@pytest.mark.parametrize(("when", "code"), [(5, "bare_duration"), (None, "bad_when"), (b"now", "bad_when")])
def test_invalid_when_is_refused(when: Any, code: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read_when(when, "UTC", NOON)
    assert refusal.value.code == code
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        (5, timedelta(seconds=5)),
        (0.25, timedelta(milliseconds=250)),
        (timedelta(days=2), timedelta(days=2)),
    ],
)
def test_accepted_forms_of_a_duration(value: Any, length: timedelta) -> None:
    assert read_duration("timeout", value) == length


@pytest.mark.parametrize("value", ["soon", "", "-5s", -1, float("nan"), float("inf"), True, None, [], 10**12])
def test_invalid_duration_is_refused(value: Any) -> None:
    with pytest.raises(Refusal) as refusal:
        read_duration("timeout", value)
    assert refusal.value.code == "bad_duration"
    assert "timeout" in refusal.value.message
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("latest", Missed("latest", timedelta(hours=24))),
        ("latest within 1h", Missed("latest", HOUR)),
        ("  skip ", Missed("skip", timedelta(hours=24))),
        ("all within 90s", Missed("all", timedelta(seconds=90))),
        (Missed("merge", None, 5), Missed("merge", None, 5)),
    ],
)
def test_missed_policy_may_include_its_bound(said: Any, meant: Missed) -> None:
    assert read_missed(said, DEFAULT_POLICIES.missed) == meant


def test_missed_without_a_bound_has_the_bound_of_its_kind() -> None:
    assert read_policies(Now(), Options(missed="all")).missed == Missed("all", None)


@pytest.mark.parametrize(
    ("said", "code"),
    [("lately", "bad_choice"), ("latest within", "bad_choice"), ("latest within soon", "bad_duration")],
)
def test_invalid_missed_policy_is_refused(said: str, code: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read_missed(said, DEFAULT_POLICIES.missed)
    assert refusal.value.code == code


def test_defaults_follow_the_kind_of_the_schedule() -> None:
    assert read_policies(EVERY, NO_OPTIONS) is DEFAULT_POLICIES
    assert read_policies(Now(), NO_OPTIONS) is ONE_SHOT_POLICIES


def test_chosen_policies_override_the_defaults() -> None:
    options = Options(
        overlap="queue", give_up_after=3, timeout="2m", max_duration=3600, guarantee="at_most_once", priority=-5
    )
    policies = read_policies(EVERY, options)
    assert (policies.overlap, policies.give_up_after, policies.priority) == ("queue", 3, -5)
    assert (policies.timeout, policies.max_duration) == (2 * MINUTE, HOUR)
    assert policies.guarantee == "at_most_once"
    assert policies.retry == DEFAULT_POLICIES.retry


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (3, 4), (999, 1_000)])
def test_retries_are_attempts_after_the_first(retries: int, attempts: int) -> None:
    assert read_policies(EVERY, Options(retries=retries)).retry == RetryPolicy(attempts=attempts)


def test_retries_sets_the_number_and_retry_the_backoff() -> None:
    options = Options(retries=1, retry=RetryPolicy(attempts=9, backoff=timedelta(seconds=1)))
    assert read_policies(EVERY, options).retry == RetryPolicy(attempts=2, backoff=timedelta(seconds=1))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"retries": -1}, "bad_number"),
        ({"retries": 1_000}, "bad_number"),
        ({"retries": "3"}, "bad_number"),
        ({"retries": True}, "bad_number"),
        ({"retries": 1.5}, "bad_number"),
        ({"retry": {"attempts": 3}}, "bad_choice"),
        ({"overlap": "jump"}, "bad_choice"),
        ({"guarantee": "exactly_once"}, "bad_choice"),
        ({"timeout": 0}, "bad_duration"),
        ({"timeout": "31d"}, "bad_duration"),
        ({"priority": 101}, "bad_number"),
        ({"give_up_after": 0}, "bad_number"),
        ({"missed": 5}, "bad_choice"),
    ],
)
def test_policies_that_do_not_fit_are_refused_with_a_hint(options: dict[str, Any], code: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read_policies(EVERY, Options(**options))
    assert refusal.value.code == code
    assert refusal.value.hint
    assert refusal.value.in_language("zh").hint


def test_chosen_options_win_over_defaults() -> None:
    usual = Options(missed="skip", priority=1, timeout=5)
    assert Options(priority=2).merged_with(usual) == Options(missed="skip", priority=2, timeout=5)
    assert Options(priority=2).merged_with(NO_OPTIONS) == Options(priority=2)


@pytest.mark.parametrize(
    ("usual", "here", "meant"),
    [
        (Options(retries=3), Options(retry=RetryPolicy(attempts=9)), RetryPolicy(attempts=9)),
        (Options(retry=RetryPolicy(attempts=9)), Options(retries=3), RetryPolicy(attempts=4)),
        (Options(retry=RetryPolicy(backoff=MINUTE)), Options(retries=0), RetryPolicy(attempts=1, backoff=MINUTE)),
        (Options(retries=3), Options(), RetryPolicy(attempts=4)),
    ],
)
def test_retries_and_retry_are_merged(usual: Options, here: Options, meant: RetryPolicy) -> None:
    assert read_policies(EVERY, here.merged_with(usual)).retry == meant


# --- no limit --------------------------------------------------------------------------------------------------------


def test_never_means_no_limit() -> None:
    base = policies_for(Every(interval=HOUR), {"max_duration": HOUR, "give_up_after": 3})
    chosen = apply_options(base, Options(retries=NEVER, give_up_after=NEVER, max_duration=NEVER))
    assert (chosen.retry.attempts, chosen.give_up_after, chosen.max_duration) == (None, None, None)
    assert chosen.retry.backoff == base.retry.backoff
    assert apply_options(base, Options()) == base, "nothing said is nothing chosen"


def test_never_combines_with_retry_backoff() -> None:
    chosen = apply_options(DEFAULT_POLICIES, Options(retries=NEVER, retry=RetryPolicy(2, backoff=SECOND)))
    assert chosen.retry == RetryPolicy(None, backoff=SECOND)


@pytest.mark.parametrize(
    "options", [{"timeout": NEVER}, {"priority": NEVER}, {"overlap": NEVER}, {"missed": NEVER}, {"retries": "Never"}]
)
def test_never_is_refused_where_a_limit_is_required(options: dict[str, Any]) -> None:
    with pytest.raises(Refusal):
        apply_options(DEFAULT_POLICIES, Options(**options))


def test_missed_mode_alone_keeps_the_bound() -> None:
    base = policies_for(Every(interval=HOUR), {"missed": Missed("all", HOUR, 5)})
    assert apply_options(base, Options(missed="skip")).missed == Missed("skip", HOUR, 5)
    assert apply_options(base, Options(missed="skip within 2m")).missed == Missed("skip", 2 * MINUTE, 5)


@pytest.mark.parametrize(
    "policies",
    [
        DEFAULT_POLICIES,
        ONE_SHOT_POLICIES,
        Policies(
            Missed("merge", None, 7),
            "parallel",
            RetryPolicy(None, SECOND, 1.5, HOUR),
            None,
            MINUTE,
            None,
            "at_most_once",
            -3,
        ),
        Policies(max_duration=HOUR, give_up_after=7),
    ],
)
def test_request_built_from_a_task_recreates_it(policies: Policies) -> None:
    task = a_task(policies=policies, key="key", lane="press", labels=(("room", "a"),))
    wish = request_of(task)
    assert read_policies(task.schedule, wish.options) == policies
    assert read_when(wish.when, wish.zone, NOON) == task.schedule
    assert (wish.name, wish.target, wish.payload) == (task.name, task.target, task.payload)
    assert (wish.owner, wish.key, wish.lane, wish.labels) == (task.owner, "key", "press", {"room": "a"})
