"""JSON Schema: whether a value fits, and if not, one sentence that says where and why. Fetches nothing."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from mcp_actors.protocol import codec
from mcp_actors.protocol.codec import Json, JsonObject
from mcp_actors.schemas.shape import MAX_BYTES, Shape, UnusableSchema, depth, judge
from mcp_actors.telemetry.redaction import printable

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError, Validator

__all__ = ["Fault", "Schemas", "UnusableSchema"]

#: A deeper value could exhaust the stack of the validator, which is not Python's.
MAX_VALUE_DEPTH: Final = 200
#: Weight of the schema times bytes of the value; each is about 5 ns of work at worst.
MAX_WORK: Final = 1_000_000_000
#: How many subschemas may be asked for their opinion to word one complaint.
MAX_OPINIONS: Final = 1_000_000
MAX_SHOWN: Final = 80
MAX_COMPLAINT: Final = 300

_MAX_KEPT: Final = 128
_MAX_KEPT_BYTES: Final = 4 * 1024 * 1024
_BACKTRACK_LIMIT: Final = 10_000
_PATTERN_BYTES: Final = 1024 * 1024
#: Stands for the value in the validator's sentences; a character of no alphabet.
_MASK: Final = "\ue000"

_NEWEST: Final = "json-schema.org/draft/2020-12/schema"
#: The dialects, without scheme and empty fragment, and the classes that know them.
_DIALECTS: Final = {
    _NEWEST: "Draft202012Validator",
    "json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "json-schema.org/draft-07/schema": "Draft7Validator",
    "json-schema.org/draft-06/schema": "Draft6Validator",
    "json-schema.org/draft-04/schema": "Draft4Validator",
}


class Fault(Struct, frozen=True):
    """Where a value breaks which rule. ``str()`` shows the value, shortened; ``complaint`` does not.

    ``shown`` is that value if the complaint is about it, and otherwise empty.
    """

    path: tuple[str | int, ...]
    keyword: str
    complaint: str
    shown: str = ""

    @property
    def place(self) -> str:
        """The path as one text; empty for the value as a whole."""
        return printable("".join(f"/{step}" for step in self.path), MAX_SHOWN)

    def __str__(self) -> str:
        words = f"{self.shown} {self.complaint}" if self.shown else self.complaint
        return f"{self.place or 'the value'}: {words}"


class Schemas:
    """A bounded cache of compiled schemas. Any thread may use it; each change is one operation of a dict."""

    def __init__(self) -> None:
        self._kept: dict[tuple[bytes, bool], Entry] = {}

    def check(self, schema: JsonObject, value: Json, *, formats: bool = False) -> str | None:
        """None if the value fits, else one sentence: the place, the rule, and the value cut to 80 characters.

        Args:
            formats: whether ``format`` is a rule (``email``, ``uri``, ``date`` …) or, as the standard has it,
                a remark.

        Raises:
            UnusableSchema: the schema is no schema, asks for another document, is out of bounds, or would
                take too long with this value.
        """
        fault = self.fault(schema, value, formats=formats)
        return None if fault is None else str(fault)

    def fault(self, schema: JsonObject, value: Json, *, formats: bool = False) -> Fault | None:
        """As ``check``, with place and rule apart and without the value in the complaint."""
        return self._compiled(schema, formats).fault(value)

    def prepare(self, schema: JsonObject, *, formats: bool = False) -> None:
        """Compile the schema now, so that whoever needs it later need not be asked in vain.

        Raises:
            UnusableSchema: as ``check``.
        """
        self._compiled(schema, formats)

    def _compiled(self, schema: JsonObject, formats: bool) -> Compiled:
        encoded = _encoded(schema)
        key = (blake2b(encoded, digest_size=16).digest(), formats)
        entry = self._kept.get(key)
        if entry is None:
            entry = _compile(schema, len(encoded), formats)
            self._keep(key, entry)
        if isinstance(entry, Refused):
            raise UnusableSchema(entry.reason)
        return entry

    def _keep(self, key: tuple[bytes, bool], entry: Entry) -> None:
        self._kept[key] = entry
        kept = list(self._kept.items())
        size = sum(one.size for _, one in kept)
        while len(kept) > _MAX_KEPT or size > _MAX_KEPT_BYTES:
            oldest, one = kept.pop(0)
            size -= one.size
            self._kept.pop(oldest, None)


class Compiled(Struct, frozen=True):
    """A schema ready for use. ``size`` is that of its JSON text."""

    validator: Validator
    shape: Shape
    size: int

    def fault(self, value: Json) -> Fault | None:
        """What is wrong with a value, None if nothing is."""
        nested = depth(value, MAX_VALUE_DEPTH)
        if nested > MAX_VALUE_DEPTH:
            return Fault((), "depth", f"it is nested more than {MAX_VALUE_DEPTH} levels deep")
        self._refuse_endless_work(value)
        try:
            if self.validator.is_valid(value):
                return None
            return self._describe(value, nested)
        except UnicodeEncodeError:
            return Fault((), "type", "it holds text that is not Unicode")

    def _refuse_endless_work(self, value: Json) -> None:
        size = len(codec.encode(value))
        if self.shape.weight * size > MAX_WORK:
            raise UnusableSchema(
                f"checking {size} bytes against a schema of {self.shape.weight} subschemas takes too long"
            )

    def _describe(self, value: Json, nested: int) -> Fault:
        # Unlike the verdict, the description is worked out anew for every branch of a recursion.
        opinions = self.shape.weight * self.shape.recursions**nested
        if opinions <= MAX_OPINIONS:
            from jsonschema_rs import ValidationError

            try:
                self.validator.validate(value)
            except ValidationError as error:
                return _fault(error)
        return Fault((), "schema", "it does not fit its schema")


class Refused(Struct, frozen=True):
    """A schema that is not usable, and why; remembered so that it is not judged anew each time."""

    reason: str
    size: int


Entry: TypeAlias = Compiled | Refused


def _encoded(schema: JsonObject) -> bytes:
    if not isinstance(schema, dict):
        raise UnusableSchema(f"a schema is an object, not {type(schema).__name__}")
    try:
        encoded = codec.encode(schema)
    except (TypeError, ValueError) as error:
        raise UnusableSchema(f"the schema is not JSON: {error}") from None
    if len(encoded) > MAX_BYTES:
        raise UnusableSchema(f"the schema takes {len(encoded)} bytes, more than {MAX_BYTES}")
    return encoded


def _compile(schema: JsonObject, size: int, formats: bool) -> Entry:
    try:
        shape = judge(schema)
        return Compiled(_validator(schema, formats), shape, size)
    except UnusableSchema as error:
        return Refused(str(error), size)


def _validator(schema: JsonObject, formats: bool) -> Validator:
    # Imported here: who never checks anything need not pay for it.
    import jsonschema_rs

    dialect: type[Validator] = getattr(jsonschema_rs, _dialect(schema))
    try:
        return dialect(
            schema,
            validate_formats=formats,
            offline=True,
            mask=_MASK,
            pattern_options=jsonschema_rs.FancyRegexOptions(
                backtrack_limit=_BACKTRACK_LIMIT, size_limit=_PATTERN_BYTES, dfa_size_limit=_PATTERN_BYTES
            ),
        )
    except jsonschema_rs.ValidationError as error:
        place = "".join(f"/{step}" for step in error.instance_path)
        complaint = error.message.replace(_MASK, "the value")
        raise UnusableSchema(_shortened(f"the schema is not valid: {place or 'it'}: {complaint}")) from None
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise UnusableSchema(_shortened(f"the schema is not valid: {error}")) from None


def _dialect(schema: JsonObject) -> str:
    named = schema.get("$schema", f"https://{_NEWEST}")
    known = _DIALECTS.get(named.removesuffix("#").partition("://")[2]) if isinstance(named, str) else None
    if known is None:
        raise UnusableSchema(f"the dialect {_shown(named)} of JSON Schema is not supported")
    return known


def _fault(error: ValidationError) -> Fault:
    path, keyword, complaint = tuple(error.instance_path), error.kind.name, error.message
    if keyword == "falseSchema":
        return Fault(path, keyword, "nothing is allowed here")
    about = complaint.startswith(f"{_MASK} ")
    complaint = _shortened(complaint.removeprefix(f"{_MASK} ").replace(_MASK, "the value"))
    return Fault(path, keyword, complaint, _shown(error.instance) if about else "")


def _shortened(text: str) -> str:
    return printable(text, MAX_COMPLAINT)


def _shown(value: Json) -> str:
    return printable(codec.encode(value).decode(), MAX_SHOWN)
