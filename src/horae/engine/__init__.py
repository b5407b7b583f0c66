"""The actors that make it happen: each is a step and a short loop.

alarm       sleeps until something is due            dispatcher   claims what is due
runner      carries runs, one task each              settler      gathers how they ended, one commit
releaser    hands back what will not be carried on   doubts       finds what was claimed without an answer
keeper      holds the node's lease, recovers others  janitor      removes what is old
scribe      writes down what runs say                engine       all of them, started and stopped as one

They go by the store's clock (`corrected`), where it has one of its own.
"""
