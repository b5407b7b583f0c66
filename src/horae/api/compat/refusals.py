"""Refusals and notes that only the compatibility surfaces have; a note is on a field that was read differently than sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...choices import Language
from ...errors import Conflict, InvalidTask, NotFound
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry
from ...schedule.compat import Note

CATALOGUE: Final = RefusalCatalogue(
    {
        "compat_no_orchestrator": RefusalEntry(
            InvalidTask,
            "The setting 'orchestrator_url' is missing: scheduled tasks have no orchestrator to call.",
            "Start the server with ORCHESTRATOR_URL=https://orchestrator.example in its environment, or add the line "
            'orchestrator_url = "https://orchestrator.example" to horae.toml, and restart it. '
            "Other tasks are made with POST /v1/tasks.",
            "缺少设置 orchestrator_url:定时任务没有可调用的编排器。",
            "请在服务器的环境中设置 ORCHESTRATOR_URL=https://orchestrator.example,或在 horae.toml 中加入一行 "
            'orchestrator_url = "https://orchestrator.example",然后重启。其他任务可用 POST /v1/tasks 创建。',
        ),
        "compat_bad_field": RefusalEntry(
            InvalidTask,
            "The field '{name}' cannot be '{value}'.",
            "Wanted: {wanted}.",
            "字段“{name}”不能是“{value}”。",
            "应为:{wanted}。",
        ),
        "compat_foreign_account": RefusalEntry(
            NotFound,
            "There is no account '{name}' that you may act for.",
            "Leave 'accountUuid' out to act for yourself.",
            "没有您可以代表的账户“{name}”。",
            "省略 accountUuid 即代表您自己。",
        ),
        "compat_no_snooze": RefusalEntry(
            Conflict,
            "This reminder does not allow snoozing.",
            "Set 'allowSnooze' in its alertConfig, or make another reminder.",
            "此提醒不允许延后。",
            "请在 alertConfig 中设置 allowSnooze,或另建提醒。",
        ),
        "compat_no_source": RefusalEntry(
            InvalidTask,
            "The source of the schedules to remove is missing.",
            "Give 'sourceId' (or 'sourceEntityId'), and 'sourceType' (or 'sourceModule') where ids alone are not unique.",
            "没有说明要删除哪个来源的调度任务。",
            "请给出 sourceId(或 sourceEntityId);仅凭标识不唯一时再给出 sourceType(或 sourceModule)。",
        ),
    }
)


refuse: Final = CATALOGUE.refuse


KEYS_DROPPED: Final = Note(
    "compat_keys_dropped",
    "Which agent works, and on which items, is the orchestrator's to choose: agent, forced_agent and items were left out.",
    "由编排器选择执行的智能体和条目：已略去 agent、forced_agent 和 items。",
)
NOTHING_LEFT: Final = Note(
    "compat_nothing_left",
    "Its only time passed while it was disabled: it will not run. Give next_run_at for another time.",
    "它唯一的时间在停用期间已经过去：不会执行。如需再次执行，请给出 next_run_at。",
)
PAST_RUNS_AT_ONCE: Final = Note(
    "compat_past_runs_at_once",
    "The given next_run_at has passed: the first run is due at once.",
    "给出的 next_run_at 已经过去：首次执行立即到期。",
)


def render_notes(notes: Iterable[Note], language: Language) -> list[dict[str, str]]:
    return [{"code": each.code, "message": each.english if language == "en" else each.chinese} for each in notes]
