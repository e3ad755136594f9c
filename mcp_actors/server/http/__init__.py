"""The server over HTTP: a WSGI app for both eras of Streamable HTTP, and for the older HTTP+SSE."""
