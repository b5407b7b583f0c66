"""Catalogue of refusals that only the compatibility surfaces have."""

from __future__ import annotations

from typing import Final

from ...errors import Conflict, InvalidTask, NotFound
from ...refusal_catalogue import RefusalCatalogue, RefusalEntry

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
            "没有你可以代表的账户“{name}”。",
            "省略 accountUuid 即代表你自己。",
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
