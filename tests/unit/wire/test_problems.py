"""Every error has a problem: exit code, status, title in both languages."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Iterator

import pytest

import horae
from horae import errors
from horae.errors import Conflict, HoraeError, NotFound, Refusal, StoreError, StoreUnavailable
from horae.model.refusals import refuse
from horae.wire.problems import ERROR_MAPPINGS, ExitCode, mapping_of, problem_json

WITHOUT_PROBLEMS = ("horae.cli.", "horae.stores.")
"""The command line answers its own errors; stores raise theirs to their own code, and as `StoreError` to all other code."""


def subclasses(kind: type[HoraeError]) -> Iterator[type[HoraeError]]:
    """Of the product itself, wherever they are defined."""
    for each in kind.__subclasses__():
        if each.__module__.startswith("horae.") and not each.__module__.startswith(WITHOUT_PROBLEMS):
            yield each
            yield from subclasses(each)


def all_errors() -> list[type[HoraeError]]:
    for module in pkgutil.walk_packages(horae.__path__, "horae."):
        if not module.name.endswith("__main__") and not module.name.startswith(WITHOUT_PROBLEMS):
            importlib.import_module(module.name)
    return [HoraeError, *dict.fromkeys(subclasses(HoraeError))]


def test_every_error_has_its_own_problem() -> None:
    found = all_errors()
    assert {each for each in found if each not in ERROR_MAPPINGS} == set()
    assert set(found) == set(ERROR_MAPPINGS), "and no answer is for an error that is not there"


def test_problem_table_is_ordered_from_special_to_general() -> None:
    kinds = list(ERROR_MAPPINGS)
    for place, kind in enumerate(kinds):
        assert not any(issubclass(later, kind) for later in kinds[place + 1 :]), kind


def test_every_error_is_part_of_the_tree_that_is_drawn() -> None:
    drawn = errors.__doc__ or ""
    assert [kind.__name__ for kind in ERROR_MAPPINGS if kind.__name__ not in drawn] == []


@pytest.mark.parametrize("kind", ERROR_MAPPINGS, ids=lambda kind: kind.__name__)
def test_problem_is_complete(kind: type[HoraeError]) -> None:
    answer = ERROR_MAPPINGS[kind]
    assert answer.exit is not ExitCode.OK
    assert 400 <= answer.status < 600
    assert answer.title == answer.title.lower()
    assert answer.title_zh != answer.title
    assert mapping_of(_an_error(kind)) == answer


def _an_error(kind: type[HoraeError]) -> HoraeError:
    if issubclass(kind, Refusal):
        known = refuse("no_such_task", id="x")
        return kind("no_such_task", known.sentences, position=3, source="text", facts=known.facts)
    return kind("it broke")


def test_not_found_has_both_languages() -> None:
    refusal = refuse("no_such_task", id="tsk_1")
    english, chinese = problem_json(refusal), problem_json(refusal, "zh")
    assert (english["status"], english["code"], english["title"]) == (404, "no_such_task", "not found")
    assert english["detail"] == refusal.message
    assert english["hint"] == refusal.hint
    assert chinese["detail"] == refusal.in_language("zh").message
    assert chinese["title"] == "未找到"
    assert json.loads(json.dumps(english)) == english


def test_problem_has_the_position_in_the_text() -> None:
    error = _an_error(NotFound)
    assert problem_json(error)["position"] == 3


def test_store_error_has_its_details() -> None:
    problem = problem_json(StoreUnavailable("the disk is gone"), "zh")
    assert (problem["status"], problem["code"], problem["detail"]) == (503, "store_unavailable", "the disk is gone")
    assert ("horae doctor" in problem["hint"], problem["position"]) == (True, None)


@pytest.mark.parametrize("kind", [kind for kind in ERROR_MAPPINGS if issubclass(kind, StoreError)])
def test_store_errors_have_a_hint_in_both_languages(kind: type[HoraeError]) -> None:
    english, chinese = problem_json(_an_error(kind), "en"), problem_json(_an_error(kind), "zh")
    assert english["code"] == chinese["code"]
    assert english["hint"]
    assert english["hint"] != chinese["hint"] != ""


def test_foreign_error_has_the_problem_of_its_base_class() -> None:
    class ForeignError(StoreError):
        pass

    class Strange(Conflict):
        pass

    assert mapping_of(ForeignError("x")) == ERROR_MAPPINGS[StoreError]
    assert mapping_of(Strange("c", refuse("task_cancelled").sentences)) == ERROR_MAPPINGS[Conflict]
    assert mapping_of(HoraeError("x")) == ERROR_MAPPINGS[HoraeError]
