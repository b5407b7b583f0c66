"""Proxy inside of the sandbox: it adds the key, replaces credentials of the child, and streams the response."""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp
import pytest

from horae.agents.runner.minds.key_proxy import key_headers, running_key_proxy
from tests.servers.model_stub import Say, Torn, running_stub

BODY = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "tools": [{}], "stream": True}
VERSION = {"anthropic-version": "2023-06-01"}


async def post(base_url: str, key: Mapping[str, str], path: str, headers: Mapping[str, str]) -> tuple[int, str]:
    async with (
        running_key_proxy(base_url, key) as url,
        aiohttp.ClientSession() as session,
        session.post(url + path, json=BODY, headers=headers) as response,
    ):
        return response.status, await response.text()


async def test_key_replaces_the_credentials_of_the_child() -> None:
    async with running_stub(Say("hello"), key="sk-real") as stub:
        headers = {"X-Api-Key": "placeholder", "Authorization": "Bearer x", **VERSION}
        status, text = await post(stub.url, {"x-api-key": "sk-real"}, "/v1/messages?beta=true", headers)
    assert status == 200
    assert "hello" in text
    received = stub.received[0]
    assert received.path == "/v1/messages?beta=true"
    assert received.headers["x-api-key"] == "sk-real"
    assert "authorization" not in received.headers


async def test_token_of_a_subscription_is_sent_with_its_beta_header() -> None:
    async with running_stub(Say("hello"), key="token") as stub:
        headers = {"x-api-key": "placeholder", "Anthropic-Beta": "a,b", **VERSION}
        assert (await post(stub.url, {"Authorization": "Bearer token"}, "/v1/messages", headers))[0] == 200
    assert stub.received[0].headers["anthropic-beta"] == "a,b,oauth-2025-04-20"
    assert "x-api-key" not in stub.received[0].headers


async def test_endpoint_that_cannot_be_reached_is_an_error_in_its_own_format() -> None:
    async with running_stub() as stub:
        url = stub.url
    status, text = await post(url, {"x-api-key": "k"}, "/v1/messages", VERSION)
    assert status == 502
    assert "cannot be reached" in text


async def test_torn_response_is_torn_for_the_child_too() -> None:
    async with running_stub(Torn()) as stub:
        with pytest.raises(aiohttp.ClientError):
            await post(stub.url, {"x-api-key": "k"}, "/v1/messages", VERSION)


def test_header_of_the_key_depends_on_the_secret() -> None:
    assert key_headers({"ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "t"}) == {"x-api-key": "k"}
    assert key_headers({"CLAUDE_CODE_OAUTH_TOKEN": "t"}) == {"Authorization": "Bearer t"}
    assert key_headers({}) == {}
