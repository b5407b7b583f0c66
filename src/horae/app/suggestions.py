"""Suggestions for names of other schedulers: option and attribute names, each mapped to the Horae spelling.

The names are those of APScheduler, Celery, Huey, Dramatiq, RQ, Prefect, Procrastinate, Taskiq and arq.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, Final, NamedTuple, NoReturn, ParamSpec, TypeVar

from ..errors import InvalidTask, Refusal, UnknownAttribute
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry
from ..service.tasks.task_request import Options
from .suggested_values import write_moment, write_with_value

CATALOGUE: Final = RefusalCatalogue(
    {
        "unknown_option": RefusalEntry(
            InvalidTask,
            "There is no option '{name}'.",
            "Did you mean {way}?",
            "没有名为“{name}”的选项。",
            "是不是 {way_zh}?",
        ),
        "unknown_attribute": RefusalEntry(
            UnknownAttribute,
            "{owner} has no attribute '{name}'.",
            "Did you mean {way}?",
            "{owner} 没有属性“{name}”。",
            "是不是 {way_zh}?",
        ),
    }
)


refuse: Final = CATALOGUE.refuse


P = ParamSpec("P")
R = TypeVar("R")
_MAX_VALUE_LENGTH: Final = 30


class Suggestion(NamedTuple):
    """The Horae spelling to suggest, in English and Chinese."""

    en: str
    zh: str


def _same(text: str) -> Suggestion:
    return Suggestion(text, text)


def _for_names(names: str, way: Suggestion) -> dict[str, Suggestion]:
    return dict.fromkeys(names.split(), way)


_WHEN: Final = Suggestion(
    'the schedule as text: @app.task("every 5m") or app.schedule(f, "0 9 * * *")',
    '用文本写计划:@app.task("every 5m") 或 app.schedule(f, "0 9 * * *")',
)
_MISSED: Final = _same('missed="latest within 1h"')
_RETRY: Final = _same("retry=RetryPolicy(attempts=4, backoff=timedelta(seconds=60))")
_STORE: Final = _same('store="sqlite:///horae.db"')
_NOT_NEEDED: Final = Suggestion("nothing: Horae does that by itself", "什么都不用写:Horae 会自动处理")

OPTIONS: Final[dict[str, Suggestion]] = {
    **_for_names("max_retries retry_count num_retries max_attempts tries max_tries", _same("retries=3")),
    **_for_names("retry_delay default_retry_delay retry_backoff retry_backoff_max retry_jitter", _RETRY),
    **_for_names(
        "min_backoff max_backoff backoff retry_delay_seconds retry_jitter_factor retry_kwargs retry_when", _RETRY
    ),
    **_for_names("autoretry_for retry_on retry_on_error throws retry_condition_fn", _same("retries=3")),
    **_for_names("cron crontab schedule trigger interval every when at run_at eta run_date run_every", _WHEN),
    **_for_names("second seconds minute minutes hour hours day days week weeks month year day_of_week weekday", _WHEN),
    **_for_names("start_date end_date next_run_time repeat", _WHEN),
    **_for_names(
        "countdown delay defer_by _defer_by schedule_in", _same('later("in 10s", …) or schedule(f, "in 10s", …)')
    ),
    **_for_names("defer_until _defer_until schedule_at", _same('schedule(f, "2026-03-01 09:00", …)')),
    **_for_names("tz timezone tzinfo time_zone", _same('zone="Europe/Berlin"')),
    **_for_names("queue queue_name queues pool work_queue_name worker_group executor jobstore", _same('lane="mail"')),
    **_for_names("rate_limit concurrency concurrency_limit concurrency_key max_concurrency", _same('lane="mail"')),
    **_for_names("misfire_grace_time expires max_age ttl expiration grace_time", _MISSED),
    **_for_names("coalesce catchup catch_up", _same('missed="merge"')),
    **_for_names(
        "max_instances overlap_policy allow_overlap singleton unique lock queueing_lock", _same('overlap="skip"')
    ),
    **_for_names(
        "id job_id task_id _job_id identifier idempotency_key dedupe_key replace_existing", _same('key="order-7"')
    ),
    **_for_names("args kwargs arguments params parameters data input", _same('payload={"user": 7}')),
    **_for_names("time_limit hard_time_limit max_runtime", _same('max_duration="10m"')),
    **_for_names("soft_time_limit job_timeout timeout_seconds time_out", _same('timeout="2m"')),
    **_for_names("acks_late ack_late reject_on_worker_lost at_least_once", _same('guarantee="at_least_once"')),
    **_for_names("at_most_once", _same('guarantee="at_most_once"')),
    **_for_names("tags metadata meta annotations", _same('labels={"source": "web"}')),
    **_for_names("bind context pass_context", Suggestion("a parameter ctx: Context", "参数 ctx: Context")),
    **_for_names("ignore_result store_results persist_result result_ttl failure_ttl keep_result", _NOT_NEEDED),
    **_for_names("task_name description title", _same('name="report"')),
    **_for_names("tenant user user_id account", _same('owner="acme"')),
    **_for_names("session connection conn transaction db tx", _same("using=session")),
    **_for_names("isolation process thread in_process", _same('isolate="process"')),
}
"""Options of a task."""

SCHEDULE_OPTIONS: Final = frozenset({*Options._fields, "key", "owner", "zone", "lane", "labels", "using"})
"""Keywords of `app.schedule`."""

APP_OPTIONS: Final[dict[str, Suggestion]] = {
    **_for_names("tz timezone time_zone", _same('zone="Europe/Berlin"')),
    **_for_names("broker backend url dsn database database_url db uri connection jobstores jobstore", _STORE),
    **_for_names("redis redis_url result_backend broker_url store_url storage", _STORE),
    **_for_names("job_defaults executors concurrency workers max_workers", _same("settings=EngineSettings(…)")),
    **_for_names("immediate always_eager testing", _same("horae.testing.TimeTravel(app, …)")),
    **_for_names("start autostart run", _same("engine=True")),
}
"""Arguments of an app."""

_NOW: Final = _same("{name}.now(…)")
_LATER: Final = _same('{name}.later("in 10s", …)')

FUNCTION_NAMES: Final[dict[str, Suggestion]] = {
    **_for_names("delay enqueue send submit apply call_async defer defer_async kiq spawn run_async push", _NOW),
    **_for_names("apply_async send_with_options schedule configure using options enqueue_in enqueue_at at", _LATER),
    **_for_names("s si signature message subtask with_options chunks", _LATER),
    **_for_names("map starmap batch", _same("app.schedule_many(…)")),
    **_for_names("call_local fn func original run", _same("{name}(…)")),
    **_for_names("retry", Suggestion("raise Retry(after=…)", "raise Retry(after=…)")),
}
"""Attributes of a task function."""

APP_NAMES: Final[dict[str, Suggestion]] = {
    **_for_names("add_job add_schedule enqueue send_task defer submit", _same("app.schedule(…)")),
    **_for_names("enqueue_in call_later", _same('app.schedule(f, "in 10s")')),
    **_for_names("enqueue_at call_at", _same('app.schedule(f, "2026-03-01 09:00")')),
    **_for_names(
        "scheduled_job periodic_task cron every periodic actor job register flow", _same('@app.task("every 5m")')
    ),
    **_for_names("start serve_forever run_forever start_in_background", _same("async with app: or app.run()")),
    **_for_names("shutdown stop close", Suggestion("the end of 'async with app:'", "“async with app:”结束时自动关闭")),
    **_for_names("get_jobs get_schedules jobs list_tasks print_jobs", _same("app.tasks()")),
    **_for_names("get_job get_task fetch_job", _same("app.get(…)")),
    **_for_names("remove_job cancel_job delete_job revoke", _same("(await app.get(…)).cancel()")),
    **_for_names("pause_job", _same("(await app.get(…)).pause()")),
    **_for_names("resume_job", _same("(await app.get(…)).resume()")),
    **_for_names("modify_job reschedule_job update_schedule", _same("(await app.get(…)).edit(…)")),
    **_for_names("history list_runs get_runs", _same("app.runs()")),
    **_for_names("conf config", _same("app.settings")),
    **_for_names("add_listener add_event_listener signal", _same('@app.on("run.failed")')),
}
"""Attributes of an app."""

HANDLE_NAMES: Final[dict[str, Suggestion]] = {
    **_for_names("status", _same("await {name}.state()")),
    **_for_names("result get ready join value return_value latest_result", _same('(await {name}.wait("10s")).result')),
    **_for_names("revoke abort remove stop unschedule", _same("await {name}.cancel()")),
    **_for_names("reschedule modify update", _same("await {name}.edit(when=…)")),
    **_for_names("next_run_time next_run", _same("await {name}.next_due()")),
    **_for_names("run trigger fire", _same("await {name}.run_now()")),
    **_for_names("history executions attempts", _same("await {name}.runs()")),
    **_for_names("job_id task_id uuid", _same("{name}.id")),
}
"""Attributes of a task handle."""

RUN_NAMES: Final[dict[str, Suggestion]] = {
    **_for_names("status state", _same("(await {name}.get()).state")),
    **_for_names("result value return_value", _same("(await {name}.wait()).result")),
    **_for_names("logs log output", _same("await {name}.lines()")),
    **_for_names("revoke abort stop kill", _same("await {name}.cancel()")),
}
"""Attributes of a run handle."""


def suggest_option(
    name: str, value: object, known: Iterable[str], ways: dict[str, Suggestion] = OPTIONS
) -> Refusal | None:
    """Return the refusal of an unknown option whose meaning is known or whose spelling is near; None for any other name.

    The suggestion contains the caller's own value where it can be translated.
    """
    way = ways.get(name.lower())
    own = write_with_value(name, value) if way is not None else None
    if own is not None:
        way = _same(own)
    elif way is None:
        near = get_close_matches(name.lower(), list(known), 1)
        way = _same(f"{near[0]}=…") if near else None
    return None if way is None else refuse("unknown_option", name=name, way=way.en, way_zh=way.zh)


def suggest_keywords(ways: dict[str, Suggestion]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse keyword arguments of other schedulers before Python reports a missing or unexpected argument."""

    def decorate(call: Callable[P, R]) -> Callable[P, R]:
        known = frozenset(inspect.signature(call).parameters)

        @functools.wraps(call)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if not known.issuperset(kwargs):
                for name in kwargs.keys() - known:
                    refusal = suggest_option(name, kwargs[name], (), ways)
                    if refusal is not None:
                        raise refusal
            return call(*args, **kwargs)

        if not inspect.iscoroutinefunction(call):
            return checked

        @functools.wraps(call)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await checked(*args, **kwargs)  # type: ignore[misc]

        return awaited  # type: ignore[return-value]

    return decorate


def suggest_call(function: str, name: str, value: object) -> Refusal | None:
    """Return the refusal of `f.later(…, retries=2)` or `f.later(eta=…)`, whose keywords are arguments of the function."""
    if name in SCHEDULE_OPTIONS:
        shown = repr(value)
        shown = shown if len(shown) <= _MAX_VALUE_LENGTH else "…"
        way = _same(f'app.schedule({function}, "in 10s", {{…}}, {name}={shown})')
        return refuse("unknown_option", name=name, way=way.en, way_zh=way.zh)
    moment = write_moment(name, value)
    if moment is None:
        return suggest_option(name, value, ())
    way = _same(f"{function}.later({moment}, …)")
    return refuse("unknown_option", name=name, way=way.en, way_zh=way.zh)


def refuse_attribute(owner: object, shown: str, name: str, ways: dict[str, Suggestion], call: str) -> NoReturn:
    """Raise `AttributeError`, suggesting the Horae name for one of another scheduler. `call` is the owner's variable name."""
    way = ways.get(name)
    if way is None:
        raise AttributeError(f"{shown} has no attribute {name!r}", name=name, obj=owner)
    raise refuse(
        "unknown_attribute",
        owner=shown,
        name=name,
        way=way.en.replace("{name}", call),
        way_zh=way.zh.replace("{name}", call),
    )
