"""Run page: one attempt with the waterfall of its occurrence, payload, result and error; retry and cancel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from ....errors import NotFound, Refusal
from ....model.accounts.system_owner import account_of
from ....model.agents.agent_task import AGENT_KIND
from ....model.agents.budget import format_amount
from ....model.agents.usage import RunUsage
from ....model.change import Facts
from ....model.entry import EntryKind
from ....model.ids import occurrence_key, trace_id
from ....model.lanes.idle import describe_yield
from ....model.reason import describe_reason, reason_phrase
from ....model.run import Run, RunState
from ....model.text.invisible_characters import escape_hidden
from ....model.text.plain_text import plain_text
from ....service.runs.run_chain import links_below
from ....web.problems import status_of
from ....wire.problems import problem_json, sentence_of
from ...outcomes import link_sign
from ...page import PageRequest, form, page
from ...run_inputs import compare_lines, read_input_fields
from ...waterfall import WIDTH, build_waterfall
from ..approvals import pending_of_group
from .runs import duration_of, shown_lanes

MAX_RESULT: Final = 8 * 1024
MAX_PAYLOAD: Final = 64 * 1024
"""Characters that are shown without `?all=1`."""
_RETRYABLE: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})


MAX_TRANSCRIPT: Final = 1_000
_TRANSCRIPT_LEVELS: Final = frozenset({"result", "tool"})


class CutText(NamedTuple):
    """A text, and the number of its characters that are not shown."""

    text: str
    hidden: int = 0


class Message(NamedTuple):
    """One entry of a transcript."""

    role: str
    text: str
    is_tool: bool = False


async def show(request: PageRequest) -> Response:
    try:
        run = await _get(request)
    except NotFound as error:
        if error.code != "run_waiting":
            raise
        return _show_waiting(request, error)
    return await _show_run(request, run)


def _show_waiting(request: PageRequest, error: NotFound) -> Response:
    """Show a run that was asked for and has no row yet; its live parts turn into the run page once it has started."""
    facts = error.facts
    data = {
        "page": "runs",
        "run_id": _run_id(request),
        "task_id": facts["task"],
        "task_name": facts["name"],
        "planned": facts["planned"],
        "sentence": sentence_of(error, request.viewer.language),
    }
    return request.render("run_waiting.html", data)


async def _show_run(request: PageRequest, run: Run, error: Refusal | None = None) -> Response:
    principal, now = request.viewer.principal, request.viewer.now
    head = await head_data(request, run, "overview", error)
    attempts = await request.service.runs.attempts(principal, run.id)
    idle = await request.service.runs.idle(principal, run.id) if run.live else None
    data = {
        **head,
        "pending": await pending_of_group(request, account_of(run.owner)),
        "waterfall": build_waterfall(attempts, _next_attempt(head["facts"], run), now),
        "chart_width": WIDTH,
        "attempts": attempts,
        "duration_of_run": duration_of(run, now),
        "lanes": shown_lanes(run.lanes, run.owner),
        "idle": idle,
        "usage": await request.service.runs.usage(principal, run.id),
        "handled": await request.service.runs.handled(principal, run.id),
        "handled_owner": None if account_of(run.owner) == principal.owner else account_of(run.owner),
        "usage_cost": lambda usage: cost_text(request, usage),
        "yield_request": None
        if idle is None or idle.yield_reason is None
        else describe_yield(idle.yield_reason, request.viewer.language),
        **await _chain_data(request, run, head["facts"]),
        "key": occurrence_key(run.task_id, run.origin, run.planned),
        "trace": trace_id(run),
        "because": None if run.reason is None else describe_reason(run.reason, request.viewer.language),
        "result": None if run.result_json is None else _cut(request, pretty_json(run.result_json), MAX_RESULT),
        "error": None if run.error is None else plain_text(run.error),
    }
    return request.render("run.html", data, 200 if error is None else status_of(error))


async def _chain_data(request: PageRequest, run: Run, facts: Facts | None) -> dict[str, Any]:
    """Return the chain of the root occurrence that the run belongs to; None for a run that is the only link."""
    is_linked = run.root.task_id != run.task_id or (facts is not None and bool(facts.task.successors))
    chain = await request.service.runs.chain(request.viewer.principal, run.id) if is_linked else None
    language, can_run = request.viewer.language, request.viewer.can_run
    return {
        "chain": chain if chain is not None and len(chain.links) > 1 else None,
        "links_below": links_below,
        "link_sign": lambda link: link_sign(link, language),
        "link_reason": lambda link: reason_phrase(link.reason, language),
        "can_retry_link": lambda link: can_run and link.state in _RETRYABLE,
    }


async def head_data(request: PageRequest, run: Run, tab: str, error: Refusal | None = None) -> dict[str, Any]:
    """Return what the heading of every tab needs."""
    try:
        facts: Facts | None = await request.service.tasks.get(request.viewer.principal, run.task_id)
    except NotFound:
        facts = None
    return {
        "page": "runs",
        "run": run,
        "facts": facts,
        "task_name": run.task_id if facts is None else facts.task.name,
        "tab": tab,
        "tabs": tabs_of(run, facts),
        "can_retry": request.viewer.can_run and run.state in _RETRYABLE,
        "can_give_input": request.viewer.can_write,
        "can_cancel": request.viewer.can_run and run.live,
        "values": request.form if error is not None else {},
        "problem": None if error is None else problem_json(error, request.viewer.language),
    }


def cost_text(request: PageRequest, usage: RunUsage) -> str:
    """Return the cost of a run, or that it is unknown."""
    if usage.cost_micros is None:
        return request.text("run_cost_unknown")
    amount = format_amount("cost", usage.cost_micros)
    return request.text("run_cost_at_least", cost=amount) if usage.unpriced else amount


def tabs_of(run: Run, facts: Facts | None) -> list[tuple[str, str]]:
    """Return name and path of the tabs; a transcript is shown for the run of an agent, and where the result holds one."""
    base = f"/runs/{run.id}"
    tabs = [("overview", base), ("log", f"{base}/log"), ("payload", f"{base}/payload")]
    is_of_agent = facts is not None and facts.task.target.kind == AGENT_KIND
    return [*tabs, ("transcript", f"{base}/transcript")] if is_of_agent or transcript_of(run) else tabs


def transcript_of(run: Run) -> tuple[Message, ...]:
    """Return the conversation in the result of an agent's run: `transcript`, a list of objects with `role` and `text`."""
    result = run.result
    entries = result.get("transcript") if isinstance(result, Mapping) else None
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return ()
    return tuple(_message(entry) for entry in entries if isinstance(entry, Mapping))


async def _logged_transcript(request: PageRequest, run: Run) -> tuple[Message, ...]:
    """Return the results and tool calls of an agent, from the log of its run."""
    found: list[Message] = []
    after = 0
    while len(found) < MAX_TRANSCRIPT:
        lines = await request.service.runs.lines(request.viewer.principal, run.id, after)
        for numbered in lines:
            if numbered.line.level in _TRANSCRIPT_LEVELS:
                role = request.text(f"run_transcript_{numbered.line.level}")
                found.append(Message(role, plain_text(numbered.line.text), numbered.line.level == "tool"))
        if not lines:
            break
        after = lines[-1].number
    return tuple(found[:MAX_TRANSCRIPT])


def _message(entry: Mapping[str, Any]) -> Message:
    content = entry.get("text", entry.get("content", ""))
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, indent=2)
    return Message(str(entry.get("role", "")), plain_text(text))


def _next_attempt(facts: Facts | None, run: Run) -> datetime | None:
    """Return when the next attempt of the occurrence is due; None if no attempt waits."""
    entries = () if facts is None else facts.entries
    occurrence = (EntryKind.RETRY, run.origin, run.planned)
    return next((each.due for each in entries if (each.kind, each.origin, each.planned) == occurrence), None)


def pretty_json(text: str) -> str:
    """Return JSON with one value per line and hidden characters as escapes; a text that is no JSON as it is."""
    try:
        text = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except ValueError:
        text = plain_text(text)
    return "\n".join(escape_hidden(line) for line in text.split("\n"))


def _cut(request: PageRequest, text: str, most: int) -> CutText:
    if len(text) <= most or request.request.query_params.get("all"):
        return CutText(text)
    return CutText(text[:most], len(text) - most)


async def show_payload(request: PageRequest) -> Response:
    run = await _get(request)
    head = await head_data(request, run, "payload")
    facts: Facts | None = head["facts"]
    payload = None if facts is None else _cut(request, pretty_json(facts.task.payload), MAX_PAYLOAD)
    return request.render("run_payload.html", {**head, "payload": payload, **_input_data(request, run, facts)})


def _input_data(request: PageRequest, run: Run, facts: Facts | None) -> dict[str, Any]:
    """Return the input of the run, and the payload that it makes of the task's as it is now, line by line."""
    if run.input is None or not run.input.is_given:
        return {"given": None, "lines": ()}
    given = _cut(request, pretty_json(run.input.value), MAX_PAYLOAD)
    if facts is None:
        return {"given": given, "lines": ()}
    made = pretty_json(run.input.payload_for(facts.task.payload))
    if len(made) > MAX_PAYLOAD and not request.request.query_params.get("all"):
        return {"given": given, "lines": ()}
    return {"given": given, "lines": compare_lines(pretty_json(facts.task.payload), made)}


async def show_transcript(request: PageRequest) -> Response:
    run = await _get(request)
    head = await head_data(request, run, "transcript")
    messages = transcript_of(run) or await _logged_transcript(request, run)
    usage = await request.service.runs.usage(request.viewer.principal, run.id)
    data = {**head, "messages": messages, "usage": usage, "usage_cost": lambda known: cost_text(request, known)}
    return request.render("run_transcript.html", data)


async def retry(request: PageRequest) -> Response:
    try:
        await request.service.runs.retry(request.viewer.principal, _run_id(request), read_input_fields(request.form))
    except NotFound:
        raise
    except Refusal as error:
        return await _show_run(request, await _get(request), error)
    return request.back(f"/runs/{_run_id(request)}", request.notice("run_retry_done"))


async def cancel(request: PageRequest) -> Response:
    try:
        run = await request.service.runs.cancel(request.viewer.principal, _run_id(request))
    except NotFound:
        raise
    except Refusal as error:
        return await _show_run(request, await _get(request), error)
    notice = request.notice("run_cancel_asked" if run.live else "run_cancel_done")
    return request.back(f"/runs/{run.id}", notice)


async def _get(request: PageRequest) -> Run:
    return await request.service.runs.get(request.viewer.principal, _run_id(request))


def _run_id(request: PageRequest) -> str:
    return str(request.request.path_params["id"])


ROUTES: Final = (
    page("/runs/{id}", show),
    page("/runs/{id}/payload", show_payload),
    page("/runs/{id}/transcript", show_transcript),
    form("/runs/{id}/retry", retry),
    form("/runs/{id}/cancel", cancel),
)
