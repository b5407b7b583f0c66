"""Buffered random bytes: as many as requested, never repeated."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from horae.entropy import Entropy


def test_requested_number_of_bytes() -> None:
    entropy = Entropy()
    assert [len(entropy(size)) for size in (0, 1, 10, 4_095, 4_096, 10_000)] == [0, 1, 10, 4_095, 4_096, 10_000]


def test_bytes_are_never_repeated_across_threads() -> None:
    entropy = Entropy()
    with ThreadPoolExecutor(8) as threads:
        given = [each for many in threads.map(lambda _: [entropy(10) for _ in range(2_000)], range(8)) for each in many]
    assert len(set(given)) == 16_000


def test_forked_child_has_its_own_bytes() -> None:
    entropy = Entropy()
    entropy(10)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, entropy(16))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 16) != entropy(16)
    os.close(read)
    os.close(write)
