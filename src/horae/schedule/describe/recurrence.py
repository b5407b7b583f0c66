"""placeholder"""
def rule_sentence(rule, start, language):  # type: ignore
    return rule.text
