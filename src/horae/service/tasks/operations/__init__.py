"""Bulk actions on tasks: in the background or at once, with their undo."""
