"""Texts of the tasks page, of bulk actions and of their operations."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    # --- list --------------------------------------------------------------------------------------------------------
    "tasks_new": Message("New task", "新建任务"),
    "tasks_filter": Message("Filter tasks", "筛选任务"),
    "tasks_filter_help": Message(
        'state:failed,paused  label:team=ops  kind:http  "text in the name": a space means and, a comma or, a minus not.',
        'state:failed,paused  label:team=ops  kind:http  "名称中的文字":空格表示“且”,逗号表示“或”,减号表示“非”。',
    ),
    "tasks_order": Message("Order", "排序"),
    "tasks_by_creation": Message("In order of creation", "按创建顺序"),
    "tasks_by_next": Message("Next fire first", "按下次触发"),
    "tasks_by_next_about": Message(
        "Shows the tasks that are due first, up to 25. The filter works in the order of creation.",
        "显示最先到期的任务,最多 25 个。筛选适用于按创建顺序的列表。",
    ),
    "tasks_system": Message("System tasks", "系统任务"),
    "tasks_system_none": Message("There are no system tasks.", "没有系统任务。"),
    "tasks_system_about": Message(
        "Horae makes, changes and deletes system tasks itself. They do not count in quotas of tasks and runs.",
        "系统任务由 Horae 自行创建、修改和删除,不计入任务和运行的配额。",
    ),
    "tasks_outcomes": Message("Last 30 outcomes", "最近 30 次结果"),
    "tasks_running": Message("running", "运行中"),
    "tasks_select_page": Message("Select all tasks on this page", "选择本页全部任务"),
    "tasks_select_one": Message("Select {task}", "选择 {task}"),
    "tasks_run_one": Message("Run {task} now", "立即运行 {task}"),
    "tasks_pause_one": Message("Pause {task}", "暂停 {task}"),
    "tasks_resume_one": Message("Resume {task} and skip what it missed", "恢复 {task},跳过错过的"),
    "tasks_select_all": Message("all {total} matching", "全部 {total} 个匹配项"),
    "tasks_shown": Message("{shown} of {total}", "{total} 个中的 {shown} 个"),
    "tasks_ticked": Message(" · %s selected", " · 已选 %s 个"),
    "tasks_waits_lane": Message("waits for a slot in the lane {what}", "等待通道 {what} 的空位"),
    "tasks_waits_node": Message("waits for a node that has {what}", "等待提供 {what} 的节点"),
    "tasks_waits_run": Message("waits for its earlier run", "等待上一次运行结束"),
    "tasks_waits_owner": Message("nothing of it starts. {what}", "不会启动。{what}"),
    "tasks_demo_about": Message(
        "Or look around with a few demo tasks; the first fires within seconds. One click removes them.",
        "或先用几个演示任务体验,第一个在几秒内触发。一键即可删除。",
    ),
    "tasks_demo_load": Message("Load demo tasks", "载入演示任务"),
    "tasks_demo_remove": Message("Remove demo tasks", "删除演示任务"),
    "tasks_demo_loaded": Message("{number} demo tasks were loaded.", "已载入 {number} 个演示任务。"),
    "tasks_demo_removed": Message("{number} demo tasks were removed.", "已删除 {number} 个演示任务。"),
    "tasks_demo_partly_removed": Message(
        "{number} demo tasks were removed; {refused} are still running. Try again when they have ended.",
        "已删除 {number} 个演示任务;{refused} 个仍在运行,请在其结束后重试。",
    ),
    # --- pauses ------------------------------------------------------------------------------------------------------
    "pause_requested": Message("paused", "已暂停"),
    "pause_awaiting_approval": Message("waits for approval", "等待批准"),
    "pause_agent_stopped": Message("its agent was stopped", "其智能体已被停止"),
    "pause_orphaned": Message("its code is gone", "其代码已不存在"),
    "pause_owner_revoked": Message("its owner was revoked", "其所有者已作废"),
    "pause_quota": Message("its quota is used up", "其配额已用完"),
    "pause_owner_moving": Message("its owner moves to another deployment", "其所有者正在迁移到另一个部署"),
    "pause_predecessor_deleted": Message("a task that it ran after was deleted", "其前置任务已被删除"),
    "pause_gate_failed": Message("its gate failed again and again", "其门控连续失败"),
    "pause_until_time": Message("until {time}", "至 {time}"),
    "pause_reason": Message("Reason", "原因"),
    "pause_until": Message("Until (empty: until it is resumed)", "截止时间(留空:直到恢复)"),
    "pause_until_example": Message("tomorrow at 9am", "明天早上9点"),
    "pause_until_zone": Message("Times are read in {zone}.", "时间按 {zone} 理解。"),
    "resume_missed": Message("Occurrences that passed meanwhile", "暂停期间错过的"),
    "resume_skip": Message("Skip them", "跳过"),
    "resume_latest": Message("Run the latest once", "只补跑最近一次"),
    "resume_all": Message("Run all in order", "按顺序全部补跑"),
    # --- bulk actions ------------------------------------------------------------------------------------------------
    "bulk_title_run": Message("Run now", "立即运行"),
    "bulk_title_pause": Message("Pause tasks", "暂停任务"),
    "bulk_title_resume": Message("Resume tasks", "恢复任务"),
    "bulk_title_cancel": Message("Cancel tasks", "取消任务"),
    "bulk_title_delete": Message("Delete tasks", "删除任务"),
    "bulk_count": Message("{number} tasks.", "{number} 个任务。"),
    "bulk_count_more": Message("There are more than could be counted.", "实际数量多于可计数的上限。"),
    "bulk_about_run": Message(
        "Each runs once more, now; its schedule does not move.", "每个任务立即额外运行一次;计划不变。"
    ),
    "bulk_about_pause": Message("Runs in progress may finish.", "正在进行的运行会继续到结束。"),
    "bulk_about_resume": Message(
        "Missed occurrences do not run unless you choose it below.", "除非在下面选择,否则不补跑。"
    ),
    "bulk_about_delete": Message("Their history goes with them. This cannot be undone.", "其历史一并删除,且无法撤销。"),
    "bulk_others": Message("and {number} more", "以及另外 {number} 个"),
    "bulk_large": Message(
        "These run in the background; the next page shows the progress.",
        "数量较多,将在后台处理;下一页显示进度。",
    ),
    "bulk_confirm": Message("Type the number of tasks, {number:d}, to confirm", "请输入任务数量 {number:d} 以确认"),
    "bulk_result": Message("Done, with refusals", "已完成,部分被拒绝"),
    "bulk_refused": Message("{number} were refused.", "{number} 个被拒绝。"),
    "bulk_done_run": Message("{number} runs were requested.", "已请求 {number} 次运行。"),
    "bulk_done_pause": Message("{number} tasks were paused.", "已暂停 {number} 个任务。"),
    "bulk_done_resume": Message("{number} tasks were resumed.", "已恢复 {number} 个任务。"),
    "bulk_done_delete": Message("{number} tasks were deleted.", "已删除 {number} 个任务。"),
    "bulk_title_undo": Message("Undo", "撤销"),
    "bulk_undone": Message("Undone: {number} tasks are as before.", "已撤销:{number} 个任务恢复原状。"),
    "operation_undo_until": Message("until {time}", "{time} 前可撤销"),
    "operation_undone": Message("It was undone.", "该操作已被撤销。"),
    "operation_undo_link": Message("See what was restored", "查看恢复的内容"),
    "operation_undoes": Message("The operation that it undoes", "被撤销的操作"),
    "operation_title": Message("Operation", "批量操作"),
    "operation_running": Message("In progress", "进行中"),
    "operation_finished": Message("Finished", "已完成"),
    "operation_cancelled": Message("Cancelled; what is done stays done.", "已取消;已完成的部分保持不变。"),
    "operation_interrupted": Message("Interrupted; what is done stays done.", "已中断;已完成的部分保持不变。"),
    "operation_cancel": Message("Stop after the current task", "在当前任务后停止"),
    "operation_cancelling": Message("It stops after the current task.", "将在当前任务后停止。"),
    "operation_counting": Message("Counting the tasks…", "正在统计任务…"),
    "operation_progress": Message("{done} of {total} tasks", "{total} 个任务中的 {done} 个"),
}
