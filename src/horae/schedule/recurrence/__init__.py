"""RFC 5545 recurrence rules: parses them, and computes their wall times from any point without a cursor."""

from __future__ import annotations

from .parse import parse_rule
from .pattern import RulePattern
from .rule import Frequency, Rule, complete_rule

__all__ = ["Frequency", "Rule", "RulePattern", "complete_rule", "parse_rule"]
