"""Pages of tasks: list, one task, its history, edit and bulk actions."""
