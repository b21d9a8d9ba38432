"""The page of one's own notes: a server on loopback, and the page itself in `static/`."""
