"""Comparison of a secret with its stored hash."""

from __future__ import annotations

from horae.model.accounts.session import hash_secret, is_secret


def test_only_the_secret_of_a_hash_matches_it() -> None:
    stored = hash_secret("correct horse")
    assert stored != "correct horse"
    assert is_secret("correct horse", stored)
    assert not is_secret("Correct horse", stored)


def test_no_secret_matches_where_none_is_stored() -> None:
    assert not is_secret("", None)
    assert not is_secret("correct horse", None)
