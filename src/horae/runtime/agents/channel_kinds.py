"""Registry of chat channels: the built-in kinds and plug-ins from entry points, and the channels that the settings name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from ...agents.channels.channel_settings import KIND, NAME
from ...agents.channels.refusals import refuse
from ...clock import Clock
from ...outgoing.addresses import read_networks
from ...ports.channel import Channel, ChannelKind, ChannelTools
from ...ports.target import Secrets
from ...settings import Settings

ENTRY_POINTS: Final = "horae.channels"
_WEB: Final = "web"
_BUILT_IN: Final = {
    "feishu": "feishu:FEISHU",
    "slack": "slack:SLACK",
    "telegram": "telegram:TELEGRAM",
    "web": "web:WEB",
    "whatsapp": "whatsapp:WHATSAPP",
    "xmpp": "xmpp:XMPP",
}


def channel_kind_names() -> tuple[str, ...]:
    """Return the kinds that this installation knows, without loading them."""
    return tuple(sorted({*_BUILT_IN, *_find_plugins()}))


def find_channel_kind(kind: str) -> ChannelKind:
    """Load the kind of this name; raises a refusal if there is none. A built-in kind cannot be replaced."""
    if kind in _BUILT_IN:
        module, _, name = _BUILT_IN[kind].partition(":")
        built_in: ChannelKind = getattr(import_module(f"....agents.channels.{module}", __name__), name)
        return built_in
    plugins = _find_plugins()
    if kind not in plugins:
        raise refuse("channel_unknown", kind=kind, names=", ".join(channel_kind_names()))
    loaded = plugins[kind].load()
    plugin: ChannelKind = loaded() if isinstance(loaded, type) else loaded
    return plugin


def open_channels(settings: Settings, clock: Clock, secrets: Secrets) -> dict[str, Channel]:
    """Open the web channel and every channel that has a table `[channels.NAME]`, by name.

    Raises a refusal for the first that could never work. The kind of a channel is its name, unless the table has a `kind`, so that one service can have several accounts.
    """
    networks = read_networks(settings.value("outgoing_networks"))
    channels: dict[str, Channel] = {}
    for name in known_channels(settings):
        table = {**settings.channel(name), NAME: name}
        kind = find_channel_kind(str(table.get(KIND, name)))
        channels[name] = kind.open(ChannelTools(clock, secrets, table, networks))
    return channels


def known_channels(settings: Settings) -> tuple[str, ...]:
    """Return the names of all channels of this deployment; the web channel needs no table."""
    return tuple(sorted({*settings.channel_names, _WEB}))


def _find_plugins() -> Mapping[str, EntryPoint]:
    return {each.name: each for each in entry_points(group=ENTRY_POINTS)}
