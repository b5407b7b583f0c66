"""Groups of failed runs, and reports of their retries, to JSON and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..choices import Language
from ..errors import Refusal, Sentence
from ..model.run import Run
from ..service.runs.failures import FailureSummaries, FailureSummary, RefusedRetry, RetryReport
from .problems import public_error_json
from .runs import run_json


def failure_groups_json(found: FailureSummaries, names: Mapping[str, str], language: Language) -> dict[str, Any]:
    """Encode groups. `names` are the names of the tasks of their newest runs, as far as they are known."""
    return {
        "items": [failure_group_json(group, names.get(group.newest.task_id), language) for group in found.items],
        "groups": found.groups,
        "total": found.total,
        "cut": found.is_cut,
    }


def failure_group_json(group: FailureSummary, task: str | None, language: Language) -> dict[str, Any]:
    return {
        "key": group.key,
        "pattern": group.pattern,
        "count": group.number,
        "newest": run_json(group.newest, task, None, language),
        "task_ids": list(group.task_ids),
        "run_ids": list(group.run_ids),
    }


def read_failure_groups(data: Mapping[str, Any], read_run: Callable[[Any], Run]) -> FailureSummaries:
    items = tuple(
        FailureSummary(
            each["key"],
            each["pattern"],
            each["count"],
            read_run(each["newest"]),
            tuple(each["task_ids"]),
            tuple(each["run_ids"]),
        )
        for each in data["items"]
    )
    return FailureSummaries(items, data["groups"], data["total"], data["cut"])


def retry_report_json(report: RetryReport, language: Language, *, dry_run: bool = False) -> dict[str, Any]:
    return {
        "retried": list(report.retried),
        "refused": [
            {"run_id": each.run_id, **(public_error_json(each.error, language) or {})} for each in report.refused
        ],
        "left": report.left,
        "dry_run": dry_run,
    }


def read_retry_report(data: Mapping[str, Any]) -> RetryReport:
    """Read a report; the sentences of its refusals are in the requested language, and stand for both."""
    refused = []
    for each in data["refused"]:
        sentence = Sentence(each["detail"], each["hint"])
        refused.append(RefusedRetry(each["run_id"], Refusal(each["code"], {"en": sentence, "zh": sentence})))
    return RetryReport(tuple(data["retried"]), tuple(refused), data["left"])
