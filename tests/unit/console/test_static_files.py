"""Scripts and styles of the console: their sizes, and calls that no script may contain."""

from __future__ import annotations

import gzip
from typing import Any, Final

from horae.console.renderer import static_files

SCRIPT_BUDGET: Final = 60_000
STYLE_BUDGET: Final = 20_000


def test_scripts_and_styles_are_within_their_budgets() -> None:
    def total(suffix: str) -> int:
        return sum(len(gzip.compress(content)) for name, content in static_files().items() if name.endswith(suffix))

    assert total(".js") <= SCRIPT_BUDGET
    assert total(".css") <= STYLE_BUDGET


def test_scripts_make_no_elements_and_no_code_from_text() -> None:
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc")
    for name, content in static_files().items():
        if name.endswith(".js"):
            found: Any = [each for each in forbidden if each in content.decode()]
            assert found == [], name
