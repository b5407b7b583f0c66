"""Contract suites: every chapter is in the full contract, and no chapter overrides a test of another."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import horae.testing.contracts
from horae.testing.contracts import (
    Contract,
    JournalContract,
    KilledClaimContract,
    RecordsContract,
    SharedTransactionContract,
    StoreContract,
)

WHOLE = (StoreContract, RecordsContract, JournalContract, KilledClaimContract, SharedTransactionContract)


def chapters() -> Iterator[type[Contract]]:
    root = Path(horae.testing.contracts.__file__).parent
    for path in sorted(root.rglob("[!_]*.py")):
        module = import_module(".".join(("horae.testing.contracts", *path.relative_to(root).with_suffix("").parts)))
        for _, found in inspect.getmembers(module, inspect.isclass):
            if issubclass(found, Contract) and found.__module__ == module.__name__:
                yield found


def names_in(chapter: type[Contract]) -> list[str]:
    return [name for name in vars(chapter) if name.startswith("test_")]


def test_every_chapter_is_in_the_full_contract() -> None:
    forgotten = [chapter for chapter in chapters() if names_in(chapter) and not is_in_full_contract(chapter)]
    assert forgotten == []


def is_in_full_contract(chapter: type[Contract]) -> bool:
    return any(issubclass(whole, chapter) for whole in WHOLE)


def test_no_chapter_hides_a_test_of_another() -> None:
    names = Counter(name for chapter in chapters() for name in names_in(chapter))
    assert len(names) > 150
    assert [name for name, times in names.items() if times > 1] == []


def test_every_test_is_a_plain_function_without_parameters() -> None:
    for chapter in chapters():
        for name in names_in(chapter):
            test = vars(chapter)[name]
            assert not inspect.iscoroutinefunction(test), name
            assert list(inspect.signature(test).parameters) == ["self"], name
