"""Causes for which the socket of stations refuses a message or a connection."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    """Each refusal is counted under its cause."""

    WRONG_KEY = "wrong_key"
    MALFORMED = "malformed"
    NOT_JOINED = "not_joined"
    BAD_JOIN = "bad_join"
    UNKNOWN_CALL = "unknown_call"
    ENDED_CALL = "ended_call"
    FOREIGN_CALL = "foreign_call"
    FORGED_CALLER = "forged_caller"
    SECOND_VOTE = "second_vote"
    BAD_REQUEST = "bad_request"
    NOT_ALLOWED = "not_allowed"
    OVERLOAD = "overload"
    FOREIGN_TOPIC = "foreign_topic"
