"""Every kind of target that this installation has: our own, and those that other packages offer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, Final

from ..errors import Refusal
from ..model.field_checks import check_text
from ..model.limits import NAME_CHARACTERS
from ..model.refusals import NOT_CARRIED, refuse
from ..model.task import Target
from ..ports.target import TargetKind
from ..settings import Settings

ENTRY_POINTS: Final = "horae.targets"
FUNCTION: Final = "function"
_ELSEWHERE: Final = frozenset({"agent"})
"""Kinds that no node of this version runs, but that tasks of other schedulers come with: an import keeps them, paused."""
_written: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""Made once: `json.dumps` makes a new one for every text."""
_OURS: Final = {"http": "http.kind:HTTP", "command": "command.kind:COMMAND", "event": "event.kind:EVENT"}


_CALLING: Final = ("http", "event")
_NETWORKS: Final = "allow_networks"


def kind_names() -> tuple[str, ...]:
    """The kinds that this installation knows, without loading them."""
    return tuple(sorted({*_OURS, *(each.name for each in entry_points(group=ENTRY_POINTS)), FUNCTION}))


class Kinds:
    """Loaded one by one, when the first task of that kind is made or run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._loaded: dict[str, TargetKind] = {}
        self._theirs = {each.name: each for each in entry_points(group=ENTRY_POINTS)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*_OURS, *self._theirs, FUNCTION}))

    def find(self, kind: str) -> TargetKind:
        found = self._loaded.get(kind)
        if found is None:
            found = self._loaded[kind] = self._load(kind)
        return found

    def settings_of(self, kind: str) -> dict[str, Any]:
        """With the networks of the deployment, for the kinds that call out."""
        own = self.settings.target(kind)
        networks = tuple(self.settings.value("outgoing_networks"))
        if not networks or kind not in _CALLING:
            return own
        return {**own, _NETWORKS: (*_listed(own.get(_NETWORKS, ())), *networks)}

    def check(self, target: Target, payload: str) -> Target:
        """The target as it is to be kept. Which functions there are is known only to the nodes that have them."""
        if target.kind == FUNCTION:
            return _checked_function(target)
        if target.kind in _ELSEWHERE and target.kind not in self._theirs:
            raise refuse(NOT_CARRIED, kind=target.kind, kinds=", ".join(self.names))
        kind = self.find(target.kind)
        spec, given = json.loads(target.spec), json.loads(payload)
        if not isinstance(spec, dict):
            raise refuse("bad_policy", name="target", value=spec, wanted="JSON object")
        kept = kind.check(spec, given, self.settings_of(target.kind))
        return Target(target.kind, _written(kept))

    def _load(self, kind: str) -> TargetKind:
        if kind in _OURS:
            module, _, name = _OURS[kind].partition(":")
            ours: TargetKind = getattr(import_module(f"...targets.{module}", __name__), name)
            return ours
        if kind not in self._theirs:
            raise refuse("unknown_target", kind=kind, kinds=", ".join(self.names))
        theirs: TargetKind = self._theirs[kind].load()
        return theirs


def _listed(value: Any) -> tuple[Any, ...]:
    """What is no list is left for the kind itself to refuse."""
    if isinstance(value, str):
        return tuple(part for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _checked_function(target: Target) -> Target:
    try:
        spec = json.loads(target.spec)
    except ValueError:
        spec = None
    if not isinstance(spec, dict) or spec.keys() != {"name"} or not isinstance(spec["name"], str) or not spec["name"]:
        raise refuse("bad_policy", name="target", value=target.spec, wanted='{"name": "module.function"}')
    check_text("function", spec["name"], NAME_CHARACTERS)
    return target


def usable(kinds: Kinds, open_one: Callable[[str, TargetKind], Any]) -> Mapping[str, Any]:
    """Every kind that can be opened here; one whose library is missing, or whose settings are wrong, is left out."""
    opened: dict[str, Any] = {}
    for name in kinds.names:
        if name == FUNCTION:
            continue
        try:
            opened[name] = open_one(name, kinds.find(name))
        except Refusal as refusal:
            opened[name] = refusal
    return opened
