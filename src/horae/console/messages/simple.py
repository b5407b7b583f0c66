"""Texts of the simple view: the own tasks of a member and their runs."""

from __future__ import annotations

from typing import Final

from ...message import Message

TEXTS: Final[dict[str, Message]] = {
    "nav_simple": Message("My tasks", "我的任务"),
    "simple_title": Message("My tasks", "我的任务"),
    "simple_new": Message("New task", "新建任务"),
    "simple_refresh": Message("Refresh", "刷新"),
    "simple_search": Message("Name contains", "按名称搜索"),
    "simple_text": Message("Text", "内容"),
    "simple_running": Message("running", "运行中"),
    "simple_history": Message("Run history", "运行记录"),
    "simple_enable": Message("Enable", "启用"),
    "simple_disable": Message("Disable", "停用"),
    "simple_back": Message("Back to my tasks", "返回我的任务"),
    "simple_never_ran": Message("not yet", "尚未运行"),
    "simple_no_next": Message("none planned", "未安排"),
    "simple_until": Message("Enabled again at", "自动启用时间:"),
    "simple_merged": Message("{number} occurrences", "共 {number} 次"),
    "simple_actions_of": Message("Actions of {task}", "“{task}”的操作"),
    # --- states ------------------------------------------------------------------------------------------------------
    "simple_state_active": Message("enabled", "已启用"),
    "simple_state_paused": Message("disabled", "已停用"),
    "simple_state_completed": Message("completed", "已完成"),
    "simple_state_failed": Message("stopped after failures", "多次失败,已停止"),
    "simple_state_cancelled": Message("cancelled", "已取消"),
    # --- empty, and without an orchestrator --------------------------------------------------------------------------
    "simple_empty": Message("You have no tasks yet", "您还没有任务"),
    "simple_empty_about": Message(
        "A task does something at a time that you choose: once, at an interval, or by a rule such as "
        "“every day at 9:00”. It runs on the server, so you can close this page.",
        "任务会在您设定的时间自动执行:可以只执行一次,可以每隔一段时间执行,也可以按“每天早上9点”这样的规则执行。"
        "任务在服务器上运行,关闭页面也不受影响。",
    ),
    "simple_empty_read_only": Message(
        "Your account may only read. Ask an administrator for the role “member” to create tasks.",
        "您的账户只有查看权限。如需创建任务,请联系管理员将您的角色设为“成员”(member)。",
    ),
    "simple_empty_program": Message(
        "A program creates tasks with the HTTP API:", "也可以由程序通过 HTTP 接口创建任务:"
    ),
    "simple_none_match": Message("No task has “{text}” in its name.", "没有名称包含“{text}”的任务。"),
    "simple_no_orchestrator": Message(
        "No orchestrator is configured: when a task is due, its text is published as an event, and no agent executes it.",
        "尚未配置编排器:任务到期时只会把内容作为事件发布,不会交给智能体执行。",
    ),
    "simple_no_orchestrator_how": Message("How to set ORCHESTRATOR_URL", "如何配置 ORCHESTRATOR_URL"),
    "simple_no_orchestrator_variable": Message(
        "The operator of this server starts it with this environment variable:",
        "请服务器管理员在启动服务时设置环境变量:",
    ),
    "simple_no_orchestrator_file": Message("or adds this line to horae.toml:", "或在 horae.toml 中加入一行:"),
    "simple_no_orchestrator_network": Message(
        "An orchestrator on a private network also needs its network allowed:",
        "如果编排器在内网,还需放行它所在的网段:",
    ),
    "simple_no_orchestrator_after": Message(
        "Then the server is restarted. Tasks that are created afterwards call the orchestrator.",
        "然后重启服务。之后新建的任务会交给编排器执行,已有任务不变。",
    ),
    "simple_full_view": Message("All details", "详细信息"),
    # --- form --------------------------------------------------------------------------------------------------------
    "simple_edit": Message("Edit “{task}”", "编辑“{task}”"),
    "simple_kind": Message("When it runs", "执行方式"),
    "simple_kind_rule": Message("By a rule", "定时"),
    "simple_kind_every": Message("At an interval", "间隔"),
    "simple_kind_once": Message("Once", "一次性"),
    "simple_rule": Message("Rule", "执行时间"),
    "simple_rule_hint": Message(
        "In words: every day at 9:00, weekdays at 18:30, on the 1st at 8:00. Or a cron expression: 0 9 * * 1-5",
        "直接写明时间即可:每天早上9点、工作日18:30、每月1号8点。也可以填写 cron 表达式:0 9 * * 1-5",
    ),
    "simple_rule_example": Message("every day at 9:00", "每天早上9点"),
    "simple_amount": Message("Interval", "间隔时长"),
    "simple_unit": Message("Unit", "单位"),
    "simple_unit_s": Message("seconds", "秒"),
    "simple_unit_m": Message("minutes", "分钟"),
    "simple_unit_h": Message("hours", "小时"),
    "simple_unit_d": Message("days", "天"),
    "simple_amount_hint": Message(
        "Counted from the end of a run to the next one.", "从上一次运行结束开始计时,到点后再次运行。"
    ),
    "simple_at": Message("Date and time", "日期和时间"),
    "simple_at_hint": Message("In the time zone below.", "按下方所选时区计算。"),
    "simple_zone_hint": Message("Such as Asia/Shanghai or UTC.", "例如 Asia/Shanghai、UTC,也可以直接填写“北京时间”。"),
    "simple_text_hint": Message(
        "What the agent is to do. The orchestrator receives this text each time.",
        "希望智能体做什么。每次到期时,这段内容会发送给编排器执行。",
    ),
    "simple_text_hint_event": Message(
        "This text is published each time that the task is due.", "每次到期时发布这段内容。"
    ),
    "simple_text_example": Message("Remind me to clock in", "提醒我打卡"),
    "simple_no_text": Message(
        "This task was made elsewhere and has no text to edit; its name and its time can be changed here.",
        "该任务由其他方式创建,没有可编辑的内容;在这里可以修改名称和时间。",
    ),
    "simple_enabled_field": Message("Enabled", "启用该任务"),
    "simple_create": Message("Create", "创建"),
    "simple_means": Message("Understood as: {when}", "执行时间:{when}"),
    "simple_next_times": Message("Next times", "接下来的执行时间"),
    "simple_no_times": Message("It would never run.", "按此设置不会执行。"),
    "simple_preview": Message("Preview", "预览"),
    # --- notices -----------------------------------------------------------------------------------------------------
    "simple_created": Message(
        "“{task}” was created: {when}; next {next} {zone} ({distance}).",
        "已创建“{task}”:{when},下次执行时间为 {zone} {next}({distance})。",
    ),
    "simple_created_asleep": Message("“{task}” was created, disabled: {when}.", "已创建“{task}”(未启用):{when}。"),
    "simple_saved": Message(
        "“{task}” was saved: {when}; next {next} {zone} ({distance}).",
        "已保存“{task}”:{when},下次执行时间为 {zone} {next}({distance})。",
    ),
    "simple_saved_asleep": Message(
        "“{task}” was saved: {when}; not planned now.", "已保存“{task}”:{when},目前没有安排执行。"
    ),
    "simple_enabled": Message(
        "“{task}” is enabled: next {next} {zone} ({distance}).",
        "已启用“{task}”,下次执行时间为 {zone} {next}({distance})。",
    ),
    "simple_enabled_asleep": Message("“{task}” is enabled.", "已启用“{task}”。"),
    "simple_disabled": Message("“{task}” is disabled and will not run.", "已停用“{task}”,不再按时执行。"),
    "simple_nothing_left": Message(
        "The time of “{task}” has passed: it will not run. Edit it to give it a new one.",
        "“{task}”的执行时间已过,不会再运行。如需再次执行,请编辑并设置新的时间。",
    ),
    "simple_deleted": Message("“{task}” was deleted.", "已删除“{task}”。"),
    "simple_run_requested": Message(
        "“{task}” runs now; the run appears below.", "已提交“{task}”的运行请求,结果会显示在下方的运行记录中。"
    ),
    # --- deletion ----------------------------------------------------------------------------------------------------
    "simple_delete": Message("Delete “{task}”?", "确定删除“{task}”吗?"),
    "simple_delete_about": Message(
        "The task and its run history are removed. This cannot be undone.", "任务及其运行记录将一并删除,且无法恢复。"
    ),
    "simple_delete_running": Message(
        "It is running now: the run is asked to stop.", "该任务正在运行:删除时会请求停止本次运行。"
    ),
    "simple_keep": Message("Keep it", "不删除"),
    # --- run history -------------------------------------------------------------------------------------------------
    "simple_status": Message("Status", "状态"),
    "simple_started": Message("Started", "开始"),
    "simple_ended": Message("Ended", "结束"),
    "simple_trace": Message("Trace id", "追踪标识"),
    "simple_error": Message("Error", "错误"),
    "simple_why_not": Message("Reason", "原因"),
    "simple_result": Message("Result", "返回结果"),
    "simple_attempt": Message("attempt {number}", "第 {number} 次尝试"),
    "simple_manual": Message("by hand", "手动"),
    "simple_show_more": Message("Show all", "展开全部"),
    "simple_show_less": Message("Show less", "收起"),
    "simple_no_runs": Message("This task has not run yet", "该任务还没有运行过"),
    "simple_no_runs_about": Message(
        "Runs appear here when the task is due, or when you run it now.",
        "任务到期或点击“立即运行”后,运行记录会显示在这里。",
    ),
}
