"""Runs, log lines and explanations to JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..choices import Language
from ..lifecycle.explain.explanation import Explanation, Verdict
from ..lifecycle.explain.lane import LaneWait
from ..model.agents.usage import RunUsage, to_micros
from ..model.handled import Handled
from ..model.ids import trace_id
from ..model.lanes.idle import IdleRun, YieldKind, describe_yield
from ..model.origin import ChainPlace, RootOccurrence
from ..model.reason import Reason, describe_reason
from ..model.run import Origin, Run, RunState, Span
from ..ports.journal import Line, NumberedLine
from ..service.runs.outages import Outage
from ..service.runs.run_chain import ChainLink, RunChain
from .instants import local, milliseconds, parse_instant, parse_optional_instant, utc
from .tasks.run_inputs import input_json, read_input


def run_json(run: Run, task: str | None = None, zone: str | None = None, language: Language = "en") -> dict[str, Any]:
    """Encode a run. `task` is the task's name and `zone` the zone of its schedule, if known. A merged row carries its
    span and count. `idle`, `usage` and `handled` are filled in where a run is read alone."""
    span = run.span
    return {
        "id": run.id,
        "task_id": run.task_id,
        "task": task,
        "owner": run.owner,
        "state": run.state.value,
        "reason": None if run.reason is None else run.reason.value,
        "because": None if run.reason is None else describe_reason(run.reason, language),
        "origin": run.origin.value,
        "root": None
        if run.chain is None or run.chain.root is None
        else {
            "task_id": run.chain.root.task_id,
            "origin": run.chain.root.origin.value,
            "planned": utc(run.chain.root.planned),
        },
        "parents": [] if run.chain is None else list(run.chain.parents),
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
        "input": input_json(run.input),
        "result": result_of(run),
        "error": run.error,
        "idle": None,
        "usage": None,
        "handled": None,
    }


def usage_json(usage: RunUsage | None) -> dict[str, Any] | None:
    """Encode the usage of a run; `cost` is in US dollars."""
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cost": usage.cost,
        "model": usage.model,
        "turns": usage.turns,
        "unpriced": usage.unpriced,
    }


def read_usage(data: Mapping[str, Any]) -> RunUsage | None:
    """Decode the usage of a run."""
    usage = data.get("usage")
    if usage is None:
        return None
    cost = to_micros(usage["cost"])
    return RunUsage(
        usage["input_tokens"], usage["output_tokens"], cost, usage["model"], usage["turns"], usage.get("unpriced")
    )


def handled_json(handled: Sequence[Handled]) -> list[dict[str, Any]]:
    """Encode the messages over which a run has moved cursors."""
    return [each._asdict() for each in handled]


def read_handled(data: Mapping[str, Any]) -> tuple[Handled, ...]:
    """Decode the messages that a run has handled."""
    return tuple(Handled(**each) for each in data.get("handled") or ())


def idle_json(idle: IdleRun | None, language: Language = "en") -> dict[str, Any] | None:
    """Encode the idle state of a run; None: it is not idle."""
    if idle is None:
        return None
    reason = idle.yield_reason
    return {
        "since": utc(idle.since),
        "yield_requested": None
        if reason is None
        else {"kind": reason.kind.value, "lane": reason.lane, "because": describe_yield(reason, language)},
    }


def read_idle(data: Mapping[str, Any]) -> IdleRun | None:
    """Decode the idle state of a run; the priority of its task is not part of it."""
    idle = data.get("idle")
    if idle is None:
        return None
    asked = idle["yield_requested"]
    kind, lane = (None, "") if asked is None else (YieldKind(asked["kind"]), asked["lane"])
    since = parse_instant(idle["since"])
    return IdleRun(lane, data["id"], data["task_id"], data["owner"], 0, data["node"] or "", since, 0, kind)


def read_run(data: Mapping[str, Any]) -> Run:
    """Decode a run."""
    planned, count = parse_instant(data["planned"]), data["count"]
    span = Span(parse_instant(data["first"]), parse_instant(data["last"]), count)
    return Run(
        id=data["id"],
        task_id=data["task_id"],
        owner=data["owner"],
        origin=Origin(data["origin"]),
        planned=planned,
        due=parse_instant(data["due"]),
        attempt=data["attempt"],
        state=RunState(data["state"]),
        reason=_read_reason(data["reason"]),
        node=data["node"],
        started=parse_optional_instant(data["started"]),
        ended=parse_optional_instant(data["ended"]),
        span=None if span == Span(planned, planned, 1) else span,
        cancel=_read_reason(data["asked_to_end"]),
        lanes=tuple(data["lanes"]),
        result_json=None if data["result"] is None else json.dumps(data["result"], ensure_ascii=False),
        error=data["error"],
        input=read_input(data.get("input")),
        chain=_read_chain(data),
    )


def chain_json(chain: RunChain) -> dict[str, Any]:
    root = chain.root
    return {
        "root": {"task_id": root.task_id, "origin": root.origin.value, "planned": utc(root.planned)},
        "links": [_link_json(each) for each in chain.links],
        "cut": chain.cut,
    }


def _link_json(link: ChainLink) -> dict[str, Any]:
    return {
        "task_id": link.task_id,
        "task": link.name,
        "state": link.state,
        "run_id": link.run_id,
        "reason": None if link.reason is None else link.reason.value,
        "parents": list(link.parents),
    }


def read_run_chain(data: Mapping[str, Any]) -> RunChain:
    root = data["root"]
    links = (
        ChainLink(
            each["task_id"],
            each["state"],
            each["run_id"],
            None if each["reason"] is None else Reason(each["reason"]),
            tuple(each["parents"]),
            each["task"],
        )
        for each in data["links"]
    )
    planned = RootOccurrence(root["task_id"], Origin(root["origin"]), parse_instant(root["planned"]))
    return RunChain(planned, tuple(links), data["cut"])


def _read_chain(data: Mapping[str, Any]) -> ChainPlace | None:
    root = data.get("root")
    if root is None:
        return None
    occurrence = RootOccurrence(root["task_id"], Origin(root["origin"]), parse_instant(root["planned"]))
    return ChainPlace(occurrence, tuple(data["parents"]))


def _read_reason(value: str | None) -> Reason | None:
    return None if value is None else Reason(value)


def result_of(run: Run) -> Any:
    """Return the run's result, decoded."""
    return run.result


def line_json(numbered: NumberedLine) -> dict[str, Any]:
    number, line = numbered
    return {"number": number, "run_id": line.run_id, "at": utc(line.at), "level": line.level, "text": line.text}


def read_line(data: Mapping[str, Any]) -> NumberedLine:
    return NumberedLine(data["number"], Line(data["run_id"], parse_instant(data["at"]), data["level"], data["text"]))


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
        "lane": None if explanation.lane is None else _lane_wait_json(explanation.lane),
        "runs": [run_json(run, task, zone, language) for run in explanation.runs],
    }


def _lane_wait_json(wait: LaneWait) -> dict[str, Any]:
    return {
        "name": wait.lane,
        "limit": wait.limit,
        "taken": wait.used,
        "runs": list(wait.holders),
        "others": wait.others,
        "ahead": wait.ahead,
        "more_ahead": wait.more_ahead,
        "free_by": utc(wait.free_by),
        "not_before": utc(wait.not_before),
    }


def _read_lane_wait(data: Mapping[str, Any] | None) -> LaneWait | None:
    if data is None:
        return None
    return LaneWait(
        data["name"],
        data["limit"],
        data["taken"],
        tuple(data["runs"]),
        data["others"],
        data["ahead"],
        data["more_ahead"],
        parse_optional_instant(data["free_by"]),
        parse_optional_instant(data["not_before"]),
    )


def outage_json(outage: Outage) -> dict[str, Any]:
    return {"since": utc(outage.since), "until": utc(outage.until), "clean": outage.clean}


def read_explanation(data: Mapping[str, Any]) -> Explanation:
    """Decode an explanation. The server's sentence is in the requested language and is used for both."""
    sentence_text, reason = data["sentence"], data["reason"]
    return Explanation(
        Verdict(data["verdict"]),
        sentence_text,
        sentence_text,
        _read_reason(reason),
        tuple(read_run(each) for each in data["runs"]),
        _read_lane_wait(data.get("lane")),
    )


def read_outage(data: Mapping[str, Any] | None) -> Outage | None:
    return None if data is None else Outage(parse_instant(data["since"]), parse_instant(data["until"]), data["clean"])
