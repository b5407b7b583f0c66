"""Launcher processes of commands and agents. They run as files, by the interpreter alone, and import nothing else of Horae."""
