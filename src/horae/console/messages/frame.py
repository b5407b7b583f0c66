"""Texts of the frame, the sign-in page, errors, and words that several pages use."""

from __future__ import annotations

from typing import Final

from ...message import Message

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
    # --- words of several pages --------------------------------------------------------------------------------------
    "hour": Message("Hour", "小时"),
    "succeeded": Message("succeeded", "成功"),
    "failed": Message("failed", "失败"),
    "missed": Message("missed", "错过"),
    "skipped": Message("skipped", "跳过"),
    "planned": Message("planned", "计划"),
    "copy": Message("Copy", "复制"),
    "task": Message("Task", "任务"),
    "run": Message("Run", "运行"),
    "owner": Message("Owner", "所有者"),
    "name": Message("Name", "名称"),
    "when": Message("When", "时间"),
    "last": Message("Last", "上次"),
    "next": Message("Next", "下次"),
    "due": Message("Due", "到期"),
    "lateness": Message("Lateness", "延迟"),
    "duration": Message("Duration", "时长"),
    "state": Message("State", "状态"),
    "reason": Message("Reason", "原因"),
    "actions": Message("Actions", "操作"),
    "undo": Message("Undo", "撤销"),
    "cancel": Message("Cancel", "取消"),
    "save": Message("Save", "保存"),
    "delete": Message("Delete", "删除"),
    "pause": Message("Pause", "暂停"),
    "resume": Message("Resume", "恢复"),
    "run_now": Message("Run now", "立即运行"),
    "edit": Message("Edit", "编辑"),
    "why": Message("Why?", "为什么?"),
    "filter": Message("Filter", "筛选"),
    "clear_filter": Message("Clear the filter", "清除筛选"),
    "next_page": Message("Next page", "下一页"),
    "first_page": Message("First page", "第一页"),
    "nothing": Message("Nothing", "无"),
    "copied": Message("Copied", "已复制"),
    "notice_dismiss": Message("Dismiss", "关闭"),
    "none_yet": Message("None yet", "暂无"),
    "none_match": Message("Nothing matches the filter.", "没有符合筛选条件的内容。"),
    "nav_approvals": Message("Approvals", "审批"),
    "progress": Message("Progress", "进度"),
    "unknown": Message("unknown", "未知"),
    "yes": Message("yes", "是"),
    "no": Message("no", "否"),
}
