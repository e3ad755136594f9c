"""URI templates (RFC 6570): values to a URI, and a URI back to values."""

from __future__ import annotations

from mcp_actors.protocol.uri_template.expansion import TemplateValue
from mcp_actors.protocol.uri_template.expression import TemplateError
from mcp_actors.protocol.uri_template.template import UriTemplate

__all__ = ["TemplateError", "TemplateValue", "UriTemplate"]
