"""Limits of message streams come from the quotas of their owner."""

from __future__ import annotations

from horae.model.accounts.principal import AGENT_QUOTAS, MEMBER_QUOTAS, NO_QUOTAS
from horae.model.messages import DEFAULT_QUOTA, StreamQuota, stream_quota_of


def test_each_quota_of_messages_is_a_limit_of_streams() -> None:
    quotas = NO_QUOTAS._replace(
        message_bytes=1, message_streams=2, stream_messages=3, stream_readers=4, stored_message_bytes=5
    )
    assert stream_quota_of(quotas) == StreamQuota(2, 5, 3, 4, 1)
    assert stream_quota_of(NO_QUOTAS) == StreamQuota(None, None, None, None, None)


def test_members_have_the_limits_that_count_where_no_owner_is_known() -> None:
    members = stream_quota_of(MEMBER_QUOTAS)
    assert (members.streams, members.bytes, members.readers) == (*DEFAULT_QUOTA[:2], DEFAULT_QUOTA.readers)
    assert AGENT_QUOTAS.message_bytes == 16 * 1024
