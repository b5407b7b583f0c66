"""The priority queue agrees with a list that is sorted at every step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from horae import PriorityQueue

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("enqueue"), st.integers(-3, 3)),
        st.tuples(st.sampled_from(["dequeue", "remove", "discard", "clear"]), st.integers(0, 9)),
    ),
    max_size=80,
)


@given(STEPS)
def test_the_queue_agrees_with_a_sorted_list(steps: list[tuple[str, int]]) -> None:
    queue: PriorityQueue[int] = PriorityQueue()
    known: list[tuple[int, int]] = []  # priority, and the ticket, which is the value too
    for step, number in steps:
        match step:
            case "enqueue":
                ticket = queue.enqueue(sum(1 for _ in known), number)
                queue.discard(ticket)
                ticket = queue.enqueue(ticket + 1, number)
                known = sorted([*known, (number, ticket)])
            case "dequeue":
                assert queue.dequeue() == (known.pop(0)[1] if known else None)
            case "remove":
                found = next((each for each in known if each[1] % 10 == number), None)
                assert queue.remove(lambda value, number=number: value % 10 == number) is (found is not None)  # type: ignore[misc]
                known = [each for each in known if each is not found]
            case "discard":
                assert queue.discard(number) is any(ticket == number for _, ticket in known)
                known = [each for each in known if each[1] != number]
            case _:
                queue.clear()
                known = []
        first = queue.peek()
        assert (None if first is None else (first.priority, first.value)) == (known[0] if known else None)
        assert list(queue) == [ticket for _, ticket in known]
        assert (queue.size, len(queue), queue.is_empty()) == (len(known), len(known), not known)


def test_equal_priorities_are_first_in_first_out() -> None:
    queue: PriorityQueue[str] = PriorityQueue()
    for name in "cab":
        queue.enqueue(name, 1)
    queue.enqueue("urgent", 0)

    assert [queue.dequeue() for _ in range(5)] == ["urgent", "c", "a", "b", None]


def test_removed_values_do_not_pile_up() -> None:
    queue: PriorityQueue[int] = PriorityQueue()
    for number in range(10_000):
        queue.discard(queue.enqueue(number, number))

    assert len(queue._heap) < 200
    assert queue.is_empty()
