"""Sentences about plans: their times in English and Chinese, and the counter that Zero's page shows beside them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from ...choices import Language
from .codes import PlanState
from .plan import EXECUTIONS, SKIP_ALL, Plan

_UNITS: Final[dict[str, tuple[str, str]]] = {
    "second": ("second", "秒"),
    "minute": ("minute", "分钟"),
    "hour": ("hour", "小时"),
    "day": ("day", "天"),
}
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_WEEKDAYS_ZH: Final = "日一二三四五六"


def describe_plan(plan: Plan, language: Language) -> str:
    """Return one sentence: when the plan is executed, how often, and whether what is missed is caught up."""
    chinese = language == "zh"
    parts = [_when_zh(plan) if chinese else _when(plan)]
    if plan.plan_type not in ("none", "time"):
        if plan.plan_repet < 0:
            parts.append("一直重复" if chinese else "without end")
        else:
            times = "once" if plan.plan_repet == 1 else f"{plan.plan_repet} times"
            parts.append(f"共 {plan.plan_repet} 次" if chinese else times)
    if plan.plan_type in _UNITS or plan.plan_type == "time":
        parts.append(_missed(plan, chinese=chinese))
    return ("，" if chinese else ", ").join(parts) + ("。" if chinese else "")


def _missed(plan: Plan, *, chinese: bool) -> str:
    if plan.no_keep:
        return "错过的时间逐一补上" if chinese else "missed times are caught up"
    return "错过的时间跳过" if chinese else "missed times are skipped"


def _clock(plan: Plan) -> str:
    return f"{datetime.fromtimestamp(plan.plan_time, UTC):%H:%M:%S} UTC"


def _when(plan: Plan) -> str:
    match plan.plan_type:
        case "none":
            return "at once"
        case "time":
            return f"at {datetime.fromtimestamp(plan.plan_time, UTC):%Y-%m-%d %H:%M:%S} UTC"
        case "week":
            return f"every {_WEEKDAYS[plan.plan_value]} at {_clock(plan)}"
        case "month":
            return f"every month {_month_day(plan.plan_value)} at {_clock(plan)}"
        case unit:
            name = _UNITS[unit][0]
            return f"every {name}" if plan.plan_value == 1 else f"every {plan.plan_value} {name}s"


def _month_day(value: int) -> str:
    if value > 0:
        return f"on day {value}"
    if value == 0:
        return "on the last day"
    return f"{-value} {'day' if value == -1 else 'days'} before the last day"


def _when_zh(plan: Plan) -> str:
    match plan.plan_type:
        case "none":
            return "立即执行"
        case "time":
            return f"在 {datetime.fromtimestamp(plan.plan_time, UTC):%Y-%m-%d %H:%M:%S} UTC 执行"
        case "week":
            return f"每周{_WEEKDAYS_ZH[plan.plan_value]} {_clock(plan)} 执行"
        case "month":
            value = plan.plan_value
            day = f"{value} 号" if value > 0 else "最后一天" if value == 0 else f"最后一天之前 {-value} 天"
            return f"每月{day} {_clock(plan)} 执行"
        case unit:
            return f"每 {plan.plan_value} {_UNITS[unit][1]}执行一次"


def counter_text(state: PlanState, skip_set: int, skip_num: int) -> str:
    """Return the counter of a plan as Zero's page writes it; empty where there is nothing to count."""
    if state is PlanState.ERROR:
        return f"Error({skip_num})"
    if state is PlanState.RETRYING:
        return f"Retry({skip_num}/{EXECUTIONS - 1})"
    if skip_set == SKIP_ALL:
        return f"Pause({skip_num})"
    if skip_set > 0:
        return f"Skip({skip_num}/{skip_set})"
    return f"Overdue({skip_num})" if skip_num else ""
