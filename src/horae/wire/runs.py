"""A run, what it said, and why something did or did not happen, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..choices import Language
from ..lifecycle.explain import Explanation, Verdict
from ..model.events.trace_context import trace_id
from ..model.reason import Reason, sentence
from ..model.run import Origin, Run, RunState, Span
from ..ports.journal import Line, NumberedLine
from ..service.runs.outages import Outage
from .instants import instant, local, milliseconds, read_instant, utc


def run_json(run: Run, task: str | None = None, zone: str | None = None, language: Language = "en") -> dict[str, Any]:
    """`task` is the task's name and `zone` that of its schedule, where they are known. A stretch says how many it is."""
    span = run.span
    return {
        "id": run.id,
        "task_id": run.task_id,
        "task": task,
        "owner": run.owner,
        "state": run.state.value,
        "reason": None if run.reason is None else run.reason.value,
        "because": None if run.reason is None else sentence(run.reason, language),
        "origin": run.origin.value,
        "planned": utc(run.planned),
        "planned_local": local(run.planned, zone),
        "zone": zone,
        "due": utc(run.due),
        "attempt": run.attempt,
        "started": utc(run.started),
        "ended": utc(run.ended),
        "lateness_ms": milliseconds(run.lateness),
        "duration_ms": milliseconds(None if run.started is None or run.ended is None else run.ended - run.started),
        "first": utc(run.planned if span is None else span.first),
        "last": utc(run.planned if span is None else span.last),
        "count": 1 if span is None else span.count,
        "node": run.node,
        "trace_id": trace_id(run),
        "lanes": list(run.lanes),
        "asked_to_end": None if run.cancel is None else run.cancel.value,
        "result": result_of(run),
        "error": run.error,
    }


def read_run(said: Mapping[str, Any]) -> Run:
    """A run as a server tells of it."""
    planned, count = instant(said["planned"]), said["count"]
    span = Span(instant(said["first"]), instant(said["last"]), count)
    return Run(
        id=said["id"],
        task_id=said["task_id"],
        owner=said["owner"],
        origin=Origin(said["origin"]),
        planned=planned,
        due=instant(said["due"]),
        attempt=said["attempt"],
        state=RunState(said["state"]),
        reason=_reason(said["reason"]),
        node=said["node"],
        started=read_instant(said["started"]),
        ended=read_instant(said["ended"]),
        span=None if span == Span(planned, planned, 1) else span,
        cancel=_reason(said["asked_to_end"]),
        lanes=tuple(said["lanes"]),
        result_json=None if said["result"] is None else json.dumps(said["result"], ensure_ascii=False),
        error=said["error"],
    )


def _reason(said: str | None) -> Reason | None:
    return None if said is None else Reason(said)


def result_of(run: Run) -> Any:
    """What it returned, as the value that it was."""
    return run.result


def line_json(numbered: NumberedLine) -> dict[str, Any]:
    number, line = numbered
    return {"number": number, "run_id": line.run_id, "at": utc(line.at), "level": line.level, "text": line.text}


def read_line(said: Mapping[str, Any]) -> NumberedLine:
    return NumberedLine(said["number"], Line(said["run_id"], instant(said["at"]), said["level"], said["text"]))


def why_json(
    explanation: Explanation,
    at: str | None,
    task: str,
    zone: str | None,
    language: Language,
    outage: Outage | None = None,
) -> dict[str, Any]:
    return {
        "task": task,
        "at": at,
        "verdict": explanation.verdict.value,
        "sentence": explanation.in_language(language),
        "reason": None if explanation.reason is None else explanation.reason.value,
        "outage": None if outage is None else outage_json(outage),
        "runs": [run_json(run, task, zone, language) for run in explanation.runs],
    }


def outage_json(outage: Outage) -> dict[str, Any]:
    return {"since": utc(outage.since), "until": utc(outage.until), "clean": outage.clean}


def read_explanation(said: Mapping[str, Any]) -> Explanation:
    """The sentence came in the language that was asked for, and stands for both."""
    told, reason = said["sentence"], said["reason"]
    return Explanation(
        Verdict(said["verdict"]), told, told, _reason(reason), tuple(read_run(each) for each in said["runs"])
    )


def read_outage(said: Mapping[str, Any] | None) -> Outage | None:
    return None if said is None else Outage(instant(said["since"]), instant(said["until"]), said["clean"])
