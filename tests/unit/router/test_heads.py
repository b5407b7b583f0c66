"""Heads of forwarded messages: which headers and cookies pass, and which targets are refused."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import HoraeError
from horae.router.heads import chosen_deployments, read_target, request_headers, response_headers


def scope(*headers: tuple[bytes, bytes], raw_path: bytes = b"/v1/tasks", path: str = "/v1/tasks") -> dict[str, Any]:
    client = ("192.0.2.7", 1)
    return {
        "headers": headers,
        "raw_path": raw_path,
        "path": path,
        "query_string": b"",
        "client": client,
        "scheme": "http",
    }


def test_client_cannot_name_its_address_or_take_headers_of_the_router_away() -> None:
    forged = scope(
        (b"x-forwarded-for", b"10.0.0.1"),
        (b"forwarded", b"for=10.0.0.1"),
        (b"x-real-ip", b"10.0.0.1"),
        (b"connection", b"close, X-Forwarded-For, Secret-Hop"),
        (b"secret-hop", b"1"),
        (b"te", b"trailers"),
        (b"horae-deployment", b"south"),
        (b"authorization", b"Bearer x"),
    )
    headers = request_headers(forged, "req_1", "north")
    assert headers == [
        ("authorization", "Bearer x"),
        ("x-forwarded-for", "192.0.2.7"),
        ("x-forwarded-proto", "http"),
        ("x-request-id", "req_1"),
        ("horae-deployment", "north"),
    ]


def test_each_deployment_gets_its_own_cookies_only() -> None:
    cookies = (b"cookie", b"horae_session.north=a; horae_session.south=b; horae_deployment=south; horae_session=c")
    assert ("cookie", "horae_session=b") in request_headers(scope(cookies), "", "south")
    assert ("cookie", "horae_session=a") in request_headers(scope(cookies), "", "north")
    assert "cookie" not in dict(request_headers(scope(cookies), "", "east"))
    assert chosen_deployments([cookies]) == ("south", ["north", "south"])
    answered = response_headers([(b"Set-Cookie", b"horae_session=d=; Path=/"), (b"Keep-Alive", b"x")], "south")
    assert answered == [(b"set-cookie", b"horae_session.south=d=; Path=/")]


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        (b"/v1/../x", "/v1/../x"),
        (b"/v1/%2e%2e/x", "/v1/../x"),
        (b"/v1/%2E/x", "/v1/./x"),
        (b"/v1%2F..%2Fx", "/v1/../x"),
        (b"/v1\\x", "/v1\\x"),
        (b"/v1%5cx", "/v1\\x"),
        (b"/v1/%00", "/v1/\0"),
        (b"/v1/%0a", "/v1/\n"),
        (b"v1/tasks", "v1/tasks"),
        (b"*", "*"),
        (b"/v1#x", "/v1#x"),
        (b"/internal/credential-lookup", "/internal/credential-lookup"),
        (b"/%69nternal/credential-lookup", "/internal/credential-lookup"),
    ],
)
def test_ambiguous_and_internal_targets_are_refused(raw: bytes, path: str) -> None:
    with pytest.raises(HoraeError):
        read_target(scope(raw_path=raw, path=path))


def test_encoded_names_pass_as_they_came() -> None:
    assert read_target(scope(raw_path=b"/v1/tasks/by-key/a%2Fb%20c", path="/v1/tasks/by-key/a/b c")) == (
        "/v1/tasks/by-key/a%2Fb%20c"
    )
