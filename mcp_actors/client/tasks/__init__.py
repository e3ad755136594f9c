"""Tasks: calls that outlive their answer and their connection, in the two forms that MCP has for them."""
