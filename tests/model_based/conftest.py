"""Failures in the shipped contracts show what was compared, as those in the tests themselves do."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("horae.testing.contracts")
