"""The nouns of Horae as values: tasks, runs, agenda entries, policies, reasons, events. Nothing here acts."""
