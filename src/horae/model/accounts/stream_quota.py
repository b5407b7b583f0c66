"""Limits of an owner's message streams, from its quotas."""

from __future__ import annotations

from ..messages import StreamQuota
from .principal import Quotas


def stream_quota_of(quotas: Quotas) -> StreamQuota:
    return StreamQuota(
        streams=quotas.message_streams,
        bytes=quotas.stored_message_bytes,
        messages=quotas.stream_messages,
        readers=quotas.stream_readers,
        text_bytes=quotas.message_bytes,
    )
