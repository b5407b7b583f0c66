"""Places inside of the sandbox that host and runner agree on."""

from __future__ import annotations

from typing import Final

MODEL_SOCKET: Final = "/run/horae/model.sock"
"""Unix socket of the model."""
MODEL_SOCKET_VARIABLE: Final = "HORAE_MODEL_SOCKET"
"""Names the socket where it is elsewhere: a runtime without mounts translates the path in the variable."""
