"""Builds the HTTP request of a run: secrets, headers, signature, and the body of the preset `orchestrator`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ...model.accounts.system_owner import account_of
from ...model.policy import Policies
from ...model.task import Task
from ...outgoing.exchange import Request
from ...outgoing.headers import Headers, check_headers
from ...outgoing.signatures import callback_path, callback_token, sign_message
from ...ports.secret_masks import Masks
from ...ports.target import Invocation, Secrets
from ..secret_references import resolve_secrets
from .body_text import Masker, dump_json, parse_stored_json
from .refusals import refuse
from .settings import HttpSettings
from .spec import ORCHESTRATOR, Spec


def check_payload(payload: Any) -> None:
    _text(payload)
    _context(payload)


def build_body(payload: Any, task: Task, settings: HttpSettings) -> dict[str, Any]:
    """Return the body that an agent orchestrator expects; it chooses agent and items, so those fields are dropped."""
    return {
        "text": _text(payload),
        # Owner and task id are always Horae's values, whatever the payload contains.
        "context": _context(payload) | {"user_id": account_of(task.owner), "scheduled_task_id": task.id},
        "default_agent": _text_or_default(payload, "default_agent", settings.default_agent),
        "mode": _text_or_default(payload, "mode", settings.mode),
    }


def _text(payload: Any) -> str:
    for name in ("text", "input"):
        text = payload.get(name) if isinstance(payload, dict) else None
        if isinstance(text, str) and text.strip():
            return text
    raise refuse("orchestrator_text")


def _context(payload: dict[str, Any]) -> dict[str, Any]:
    context = payload.get("context")
    if context is not None and not isinstance(context, dict):
        raise refuse("orchestrator_context")
    return dict(context or {})


def _text_or_default(payload: dict[str, Any], name: str, default: str) -> str:
    value = payload.get(name)
    return value if isinstance(value, str) and value.strip() else default


MAX_BODY_BYTES: Final = 1024 * 1024


class ComposedRequest(NamedTuple):
    """A request, and `mask`, which masks its secrets and callback token in a text."""

    request: Request
    mask: Masker


async def build_request(
    invocation: Invocation, spec: Spec, settings: HttpSettings, secrets: Secrets, now: datetime
) -> ComposedRequest:
    """Build the request. Raises `SecretMissing`, or a `Refusal` where a secret's value cannot be sent."""
    sign = None if spec.sign is None else {"secret": spec.sign}
    template = {"headers": spec.headers, "body": _content(invocation, spec, settings), "sign": sign}
    filled, masks = await resolve_secrets(template, invocation.task.owner, secrets)
    body = _encode_body(_with_gate(filled["body"], invocation))
    callback = _callback_headers(invocation, settings)
    headers = (
        *_merge_headers(_own_headers(invocation, spec, settings, body), _task_headers(filled["headers"])),
        *callback,
        *(() if sign is None else sign_message([filled["sign"]], invocation.key, now, body or b"")),
    )
    tokens = Masks(value for _, value in callback[1:])
    return ComposedRequest(
        Request(
            method=spec.method,
            url=spec.url,
            headers=headers,
            body=body,
            timeout=_timeout(invocation.task.policies),
            redirects=spec.redirects,
            max_body_bytes=spec.answer_limit,
            on_response=invocation.heartbeat,
        ),
        lambda text: tokens.mask(masks.mask(text)),
    )


def _content(invocation: Invocation, spec: Spec, settings: HttpSettings) -> Any:
    """Return the JSON to send, before secrets are resolved; None when there is no body."""
    payload = parse_stored_json(invocation.task.payload, "payload")
    if spec.preset == ORCHESTRATOR:
        return build_body(payload, invocation.task, settings)
    return payload if spec.sends_payload else spec.body


def _with_gate(body: Any, invocation: Invocation) -> Any:
    """Add the gate's data to an object, or the gate's state in a call of the gate itself.

    Secrets are resolved before: what a gate returns must not name one.
    """
    if not isinstance(body, dict):
        return body
    if invocation.gate_state is not None:
        return {**body, "state": json.loads(invocation.gate_state)}
    return body if invocation.task.policies.gate is None else {**body, "gate": json.loads(invocation.gate)}


def _encode_body(content: Any) -> bytes | None:
    if content is None:
        return None
    body = dump_json(content).encode()
    if len(body) > MAX_BODY_BYTES:
        raise refuse("http_body_too_large", size=len(body), most=MAX_BODY_BYTES)
    return body


def _own_headers(invocation: Invocation, spec: Spec, settings: HttpSettings, body: bytes | None) -> dict[str, str]:
    """Return the headers that Horae sends with every request."""
    run = invocation.run
    headers = {
        "User-Agent": settings.user_agent,
        "Idempotency-Key": invocation.key,
        "traceparent": invocation.trace,
        "Horae-Task": invocation.task.id,
        "Horae-Run": run.id,
        "Horae-Attempt": str(run.attempt),
        "Horae-Planned": run.planned.astimezone(UTC).isoformat(),
    }
    if body is not None:
        headers["Content-Type"] = "application/json"
    if spec.preset == ORCHESTRATOR:
        headers["x-trace-id"] = invocation.trace.split("-")[1]
    return headers


def _task_headers(headers: dict[str, Any]) -> Headers:
    """Join the parts of the task's headers and check them, now that their secrets are known."""
    texts = {name: "".join(value) if isinstance(value, list) else value for name, value in headers.items()}
    return check_headers(texts)


def _merge_headers(own: dict[str, str], task_headers: Headers) -> Headers:
    """Merge headers; the task's content type and user agent win, its spec cannot name the other headers of Horae."""
    names = {name.lower() for name, _ in task_headers}
    return (*((name, value) for name, value in own.items() if name.lower() not in names), *task_headers)


def _callback_headers(invocation: Invocation, settings: HttpSettings) -> Headers:
    if settings.callback is None or invocation.gate_state is not None:
        return ()
    run, (url, key) = invocation.run, settings.callback
    token = callback_token(key, run.id, run.token)
    return ("Horae-Callback", url + callback_path(run.id)), ("Horae-Callback-Token", token)


def _timeout(policies: Policies) -> float:
    """Return the seconds for the whole exchange: the time in which a run may be silent."""
    timeout = policies.timeout if policies.max_duration is None else min(policies.timeout, policies.max_duration)
    return timeout.total_seconds()
