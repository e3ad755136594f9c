"""A server's tools in the words of the model APIs: OpenAI, Anthropic, Gemini."""

from __future__ import annotations

from mcp_actors.client.export.anthropic import to_anthropic
from mcp_actors.client.export.gemini import to_gemini
from mcp_actors.client.export.names import names_for
from mcp_actors.client.export.openai import to_openai
from mcp_actors.client.export.renaming import restored

__all__ = ["names_for", "restored", "to_anthropic", "to_gemini", "to_openai"]
