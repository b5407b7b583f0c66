"""Which quota of its owner an occurrence was beyond: the ledger's reason `quota` does not name it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from ...lifecycle.explain import Explanation, Verdict
from ...model.accounts.account import Owner
from ...model.reason import Reason

_QUOTAS: Final[dict[str, tuple[str, str]]] = {
    "stored_bytes": (
        "Quota: stored_bytes (task definitions, results and logs of its owner together).",
        "配额：stored_bytes（其所有者的任务定义、结果和日志合计）。",
    ),
    "runs_per_day": (
        "Quota: runs_per_day (runs of its owner on that day, UTC).",
        "配额：runs_per_day（其所有者当天的运行次数，按 UTC 计）。",
    ),
}
_ROOM: Final = (
    "It is still used up: 'horae rm TASK' and retention make room, and an admin sees more: horae owner show {owner}",
    "目前仍已用完：“horae rm 任务”和历史保留期会腾出空间，管理员可查看：horae owner show {owner}",
)


def needs_quota(answer: Explanation) -> bool:
    """Whether the answer rests on a quota of the owner; a task that is paused for one names it in its note."""
    return answer.reason is Reason.QUOTA and answer.verdict is not Verdict.PAUSED


def name_quotas(answer: Explanation, owner: Owner, now: datetime) -> Explanation:
    """The answer with the quotas that its owner had used up then. After a later change of the account that may be unknown,
    and the answer stays as it is."""
    run = answer.runs[-1] if answer.runs else None
    at = now if run is None else run.ended or run.planned
    names = [
        name for name, used in (("stored_bytes", _is_full(owner, at)), ("runs_per_day", _is_spent(owner, at))) if used
    ]
    english, chinese = [answer.english], [answer.chinese]
    for name in names:
        english.append(_QUOTAS[name][0])
        chinese.append(_QUOTAS[name][1])
    if "stored_bytes" in names and run is not None and owner.storage_full is not None:
        english.append(_ROOM[0].format(owner=owner.name))
        chinese.append(_ROOM[1].format(owner=owner.name))
    return answer._replace(english=" ".join(english), chinese="".join(chinese))


def _is_full(owner: Owner, at: datetime) -> bool:
    if owner.storage_full is not None and at >= owner.storage_full.since:
        return True
    past = owner.last_storage_full
    return past is not None and past[0] <= at <= past[1]


def _is_spent(owner: Owner, at: datetime) -> bool:
    return owner.exhausted_on is not None and owner.exhausted_on == at.astimezone(UTC).date()
