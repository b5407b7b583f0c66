"""The comparison of two checkouts: median ratio and interval of paired samples."""

from __future__ import annotations

from bench.compare import _table, interval_of_median


def test_ratio_is_the_median_of_the_pairs() -> None:
    pairs = [({"run": 100.0}, {"run": 90.0}), ({"run": 200.0}, {"run": 210.0}), ({"run": 100.0}, {"run": 100.0})]
    assert "| run | 100.0 | 100.0 | 1.000 | 0.900 to 1.050 |" in _table(pairs)


def test_interval_contains_the_median_and_narrows_with_equal_ratios() -> None:
    assert interval_of_median([1.0] * 10) == (1.0, 1.0)
    low, high = interval_of_median([0.9, 1.0, 1.1, 1.2, 0.8])
    assert 0.8 <= low <= 1.0 <= high <= 1.2
