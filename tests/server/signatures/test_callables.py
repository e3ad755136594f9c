"""Which callables can be offered, and what is seen of them."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest

from mcp_actors.server.signatures import InvalidArguments, Signature, SignatureError, signature_of

if TYPE_CHECKING:
    from decimal import Decimal as Unimported


class Context:
    """Stands for what the server gives to functions."""


class Handler:
    """Handles things."""

    def __call__(self, count: int) -> None:
        raise NotImplementedError

    def method(self, count: int) -> str:
        """Say how many."""
        return "*" * count

    @classmethod
    def made(cls, count: int) -> str:
        return "+" * count

    @staticmethod
    def alone(count: int) -> str:
        return "-" * count


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    found: dict[str, Any] = signature_of(function, context_type=Context).input_schema["properties"]
    return found


def refusal(function: Any, **options: Any) -> str:
    with pytest.raises(SignatureError) as caught:
        signature_of(function, context_type=Context, **options)
    assert isinstance(caught.value, TypeError)
    return str(caught.value)


def called(function: Callable[..., Any], context: object = None, **arguments: Any) -> Any:
    signature: Signature = signature_of(function, context_type=Context)
    return signature.call(function, signature.arguments(arguments), context)


@pytest.mark.parametrize(
    "function", [Handler().method, Handler.made, Handler.alone, staticmethod(Handler.alone), Handler()]
)
def test_methods_and_objects_are_functions_too(function: Callable[..., Any]) -> None:
    assert properties(function) == {"count": {"type": "integer"}}


def test_bound_methods_are_called_with_their_arguments() -> None:
    assert called(Handler().method, count=2) == "**"
    assert called(Handler.made, count=2) == "++"
    assert called(Handler.alone, count=2) == "--"


def test_a_lambda_takes_any_json() -> None:
    assert called(lambda a, b=2: [a, b], a={"x": None}) == [{"x": None}, 2]
    assert properties(lambda a, b=2: [a, b]) == {"a": {}, "b": {"default": 2}}


def test_what_a_partial_has_filled_in_is_neither_shown_nor_changed() -> None:
    def fetch(url: str, token: str, retries: int = 3, **headers: str) -> tuple[str, str, int, dict[str, str]]:
        return url, token, retries, headers

    bound = functools.partial(fetch, token="s3cret", retries=1)
    signature = signature_of(bound, context_type=None)
    assert "s3cret" not in str(signature.input_schema)
    assert list(signature.input_schema["properties"]) == ["url"]
    assert called(bound, url="u", accept="*") == ("u", "s3cret", 1, {"accept": "*"})
    with pytest.raises(InvalidArguments, match="unknown argument `token`"):
        signature.arguments({"url": "u", "token": "mine"})


def test_a_partial_by_position_has_fewer_parameters() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    assert called(functools.partial(functools.partial(add, 1)), b=2) == 3


def test_decorated_functions_are_seen_as_their_author_wrote_them() -> None:
    def twice(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> int:
            return 2 * function(*args, **kwargs)

        return wrapper

    @twice
    def add(a: int, b: int = 1) -> int:
        return a + b

    assert list(properties(add)) == ["a", "b"]
    assert called(add, a=1) == 4
    assert list(properties(functools.lru_cache(add))) == ["a", "b"]


def test_a_signature_made_by_hand_is_believed() -> None:
    def function(**given: Any) -> Any:
        return given

    parameter = inspect.Parameter("n", inspect.Parameter.KEYWORD_ONLY, annotation=int)
    function.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]
    assert properties(function) == {"n": {"type": "integer"}}


def test_functions_of_c_take_what_their_signature_says() -> None:
    assert "`/`" in refusal(math.sqrt)
    assert "signature cannot be read" in refusal(max)


def test_descriptions_come_from_the_docstring() -> None:
    assert signature_of(Handler().method).description == "Say how many."
    assert signature_of(Handler()).description == "Handles things."
    assert signature_of(functools.partial(Handler().method)).description == "Say how many."


def test_asynchronous_functions_are_refused_with_the_way_out() -> None:
    async def fetch() -> None:
        raise NotImplementedError

    async def stream() -> Any:
        yield

    class Caller:
        async def __call__(self) -> None:
            raise NotImplementedError

    for function in (fetch, stream, Caller(), functools.partial(fetch)):
        assert "asyncio.run" in refusal(function)
    assert refusal(fetch).startswith("`fetch` is async")


def test_a_plain_function_around_an_asynchronous_one_will_do() -> None:
    async def fetch(n: int) -> int:
        raise NotImplementedError

    @functools.wraps(fetch)
    def wrapper(n: int) -> int:
        return n

    assert called(wrapper, n=1) == 1


def test_generators_are_functions() -> None:
    def count(n: int) -> Iterator[int]:
        yield from range(n)

    assert list(called(count, n=2)) == [0, 1]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (Handler, "is a class"),
        (3, "a value of type int is no function"),
        (vars(Handler)["made"], "not bound yet"),
        (Handler.method, "method without its object"),
        (lambda *args: args, r"parameter `*args`: arguments come by name"),
        (lambda a, /: a, "`a`: it cannot be given by name"),
        (lambda _a: _a, "`_a`: a name with `_`"),
    ],
)
def test_what_cannot_be_called_by_name_is_refused(function: Any, reason: str) -> None:
    assert reason in refusal(function)


def test_a_name_with_an_underscore_is_the_authors_own() -> None:
    def function(a: int, _cache: dict[str, int] = {}, **rest: int) -> Any:  # noqa: B006
        return a, _cache, rest

    assert list(properties(function)) == ["a"]
    assert called(function, a=1, b=2) == (1, {}, {"b": 2})
    with pytest.raises(InvalidArguments, match="unknown argument `_cache`"):
        called(function, a=1, _cache={})


# -- the context ------------------------------------------------------------------------------------------


def with_context(n: int, context: Context) -> tuple[int, object]:
    return n, context


def with_optional(context: Optional[Context], n: int) -> tuple[int, object]:  # noqa: UP045
    return n, context


def with_remark(n: int, *, context: Annotated[Context | None, "who asks"] = None) -> tuple[int, object]:
    return n, context


@pytest.mark.parametrize("function", [with_context, with_optional, with_remark])
def test_the_context_is_given_and_no_argument(function: Callable[..., Any]) -> None:
    context = Context()
    assert signature_of(function, context_type=Context).context_parameter == "context"
    assert list(properties(function)) == ["n"]
    assert called(function, context, n=1) == (1, context)


def test_nobody_outside_can_give_the_context() -> None:
    def function(context: Context, **rest: Any) -> object:
        return context, rest

    with pytest.raises(InvalidArguments, match="unknown argument `context`"):
        signature_of(function, context_type=Context).arguments({"context": "mine"})


def test_a_subclass_of_the_context_is_one() -> None:
    class Larger(Context):
        pass

    def function(context: Larger) -> None:
        raise NotImplementedError

    assert signature_of(function, context_type=Context, names=locals()).context_parameter == "context"


def test_two_contexts_are_one_too_many() -> None:
    def function(one: Context, two: Context) -> None:
        raise NotImplementedError

    assert "more than one parameter for the context: one, two" in refusal(function)


def test_a_context_that_only_the_type_checker_imports_is_found_by_its_name() -> None:
    class Unimported:
        pass

    def function(context: Unimported) -> None:
        raise NotImplementedError

    function.__annotations__ = {"context": "Unimported | None"}
    assert signature_of(function, context_type=Unimported).context_parameter == "context"


# -- names in annotations ---------------------------------------------------------------------------------


def test_types_local_to_the_defining_function_are_found_in_the_closure_or_given() -> None:
    @dataclass
    class Closed:
        n: int

    @dataclass
    class Given:
        n: int

    def closed(value: Closed) -> Closed:
        return Closed(value.n)

    def given(value: Given) -> None:
        raise NotImplementedError

    assert properties(closed)["value"] == {"$ref": "#/$defs/Closed"}
    assert "`Given`, which cannot be found" in refusal(given)
    signature = signature_of(given, names=locals())
    assert signature.arguments({"value": {"n": 1}}) == {"value": Given(1)}


def test_a_name_that_its_function_assigns_later_is_not_found() -> None:
    def function(value: Late) -> None:
        assert isinstance(value, Late)

    assert "`Late`, which cannot be found" in refusal(function)

    class Late:
        pass


def test_a_name_that_cannot_be_found_is_named() -> None:
    def function(value: Unimported) -> None:
        raise NotImplementedError

    assert refusal(function).startswith(
        "`function`: its annotations name `Unimported`, which cannot be found"
    )


def test_an_annotation_that_is_no_type_is_refused() -> None:
    def function(value: int) -> None:
        raise NotImplementedError

    for nonsense in ("1 +", "int.nothing"):
        function.__annotations__ = {"value": nonsense}
        assert refusal(function).startswith("`function`: its signature cannot be read")


def test_without_a_context_type_nothing_is_the_context() -> None:
    assert signature_of(lambda context: context).context_parameter is None
