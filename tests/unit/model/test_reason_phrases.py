"""Every reason has a phrase of one or two words, in English and Chinese."""

from __future__ import annotations

import pytest

from horae.model.reason import Reason, reason_phrase


@pytest.mark.parametrize("reason", Reason)
def test_reason_has_a_phrase_in_two_languages(reason: Reason) -> None:
    assert "_" not in reason_phrase(reason, "en")
    assert reason_phrase(reason, "zh").isprintable()
    assert not reason_phrase(reason, "zh").isascii()


def test_phrase_of_a_missed_occurrence_says_missed() -> None:
    assert reason_phrase(Reason.MISSED_SKIPPED, "en") == "missed"
    assert reason_phrase(Reason.SKIP_REQUESTED, "en") == "skip requested"
