"""`{"secret": "name"}`, wherever it stands in JSON, becomes the secret's value; and what was revealed is never shown."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import quote, quote_plus

from ..model.accounts.secret_reference import REFERENCE as REFERENCE  # noqa: PLC0414 - targets spell references with it
from ..model.accounts.secret_reference import secret_name as secret_name  # noqa: PLC0414 - targets recognise references by it
from ..model.accounts.secret_reference import secret_names as secret_names  # noqa: PLC0414 - see above
from ..model.outcome import Failed
from ..model.reason import Reason
from ..ports.secrets import Secrets

MASK: Final = "•••"
_SHORTEST: Final = 4
"""Shorter values would mask half of every text, and are no secrets."""
_SHORTEST_LINE: Final = 8
"""Of a value with many lines, such as a private key, each one is a secret; a lone bracket is not."""


class Masks:
    """The values that a run has seen. Nothing that it writes down may contain one of them, as it is or as it is sent."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._shapes = {shape for value in values if len(value) >= _SHORTEST for shape in _shapes(value)}

    def hide(self, text: str) -> str:
        parts: list[str] = []
        done = 0
        for start, end in _joined(sorted(span for shape in self._shapes for span in _places(shape, text))):
            parts += text[done:start], MASK
            done = end
        return "".join((*parts, text[done:])) if parts else text

    def __repr__(self) -> str:
        return "Masks(…)"


class Filled(NamedTuple):
    value: Any
    masks: Masks

    def __repr__(self) -> str:
        """What was filled in must not be found in a traceback or a log."""
        return "Filled(…)"


class SecretMissing(Exception):  # noqa: N818 - it says what is missing
    """A task names a secret that its owner does not have."""

    def __init__(self, name: str, owner: str) -> None:
        self.name = name
        super().__init__(f"there is no secret {name!r}; set it with: horae secret set {name} --owner {owner}")

    @property
    def outcome(self) -> Failed:
        return Failed(str(self), permanent=True, reason=Reason.NOT_CALLED)


async def fill(value: Any, owner: str, secrets: Secrets) -> Filled:
    """The value with every reference replaced. Raises `SecretMissing`."""
    known: dict[str, str] = {}
    for name in secret_names(value):
        if name not in known:
            found = await secrets.reveal(owner, name)
            if found is None:
                raise SecretMissing(name, owner)
            known[name] = found
    return Filled(_replaced(value, known), Masks(known.values()))


def _replaced(value: Any, known: dict[str, str]) -> Any:
    name = secret_name(value)
    if name is not None:
        return known[name]
    if isinstance(value, dict):
        return {key: _replaced(each, known) for key, each in value.items()}
    return [_replaced(each, known) for each in value] if isinstance(value, list) else value


def _shapes(value: str) -> Iterator[str]:
    """How a value may come back: plain, without the white space around it, line by line, in JSON, in a URL, in base64."""
    lines = [line.strip() for line in value.splitlines()] if len(value.splitlines()) > 1 else []
    for each in (value, value.strip(), *(line for line in lines if len(line) >= _SHORTEST_LINE)):
        if len(each) >= _SHORTEST:
            yield from (each, json.dumps(each)[1:-1], json.dumps(each, ensure_ascii=False)[1:-1])
            yield from (quote(each), quote(each, safe=""), quote_plus(each))
    yield b64encode(value.encode()).decode()


def _places(shape: str, text: str) -> Iterator[tuple[int, int]]:
    """Wherever it begins, also within another: nothing is used up by being found."""
    start = text.find(shape)
    while start >= 0:
        yield start, start + len(shape)
        start = text.find(shape, start + 1)


def _joined(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Spans that touch become one: what lies side by side was one stretch that nobody may see."""
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
