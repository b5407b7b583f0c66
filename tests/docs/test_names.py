"""Public names of the library are documented; links and source files that pages name exist."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import horae
from horae import Context, Horae, RunHandle, TaskFunction, TaskHandle
from horae.app import BlockingHorae, BlockingTask, Event
from horae.app.declared_function import PolicyArguments
from horae.app.lifespan import AppLifespan
from horae.testing import TimeTravel
from tests.docs.pages import DOCS, ROOT, text_of

LIBRARY = text_of("python.md") + text_of("testing.md")
INSIDE = frozenset(
    {
        # used between the parts of an app, or by Horae's own tests
        (AppLifespan, "begin"), (AppLifespan, "end"), (AppLifespan, "crash"), (AppLifespan, "use_environment"), (AppLifespan, "engine"),
        (Horae, "argument_names"), (Horae, "run_id_of"), (Horae, "wait_for"),
        (TimeTravel, "store"), (TimeTravel, "settings"), (TimeTravel, "home"), (TimeTravel, "is_gone"),
        (TimeTravel, "functions"), (TimeTravel, "store_url"), (TimeTravel, "key_url"), (TimeTravel, "opened"),
    }
)  # fmt: skip
CLASSES = (AppLifespan, Horae, TaskHandle, RunHandle, TaskFunction, Context, BlockingHorae, BlockingTask, TimeTravel)
MEMBERS = [
    (kind, name)
    for kind in CLASSES
    for name, value in vars(kind).items()
    if not name.startswith("_") and (inspect.isroutine(value) or isinstance(value, property))
]


def is_mentioned(name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", LIBRARY) is not None


@pytest.mark.parametrize("name", horae.__all__)
def test_public_name_is_documented(name: str) -> None:
    assert is_mentioned(name)


@pytest.mark.parametrize(("kind", "name"), [each for each in MEMBERS if each not in INSIDE])
def test_public_method_is_documented(kind: type, name: str) -> None:
    """The name must be in code, not only in prose."""
    code = "".join(re.findall(r"`[^`\n]+`|^```python\n.*?^```$", LIBRARY, re.MULTILINE | re.DOTALL))
    assert re.search(rf"(?<!\w){name}(?!\w)", code), f"{kind.__name__}.{name}"


def test_undocumented_names_exist() -> None:
    assert set(MEMBERS) >= INSIDE


@pytest.mark.parametrize("name", [*Event._fields, *PolicyArguments.__annotations__])
def test_field_or_policy_is_documented(name: str) -> None:
    assert is_mentioned(name)


PAGES = sorted([*DOCS.rglob("*.md"), *(ROOT / "bench").rglob("*.md"), *ROOT.glob("*.md")])


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_to_existing_pages_and_headings(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = target.partition("#")
        if "://" in path:
            continue
        place = page.parent / path if path else page
        assert place.exists(), target
        assert not anchor or anchor in anchors(place), target


def test_index_lists_every_page() -> None:
    listed = set(re.findall(r"\]\(([^)#]+)\)", text_of("README.md")))
    translated = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.zh-CN.md")}  # in the Chinese index
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} - translated - {"README.md"}
    decisions = {page for page in pages if page.startswith("decisions/")}
    assert pages - decisions <= listed
    assert "decisions/" in listed


_SOURCE_FILE = re.compile(r"`((?:\w+/)+\w+\.(?:py|sql))(?:::\w+)?`")
_EXAMPLES = frozenset({"shop/jobs.py"})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_named_source_files_exist(page: Path) -> None:
    named = set(_SOURCE_FILE.findall(page.read_text(encoding="utf-8"))) - _EXAMPLES
    assert {name for name in named if not (ROOT / name).exists() and not (ROOT / "src/horae" / name).exists()} == set()
