"""Inputs of runs to JSON and back: `{"replace": …}` or `{"merge": …}`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...model.inputs.run_input import INPUT_MODES, InputMode, RunInput
from ...model.refusals import refuse


def input_json(given: RunInput | None) -> dict[str, Any] | None:
    return None if given is None or not given.is_given else {given.mode: json.loads(given.value)}


def input_body(given: RunInput | None) -> dict[str, Any] | None:
    """Return the field of a request body; None without an input: a server of an older version refuses the field."""
    return None if given is None else {"input": input_json(given)}


def read_input(value: object) -> RunInput | None:
    """Decode an input; None if there is none. Refused unless it has exactly one of its two fields."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise refuse("bad_policy", name="input", value=value, wanted="JSON object")
    for name in value:
        if name not in INPUT_MODES:
            raise refuse("unknown_field", name=f"input.{name}", allowed=", ".join(INPUT_MODES))
    if len(value) != 1:
        raise refuse("one_input", name="input")
    ((mode, content),) = value.items()
    return make_input("merge" if mode == "merge" else "replace", content)


def make_input(mode: InputMode, content: object) -> RunInput:
    """Encode a value as an input; refuses a value without a JSON form."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        text.encode()  # a lone surrogate has no UTF-8 form
    except (TypeError, ValueError, RecursionError) as error:
        raise refuse("bad_run_input", name=f"input.{mode}", value=error) from None
    return RunInput(mode, text)


def either_input(replacement: object | None, patch: object | None) -> RunInput | None:
    """Return the input of a caller that gives the two kinds as two arguments; refused if both are given."""
    if replacement is not None and patch is not None:
        raise refuse("one_input", name="input")
    if patch is not None:
        return make_input("merge", patch)
    return None if replacement is None else make_input("replace", replacement)
