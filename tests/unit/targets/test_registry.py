"""Function registry: valid functions, and functions that a child process can import."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from horae.errors import InvalidTask
from horae.targets.function.origin import Origin, import_function, origin_of
from horae.targets.function.registry import Registry
from tests.unit.targets import functions


def work() -> None: ...


def other() -> None: ...


class Shop:
    def sell(self) -> None: ...

    @classmethod
    def open(cls) -> None: ...

    @staticmethod
    def close() -> None: ...


def generator() -> Iterator[int]:
    yield 1


async def async_generator() -> AsyncIterator[int]:
    yield 1


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(InvalidTask) as caught:
        call()
    return caught.value.code


def test_repeated_registration_is_idempotent_and_names_are_unique() -> None:
    registry = Registry()
    first = registry.register("a", work)
    assert registry.register("a", work) is first
    assert refused(lambda: registry.register("a", other)) == "function_taken"
    assert refused(lambda: registry.register("a", work, "process")) == "function_taken"
    assert registry.find("a") is first
    assert registry.find("b") is None
    registry.register("B", other)
    assert registry.names() == ("B", "a")


def test_a_bound_method_is_the_same_function_each_time() -> None:
    registry, shop = Registry(), Shop()
    assert registry.register("a", shop.sell) is registry.register("a", shop.sell)
    assert refused(lambda: registry.register("a", Shop().sell)) == "function_taken"


@pytest.mark.parametrize("call", [generator, async_generator, Shop, 5, None, "work"])
def test_object_that_cannot_run_is_refused(call: Any) -> None:
    assert refused(lambda: Registry().register("a", call)) == "bad_function"


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 201])
def test_a_name_can_be_shown(name: str) -> None:
    assert refused(lambda: Registry().register(name, work)) == "bad_text"


def test_a_parameter_that_no_payload_can_give_is_refused() -> None:
    def needs_a_call(call: Callable[[], int]) -> None: ...

    assert refused(lambda: Registry().register("a", needs_a_call)) == "bad_parameter"


NOWHERE: list[Any] = [lambda: None, functools.partial(work), Shop().sell, [].append]


@pytest.mark.parametrize("call", NOWHERE)
def test_function_without_import_path_has_no_process_isolation(call: Any) -> None:
    assert origin_of(call) is None
    assert refused(lambda: Registry().register("a", call, "process")) == "not_importable"


def test_a_function_inside_a_function_cannot_be_found() -> None:
    def inside() -> None: ...

    assert origin_of(inside) is None


@pytest.mark.parametrize("call", [functions.speak, Shop.open, Shop.close, json.dumps, print])
def test_importable_function_is_found_again(call: Any) -> None:
    origin = origin_of(call)
    assert origin is not None
    assert import_function(origin) == call


def test_interactive_function_is_not_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    prompt = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", prompt)
    exec("def typed(): ...", prompt.__dict__)  # noqa: S102 - what a prompt does
    assert origin_of(prompt.typed) is None


def test_name_that_is_no_function_any_more_is_not_loaded() -> None:
    with pytest.raises(TypeError, match="not a function any more"):
        import_function(Origin("json", "__name__", None))
