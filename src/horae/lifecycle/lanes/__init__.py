"""Decisions of lanes: order of waiting entries, rates and idle runs."""
