"""Observability: Prometheus metrics, OpenTelemetry traces, structured logs, and readiness checks.

catalogue        definitions of all metrics               counters       counters, histograms and gauges of a process
store            metrics of store calls and decisions     runs           log context and a span for each run
requests         metrics and spans of HTTP requests       loop_lag       lag of the event loop
deployment       metrics read from the store              exposition     Prometheus text format
metrics_server   a node's HTTP server for scrapes         scrape_access  access policy of metrics
traces           OpenTelemetry spans                      logs, log_context, secret_mask   log lines, ids, masking
health           readiness of a deployment                observer       metrics and tracing of one process
"""
