"""The values of MCP, typed: the union of all five revisions."""

from __future__ import annotations

from mcp_actors.protocol.types.capabilities import (
    Capabilities,
    ClientCapabilities,
    ServerCapabilities,
    declares,
)
from mcp_actors.protocol.types.completion import (
    CompleteParams,
    CompleteResult,
    Completion,
    CompletionArgument,
    PromptReference,
    Reference,
    ResourceTemplateReference,
)
from mcp_actors.protocol.types.content import (
    Annotations,
    AudioContent,
    Content,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolResultContent,
    ToolUseContent,
    UnknownContent,
)
from mcp_actors.protocol.types.elicitation import (
    ElicitationCompleteParams,
    ElicitFormParams,
    ElicitParams,
    ElicitResult,
    ElicitUrlParams,
    elicit_params,
)
from mcp_actors.protocol.types.form_fields import FormField
from mcp_actors.protocol.types.icon import Icon
from mcp_actors.protocol.types.implementation import Implementation
from mcp_actors.protocol.types.input_required import InputRequest, InputRequiredResult, RetriedParams
from mcp_actors.protocol.types.jsonrpc_error import ErrorObject
from mcp_actors.protocol.types.lifecycle import DiscoverResult, InitializeParams, InitializeResult
from mcp_actors.protocol.types.log_messages import LOG_LEVELS, LogLevel, LogMessageParams, SetLevelParams
from mcp_actors.protocol.types.progress import CancelledParams, ProgressParams, ProgressToken, RequestId
from mcp_actors.protocol.types.prompts import (
    GetPromptParams,
    GetPromptResult,
    ListPromptsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    Role,
)
from mcp_actors.protocol.types.resource_contents import (
    BlobResourceContents,
    ResourceContents,
    TextResourceContents,
)
from mcp_actors.protocol.types.resources import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceParams,
    ReadResourceResult,
    Resource,
    ResourceParams,
    ResourceTemplate,
)
from mcp_actors.protocol.types.results import CacheableResult, ListParams, ListResult, Result
from mcp_actors.protocol.types.roots import ListRootsResult, Root
from mcp_actors.protocol.types.sampling import (
    CreateMessageParams,
    CreateMessageResult,
    ModelHint,
    ModelPreferences,
    SamplingMessage,
    ToolChoice,
)
from mcp_actors.protocol.types.subscriptions import SubscriptionEnded, SubscriptionFilter, SubscriptionParams
from mcp_actors.protocol.types.tasks import (
    CreateTaskResult,
    ExtensionTask,
    ListTasksResult,
    RelatedTask,
    Task,
    TaskMetadata,
    TaskParams,
    TaskUpdateParams,
)
from mcp_actors.protocol.types.tools import (
    CallToolParams,
    CallToolResult,
    ListToolsResult,
    Tool,
    ToolAnnotations,
    ToolExecution,
)
from mcp_actors.protocol.types.value import MetaValue, Value

__all__ = [
    "Annotations",
    "AudioContent",
    "BlobResourceContents",
    "CacheableResult",
    "CallToolParams",
    "CallToolResult",
    "CancelledParams",
    "Capabilities",
    "ClientCapabilities",
    "CompleteParams",
    "CompleteResult",
    "Completion",
    "CompletionArgument",
    "Content",
    "ContentBlock",
    "CreateMessageParams",
    "CreateMessageResult",
    "CreateTaskResult",
    "DiscoverResult",
    "ElicitFormParams",
    "ElicitParams",
    "ElicitResult",
    "ElicitUrlParams",
    "ElicitationCompleteParams",
    "EmbeddedResource",
    "ErrorObject",
    "ExtensionTask",
    "FormField",
    "GetPromptParams",
    "GetPromptResult",
    "Icon",
    "ImageContent",
    "Implementation",
    "InitializeParams",
    "InitializeResult",
    "InputRequest",
    "InputRequiredResult",
    "LOG_LEVELS",
    "ListParams",
    "ListPromptsResult",
    "ListResourceTemplatesResult",
    "ListResourcesResult",
    "ListResult",
    "ListRootsResult",
    "ListTasksResult",
    "ListToolsResult",
    "LogLevel",
    "LogMessageParams",
    "MetaValue",
    "ModelHint",
    "ModelPreferences",
    "ProgressParams",
    "ProgressToken",
    "Prompt",
    "PromptArgument",
    "PromptMessage",
    "PromptReference",
    "ReadResourceParams",
    "ReadResourceResult",
    "Reference",
    "RelatedTask",
    "RequestId",
    "Resource",
    "ResourceContents",
    "ResourceLink",
    "ResourceParams",
    "ResourceTemplate",
    "ResourceTemplateReference",
    "Result",
    "RetriedParams",
    "Role",
    "Root",
    "SamplingMessage",
    "ServerCapabilities",
    "SetLevelParams",
    "SubscriptionEnded",
    "SubscriptionFilter",
    "SubscriptionParams",
    "Task",
    "TaskMetadata",
    "TaskParams",
    "TaskUpdateParams",
    "TextContent",
    "TextResourceContents",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolExecution",
    "ToolResultContent",
    "ToolUseContent",
    "UnknownContent",
    "Value",
    "declares",
    "elicit_params",
]
