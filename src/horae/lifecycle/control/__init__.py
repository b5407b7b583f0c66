"""Decisions of people about a task: pause, resume, cancel, skip and edit."""
