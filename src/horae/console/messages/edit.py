"""Texts of the pages New task, Edit task and Schedule preview."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "edit_new_title": Message("New task", "新建任务"),
    "edit_title": Message("Edit {task}", "编辑 {task}"),
    "edit_when_hint": Message(
        'In English or Chinese: "every weekday at 9am", "in 20 minutes", "0 9 * * 1-5", "每天早上9点"',
        "中文或英文均可:“每天早上9点”“20分钟后”“every weekday at 9am”“0 9 * * 1-5”",
    ),
    "edit_zone_hint": Message(
        "Used where the text names none; a city is enough.", "文字中没有写时区时使用;写城市名即可。"
    ),
    "edit_after_fields": Message("After other tasks instead of at a time", "不按时间,而在其他任务之后运行"),
    "edit_after_about": Message(
        "One task on each line, by name, key or id; leave the time above empty. It runs when the task has succeeded; write backup:failed or backup:ended for other ends.",
        "每行一个任务,写名称、键或 id;上面的时间请留空。默认在该任务成功后运行;其他结果请写 backup:failed 或 backup:ended。",
    ),
    "edit_after_fires": Message("It has no times of its own.", "它没有自己的触发时间。"),
    "edit_what": Message("What", "做什么"),
    "edit_payload": Message("Payload", "负载"),
    "edit_policies": Message("If it is late, still running, or fails", "延迟、重叠或失败时"),
    "edit_further": Message("Lane, labels and more", "通道、标签及其他"),
    "edit_fixed": Message("key {key}", "键 {key}"),
    "edit_owned": Message("owner {owner}", "所有者 {owner}"),
    "edit_default": Message("default", "默认"),
    "edit_default_is": Message("default: {value}", "默认:{value}"),
    "edit_more": Message("More", "更多"),
    "edit_required": Message("required", "必填"),
    "edit_secrets": Message("Secrets that you can use:", "可使用的机密:"),
    "edit_secrets_none": Message(
        "There are no secrets yet. Set one on a terminal: horae secret set NAME",
        "还没有机密。在终端设置:horae secret set NAME",
    ),
    "edit_arguments": Message("Arguments of {function}: {arguments}", "{function} 的参数:{arguments}"),
    # --- actions -----------------------------------------------------------------------------------------------------
    "edit_preview": Message("Preview", "预览"),
    "edit_check": Message("Check", "检查"),
    "edit_save_run": Message("Save and run once", "保存并运行一次"),
    "edit_show_code": Message("Show as code", "显示为代码"),
    # --- preview -----------------------------------------------------------------------------------------------------
    "edit_preview_title": Message("Schedule preview", "时间规则预览"),
    "edit_preview_empty": Message(
        "Write when it runs; the next times appear here.", "写下时间规则,接下来的触发时间会显示在这里。"
    ),
    "edit_understood": Message("understood as", "理解为"),
    "edit_next": Message("Next times", "接下来的触发时间"),
    "edit_at_once": Message("It runs as soon as it is saved.", "保存后立即运行。"),
    "edit_no_fires": Message("It does not fire any more.", "不会再触发。"),
    "edit_in_task_zone": Message("In {zone}", "{zone} 时间"),
    "edit_in_viewer_zone": Message("For you ({zone})", "您的时间({zone})"),
    "edit_until": Message("In", "距今"),
    "edit_did_you_mean": Message("Did you mean:", "您是不是想写:"),
    "edit_choose": Message("Choose: {text}", "选择:{text}"),
    "edit_load": Message(
        'At that minute {number} tasks are due already. Add "jitter 1m" to spread them.',
        "那一分钟已有 {number} 个任务到期。可加上“jitter 1m”把它们错开。",
    ),
    "edit_changes": Message("Changes to fire times", "触发时间的变化"),
    "edit_changes_none": Message("No fire time changes.", "触发时间没有变化。"),
    "edit_changes_removed": Message("removed", "移除"),
    "edit_changes_added": Message("added", "新增"),
    "edit_not_retroactive": Message("Nothing runs for past times.", "过去的时刻不会补跑。"),
    # --- structured fields -------------------------------------------------------------------------------------------
    "edit_fields": Message("Fields", "字段"),
    "edit_fields_about": Message(
        "The fields write the text above; the text is what counts.", "字段会写成上面的文字;以文字为准。"
    ),
    "edit_fields_write": Message("Write the text", "写成文字"),
    "edit_field_kind": Message("Repeats", "重复"),
    "edit_kind_": Message("as in the text", "以文字为准"),
    "edit_kind_now": Message("now", "立即"),
    "edit_kind_calendar": Message("calendar", "日历"),
    "edit_kind_rrule": Message("RRULE", "RRULE"),
    "edit_kind_any_of": Message("several schedules", "多条规则"),
    "edit_kind_after": Message("after other tasks", "在其他任务之后"),
    "edit_kind_every": Message("at an interval", "按间隔"),
    "edit_kind_daily": Message("every day", "每天"),
    "edit_kind_weekly": Message("every week", "每周"),
    "edit_kind_monthly": Message("every month", "每月"),
    "edit_kind_once": Message("once", "一次"),
    "edit_kind_cron": Message("cron", "cron"),
    "edit_field_interval": Message("Interval", "间隔"),
    "edit_field_times": Message("Times of day", "时刻"),
    "edit_field_days": Message("Days of the week", "星期"),
    "edit_field_day": Message("Day of the month (-1: the last)", "几号(-1 表示最后一天)"),
    "edit_field_at": Message("Date and time", "日期和时间"),
    "edit_field_cron": Message("Cron expression", "cron 表达式"),
    "edit_day_MON": Message("Mon", "周一"),
    "edit_day_TUE": Message("Tue", "周二"),
    "edit_day_WED": Message("Wed", "周三"),
    "edit_day_THU": Message("Thu", "周四"),
    "edit_day_FRI": Message("Fri", "周五"),
    "edit_day_SAT": Message("Sat", "周六"),
    "edit_day_SUN": Message("Sun", "周日"),
    # --- kinds of targets --------------------------------------------------------------------------------------------
    "edit_target_event": Message("Message or event", "消息或事件"),
    "edit_target_http": Message("HTTP call", "HTTP 调用"),
    "edit_target_function": Message("Python function", "Python 函数"),
    "edit_target_command": Message("Command", "命令"),
    "edit_target_agent": Message("Prompt to the agent of a group", "给群组智能体的提示"),
    "edit_target_station": Message("Command for a station", "发给站点的命令"),
    "edit_target_other": Message("Other target", "其他目标"),
    # --- check -------------------------------------------------------------------------------------------------------
    "edit_checked": Message("Check: nothing was written", "检查结果:未写入任何内容"),
    "edit_checked_fields": Message("What would be stored", "将会保存的内容"),
    "edit_checked_changes": Message("What would change", "将会改变的内容"),
    "edit_checked_same": Message("Nothing would change.", "没有任何改变。"),
    "edit_checked_payload": Message("What the target gets, with secrets masked", "目标收到的内容(机密已遮盖)"),
    "edit_field": Message("Field", "字段"),
    "edit_before": Message("Before", "之前"),
    "edit_after": Message("After", "之后"),
    # --- saving ------------------------------------------------------------------------------------------------------
    "edit_created": Message("'{task}' was created. It runs next: {next}.", "已创建“{task}”。下次运行:{next}。"),
    "edit_created_no_next": Message("'{task}' was created.", "已创建“{task}”。"),
    "edit_created_run": Message("'{task}' was created and runs once now.", "已创建“{task}”,现在运行一次。"),
    "edit_saved": Message("'{task}' was saved.", "已保存“{task}”。"),
    "edit_saved_run": Message("'{task}' was saved and runs once now.", "已保存“{task}”,现在运行一次。"),
    "edit_not_run": Message("'{task}' was saved, but not run: {why}", "已保存“{task}”,但没有运行:{why}"),
    "edit_unchanged": Message("'{task}' is as it was: nothing changed.", "“{task}”没有变化。"),
    "edit_undone_new": Message("'{task}' was removed again.", "“{task}”已移除。"),
    "edit_undone": Message("'{task}' is as it was before.", "“{task}”已恢复为之前的内容。"),
    # --- conflicts ---------------------------------------------------------------------------------------------------
    "edit_conflict": Message(
        "Another change was saved while you edited. It is in the form now, together with yours. Look it over and save again.",
        "您编辑期间,有其他修改已保存。表单已合并对方和您的修改,请核对后再次保存。",
    ),
    "edit_conflict_theirs": Message("Saved meanwhile", "期间保存的值"),
    "edit_conflict_yours": Message("In the form", "表单中的值"),
    "edit_conflict_contested": Message("both changed: yours is kept", "双方都有修改:保留您的值"),
    # --- code --------------------------------------------------------------------------------------------------------
    "edit_code": Message("As CLI, HTTP, Python and MCP", "CLI、HTTP、Python 和 MCP 写法"),
    "edit_code_about": Message("Each of these creates the task in the form.", "以下每种写法都会创建表单中的任务。"),
    "edit_code_left_out": Message("MCP has no argument for: {fields}", "MCP 没有这些参数:{fields}"),
}
