"""HTTP API: one module per resource in `resources`, compatibility surfaces in `compat`; every route is an async
function."""
