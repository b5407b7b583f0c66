"""The key of a root occurrence, under which stores keep chain rows."""

from __future__ import annotations

from horae.model.origin import Origin, RootOccurrence
from horae.testing.factories import MICROSECOND, NOON


def test_key_of_a_root_round_trip() -> None:
    root = RootOccurrence("tsk_a/b", Origin.MANUAL, NOON + MICROSECOND)
    assert root.key == "tsk_a/b/manual/1772366400000001"
    assert RootOccurrence.from_key(root.key) == root
