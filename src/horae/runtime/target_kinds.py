"""Registry of target kinds: the built-in ones and plug-ins from entry points, loaded on first use."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from ..errors import Refusal
from ..json_encoder import COMPACT, make_encoder
from ..model.limits import NAME_CHARACTERS
from ..model.refusals import refuse
from ..model.task import Target
from ..model.text.field_checks import check_text
from ..ports.target import TargetKind
from ..settings import Settings

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS: Final = "horae.targets"
FUNCTION: Final = "function"
_encode: Final = make_encoder(COMPACT)
_BUILT_IN: Final = {
    "http": "targets.http.target:HTTP",
    "command": "targets.command.target:COMMAND",
    "event": "targets.event.target:EVENT",
    "agent": "agents.target.target:AGENT",
    "station": "stations.target:STATION",
}


_NETWORK_KINDS: Final = ("http", "event")
_NETWORKS: Final = "allow_networks"


def kind_names() -> tuple[str, ...]:
    """Return the kinds that this installation knows, without loading them."""
    return tuple(sorted({*_BUILT_IN, *_find_plugins(), FUNCTION}))


def _find_plugins() -> Mapping[str, EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and most tasks have a built-in target

    return {each.name: each for each in entry_points(group=ENTRY_POINTS)}


class TargetKinds:
    """Target kinds by name; each is imported when the first task of that kind is created or run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._loaded: dict[str, TargetKind] = {}

    @cached_property
    def _plugins(self) -> Mapping[str, EntryPoint]:
        return _find_plugins()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*_BUILT_IN, *self._plugins, FUNCTION}))

    def find(self, kind: str) -> TargetKind:
        """Return the kind of this name; raises a refusal if there is none."""
        loaded = self._loaded.get(kind)
        if loaded is None:
            loaded = self._loaded[kind] = self._load(kind)
        return loaded

    def settings_of(self, kind: str) -> dict[str, Any]:
        """Return the settings of a kind, with the deployment's allowed networks for kinds that send requests."""
        own = self.settings.target(kind)
        networks = tuple(self.settings.value("outgoing_networks"))
        if not networks or kind not in _NETWORK_KINDS:
            return own
        return {**own, _NETWORKS: (*_split_list(own.get(_NETWORKS, ())), *networks)}

    def check(self, target: Target, payload: str) -> Target:
        """Return the target with its canonical spec; raises a refusal. Function names are checked by the nodes only."""
        if target.kind == FUNCTION:
            return _check_function(target)
        kind = self.find(target.kind)
        spec, payload_value = json.loads(target.spec), json.loads(payload)
        if not isinstance(spec, dict):
            raise refuse("bad_policy", name="target", value=spec, wanted="JSON object")
        canonical = kind.check(spec, payload_value, self.settings_of(target.kind))
        return Target(target.kind, _encode(canonical))

    def _load(self, kind: str) -> TargetKind:
        if kind in _BUILT_IN:
            module, _, name = _BUILT_IN[kind].partition(":")
            built_in: TargetKind = getattr(import_module(f"...{module}", __name__), name)
            return built_in
        if kind not in self._plugins:
            raise refuse("unknown_target", kind=kind, kinds=", ".join(self.names))
        plugin: TargetKind = self._plugins[kind].load()
        return plugin


def _split_list(value: Any) -> tuple[Any, ...]:
    """Return a list setting as a tuple; any other value is kept as one item, which the kind itself refuses."""
    if isinstance(value, str):
        return tuple(part for part in value.split(",") if part.strip())
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _check_function(target: Target) -> Target:
    try:
        spec = json.loads(target.spec)
    except ValueError:
        spec = None
    if not isinstance(spec, dict) or spec.keys() != {"name"} or not isinstance(spec["name"], str) or not spec["name"]:
        raise refuse("bad_policy", name="target", value=target.spec, wanted='{"name": "module.function"}')
    check_text("function", spec["name"], NAME_CHARACTERS)
    return target


def open_all(kinds: TargetKinds, open_one: Callable[[str, TargetKind], Any]) -> Mapping[str, Any]:
    """Open every kind; one whose library is missing, or whose settings are wrong, is mapped to its refusal."""
    opened: dict[str, Any] = {}
    for name in kinds.names:
        if name == FUNCTION:
            continue
        try:
            opened[name] = open_one(name, kinds.find(name))
        except Refusal as refusal:
            opened[name] = refusal
    return opened
