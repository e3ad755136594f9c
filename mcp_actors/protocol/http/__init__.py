"""The rules of Streamable HTTP as functions of values: headers out, responses and event streams in."""
