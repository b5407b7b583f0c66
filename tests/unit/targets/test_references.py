"""References to secrets are replaced, and revealed values are masked in every encoding."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae.model.reason import Reason
from horae.ports.secret_masks import MASK, Masks
from horae.targets.secret_references import (
    ResolvedValue,
    SecretMissing,
    resolve_secrets,
    secret_name,
    secret_names,
)

PEM = (
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAoIBAQ\n}\n-----END PRIVATE KEY-----\n"
)

plain_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5).filter(lambda key: key != "secret"), inner, max_size=3)
    ),
    max_leaves=12,
)


class Known:
    """Secrets of one owner; `asked` lists the requested names."""

    def __init__(self, owner: str, values: Mapping[str, str] = MappingProxyType({})) -> None:
        self._owner = owner
        self._values = values
        self.asked: list[str] = []

    async def reveal(self, owner: str, name: str) -> str | None:
        self.asked.append(name)
        return self._values.get(name) if owner == self._owner else None


def filled(value: Any, secrets: Known, owner: str = "ada") -> ResolvedValue:
    return asyncio.run(resolve_secrets(value, owner, secrets))


def test_reference_is_replaced_at_any_depth() -> None:
    spec = {"headers": {"Authorization": {"secret": "token"}}, "list": [1, {"secret": "pin"}, {"secret": "token"}]}
    secrets = Known("ada", {"token": "Bearer abc", "pin": "90210"})
    done = filled(spec, secrets)
    assert done.value == {"headers": {"Authorization": "Bearer abc"}, "list": [1, "90210", "Bearer abc"]}
    assert secrets.asked == ["token", "pin"], "a value is asked for once"
    assert done.masks.mask("sent Bearer abc and 90210") == f"sent {MASK} and {MASK}"
    assert spec["list"] == [1, {"secret": "pin"}, {"secret": "token"}], "the spec itself keeps its references"


@pytest.mark.parametrize(
    "value", [{"secret": 7}, {"secret": "a", "more": 1}, {"Secret": "a"}, {}, "secret", ["secret"]]
)
def test_lookalikes_of_references_are_unchanged(value: Any) -> None:
    secrets = Known("ada")
    assert secret_name(value) is None
    assert filled(value, secrets).value == value
    assert secrets.asked == []


@given(plain_json)
def test_json_without_references_is_unchanged(value: Any) -> None:
    assert list(secret_names(value)) == []
    assert filled(value, Known("ada")).value == value


def test_missing_and_foreign_secrets_fail_alike_permanently() -> None:
    def failure(owner: str, secrets: Known) -> SecretMissing:
        with pytest.raises(SecretMissing) as caught:
            filled({"secret": "token"}, secrets, owner)
        return caught.value

    absent, foreign = failure("bob", Known("bob")), failure("bob", Known("ada", {"token": "abcd"}))
    assert str(absent) == str(foreign)
    assert absent.outcome == foreign.outcome
    assert absent.outcome.permanent
    assert absent.outcome.reason is Reason.NOT_CALLED
    assert "horae secret set token --owner" in absent.outcome.error


AWKWARD = 'p"a/ss\\wö rd+1'


@pytest.mark.parametrize(
    "shown",
    [
        AWKWARD,
        json.dumps({"pin": AWKWARD}),
        json.dumps({"pin": AWKWARD}, ensure_ascii=False),
        "https://example.test/?key=" + quote(AWKWARD),
        "https://example.test/?key=" + quote(AWKWARD, safe=""),
        "key=" + quote_plus(AWKWARD),
        "Basic " + b64encode(AWKWARD.encode()).decode(),
    ],
)
def test_value_is_masked_in_every_encoding(shown: str) -> None:
    hidden = Masks([AWKWARD]).mask(f"before {shown} after")
    assert MASK in hidden
    assert hidden.startswith("before ")
    assert hidden.endswith(" after")
    assert not any(part in hidden for part in ("ss", "rd+1", "rd%2B1", b64encode(AWKWARD.encode()).decode()[4:12]))


def test_every_line_of_a_value_with_many_lines_is_hidden_alone_too() -> None:
    masks = Masks([PEM])
    for line in PEM.splitlines():
        assert masks.mask(f"> {line}") == (f"> {line}" if line == "}" else f"> {MASK}")
    assert masks.mask(f"all of it: {PEM}") == f"all of it: {MASK}"


def test_a_value_that_was_read_without_its_last_line_break_is_hidden() -> None:
    assert Masks(["hunter22\n"]).mask("hunter22!") == f"{MASK}!"


def test_values_that_overlap_leave_nothing_of_each_other() -> None:
    assert Masks(["abcdef", "defghi"]).mask("x abcdefghi x") == f"x {MASK} x"
    assert Masks(["aaaa"]).mask("aaaaaa") == MASK


def test_short_values_and_no_values_mask_nothing() -> None:
    assert Masks(["abc"]).mask("abc") == "abc"
    assert Masks().mask("abc") == "abc"


@given(st.lists(st.text('abc/+ é"\n', min_size=4, max_size=9), max_size=4), st.text('abc/+ é"\n', max_size=60))
def test_no_value_survives_hiding(values: list[str], text: str) -> None:
    hidden = Masks(values).mask(text)
    assert not any(value in hidden for value in values)


def test_filled_values_are_not_in_repr() -> None:
    done = filled({"secret": "token"}, Known("ada", {"token": "hunter22"}))
    assert "hunter22" not in f"{done!r} {done} {done.masks!r}"
