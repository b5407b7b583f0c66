"""The real engine on a virtual clock, with faults: a day of a small cluster in half a second, the same for the same seed.

virtual    a clock and an event loop whose time jumps      faults     a store that fails before or after its commit
world      nodes, tasks, users and a nemesis, by seed      checker    the guarantees, judged from what was recorded
"""
