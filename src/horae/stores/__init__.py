"""Store implementations (SQLite, PostgreSQL, MySQL, memory), one folder each, all held to the same contract tests."""
