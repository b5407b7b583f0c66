"""Explanation along a chain: which predecessors started an occurrence, or why they did not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...model.chain_row import ChainRow, ChainState
from ...model.change import Facts
from ...model.reason import Reason
from ...model.run import RunState
from ...schedule import After
from ...schedule.after import Link, On
from ...state_names import state_name
from ..chain import FIRING_STATES
from .explanation import Explanation, Verdict

_ENDS: Final[dict[On, tuple[str, str]]] = {
    "succeeded": ("succeed", "成功"),
    "failed": ("fail", "失败"),
    "ended": ("succeed or fail", "成功或失败"),
}


def newest_is_row(answer: Explanation, row: ChainRow | None) -> bool:
    """Whether the chain row tells of something newer than the runs of the answer, and has no row in the ledger itself."""
    if row is None or row.state is ChainState.FIRED or row.planned is not None:
        return False
    return all(run.ended is not None and run.ended < row.updated for run in answer.runs)


def explain_unstarted(facts: Facts, row: ChainRow | None, names: Mapping[str, str]) -> Explanation:
    """Explain why a task that runs after others has no run: for this root, or at all (None)."""
    links = facts.task.schedule.links if isinstance(facts.task.schedule, After) else ()
    if row is None:
        listed = ", ".join(names.get(link.task, link.task) for link in links)
        english = f"It runs after {listed}, and nothing of it has ended since it was linked."
        return Explanation(Verdict.PENDING, english, f"它在 {listed} 之后运行，而建立关联以来前置任务尚未结束过。")
    english, chinese = _describe_links(links, row, names)
    if row.state is ChainState.OPEN:
        return Explanation(Verdict.WAITING, f"It waits for its predecessors. {english}", f"它在等待前置任务。{chinese}")
    return Explanation(
        Verdict.SKIPPED, f"It was not started. {english}", f"它没有启动。{chinese}", Reason.PREDECESSOR_SKIPPED
    )


def with_predecessors(facts: Facts, answer: Explanation, row: ChainRow, names: Mapping[str, str]) -> Explanation:
    """Return the answer with the ends of the predecessors that it follows."""
    links = facts.task.schedule.links if isinstance(facts.task.schedule, After) else ()
    english, chinese = _describe_links(links, row, names)
    return answer._replace(english=f"{answer.english} {english}", chinese=answer.chinese + chinese)


def _describe_links(links: tuple[Link, ...], row: ChainRow, names: Mapping[str, str]) -> tuple[str, str]:
    arrivals = {arrival.predecessor: arrival.state for arrival in row.arrivals}
    parts = [_describe_link(link, arrivals.get(link.task), row, names) for link in links]
    return " ".join(english for english, _ in parts), "".join(chinese for _, chinese in parts)


def _describe_link(link: Link, state: RunState | None, row: ChainRow, names: Mapping[str, str]) -> tuple[str, str]:
    name, (must, must_zh) = names.get(link.task, link.task), _ENDS[link.on]
    if state is None and link.task in row.awaited:
        return f"{name} has not ended yet.", f"{name} 尚未结束。"
    if state is None:
        return f"{name} is no part of this chain run.", f"{name} 不属于这次链式运行。"
    ended = f"{name} ended as {state.value}", f"{name} 以“{state_name(state.value, 'zh')}”结束"
    if state in FIRING_STATES[link.on]:
        return f"{ended[0]}.", f"{ended[1]}。"
    return f"{ended[0]}, and it must {must}.", f"{ended[1]}，而它必须{must_zh}。"
