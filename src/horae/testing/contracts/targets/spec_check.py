"""Checking a spec: pure, complete, and strict, with refusals that help whoever typed it."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import copy
import json
import re
from typing import Any

from ....errors import Refusal
from .harness import Spec, Stage, TargetCase

_CODE = re.compile(r"[a-z][a-z0-9_]*")
_CHINESE = re.compile("[\u4e00-\u9fff]")


class CheckingContract(TargetCase):
    async def test_the_kind_has_a_plain_name(self, stage: Stage) -> None:
        assert re.fullmatch(r"[a-z][a-z0-9_.-]{0,49}", stage.kind.kind)

    async def test_a_checked_spec_survives_json(self, stage: Stage) -> None:
        for spec in self._specs():
            checked = stage.check(spec)
            assert json.loads(json.dumps(checked, allow_nan=False)) == checked

    async def test_checking_again_changes_nothing(self, stage: Stage) -> None:
        for spec in self._specs():
            checked = stage.check(spec)
            assert stage.check(checked) == checked
            assert stage.check(json.loads(json.dumps(checked))) == checked

    async def test_checking_leaves_what_it_was_given_alone(self, stage: Stage) -> None:
        for spec in self._specs():
            given = copy.deepcopy(dict(spec))
            first = copy.deepcopy(stage.check(given))
            assert given == dict(spec)
            assert stage.check(given) == first

    async def test_an_unknown_key_is_refused(self, stage: Stage) -> None:
        for spec in self._specs():
            _refused(stage, {**spec, "no_such_key_of_any_target": 1})

    async def test_what_is_no_mapping_is_refused(self, stage: Stage) -> None:
        for nonsense in (None, True, 7, "text", [], ["a"], [["a", 1]]):
            _refused(stage, nonsense)

    async def test_nonsense_under_a_known_key_is_refused_or_understood(self, stage: Stage) -> None:
        """Never anything but a refusal comes out, whatever goes in."""
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
            for name in stage.check(spec):
                for value in strange:
                    _refused_or_fine(stage, {**spec, name: value})

    def _specs(self) -> tuple[Spec, ...]:
        return self.succeeding(), self.failing(), self.endless(), self.talkative()


def _refused_or_fine(stage: Stage, spec: Any) -> None:
    try:
        checked = stage.check(spec)
    except Refusal as refusal:
        _helps(refusal)
    else:
        json.dumps(checked, allow_nan=False)


def _refused(stage: Stage, spec: Any) -> None:
    try:
        checked = stage.check(spec)
    except Refusal as refusal:
        _helps(refusal)
    else:
        raise AssertionError(f"{spec!r} was accepted, as {checked!r}")


def _helps(refusal: Refusal) -> None:
    """A code for programs; a sentence and a hint for people, in both languages."""
    assert _CODE.fullmatch(refusal.code), refusal.code
    for language in ("en", "zh"):
        sentence = refusal.in_language(language)
        assert sentence.message, refusal.code
        assert sentence.hint, refusal.code
    assert _CHINESE.search(refusal.in_language("zh").message), refusal.code
    assert _CHINESE.search(refusal.in_language("zh").hint), refusal.code
