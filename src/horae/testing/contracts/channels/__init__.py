"""Contract suite for channels: subclass `ChannelContract` and give it the service that your channel talks to."""

from __future__ import annotations

from .contract import ChannelContract
from .harness import ChatService, ImpatientClock, KnownSecrets, RecordingListener

__all__ = ["ChannelContract", "ChatService", "ImpatientClock", "KnownSecrets", "RecordingListener"]
