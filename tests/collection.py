"""Collection without the garbage collector, which takes half of its time.

Every process of a run collects twenty thousand tests, and all of them stay until its end: there is nothing to free. Later
collections leave them out too.
"""

from __future__ import annotations

import gc


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
