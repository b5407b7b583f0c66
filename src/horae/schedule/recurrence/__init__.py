"""placeholder until the evaluator lands"""
from typing import Any
Rule: Any = None
RulePattern: Any = None
parse_rule: Any = None
