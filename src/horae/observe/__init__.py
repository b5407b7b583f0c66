"""How others see that it is alive and on time: numbers to scrape, traces to follow, lines to read, and whether it is ready.

catalogue    every metric by its name                  figures      the numbers themselves, cheap to count
store        each call of the store, timed             runs         ids and a span around each run
requests     each request over HTTP                    lag          how late the event loop is
deployment   what the store knows of all nodes         exposition   all of it as Prometheus reads it
door         a node's own small door to scrape at      access       who may look
traces       OpenTelemetry, where it is set up         logs, masking, ids   one line, its ids, and no secret
health       whether what comes due can start          observer     what one process looks on with
"""
