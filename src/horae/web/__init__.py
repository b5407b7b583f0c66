"""What every front end over HTTP shares: who is asking, what they sent, how they are answered, and when it is too much.

house        what a request finds behind the door      envelope     ids, headers and the last catch, around everything
caller       the bearer token becomes a principal      guarded      routes that nobody enters without one
bodies       strict JSON, bounded                      parameters   known ones only
problems     every error as RFC 9457                   answers      JSON out, once
allowances   how often each caller may ask             conditions   ETags and what depends on them
cursors      pages that nobody can make up             once         the same POST twice is done once
"""
