"""The shape of the package: who imports whom, where threads and locks live, how large things get."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = Path(__file__).parent.parent / "mcp_actors"
FILES: Final = sorted(PACKAGE.rglob("*.py"))

BELOW_CLIENT: Final = {
    "version",
    "errors",
    "protocol",
    "telemetry",
    "schemas",
    "skills",
    "runtime",
    "transports",
    "auth",
}
#: What each part may import of the package; nobody imports what lies above.
MAY_IMPORT: Final[dict[str, set[str]]] = {
    "errors": set(),
    "version": set(),
    "protocol": {"errors"},
    "telemetry": {"errors"},
    "schemas": {"errors", "protocol", "telemetry"},
    "skills": {"errors", "protocol"},
    "runtime": {"errors", "telemetry"},
    "transports": {"errors", "protocol", "telemetry", "runtime"},
    "auth": {"errors", "protocol", "telemetry", "runtime", "transports"},
    "client": BELOW_CLIENT,
    "server": BELOW_CLIENT,
    "testing": BELOW_CLIENT | {"client", "server"},
    "contrib": {"server"},
    "cli": BELOW_CLIENT | {"client", "server", "testing"},
    "__init__": {"errors", "client", "protocol", "telemetry"},
    "__main__": {"cli"},
}
#: Libraries with one home.
HOMES: Final[dict[str, tuple[str, ...]]] = {
    "pykka": ("runtime/",),
    "orjson": ("protocol/codec.py",),
    "jsonschema_rs": ("schemas/checking.py",),
    "yaml": ("skills/",),
    "urllib3": ("transports/http/", "auth/"),
    "requests": ("auth/",),
    "joserfc": ("auth/jose/", "server/authorization/public_key.py"),
    "pydantic": ("server/signatures/modelled.py",),
    "waitress": ("server/web.py", "server/waitress_"),
    "subprocess": ("transports/",),
    "psutil": ("transports/", "telemetry/gauges.py"),
    "socket": ("transports/", "auth/", "server/http/presence.py"),
    "typer": ("cli/",),
    "rich": ("cli/",),
    "asyncio": (),
    "multiprocessing": (),
}
#: What `protocol/` may use: modules that compute and nothing else.
PURE: Final = {
    "__future__",
    "base64",
    "binascii",
    "collections",
    "dataclasses",
    "enum",
    "functools",
    "hashlib",
    "hmac",
    "itertools",
    "json",
    "math",
    "msgspec",
    "orjson",
    "re",
    "types",
    "typing",
}
#: Names that `mcp_actors` itself gives, for those above it.
PUBLIC: Final = (
    "Client",
    "ClientStats",
    "CrashReport",
    "Gap",
    "Notification",
    "Progress",
    "TaskHandle",
    "ask_on_terminal",
    "export",
    "load_config",
    "registry",
    "save",
    "types",
)
LOCKS: Final = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"}
#: Where locks may be. The demo server is a program of its own, the test kit plays peers on their own threads.
LOCK_HOMES: Final = (
    "runtime/",
    "transports/",
    "telemetry/bus.py",
    "testing/",
    "cli/demo_server.py",
    # Tables that many threads of a web server share, and that no actor owns.
    "server/registry/registry.py",
    "server/tasks/memory_store.py",
    "server/http/",
)
VAGUE: Final = {"utils", "util", "helpers", "helper", "manager", "base", "common", "misc", "core"}

MAX_FILE_LINES: Final = 400
MAX_FUNCTION_LINES: Final = 40
#: Longer functions, each with the reason why it reads better whole.
LONG_FUNCTIONS: Final[dict[str, str]] = {
    "client/connection.py:__init__": "ends with the table of all actions, one line each",
}


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path) -> Iterator[str]:
    """The modules a file imports when it runs; those for the type checker alone do not count."""
    waiting: list[ast.AST] = [tree(path)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)} imports relatively"
            module = node.module or ""
            # `from mcp_actors import errors` imports a module; from anywhere deeper the first names suffice.
            names = [alias.name for alias in node.names]
            yield from (f"{module}.{name}" for name in names) if module == "mcp_actors" else (module,)
        waiting.extend(ast.iter_child_nodes(node))


def at_home(path: Path, homes: tuple[str, ...]) -> bool:
    return relative(path).startswith(homes) if homes else False


def functions(path: Path) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef))


def length(function: ast.FunctionDef) -> int:
    """Lines of a function without its docstring and decorators."""
    first = function.body[0]
    docstring = 0
    if ast.get_docstring(function) is not None:
        assert first.end_lineno is not None
        docstring = first.end_lineno - first.lineno + 1
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1 - docstring


def strangers(path: Path) -> set[str]:
    """What a file imports of the package, though it lies above."""
    own = [name.split(".") for name in imports(path) if name.startswith("mcp_actors.")]
    public = set(PUBLIC) if part(path) in ("cli", "testing") else set()
    return {rest[0] for _, *rest in own} - MAY_IMPORT[part(path)] - {part(path)} - public


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_every_file_imports_only_what_lies_below_it(path: Path) -> None:
    assert strangers(path) == set()


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_only_at_its_home(library: str) -> None:
    users = {
        relative(path)
        for path in FILES
        if not at_home(path, HOMES[library]) and library in {name.split(".")[0] for name in imports(path)}
    }
    assert users == set()


def test_the_protocol_is_pure() -> None:
    impure = {
        (relative(path), name)
        for path in FILES
        if part(path) == "protocol"
        for name in imports(path)
        if name.split(".")[0] not in PURE | {"mcp_actors"}
    }
    assert impure == set()


def test_locks_live_in_the_runtime_the_bus_and_the_wires() -> None:
    found = {
        (relative(path), ast.unparse(node))
        for path in FILES
        if not at_home(path, LOCK_HOMES)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and node.attr in LOCKS and ast.unparse(node.value) == "threading"
    }
    assert found == set()


def test_no_file_is_longer_than_a_reader_can_hold() -> None:
    sizes = {relative(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: size for name, size in sizes.items() if size > MAX_FILE_LINES} == {}


def test_functions_are_short_or_on_the_list_of_those_that_are_not() -> None:
    long = {
        f"{relative(path)}:{function.name}"
        for path in FILES
        for function in functions(path)
        if length(function) > MAX_FUNCTION_LINES
    }
    assert long - set(LONG_FUNCTIONS) == set()


def test_modules_are_named_after_what_they_hold() -> None:
    names = {path.stem for path in FILES} | {path.parent.name for path in FILES}
    assert names & VAGUE == set()
    hidden = {name for name in names if name.startswith("_")} - {"__init__", "__main__"}
    assert hidden == set()


def test_no_module_bears_the_name_of_one_of_the_standard_library_it_uses() -> None:
    used = {name.split(".")[0] for path in FILES for name in imports(path)} & sys.stdlib_module_names
    assert {path.stem for path in FILES} & used <= {"__main__", "types"}


def test_every_module_says_what_it_is() -> None:
    silent = [
        relative(path) for path in FILES if path.read_text().strip() and not ast.get_docstring(tree(path))
    ]
    assert silent == []


def test_a_planted_upward_import_and_a_planted_clock_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "protocol").mkdir()
    planted = tmp_path / "protocol" / "planted.py"
    planted.write_text("import time\nfrom mcp_actors.client.client import Client\n")
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    assert strangers(planted) == {"client"}
    assert "time" in set(imports(planted)) - PURE
