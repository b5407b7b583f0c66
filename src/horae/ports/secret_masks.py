"""Masks secret values in texts, plain or encoded."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import quote, quote_plus

MASK: Final = "•••"
_MIN_LENGTH: Final = 4
"""Shorter values would mask half of every text, and are no secrets."""
_MIN_LINE_LENGTH: Final = 8
"""Each line of a multi-line value, such as a private key, is masked too, unless it is short (a lone bracket)."""


class Masks:
    """Masks the secret values that a run has seen, plain or in any encoding in which they are sent."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._encodings = {form for value in values if len(value) >= _MIN_LENGTH for form in _encodings(value)}

    def mask(self, text: str) -> str:
        """Return the text with every occurrence of a secret replaced by `MASK`."""
        parts: list[str] = []
        done = 0
        for start, end in _merged(sorted(span for form in self._encodings for span in _occurrences(form, text))):
            parts += text[done:start], MASK
            done = end
        return "".join((*parts, text[done:])) if parts else text

    def __repr__(self) -> str:
        return "Masks(…)"


def _encodings(value: str) -> Iterator[str]:
    """Yield the forms in which a value may appear: plain, stripped, line by line, in JSON, in a URL, in base64."""
    lines = [line.strip() for line in value.splitlines()] if len(value.splitlines()) > 1 else []
    for each in (value, value.strip(), *(line for line in lines if len(line) >= _MIN_LINE_LENGTH)):
        if len(each) >= _MIN_LENGTH:
            yield from (each, json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1])
            yield from (quote(each), quote(each, safe=""), quote_plus(each))
    yield b64encode(value.encode()).decode()


def _occurrences(form: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of every occurrence, overlapping ones too."""
    start = text.find(form)
    while start >= 0:
        yield start, start + len(form)
        start = text.find(form, start + 1)


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Merge sorted spans that overlap or touch, so that they show one mask."""
    current: tuple[int, int] | None = None
    for start, end in spans:
        if current is None:
            current = start, end
        elif start <= current[1]:
            current = current[0], max(current[1], end)
        else:
            yield current
            current = start, end
    if current is not None:
        yield current
