"""Replaces secret references (`{"secret": "name"}`) in JSON by their values, and masks those values in output."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import quote, quote_plus

from ..model.accounts.secret_reference import REFERENCE_KEY as REFERENCE_KEY  # noqa: PLC0414 - targets spell references with it
from ..model.accounts.secret_reference import secret_name as secret_name  # noqa: PLC0414 - targets recognise references by it
from ..model.accounts.secret_reference import secret_names as secret_names  # noqa: PLC0414 - see above
from ..model.accounts.system_owner import account_of
from ..model.outcome import Failed
from ..model.reason import Reason
from ..ports.target import Secrets

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


class ResolvedValue(NamedTuple):
    """A value with its secrets inserted, and the masks that hide them."""

    value: Any
    masks: Masks

    def __repr__(self) -> str:
        """Hide the secrets from tracebacks and logs."""
        return "Filled(…)"


class SecretMissing(Exception):  # noqa: N818 - it says what is missing
    """A task refers to a secret that its owner does not have."""

    def __init__(self, name: str, owner: str) -> None:
        self.name = name
        super().__init__(f"there is no secret {name!r}; set it with: horae secret set {name} --owner {owner}")

    @property
    def outcome(self) -> Failed:
        return Failed(str(self), permanent=True, reason=Reason.NOT_CALLED)


async def resolve_secrets(value: Any, owner: str, secrets: Secrets) -> ResolvedValue:
    """Return the value with every reference replaced: a system task reads the secrets of its account. Raises `SecretMissing`."""
    owner = account_of(owner)
    revealed: dict[str, str] = {}
    for name in secret_names(value):
        if name not in revealed:
            secret = await secrets.reveal(owner, name)
            if secret is None:
                raise SecretMissing(name, owner)
            revealed[name] = secret
    return ResolvedValue(_replace_references(value, revealed), Masks(revealed.values()))


def _replace_references(value: Any, secrets: dict[str, str]) -> Any:
    name = secret_name(value)
    if name is not None:
        return secrets[name]
    if isinstance(value, dict):
        return {key: _replace_references(each, secrets) for key, each in value.items()}
    return [_replace_references(each, secrets) for each in value] if isinstance(value, list) else value


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
