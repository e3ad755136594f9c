"""The server role: functions offered over MCP."""
