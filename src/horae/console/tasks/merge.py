"""Three-way merge of the form of a task with a change that was saved while the viewer edited it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from ...choices import Language
from ...model.task import Task
from ...wire.tasks.task import NO_NAMES
from ..shape_form import FieldWords, Texts
from .form import texts_of_task


class ChangedField(NamedTuple):
    """A field that the other change has set. `is_contested`: the viewer changed it too, and that text is kept."""

    label: str
    before: str
    theirs: str
    yours: str
    is_contested: bool


class Conflict(NamedTuple):
    changes: tuple[ChangedField, ...]


def base_json(texts: Texts, language: Language) -> str:
    """Return the texts that a form was loaded with, for a hidden field."""
    given = {name: text for name, text in texts.items() if text}
    return json.dumps([language, given], ensure_ascii=False, separators=(",", ":"))


def merge_texts(
    mine: Texts, base: str, current: Task, words: FieldWords, names: Mapping[str, str] = NO_NAMES
) -> tuple[dict[str, str], Conflict]:
    """Return the texts with each field that only the other one changed, and what the other one changed.

    `names` are those of the tasks that the current one runs after, by id.
    """
    loaded, language = _read_base(base)
    theirs = texts_of_task(current, language, names)
    before = theirs if loaded is None else loaded
    merged, changes = dict(mine), []
    for name in {**before, **theirs}:
        was, other, own = before.get(name, ""), theirs.get(name, ""), mine.get(name, "").strip()
        if other == was:
            continue
        is_contested = own not in (was.strip(), other.strip())
        if not is_contested:
            merged[name] = other
        changes.append(ChangedField(words.label(name), was, other, merged.get(name, ""), is_contested))
    return merged, Conflict(tuple(changes))


def _read_base(base: str) -> tuple[dict[str, str] | None, Language]:
    """Return the texts of the hidden field, and their language; None for one that was tampered with."""
    try:
        language, texts = json.loads(base)
        return {str(name): str(text) for name, text in texts.items()}, "zh" if language == "zh" else "en"
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None, "en"
