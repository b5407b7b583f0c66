"""Names of the settings under `[targets.…]`, by target kind."""

from __future__ import annotations

from typing import Final

COMMAND: Final = ("allow", "path", "directory", "grace", "limits", "variables")
HTTP: Final = (
    "allow_networks",
    "callback_url",
    "callback_key",
    "connect_timeout",
    "default_agent",
    "mode",
    "user_agent",
)
EVENT: Final = ("redis", "channel", "webhook", "webhook_secret", "allow_networks")
SETTING_NAMES: Final[dict[str, tuple[str, ...]]] = {"command": COMMAND, "http": HTTP, "event": EVENT}
