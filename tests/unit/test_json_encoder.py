"""Encoders that are made once: the same text as `json.dumps`, and the same errors."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.json_encoder import COMPACT, SPACED, make_encoder

VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("separators", [COMPACT, SPACED])
@pytest.mark.parametrize("ensure_ascii", [False, True])
@pytest.mark.parametrize("sort_keys", [False, True])
@given(value=VALUES)
def test_text_is_that_of_dumps(value: Any, separators: tuple[str, str], *, ensure_ascii: bool, sort_keys: bool) -> None:
    encode = make_encoder(separators, ensure_ascii=ensure_ascii, sort_keys=sort_keys)
    assert encode(value) == json.dumps(value, ensure_ascii=ensure_ascii, sort_keys=sort_keys, separators=separators)


def test_number_that_is_not_finite_is_refused_where_it_is_not_allowed() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        make_encoder(COMPACT, allow_nan=False)({"number": float("nan")})


def test_value_that_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        make_encoder(COMPACT)({"value": object()})


def test_value_that_contains_itself_raises() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(RecursionError):
        make_encoder(COMPACT)(value)


def test_encoder_without_the_c_extension_has_the_same_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert make_encoder(COMPACT, sort_keys=True)({"b": "ä", "a": 1}) == '{"a":1,"b":"ä"}'
