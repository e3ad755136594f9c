"""From an ordinary function to JSON Schemas, and from JSON to its arguments and back."""

from __future__ import annotations

from mcp_actors.server.signatures.problems import InvalidArguments, SignatureError, UnusableResult
from mcp_actors.server.signatures.signature import Signature, signature_of
from mcp_actors.server.signatures.texts import (
    PromptSignature,
    TemplateSignature,
    prompt_arguments_of,
    template_arguments_of,
)

__all__ = [
    "InvalidArguments",
    "PromptSignature",
    "Signature",
    "SignatureError",
    "TemplateSignature",
    "UnusableResult",
    "prompt_arguments_of",
    "signature_of",
    "template_arguments_of",
]
