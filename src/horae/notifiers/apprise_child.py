"""Entry point of the process that checks one URL, or sends one message, with apprise; started by `apprise_notifier`.

The order comes over standard input as one JSON document, because a URL is a secret and arguments are visible to other
users; the answer goes out over the original standard output.
"""

from __future__ import annotations

import json
import os
import smtplib
import sys
from contextlib import suppress
from threading import Timer
from typing import Any, Final

from ..outgoing.addresses import read_networks
from ..ports.notifier import SendFailure
from .sandbox import Sandbox, refuse_redirects, stop_process

HOST_SCHEMAS: Final = frozenset({"blink1", "dbus", "gio", "glib", "gnome", "kde", "macosx", "qt", "syslog", "windows"})
"""Schemas that act on the machine itself: its desktop, its log, its devices."""
_MEMORY_BYTES: Final = 1024 * 1024 * 1024
_NICENESS: Final = 10
_SMTP_ERROR: Final = 400
_HTTP_ERROR: Final = 300


class Exchange:
    """What the libraries below the plugin saw: plugins turn every problem into a plain failure."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.is_timeout = False
        self.is_unreachable = False

    def watch_http(self, adapter_class: Any, exceptions: Any) -> None:
        send = adapter_class.send

        def watched(*arguments: Any, **options: Any) -> Any:
            try:
                response = send(*arguments, **options)
            except exceptions.Timeout:
                self.is_timeout = True
                raise
            except exceptions.RequestException:
                self.is_unreachable = True
                raise
            if response.status_code >= _HTTP_ERROR:
                self.status = response.status_code
            return response

        adapter_class.send = watched

    def watch_smtp(self) -> None:
        get_reply, get_socket = smtplib.SMTP.getreply, smtplib.SMTP._get_socket  # type: ignore[attr-defined]  # noqa: SLF001

        def watched_reply(client: smtplib.SMTP) -> tuple[int, bytes]:
            try:
                code, text = get_reply(client)
            except TimeoutError:
                self.is_timeout = True
                raise
            if code >= _SMTP_ERROR:
                self.status = code
            return code, text

        def watched_socket(*arguments: Any) -> Any:
            try:
                return get_socket(*arguments)
            except TimeoutError:
                self.is_timeout = True
                raise
            except OSError:
                self.is_unreachable = True
                raise

        smtplib.SMTP.getreply = watched_reply  # type: ignore[method-assign,assignment]
        smtplib.SMTP._get_socket = watched_socket  # type: ignore[attr-defined]  # noqa: SLF001

    def failure(self, sandbox: Sandbox) -> dict[str, Any]:
        """Return the answer for a message that was not delivered, by the cause that explains most."""
        if sandbox.networks:
            return _failed(SendFailure.FORBIDDEN, networks=list(sandbox.networks))
        if self.status is not None:
            return _failed(SendFailure.STATUS, status=self.status)
        if self.is_timeout:
            return _failed(SendFailure.TIMEOUT)
        return _failed(SendFailure.UNREACHABLE if self.is_unreachable else SendFailure.FAILED)


def main() -> None:
    """Read the order, do it, write the answer and exit."""
    answer_file = os.fdopen(os.dup(1), "wb", buffering=0)
    _silence()
    order = json.loads(sys.stdin.buffer.read())
    _limit_resources(order["seconds"])
    answer_file.write(json.dumps(_answer(order)).encode())
    # Threads of a plugin are not waited for.
    stop_process(0)


def _answer(order: dict[str, Any]) -> dict[str, Any]:
    schema = order["url"].partition(":")[0].lower()
    is_host_allowed = schema in order["host_schemas"]
    if schema in HOST_SCHEMAS and not is_host_allowed:
        return _failed(SendFailure.HOST_SCHEMA)
    import requests  # noqa: PLC0415 - libraries of an extra, which only this process loads
    from apprise import Apprise, AppriseAsset  # noqa: PLC0415
    from apprise.manager_plugins import NotificationManager  # noqa: PLC0415

    manager: Any = NotificationManager()  # type: ignore[no-untyped-call]
    manager.load_modules()
    if schema not in manager:
        return _failed(SendFailure.BAD_URL, service=None)
    plugin = manager[schema]
    service = str(plugin.service_name)
    if not plugin.enabled:
        return _failed(SendFailure.LIBRARY, service=service)
    exchange, sandbox = Exchange(), Sandbox(read_networks(order["networks"]), is_host_allowed=is_host_allowed)
    refuse_redirects(requests.Session)
    exchange.watch_http(requests.adapters.HTTPAdapter, requests.exceptions)
    exchange.watch_smtp()
    sandbox.enter()
    asset = AppriseAsset(
        storage_mode="memory", allow_templates=False, async_mode=False, app_id="Horae", app_desc="Horae", app_url=""
    )
    target = Apprise.instantiate(order["url"], asset=asset)
    if target is None:
        return _failed(SendFailure.BAD_URL, service=service)
    message = order["message"]
    if message is None:
        return {"ok": True, "schema": schema, "service": service}
    sender = Apprise(asset=asset)
    sender.add(target)
    is_sent = False
    with suppress(Exception):
        is_sent = bool(
            sender.notify(
                message["body"], title=message["title"], notify_type=message["kind"], body_format="text", attach=None
            )
        )
    return {"ok": True, "schema": schema, "service": service} if is_sent else exchange.failure(sandbox)


def _failed(failure: SendFailure, **facts: Any) -> dict[str, Any]:
    return {"ok": False, "failure": failure.value, **facts}


def _silence() -> None:
    """Send everything that a library prints nowhere: it may repeat the URL."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    sys.dont_write_bytecode = True


def _limit_resources(seconds: float) -> None:
    """End with the deadline even if the parent is gone, yield the processor to the engine, and bound the memory."""
    timer = Timer(seconds, stop_process, (1,))
    timer.daemon = True
    timer.start()
    if os.name != "posix":
        return
    import resource  # noqa: PLC0415 - POSIX only

    with suppress(OSError, ValueError):
        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if sys.platform == "linux":
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))


if __name__ == "__main__":
    main()
