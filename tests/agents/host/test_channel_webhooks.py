"""Channels whose service calls back: mounted in the API, checked by signature, kept by the same intake."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from horae.api.app import make_app
from horae.model.accounts.principal import LOCAL
from horae.runtime.agents.channel_webhooks import mounted_webhooks
from horae.settings import read_settings
from horae.web.middleware import Application
from tests.agents.host.host_harness import HostHarness, open_host
from tests.channels.asgi_call import Answer
from tests.channels.whatsapp_service import APP_SECRET, PERSON, PHONE, TOKEN, VERIFY_TOKEN, WhatsAppService, sign, wrap


@pytest.fixture
async def host() -> AsyncIterator[HostHarness]:
    async with open_host() as host:
        yield host


@pytest.fixture
async def app(host: HostHarness, tmp_path: Path) -> AsyncIterator[Application]:
    service = await WhatsAppService().start()
    lines = ['outgoing_networks = ["127.0.0.0/8"]', "[channels.whatsapp]", f'phone_number_id = "{PHONE}"']
    lines.append(f'base_url = "{service.url}/v23.0"')
    for name, value in (("token", TOKEN), ("app_secret", APP_SECRET), ("verify_token", VERIFY_TOKEN)):
        (tmp_path / name).write_text(value, encoding="utf-8")
        lines.append(f'{name}_file = "{tmp_path / name}"')
    # A channel that the worker connects is not opened here, whatever its table is like.
    lines += ["[channels.telegram]", 'tokn = "x"']
    file = tmp_path / "horae.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    application = make_app(host.service, host.clock)
    try:
        async with mounted_webhooks(application, read_settings({}, (file,)), "memory://"):
            yield application
    finally:
        await service.close()


async def call(app: Application, path: str, body: bytes, headers: dict[str, str]) -> Answer:
    events: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(event: Any) -> None:
        events.append(event)

    raw = [(name.lower().encode(), value.encode()) for name, value in {"Host": "localhost", **headers}.items()]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": raw, "root_path": ""}
    await app({**scope, "raw_path": path.encode(), "http_version": "1.1", "client": ("127.0.0.1", 1)}, receive, send)
    return Answer(events[0]["status"], b"".join(event.get("body", b"") for event in events[1:]))


def message(text: str) -> bytes:
    report = {"from": PERSON, "id": "wamid.1", "timestamp": "1772366400", "type": "text", "text": {"body": text}}
    return wrap({"contacts": [{"profile": {"name": "Ann"}, "wa_id": PERSON}], "messages": [report]})


async def test_a_signed_call_is_kept_in_the_stream_of_its_group(host: HostHarness, app: Application) -> None:
    group = await host.service.groups.add(LOCAL, "ann", f"whatsapp:{PERSON}")
    body = message("@Andy hello")

    async with asyncio.timeout(30):
        # The service delivers again until the channel has connected.
        while (answer := await call(app, "/channels/whatsapp", body, sign(body))).status == 503:  # noqa: ASYNC110
            await asyncio.sleep(0)  # noqa: TID251 - lets the connection go on

    assert answer.status == 200
    assert await host.texts(group) == ["@Andy hello"]
    await host.look()
    assert await host.turn_task(group) is not None


async def test_a_call_without_the_signature_is_refused(host: HostHarness, app: Application) -> None:
    group = await host.service.groups.add(LOCAL, "ann", f"whatsapp:{PERSON}")

    answer = await call(app, "/channels/whatsapp", message("@Andy hello"), sign(b"other"))

    assert answer.status == 401
    assert await host.texts(group) == []


async def test_other_channels_are_not_mounted(app: Application) -> None:
    assert (await call(app, "/channels/telegram", b"{}", {})).status == 404
