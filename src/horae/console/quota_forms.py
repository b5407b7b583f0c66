"""Quotas in forms: one field per limit, empty for the default, `none` for no limit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, NamedTuple

from ..model.accounts.account import Limit
from ..model.accounts.principal import Quotas
from ..schedule.durations import format_short_duration
from ..service.accounts.owners import DEFAULT_LIMIT
from .request import Form

PREFIX: Final = "quota_"
UNLIMITED: Final = "none"
_UNLIMITED_WORDS: Final = frozenset({UNLIMITED, "never", "无"})


class QuotaField(NamedTuple):
    """`value` is what was set for this owner or agent, `effective` the limit that counts now."""

    name: str
    field: str
    value: str
    effective: str


def quota_fields(
    quotas: Quotas, chosen: Mapping[str, Limit], form: Mapping[str, str] | None = None
) -> list[QuotaField]:
    """Return the fields of a form; `form` is the input of a refused one, which is shown again."""
    given = form or {}
    return [
        QuotaField(name, PREFIX + name, given.get(PREFIX + name, limit_text(chosen, name)), format_limit(limit))
        for name, limit in quotas._asdict().items()
    ]


def quota_inputs(chosen: Mapping[str, Limit]) -> dict[str, str]:
    """Return the fields that a form with these limits sends: an undo sends the former ones."""
    return {PREFIX + name: limit_text(chosen, name) for name in Quotas._fields}


def read_quota_form(form: Form, chosen: Mapping[str, Limit]) -> dict[str, Any]:
    """Return the limits whose text differs from the stored one, as the service takes them."""
    texts = {name: form.text(PREFIX + name) for name in Quotas._fields if PREFIX + name in form}
    return {name: _parse_limit(text) for name, text in texts.items() if text != limit_text(chosen, name)}


def limit_text(chosen: Mapping[str, Limit], name: str) -> str:
    if name not in chosen:
        return ""
    limit = chosen[name]
    return UNLIMITED if limit is None else format_limit(limit)


def format_limit(limit: Limit) -> str:
    """Return a limit as the forms and the command line take it: `10`, `5m`; empty without a limit."""
    if limit is None:
        return ""
    return format_short_duration(limit) if isinstance(limit, timedelta) else str(limit)


def _parse_limit(text: str) -> int | str | None:
    if not text:
        return DEFAULT_LIMIT
    if text.lower() in _UNLIMITED_WORDS:
        return None
    return int(text) if text.isascii() and text.isdecimal() else text
