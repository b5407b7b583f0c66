"""Client of chat completions over aiohttp: one request with retries, and the checked parts of its response."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import aiohttp

from ....clock import Clock
from .mind import MindFailed
from .model_errors import FailureKind, ModelFailure, read_failure

MAX_ATTEMPTS: Final = 5
MAX_WAIT_SECONDS: Final = 60.0
"""Longer waits are left to the retries of the turn, which do not occupy a sandbox."""
_MAX_RESPONSE_BYTES: Final = 16 * 1024 * 1024
_FIRST_DELAY: Final = 1.0
_NEW_LIMIT: Final = "max_completion_tokens"
_THOUGHTS: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
"""Some local models write their reasoning into the answer."""


class ToolCall(NamedTuple):
    """`arguments` is the text of the model, which may be no JSON."""

    id: str
    name: str
    arguments: str


class Completion(NamedTuple):
    text: str
    refusal: str
    calls: Sequence[ToolCall]
    finish_reason: str
    message: Mapping[str, Any]
    """The message to continue the conversation with."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    model: str | None


class TooLong(Exception):  # noqa: N818 - answered by a shorter conversation
    """The conversation does not fit into the context of the model."""


class ChatClient:
    """`base_url` ends before `/chat/completions`. The key is sent only as a header."""

    def __init__(self, base_url: str, key: str | None, seconds: float, clock: Clock) -> None:
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._seconds = seconds
        self._clock = clock
        self._limit_name = "max_tokens"

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        """Return the completion; raise `TooLong`, or `MindFailed` after the last attempt."""
        model = str(body["model"])
        delay = _FIRST_DELAY
        for attempt in range(1, MAX_ATTEMPTS + 1):
            found = await self._attempt(json.dumps(self._adapt(body)).encode(), model)
            if isinstance(found, Completion):
                return found
            if "max_tokens" in body and _NEW_LIMIT in found.text and self._limit_name != _NEW_LIMIT:
                self._limit_name = _NEW_LIMIT
                continue
            if found.kind is FailureKind.TOO_LONG:
                raise TooLong(found.text)
            wait = delay if found.after is None else found.after
            if found.kind is FailureKind.FINAL:
                raise MindFailed(found.text)
            if wait > MAX_WAIT_SECONDS:
                raise MindFailed(f"{found.text}; it asks to wait {wait:g} s")
            if attempt == MAX_ATTEMPTS:
                raise MindFailed(f"{found.text}; {MAX_ATTEMPTS} attempts failed")
            await self._clock.pause(wait)
            delay *= 2
        raise AssertionError("unreachable")

    def _adapt(self, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Name the limit of tokens as this model wants it: newer ones of OpenAI refuse the older name."""
        return {self._limit_name if name == "max_tokens" else name: value for name, value in body.items()}

    async def _attempt(self, data: bytes, model: str) -> Completion | ModelFailure:
        try:
            async with asyncio.timeout(self._seconds), aiohttp.ClientSession(trust_env=False) as session:
                timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
                request = session.post(
                    self._url, data=data, headers=self._headers, timeout=timeout, allow_redirects=False
                )
                async with request as response:
                    content = await _read_body(response)
        except TimeoutError:
            return ModelFailure(FailureKind.RETRY, f"the model has not answered within {self._seconds:g} s")
        except aiohttp.InvalidURL:
            return ModelFailure(FailureKind.FINAL, "the base URL of the model is not a URL. Check --base-url.")
        except (aiohttp.ClientError, OSError) as error:
            return ModelFailure(FailureKind.RETRY, f"the model endpoint cannot be reached: {type(error).__name__}")
        if content is None:
            text = f"the model endpoint has sent more than {_MAX_RESPONSE_BYTES} bytes"
            return ModelFailure(FailureKind.FINAL, text)
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status != 200:
            return read_failure(response.status, headers, content, model)
        return read_completion(content)


async def _read_body(response: aiohttp.ClientResponse) -> bytes | None:
    data = bytearray()
    async for chunk in response.content.iter_any():
        data += chunk
        if len(data) > _MAX_RESPONSE_BYTES:
            return None
    return bytes(data)


def read_completion(content: bytes) -> Completion | ModelFailure:
    """Read a response with the status 200. Some endpoints send errors with that status."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ModelFailure(FailureKind.RETRY, "the model endpoint has sent a response that is not JSON")
    if isinstance(value, dict) and value.get("error"):
        return read_failure(500, {}, content, "")
    try:
        choice = value["choices"][0]
        message = choice["message"]
        calls = [_read_call(each, number) for number, each in enumerate(message.get("tool_calls") or ())]
        content_text = _text_of(message.get("content"))
        usage = value.get("usage") or {}
        tokens = [_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
        cost = usage.get("cost")
    except (KeyError, IndexError, TypeError, AttributeError):
        return ModelFailure(FailureKind.RETRY, "the model endpoint has sent a response that is no chat completion")
    kept: dict[str, Any] = {"role": "assistant", "content": content_text or None}
    if calls:
        kept["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    return Completion(
        text=_THOUGHTS.sub("", content_text).strip(),
        refusal=str(message.get("refusal") or "").strip(),
        calls=calls,
        finish_reason=str(choice.get("finish_reason") or ""),
        message=kept,
        input_tokens=tokens[0],
        output_tokens=tokens[1],
        cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None,
        model=value["model"] if isinstance(value.get("model"), str) else None,
    )


def _read_call(value: Any, number: int) -> ToolCall:
    """Some endpoints leave out the id, or send the arguments as an object."""
    function = value["function"]
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return ToolCall(str(value.get("id") or f"call_{number}"), str(function["name"]), text)


def _text_of(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
