"""Input of a run: JSON that a caller gives with a requested run, and that replaces or changes the payload of its task."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

InputMode: TypeAlias = Literal["replace", "merge"]
INPUT_MODES: Final[tuple[InputMode, ...]] = ("replace", "merge")
_AGENT: Final = '"agent":'
_REPLACE: Final = '"replace":'


@dataclass(frozen=True, slots=True)
class RunInput:
    """`value` is JSON text: the payload (`replace`), or a merge patch on the payload of the task (`merge`, RFC 7396).

    `agent` is the agent that gave the input; None for a person.
    """

    mode: InputMode
    value: str
    agent: str | None = None

    @property
    def text(self) -> str:
        """The input as one JSON object, `{"merge":…}`, as stores keep it."""
        agent = "" if self.agent is None else f'"agent":{json.dumps(self.agent)},'
        return f'{{{agent}"{self.mode}":{self.value}}}'

    def payload_for(self, payload: str) -> str:
        """Return the payload of the run, as JSON text, from the payload of the task."""
        if self.mode == "replace":
            return self.value
        merged = merge_patch(json.loads(payload), json.loads(self.value))
        return json.dumps(merged, ensure_ascii=False, separators=(",", ":"))


def parse_input(text: str) -> RunInput:
    """Parse what `RunInput.text` returns. The value is not decoded: its numbers stay as they were written."""
    agent, rest = None, text[1:]
    if rest.startswith(_AGENT):
        agent, end = json.JSONDecoder().raw_decode(rest, len(_AGENT))
        rest = rest[end + 1 :]
    mode: InputMode = "replace" if rest.startswith(_REPLACE) else "merge"
    return RunInput(mode, rest[len(mode) + len('"":') : -1], agent)


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
