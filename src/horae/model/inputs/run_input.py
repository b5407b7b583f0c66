"""Input of a run: JSON that a caller gives with a requested run, and that replaces or changes the payload of its task.

The document also has the progress of the task's gate, which the next attempt at an occurrence needs.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from ..gate import GateProgress, decode_progress, encode_progress

InputMode: TypeAlias = Literal["replace", "merge", "none"]
INPUT_MODES: Final[tuple[InputMode, ...]] = ("replace", "merge")
"""Modes that a caller may choose."""
_GATE: Final = '"gate":'
_AGENT: Final = '"agent":'
_REPLACE: Final = '"replace":'


@dataclass(frozen=True, slots=True)
class RunInput:
    """`value` is JSON text: the payload (`replace`), or a merge patch on the payload of the task (`merge`, RFC 7396).

    `agent` is the agent that gave the input; None for a person. `gate` is the progress of the gate. With the mode `none`
    there is only that, and no input.
    """

    mode: InputMode
    value: str
    agent: str | None = None
    gate: GateProgress | None = None

    @property
    def is_given(self) -> bool:
        """Whether a caller gave an input."""
        return self.mode != "none"

    @property
    def text(self) -> str:
        """The input as one JSON object, `{"merge":…}`, as stores keep it."""
        gate = "" if self.gate is None else f"{_GATE}{encode_progress(self.gate)}"
        if self.mode == "none":
            return f"{{{gate}}}"
        agent = "" if self.agent is None else f"{_AGENT}{json.dumps(self.agent)},"
        return f'{{{gate}{gate and ","}{agent}"{self.mode}":{self.value}}}'

    def payload_for(self, payload: str) -> str:
        """Return the payload of the run, as JSON text, from the payload of the task."""
        if self.mode == "none":
            return payload
        if self.mode == "replace":
            return self.value
        merged = merge_patch(json.loads(payload), json.loads(self.value))
        return json.dumps(merged, ensure_ascii=False, separators=(",", ":"))


def parse_input(text: str) -> RunInput:
    """Parse what `RunInput.text` returns. The value is not decoded: its numbers stay as they were written."""
    gate, agent, rest = None, None, text[1:]
    if rest.startswith(_GATE):
        value, end = json.JSONDecoder().raw_decode(rest, len(_GATE))
        gate, rest = decode_progress(value), rest[end + 1 :]
        if not rest:
            return RunInput("none", "", gate=gate)
    if rest.startswith(_AGENT):
        agent, end = json.JSONDecoder().raw_decode(rest, len(_AGENT))
        rest = rest[end + 1 :]
    mode: InputMode = "replace" if rest.startswith(_REPLACE) else "merge"
    return RunInput(mode, rest[len(mode) + len('"":') : -1], agent, gate)


def with_gate(given: RunInput | None, gate: GateProgress | None) -> RunInput | None:
    """Return the input with this progress of the gate; None if there is neither."""
    if given is not None and given.is_given:
        return replace(given, gate=gate)
    return None if gate is None else RunInput("none", "", gate=gate)


def is_gate_check(given: RunInput | None) -> bool:
    """Return whether a run only asks the gate of its task, and does not call the target."""
    return given is not None and given.gate is not None and given.gate.only


def gate_failures(given: RunInput | None) -> int:
    """Return how often in a row the gate has failed before this attempt."""
    return 0 if given is None or given.gate is None else given.gate.failures


def merge_patch(value: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7396): objects are merged, null removes a member, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(value) if isinstance(value, dict) else {}
    for name, each in patch.items():
        if each is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), each)
    return merged
