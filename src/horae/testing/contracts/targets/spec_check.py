"""Contract of the spec check: pure, canonical, strict, with helpful refusals in both languages."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import copy
import json
import re
from typing import Any

from ....errors import Refusal
from .harness import Spec, TargetCase, TargetHarness

_CODE = re.compile(r"[a-z][a-z0-9_]*")
_CHINESE = re.compile("[\u4e00-\u9fff]")


class SpecCheckContract(TargetCase):
    async def test_the_kind_has_a_plain_name(self, harness: TargetHarness) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9_.-]{0,49}", harness.kind.kind)

    async def test_a_checked_spec_survives_json(self, harness: TargetHarness) -> None:
        for spec in self._specs():
            checked = harness.check(spec)
            assert json.loads(json.dumps(checked, allow_nan=False)) == checked

    async def test_checking_again_changes_nothing(self, harness: TargetHarness) -> None:
        for spec in self._specs():
            checked = harness.check(spec)
            assert harness.check(checked) == checked
            assert harness.check(json.loads(json.dumps(checked))) == checked

    async def test_checking_does_not_modify_its_argument(self, harness: TargetHarness) -> None:
        for spec in self._specs():
            given = copy.deepcopy(dict(spec))
            first = copy.deepcopy(harness.check(given))
            assert given == dict(spec)
            assert harness.check(given) == first

    async def test_an_unknown_key_is_refused(self, harness: TargetHarness) -> None:
        for spec in self._specs():
            _assert_refused(harness, {**spec, "no_such_key_of_any_target": 1})

    async def test_a_spec_that_is_no_mapping_is_refused(self, harness: TargetHarness) -> None:
        for nonsense in (None, True, 7, "text", [], ["a"], [["a", 1]]):
            _assert_refused(harness, nonsense)

    async def test_any_value_under_a_known_key_is_refused_or_accepted(self, harness: TargetHarness) -> None:
        """No exception other than a refusal, whatever the value."""
        strange: tuple[Any, ...] = (
            None,
            True,
            -1,
            10**30,
            0.5,
            "",
            "\0",
            "\ud800",
            [],
            [None],
            {},
            {"secret": 1},
            "x" * 100_000,
        )
        for spec in self._specs():
            for name in harness.check(spec):
                for value in strange:
                    _assert_refused_or_valid(harness, {**spec, name: value})

    def _specs(self) -> tuple[Spec, ...]:
        return self.succeeding(), self.failing(), self.endless(), self.verbose()


def _assert_refused_or_valid(harness: TargetHarness, spec: Any) -> None:
    try:
        checked = harness.check(spec)
    except Refusal as refusal:
        _assert_helpful(refusal)
    else:
        json.dumps(checked, allow_nan=False)


def _assert_refused(harness: TargetHarness, spec: Any) -> None:
    try:
        checked = harness.check(spec)
    except Refusal as refusal:
        _assert_helpful(refusal)
    else:
        raise AssertionError(f"{spec!r} was accepted, as {checked!r}")


def _assert_helpful(refusal: Refusal) -> None:
    """Assert that the refusal has a code, and a sentence and a hint in both languages."""
    assert _CODE.fullmatch(refusal.code), refusal.code
    for language in ("en", "zh"):
        sentence = refusal.in_language(language)
        assert sentence.message, refusal.code
        assert sentence.hint, refusal.code
    assert _CHINESE.search(refusal.in_language("zh").message), refusal.code
    assert _CHINESE.search(refusal.in_language("zh").hint), refusal.code
