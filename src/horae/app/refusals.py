"""Refusals of names that the library does not have: code, sentence and hint in English and Chinese."""

from __future__ import annotations

from typing import Final

from ..errors import InvalidTask, UnknownAttribute
from ..refusal_catalogue import RefusalCatalogue, RefusalEntry

CATALOGUE: Final = RefusalCatalogue(
    {
        "unknown_option": RefusalEntry(
            InvalidTask,
            "There is no option '{name}'.",
            "Did you mean {way}?",
            "没有名为“{name}”的选项。",
            "是不是 {way_zh}?",
        ),
        "unknown_attribute": RefusalEntry(
            UnknownAttribute,
            "{owner} has no attribute '{name}'.",
            "Did you mean {way}?",
            "{owner} 没有属性“{name}”。",
            "是不是 {way_zh}?",
        ),
    }
)


refuse: Final = CATALOGUE.refuse
