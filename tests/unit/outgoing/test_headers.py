"""Header checks: names are tokens, values are one line, framing headers are reserved."""

from __future__ import annotations

import pytest

from horae.errors import Refusal
from horae.outgoing.headers import MAX_HEADERS, MAX_VALUE_LENGTH, check_headers


def code_of(headers: dict[str, str]) -> str:
    with pytest.raises(Refusal) as refused:
        check_headers(headers)
    assert "hunter2" not in str(refused.value)
    return refused.value.code


def test_ordinary_headers_pass_as_they_are() -> None:
    assert check_headers({"X-Name": "值", "Authorization": "Bearer a\tb"}) == (
        ("X-Name", "值"),
        ("Authorization", "Bearer a\tb"),
    )


@pytest.mark.parametrize(
    "name",
    """Host host Content-Length Transfer-Encoding Connection Keep-Alive TE Trailer Upgrade Expect Accept-Encoding
    Proxy-Authorization proxy-connection HTTP2-Settings""".split(),
)
def test_framing_headers_are_reserved(name: str) -> None:
    assert code_of({name: "x"}) == "header_reserved"


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\nb", "名", "a\0", "x" * 101])
def test_a_name_is_a_token(name: str) -> None:
    assert code_of({name: "x"}) == "header_name"


def test_duplicate_header_is_refused() -> None:
    assert code_of({"X-A": "1", "x-a": "2"}) == "header_name"


@pytest.mark.parametrize(
    "value", ["hunter2\r\nX: y", "hunter2\n", "hunter2\r", "a\0b", " hunter2", "hunter2 ", "\x1b[0m", "\ud800", "\x7f"]
)
def test_a_value_is_one_line(value: str) -> None:
    assert code_of({"X-A": value}) == "header_value"


def test_headers_are_bounded() -> None:
    assert code_of({"X-A": "x" * (MAX_VALUE_LENGTH + 1)}) == "header_value"
    assert code_of({f"X-{number}": "x" for number in range(MAX_HEADERS + 1)}) == "too_many_headers"
    assert code_of({f"X-{number}": "x" * 7_000 for number in range(5)}) == "too_many_headers"
