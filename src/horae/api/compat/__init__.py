"""Compatibility surfaces: the paths, field names and codes of schedulers that Horae replaces, over the same service.

routes        route groups with each surface's problems
stored_fields labels and payload of a surface's fields refusals      refusals, and notes on fields that were read differently
scheduled_*   `/scheduled-tasks`                       schedule*     `/schedules`
health        `/api/health/scheduler`
"""
