"""Where the work goes: each kind of target in a folder of its own."""
