"""Records of sessions, sign-in links and calendar tokens: read as they were written; sessions end by idleness and by age."""

from __future__ import annotations

from horae.model.accounts.principal import Scope
from horae.model.accounts.session import (
    ABSOLUTE_LIMIT,
    IDLE_LIMIT,
    USE_RESOLUTION,
    CalendarToken,
    Session,
    SignInLink,
    calendar_token_from,
    calendar_token_record,
    link_from,
    link_record,
    session_from,
    session_record,
)
from horae.testing.factories import HOUR, MICROSECOND, NOON

SESSION = Session("ses_1", "ada", frozenset({Scope.READ, Scope.RUN}), "hash", NOON, NOON, "tok_1", "a browser")


def test_records_are_read_as_they_were_written() -> None:
    link = SignInLink("key", "ada", frozenset({Scope.READ}), "hash", NOON + HOUR, "tok_1")
    token = CalendarToken("cal_1", "ada", "手机", "hash", NOON)
    assert session_from(session_record(SESSION)) == SESSION
    assert link_from(link_record(link)) == link
    assert calendar_token_from(calendar_token_record(token)) == token


def test_session_ends_without_use_and_at_its_greatest_age() -> None:
    assert SESSION.is_valid(NOON + IDLE_LIMIT - MICROSECOND)
    assert not SESSION.is_valid(NOON + IDLE_LIMIT)
    used = SESSION._replace(used=NOON + ABSOLUTE_LIMIT - HOUR)
    assert used.is_valid(NOON + ABSOLUTE_LIMIT - MICROSECOND)
    assert not used.is_valid(NOON + ABSOLUTE_LIMIT)


def test_records_expire_after_what_they_hold() -> None:
    assert session_record(SESSION).expires == NOON + IDLE_LIMIT + USE_RESOLUTION
    link = SignInLink("key", "ada", frozenset(), "hash", NOON + HOUR)
    assert link_record(link).expires == link.expires
