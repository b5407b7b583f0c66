"""From a run to the request that it sends: secrets filled in, signed, and with what the endpoint needs to know."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from ...model.policy import Policies
from ...outgoing.callbacks import callback_path, callback_token
from ...outgoing.exchange import Request
from ...outgoing.headers import Headers, check_headers
from ...outgoing.signatures import signed
from ...ports.secrets import Secrets
from ...ports.target import Invocation
from ..secret_references import Masks, fill
from . import orchestrator
from .body_text import Hide, dumped, stored
from .refusals import refuse
from .settings import HttpSettings
from .spec import ORCHESTRATOR, Spec

MOST_BODY_BYTES: Final = 1024 * 1024


class Composed(NamedTuple):
    """`hide` takes out of a text what only the endpoint was meant to see."""

    request: Request
    hide: Hide


async def compose(
    invocation: Invocation, spec: Spec, settings: HttpSettings, secrets: Secrets, now: datetime
) -> Composed:
    """Raises `SecretMissing`, or a `Refusal` where a secret's value cannot be sent."""
    sign = None if spec.sign is None else {"secret": spec.sign}
    wanted = {"headers": spec.headers, "body": _content(invocation, spec, settings), "sign": sign}
    filled, masks = await fill(wanted, invocation.task.owner, secrets)
    body = _encoded(filled["body"])
    callback = _callback(invocation, settings)
    headers = (
        *_together(_ours(invocation, spec, settings, body), _joined(filled["headers"])),
        *callback,
        *(() if sign is None else signed([filled["sign"]], invocation.key, now, body or b"")),
    )
    tokens = Masks(value for _, value in callback[1:])
    return Composed(
        Request(
            method=spec.method,
            url=spec.url,
            headers=headers,
            body=body,
            within=_patience(invocation.task.policies),
            redirects=spec.redirects,
            most=spec.answer_limit,
            on_answer=invocation.heartbeat,
        ),
        lambda text: tokens.hide(masks.hide(text)),
    )


def _content(invocation: Invocation, spec: Spec, settings: HttpSettings) -> Any:
    """The JSON to send, before secrets; None when there is no body."""
    payload = stored(invocation.task.payload, "payload")
    if spec.preset == ORCHESTRATOR:
        return orchestrator.dispatch(payload, invocation.task, settings)
    return payload if spec.sends_payload else spec.body


def _encoded(content: Any) -> bytes | None:
    if content is None:
        return None
    body = dumped(content).encode()
    if len(body) > MOST_BODY_BYTES:
        raise refuse("http_body_too_large", size=len(body), most=MOST_BODY_BYTES)
    return body


def _ours(invocation: Invocation, spec: Spec, settings: HttpSettings, body: bytes | None) -> dict[str, str]:
    run = invocation.run
    ours = {
        "User-Agent": settings.user_agent,
        "Idempotency-Key": invocation.key,
        "traceparent": invocation.trace,
        "Horae-Task": invocation.task.id,
        "Horae-Run": run.id,
        "Horae-Attempt": str(run.attempt),
        "Horae-Planned": run.planned.astimezone(UTC).isoformat(),
    }
    if body is not None:
        ours["Content-Type"] = "application/json"
    if spec.preset == ORCHESTRATOR:
        ours["x-trace-id"] = invocation.trace.split("-")[1]
    return ours


def _joined(headers: dict[str, Any]) -> Headers:
    """What the task wants to send; only now are its secrets known."""
    texts = {name: "".join(value) if isinstance(value, list) else value for name, value in headers.items()}
    return check_headers(texts)


def _together(ours: dict[str, str], theirs: Headers) -> Headers:
    """A task may say another content type or user agent; the rest of ours it may not say at all."""
    chosen = {name.lower() for name, _ in theirs}
    return (*((name, value) for name, value in ours.items() if name.lower() not in chosen), *theirs)


def _callback(invocation: Invocation, settings: HttpSettings) -> Headers:
    if settings.callback is None:
        return ()
    run, (url, key) = invocation.run, settings.callback
    token = callback_token(key, run.id, run.token)
    return ("Horae-Callback", url + callback_path(run.id)), ("Horae-Callback-Token", token)


def _patience(policies: Policies) -> float:
    """The whole exchange has the time in which a run may be silent."""
    longest = policies.timeout if policies.max_duration is None else min(policies.timeout, policies.max_duration)
    return longest.total_seconds()
