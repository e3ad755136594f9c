"""The contestants: each opens a connection to a server and makes calls in its own way."""
