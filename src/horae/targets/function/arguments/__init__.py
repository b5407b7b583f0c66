"""From a payload's JSON to a function's arguments by their annotations, and from Python values to JSON."""
