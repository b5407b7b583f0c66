"""Every text of the console in English and Chinese, by name; templates have no text of their own."""

from __future__ import annotations

from typing import Final

from ..message import Message

TEXTS: Final[dict[str, Message]] = {
    # --- frame -----------------------------------------------------------------------------------------------------
    "skip_to_content": Message("Skip to content", "跳到内容"),
    "main_navigation": Message("Main", "主导航"),
    "nav_now": Message("Now", "现在"),
    "nav_tasks": Message("Tasks", "任务"),
    "nav_runs": Message("Runs", "运行"),
    "nav_calendar": Message("Calendar", "日历"),
    "nav_lanes": Message("Lanes and nodes", "通道与节点"),
    "nav_activity": Message("Activity", "活动"),
    "nav_settings": Message("Settings", "设置"),
    "live": Message("Live", "实时"),
    "live_pause": Message("Pause live updates", "暂停实时更新"),
    "theme": Message("Theme", "主题"),
    "theme_auto": Message("As the system", "跟随系统"),
    "theme_light": Message("Light", "浅色"),
    "theme_dark": Message("Dark", "深色"),
    "language": Message("Language", "语言"),
    "zone": Message("Time zone", "时区"),
    "apply": Message("Apply", "应用"),
    "sign_out": Message("Sign out", "退出登录"),
    "show_as_table": Message("Show as table", "以表格显示"),
    "clock_off": Message("Your clock is {seconds} s off", "您的时钟偏差 {seconds} 秒"),
    # --- sign in ---------------------------------------------------------------------------------------------------
    "sign_in": Message("Sign in", "登录"),
    "sign_in_about": Message(
        "Horae runs tasks at their instant, once, and explains why something did or did not run.",
        "Horae 在指定的时刻执行任务,只执行一次,并说明某次执行为何发生或没有发生。",
    ),
    "sign_in_link_ready": Message(
        "This link signs this browser in. It works once.", "此链接可让此浏览器登录。只能使用一次。"
    ),
    "sign_in_terminal": Message("On the server's machine, run:", "在服务器所在的机器上运行:"),
    "sign_in_terminal_effect": Message(
        "It opens this page with a link that signs you in.", "它会用可直接登录的链接打开此页面。"
    ),
    "sign_in_token": Message("Or paste a token", "或粘贴令牌"),
    "token": Message("Token", "令牌"),
    "token_hint": Message(
        "It begins with horae_. It is exchanged for a session of this browser and not stored.",
        "以 horae_ 开头。它会换成此浏览器的会话,不会被保存。",
    ),
    "session_expired": Message(
        "Your session has ended. Sign in again: what you entered is kept below.",
        "会话已结束。请重新登录:您输入的内容保留在下面。",
    ),
    "continue_form": Message("Continue where you were", "继续之前的操作"),
    "continue_form_about": Message(
        "You are signed in again. Nothing was sent yet; send the form that you had filled in:",
        "您已重新登录。表单尚未提交;请提交您之前填写的内容:",
    ),
    "send_form": Message("Send the form", "提交表单"),
    # --- errors ----------------------------------------------------------------------------------------------------
    "error_title": Message("That did not work", "操作未成功"),
    "error_code": Message("Code", "代码"),
    "error_request": Message("Request", "请求"),
    "error_back": Message("Back to Now", "返回“现在”"),
    "not_found": Message("There is no such page.", "没有这个页面。"),
    "not_found_hint": Message(
        "The link may be old; the navigation above leads on.", "链接可能已过时;请使用上方的导航。"
    ),
    # --- now -------------------------------------------------------------------------------------------------------
    "on_time_24h": Message("On time, 24 h", "准时率,24 小时"),
    "on_time_none": Message("no runs yet", "尚无运行"),
    "lateness_24h": Message("Lateness p50 / p99", "延迟 p50 / p99"),
    "due_next_hour": Message("Due next hour", "未来一小时到期"),
    "needs_you": Message("Needs you", "需要您处理"),
    "needs_nothing": Message("Nothing needs you.", "没有需要您处理的事项。"),
    "running_now": Message("Running now", "正在运行"),
    "running_none": Message("Nothing is running.", "当前没有运行。"),
    "next_fires": Message("Next", "接下来"),
    "next_none": Message("Nothing is planned.", "没有计划中的执行。"),
    "strip_title": Message("24 hours past, 24 hours planned", "过去 24 小时与计划的 24 小时"),
    "strip_now": Message("now", "现在"),
    "hour": Message("Hour", "小时"),
    "succeeded": Message("succeeded", "成功"),
    "failed": Message("failed", "失败"),
    "missed": Message("missed", "错过"),
    "skipped": Message("skipped", "跳过"),
    "planned": Message("planned", "计划"),
    "nodes": Message("Nodes", "节点"),
    "nodes_none": Message(
        "No node is running: due tasks wait. Start one:", "没有节点在运行:到期的任务在等待。请启动一个:"
    ),
    "clock_offset": Message("clock {offset}", "时钟 {offset}"),
    "empty_title": Message("No tasks yet", "还没有任务"),
    "empty_about": Message("Make the first one on a terminal:", "在终端创建第一个任务:"),
    "copy": Message("Copy", "复制"),
    "task": Message("Task", "任务"),
    "since": Message("since {time}", "自 {time}"),
    # --- kinds of need ---------------------------------------------------------------------------------------------
    "need_failed": Message("gave up", "已放弃"),
    "need_failing": Message("failing", "持续失败"),
    "need_orphaned": Message("its code is gone", "其代码已不存在"),
    "need_awaiting_approval": Message("waits for approval", "等待批准"),
    "need_stranded": Message("no node can run it", "没有节点可以运行"),
    "need_overdue": Message("overdue", "逾期"),
    "need_owner_revoked": Message("its owner was revoked", "其所有者已被撤销"),
}
