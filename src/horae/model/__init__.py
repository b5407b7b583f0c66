"""Domain values without behaviour: tasks, runs, agenda entries, policies, reasons, events, accounts."""
