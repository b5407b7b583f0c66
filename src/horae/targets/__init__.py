"""Built-in target kinds (function, command, http, event), one folder each; each executes a run and returns an outcome."""
