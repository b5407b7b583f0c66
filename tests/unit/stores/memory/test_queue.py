"""Priority queue of the memory store, compared with a dictionary that is sorted on each read."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from horae.stores.memory.queue import Key, Queue, Rank
from horae.testing.factories import NOON

KEYS: st.SearchStrategy[Key] = st.tuples(st.sampled_from("abcdef"), st.just("next"))
RANKS: st.SearchStrategy[Rank] = st.builds(
    lambda priority, seconds, number: Rank(priority, NOON + timedelta(seconds=seconds), number),
    st.integers(-2, 2),
    st.integers(0, 3),
    st.integers(1, 2),
)
STEPS = st.one_of(
    st.tuples(st.just("put"), KEYS, RANKS),
    st.tuples(st.just("discard"), KEYS, RANKS),
    st.tuples(st.just("look"), KEYS, RANKS),
    st.tuples(st.just("pop"), KEYS, RANKS),
)


def in_order(known: dict[Key, Rank]) -> list[tuple[Rank, Key]]:
    return sorted((rank, key) for key, rank in known.items())


@given(st.lists(STEPS, max_size=60))
def test_queue_agrees_with_a_sorted_dictionary(steps: list[tuple[str, Key, Rank]]) -> None:
    queue, known = Queue(), dict[Key, Rank]()
    for step, key, rank in steps:
        match step:
            case "put":
                queue.put(key, rank)
                known[key] = rank
            case "discard":
                queue.discard(key)
                known.pop(key, None)
            case "look":
                expected = [each for _, each in in_order({k: r for k, r in known.items() if r <= rank})]
                assert queue.first(3, rank) == expected[:3]
            case _:
                popped = queue.pop_first(2)
                assert popped == in_order(known)[:2]
                for _, each in popped:
                    del known[each]
        assert len(queue) == len(known)
        assert queue.head() == next(iter(in_order(known)), None)


def test_removed_entries_do_not_accumulate() -> None:
    queue = Queue()
    for number in range(10_000):
        queue.put(("task", "next"), Rank(0, NOON + timedelta(seconds=number), 1))
    assert len(queue._queue._heap) < 200
