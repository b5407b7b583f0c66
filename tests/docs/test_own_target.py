"""The target of the documentation is complete and passes the contract suite."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "targets" / "your-own.md").read_text(encoding="utf-8")
TARGET, CONTRACT = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ModuleType]]:
    (tmp_path / "horae_bell.py").write_text(TARGET, encoding="utf-8")
    (tmp_path / "bell_contract.py").write_text(CONTRACT, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module("horae_bell"), import_module("bell_contract")
    for name in ("horae_bell", "bell_contract"):
        del sys.modules[name]


def test_documented_target_passes_the_contract(modules: tuple[ModuleType, ModuleType]) -> None:
    contract = modules[1].TestBell
    names = [name for name in dir(contract) if name.startswith("test_")]
    assert len(names) > 15
    for name in names:
        getattr(contract(), name)()


def test_documented_entry_point_loads_the_kind(modules: tuple[ModuleType, ModuleType]) -> None:
    (section,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (kind, place), *_ = tomllib.loads(section)["project"]["entry-points"]["horae.targets"].items()
    module, _, name = place.partition(":")
    assert modules[0].__name__ == module
    assert getattr(modules[0], name)().kind == kind


def test_documented_target_is_short() -> None:
    assert len(TARGET.splitlines()) <= 45
