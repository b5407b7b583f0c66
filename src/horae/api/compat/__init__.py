"""Compatibility surfaces: the paths, field names and codes of schedulers that Horae replaces, over the same service.

own_tasks     the caller's own tasks only              routes        route groups with each surface's problems
labels        labels that store a surface's fields     notices       notes on fields that were read differently
scheduled_*   `/scheduled-tasks`                       schedule*     `/schedules`
health        `/api/health/scheduler`
"""
