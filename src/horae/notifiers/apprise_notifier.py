"""Notifier with apprise (100+ services by URL): each message is sent by a confined process of its own.

A process of its own can be confined as a whole, is killed when a service hangs, and shares no memory with another
owner's URL.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from typing import Any, Final

from ..model.refusals import refuse as refuse_task
from ..outgoing.addresses import Networks
from ..ports.notifier import Message, MessageService, SendFailure, SendResult
from .refusals import refuse

MAX_URL_CHARACTERS: Final = 2_048
SEND_SECONDS: Final = 30.0
"""Timeout in seconds for one message, the start of its process included."""
MAX_PROCESSES: Final = 2
_MAX_ANSWER_BYTES: Final = 65_536
_COMMAND: Final = ("-P", "-m", "horae.notifiers.apprise_child")
_KEPT_VARIABLES: Final = ("PATH", "PYTHONPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "SYSTEMROOT", "TZ")
"""No proxy variables, whose server would resolve names instead of the guard, and no home folder, whose files hold
credentials."""


class AppriseNotifier:
    """`networks` are those besides the public ones that an operator allows, `host_schemas` those that act on this machine."""

    def __init__(
        self, networks: Networks = (), host_schemas: Collection[str] = (), seconds: float = SEND_SECONDS
    ) -> None:
        self._networks = tuple(str(each) for each in networks)
        self._host_schemas = tuple(host_schemas)
        self._seconds = seconds
        self._places: asyncio.Semaphore | None = None

    async def check(self, url: str) -> MessageService:
        check_url_text(url)
        if not is_installed():
            raise refuse_task("notify_library_missing")
        answer = await self._ask(url, None)
        if answer is None:
            raise refuse("notify_check_failed")
        if answer["ok"]:
            return MessageService(answer["schema"], answer["service"])
        schema, service = _schema_of(url), answer.get("service")
        match SendFailure(answer["failure"]):
            case SendFailure.HOST_SCHEMA:
                raise refuse("notify_host_schema", schema=schema)
            case SendFailure.LIBRARY:
                raise refuse("notify_service_library", service=service)
            case _:
                raise (
                    refuse("notify_schema", schema=schema) if service is None else refuse("notify_url", service=service)
                )

    async def send(self, url: str, message: Message) -> SendResult:
        if not is_installed():
            return SendResult(SendFailure.LIBRARY)
        answer = await self._ask(url, message._asdict())
        if answer is None:
            return SendResult(SendFailure.TIMEOUT)
        if answer["ok"]:
            return SendResult()
        return SendResult(SendFailure(answer["failure"]), answer.get("status"), tuple(answer.get("networks", ())))

    async def _ask(self, url: str, message: dict[str, Any] | None) -> dict[str, Any] | None:
        """Start a process for one order; None if it gave no answer in time."""
        order = {
            "url": url,
            "message": message,
            "networks": self._networks,
            "host_schemas": self._host_schemas,
            "seconds": self._seconds,
        }
        if self._places is None:
            self._places = asyncio.Semaphore(MAX_PROCESSES)
        async with self._places:
            try:
                async with asyncio.timeout(self._seconds):
                    answer = await _run_child(json.dumps(order).encode())
                return dict(json.loads(answer))
            except (TimeoutError, OSError, ValueError):
                return None


async def _run_child(order: bytes) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *_COMMAND,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ},
        cwd=os.sep,
        start_new_session=True,
        limit=_MAX_ANSWER_BYTES,
    )
    try:
        answer, _ = await process.communicate(order)
        return answer
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def check_url_text(url: object) -> None:
    """Refuse a value that is no text of one line."""
    is_url = isinstance(url, str) and len(url) <= MAX_URL_CHARACTERS and url.isprintable() and " " not in url
    if not is_url:
        raise refuse("notify_url_text", most=MAX_URL_CHARACTERS)


def _schema_of(url: str) -> str:
    """Return the schema for a message: short and plain, because a URL without one begins with its secret."""
    schema, colon, _ = url.partition("://")
    return schema.lower() if colon and schema.isascii() and schema.isalnum() and len(schema) <= 20 else "?"


@cache
def is_installed() -> bool:
    return find_spec("apprise") is not None
