"""Shared parts of every HTTP front end: authentication, request bodies, parameters, errors, pagination and idempotency.

request_context  service, clock and settings of a request   middleware       request ids, default headers, last error
handler
authentication   bearer token to principal                  routing          route groups, and the route that binds and calls
body             strict JSON with a size limit              parameters       declared path, query and body parameters
problems         errors as RFC 9457 problem documents       responses        JSON responses
rate_limit       token buckets per owner and address        etags            ETags and conditional requests
pagination       signed cursors                             idempotency      `Idempotency-Key` for POST
"""
