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
AGENT: Final = (
    "enabled",
    "directory",
    "runtime",
    "allow_process",
    "image",
    "root",
    "runtime_options",
    "program",
    "model_socket",
    "model_url",
    "model_key",
    "models",
    "model_networks",
    "model_prices",
    "secrets",
    "assistant",
    "limit",
    "mounts",
    "senders",
)
STATION: Final = (
    "enabled",
    "listen",
    "publish",
    "directory",
    "plain",
    "heartbeat",
    "liveness",
    "worker_wait",
    "answer_timeout",
)
SETTING_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "command": COMMAND,
    "http": HTTP,
    "event": EVENT,
    "agent": AGENT,
    "station": STATION,
}
