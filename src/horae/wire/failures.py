"""Groups of failed runs, and reports of their retries, to JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..choices import Language
from ..service.runs.failures import FailureGroup, FailureGroups, RetryReport
from .problems import public_error_json
from .runs import run_json


def failure_groups_json(
    found: FailureGroups, shown: Sequence[FailureGroup], names: Mapping[str, str], language: Language
) -> dict[str, Any]:
    """Encode the groups that are shown. `names` are the names of their tasks, as far as they are known."""
    return {
        "items": [_group_json(group, names, language) for group in shown],
        "groups": len(found.groups),
        "total": found.total,
        "cut": found.is_cut,
    }


def _group_json(group: FailureGroup, names: Mapping[str, str], language: Language) -> dict[str, Any]:
    return {
        "key": group.key,
        "pattern": group.pattern,
        "count": len(group.runs),
        "newest": run_json(group.newest, names.get(group.newest.task_id), None, language),
        "task_ids": list(group.task_ids),
        "run_ids": [run.id for run in group.occurrences],
    }


def retry_report_json(report: RetryReport, language: Language) -> dict[str, Any]:
    return {
        "retried": list(report.retried),
        "refused": [
            {"run_id": each.run_id, **(public_error_json(each.error, language) or {})} for each in report.refused
        ],
        "left": report.left,
    }
