"""Forms, texts and charts of tasks in the console."""
