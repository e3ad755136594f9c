"""URI templates: what they become, what they are told from, and what is never let through."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcp_actors.protocol.uri_template import TemplateError, TemplateValue, UriTemplate, matching, percent
from tests.protocol.uri_examples import EXAMPLES, VALUES


@pytest.mark.parametrize(("template", "uri"), EXAMPLES.items(), ids=list(EXAMPLES))
def test_the_examples_of_the_standard_expand_as_it_says(template: str, uri: str) -> None:
    assert UriTemplate(template).expand(VALUES) == uri


@pytest.mark.parametrize(
    ("template", "values", "uri"),
    [
        ("x%41ü'{a}", {"a": "1"}, "x%41%C3%BC'1"),
        ("{+a:2}", {"a": "%20bc"}, "%20b"),
        ("{a:2}", {"a": "%20bc"}, "%252"),
        ("{a:1}", {"a": "üx"}, "%C3%BC"),
        ("{+a}", {"a": "50% %2f"}, "50%25%20%2f"),
        ("{?a*}", {"a": ["1", ""]}, "?a=1&a="),
        ("{;a*}", {"a": {"k": ""}}, ";k"),
        ("{?a}{&b}", {}, ""),
        ("{a.b,c_1}", {"a.b": "x", "c_1": "y"}, "x,y"),
        ("{a}", {"a": ("x", "y")}, "x,y"),
        ("", {}, ""),
    ],
)
def test_other_templates_expand_by_the_same_rules(
    template: str, values: dict[str, TemplateValue], uri: str
) -> None:
    assert UriTemplate(template).expand(values) == uri


def test_variables_are_named_once_and_in_order() -> None:
    assert UriTemplate("a/{y}/{+x}{?y,z*,w:3}").variables == ("y", "x", "z", "w")
    assert UriTemplate("a:b").variables == ()


def test_templates_are_the_same_if_their_texts_are() -> None:
    assert UriTemplate("a{b}") == UriTemplate("a{b}") != UriTemplate("a{c}")
    assert len({UriTemplate("a{b}"), UriTemplate("a{b}")}) == 1
    assert UriTemplate("a{b}") != "a{b}"
    assert repr(UriTemplate("a{b}")) == "UriTemplate('a{b}')"


@pytest.mark.parametrize(
    ("text", "complaint", "place"),
    [
        ("a{", "'{' cannot stand outside of an expression", 2),
        ("a}b", "'}' cannot stand outside", 2),
        ("a{b{c}}", "'{' cannot stand outside", 2),
        ("a{b}}", "'}' cannot stand outside", 5),
        ("a b", "' ' cannot stand outside", 2),
        ("a%zz", "'%' cannot stand outside", 2),
        ("a\x00", "cannot stand outside", 2),
        ("a{}", "a variable is missing", 3),
        ("a{+}", "a variable is missing", 4),
        ("a{b,}", "a variable is missing", 5),
        ("a{b,c d}", "'c d' is no variable", 5),
        ("a{b:0}", "'b:0' is no variable", 3),
        ("a{b:10000}", "'b:10000' is no variable", 3),
        ("a{b:3*}", "'b:3*' is no variable", 3),
        ("a{.b..c}", "'b..c' is no variable", 4),
        ("a{!b}", "the operator '!' is not in use", 3),
        ("{=b}", "the operator '=' is not in use", 2),
    ],
)
def test_what_is_no_template_is_refused_at_its_place(text: str, complaint: str, place: int) -> None:
    with pytest.raises(TemplateError) as caught:
        UriTemplate(text)
    assert complaint in str(caught.value)
    assert str(caught.value).endswith(f"(character {place})")


@pytest.mark.parametrize(
    ("template", "value", "error"),
    [
        ("{a}", 1, TypeError),
        ("{a}", ["x", 1], TypeError),
        ("{a}", {"k": None}, TypeError),
        ("{a:2}", ["x"], ValueError),
    ],
)
def test_values_that_are_no_text_are_refused_by_name(
    template: str, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match="^a "):
        UriTemplate(template).expand({"a": value})


@pytest.mark.parametrize(
    ("template", "uri", "values"),
    [
        ("a:b", "a:b", {}),
        ("", "", {}),
        ("u://{id}/x", "u://a%20b/x", {"id": "a b"}),
        ("u://{id}", "u://Z%c3%bcrich", {"id": "Zürich"}),
        ("u://{id}", "u://Zürich", {"id": "Zürich"}),
        ("ü://{id}", "%c3%BC://%41", {"id": "A"}),
        ("user:{id}", "%75ser:1", {"id": "1"}),
        ("u://{id}", "u://a.b@c:d,e", {"id": "a.b@c:d,e"}),
        ("{a}-{b}", "x-y-z", {"a": "x-y", "b": "z"}),
        ("a{x}a", "aaa", {"x": "a"}),
        ("{x}{y}", "abc", {"x": "ab", "y": "c"}),
        ("{x}.json", "a.json.json", {"x": "a.json"}),
        ("{x,y}", "1,2", {"x": "1", "y": "2"}),
        ("{x*}", "1,2", {"x": "1,2"}),
        ("{x}/{x}", "1/1", {"x": "1"}),
        ("x{a}2{b}", "x%202y", {"a": " ", "b": "y"}),
        ("file:///{+path}", "file:///a/b%20c?d#e", {"path": "a/b c?d#e"}),
        ("file://{+path}", "file:///a", {"path": "/a"}),
        ("file:///{+path}", "file:///a%2Fb", {"path": "a/b"}),
        ("{+dir}/{name}", "a/b/c", {"dir": "a/b", "name": "c"}),
        ("{+p,q}", "a/b,c", {"p": "a/b", "q": "c"}),
        ("{+path}{?q}", "a/b?q=1", {"path": "a/b", "q": "1"}),
        ("{+path}{?q}", "a/b", {"path": "a/b"}),
        ("{+path}{#part}", "a/b#c/d", {"path": "a/b", "part": "c/d"}),
        ("{+path}/end{?q}", "a/end?q=/end", {"path": "a", "q": "/end"}),
        ("x{#a,b}", "x#1,2", {"a": "1", "b": "2"}),
        ("x{#a}", "x", {}),
        ("f/{name}{.ext}", "f/a.tar.gz", {"name": "a", "ext": "tar.gz"}),
        ("f/{name}{.ext}", "f/a", {"name": "a"}),
        ("f{.a,b}", "f.1.2", {"a": "1", "b": "2"}),
        ("f{.a*}", "f.1.2", {"a": "1.2"}),
        ("x{/a,b}", "x/1/2", {"a": "1", "b": "2"}),
        ("x{/a,b}", "x/1", {"a": "1"}),
        ("x{/a}{/b}", "x/1/2", {"a": "1", "b": "2"}),
        ("x{/a}/y", "x/y/y", {"a": "y"}),
        ("x{/a}/y", "x/y", {}),
        ("x{/a*}", "x/1/2/3", {"a": "1/2/3"}),
        ("x{/a,b*}", "x/1/2/3", {"a": "1", "b": "2/3"}),
        ("x{;a,b}", "x;b=2;a", {"a": "", "b": "2"}),
        ("x{;a}/y", "x;a=1/y", {"a": "1"}),
        ("s{?q,n}", "s?n=1&q=a%20b%26/", {"n": "1", "q": "a b&/"}),
        ("s{?q}", "s?q=a=b", {"q": "a=b"}),
        ("s{?q}", "s?q=", {"q": ""}),
        ("s{?q}", "s?q", {"q": ""}),
        ("s{?q}{&n}{&m}", "s?q=1&m=3", {"q": "1", "m": "3"}),
        ("s?f=1{&n}", "s?f=1&n=2", {"n": "2"}),
        ("s{?q}&f=1{&n}", "s?q=1&f=1&n=2", {"q": "1", "n": "2"}),
        ("s{?q}{#h}", "s?q=1#h", {"q": "1", "h": "h"}),
        ("u://{a}...", "u://.. ...", {"a": ".. "}),
        ("u://{a}", "u://...", {"a": "..."}),
        ("u://{+a}", "u://./a", {"a": "./a"}),
    ],
)
def test_a_uri_tells_the_values_it_was_made_of(template: str, uri: str, values: dict[str, str]) -> None:
    assert UriTemplate(template).match(uri) == values


@pytest.mark.parametrize(
    ("template", "uri"),
    [
        ("a:b", "a:c"),
        ("a:b", "a:bc"),
        ("", "a"),
        ("u://{id}", "v://a"),
        ("u://{id}", "u://"),
        ("u://{id}/x", "u://a/y"),
        ("u://{id}", "u://a/b"),
        ("u://{id}", "u://a?b"),
        ("u://{id}", "u://a#b"),
        ("{+path}", ""),
        ("{x,y}", "1"),
        ("{x,y}", "1,"),
        ("{x,y}", "1,2,3"),
        ("{x}/{x}", "1/2"),
        ("x{/a}", "x/1/2"),
        ("x{/a}", "x/"),
        ("x{#a}", "x#"),
        ("s{?q}", "s?"),
        ("s{?q}", "s?z=1"),
        ("s{?q}", "s?q=1&q=2"),
        ("s{?q}", "s?q=1&"),
        ("s{?q}", "s?%71x=1"),
    ],
)
def test_a_uri_of_another_shape_tells_nothing(template: str, uri: str) -> None:
    assert UriTemplate(template).match(uri) is None


@pytest.mark.parametrize(
    "value",
    [
        "a%00",
        "a\x00",
        "a%2fb",
        "..",
        "%2e%2e",
        "%2E.",
        ".%2e",
        "%252e%252e",
        "a%2F..",
        "a%5c..",
        "..%5Ca",
        "%252e.%255cx",
        "..%252fa",
        "%ff",
        "%c3",
        "%",
        "%2",
        "%zz",
        "a%",
        "\ud800",
    ],
)
@pytest.mark.parametrize("template", ["u://{x}", "u://{x}/y", "u:/{/x}", "u:/{/x*}", "u:/{.x}", "u:/{;x}"])
def test_what_could_leave_a_tree_or_is_no_text_never_becomes_a_value(template: str, value: str) -> None:
    uri = template.replace("{x}", value).replace("{/x}", f"/{value}").replace("{/x*}", f"/{value}")
    uri = uri.replace("{.x}", f".{value}").replace("{;x}", f";x={value}")
    assert UriTemplate(template).match(uri) is None


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../a",
        "a/..",
        "a/../b",
        "a/%2e%2e/b",
        "a%2f..%2Fb",
        "a/.%2E",
        "%252e%252e/a",
        "a%252f..",
        "a\\..\\b",
        "a/%00",
    ],
)
@pytest.mark.parametrize("template", ["f:///{+x}", "f:///{+x}{?q}", "f://{#x}", "f://{?x}", "f://h?a{&x}"])
def test_a_reserved_value_may_have_steps_but_none_upwards(template: str, path: str) -> None:
    uri = template.replace("{+x}", path).replace("{?q}", "").replace("{#x}", f"#{path}")
    uri = uri.replace("{?x}", f"?x={path}").replace("{&x}", f"&x={path}")
    assert UriTemplate(template).match(uri) is None


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("{x:3}", "only 3 characters of x"),
        ("{?x*}", "any number of names"),
        ("{;x*}", "any number of names"),
        ("{/x*,y}", "where x ends"),
        ("{x%41}", "no parameter can bear its name"),
    ],
)
def test_a_template_that_tells_no_values_says_so(template: str, reason: str) -> None:
    made = UriTemplate(template)
    assert reason in str(made.unmatchable)
    assert made.match(made.expand({"x": "abc"})) is None


def test_a_template_that_tells_values_has_no_obstacle() -> None:
    assert UriTemplate("file:///{+path}").unmatchable is None


@pytest.mark.requirement("security:limits")
def test_a_uri_beyond_all_bounds_matches_nothing() -> None:
    template = UriTemplate("{+x}")
    assert template.match("a" * matching.MAX_LENGTH) is not None
    assert template.match("a" * (matching.MAX_LENGTH + 1)) is None


plain = st.text(st.sampled_from("abAZ09_~ üé€😀%&=+:@!"), min_size=1, max_size=8)
separate = st.text(st.sampled_from("abAZ09_~ üé€😀"), min_size=1, max_size=8)
paths = st.lists(st.text(st.sampled_from("ab.~ ü-"), min_size=1, max_size=4), min_size=1, max_size=4).map(
    "/".join
)


def _safe(text: str) -> bool:
    return ".." not in text.split("/")


@given(x=plain, y=plain)
@pytest.mark.parametrize(
    "template",
    [
        "a://{x}/b/{y}",
        "a:{x,y}",
        "a:/{/x,y}",
        "a:/{;x,y}",
        "a:/{?x,y}",
        "a:/{?x}{&y}",
        "a:/b?c=d{&x,y}",
        "a:/{y}{?x}",
        "a:/{y}{/x}",
        "a:/{y}{#x}",
    ],
)
def test_values_come_back_from_what_they_expand_to(template: str, x: str, y: str) -> None:
    # A triplet in the value of ``{#x}`` passes for one that is encoded already.
    assume("#" not in template or "%" not in x)
    made = UriTemplate(template)
    assert made.match(made.expand({"x": x, "y": y})) == {"x": x, "y": y}


@given(x=separate, y=separate)
@pytest.mark.parametrize(
    "template", ["{x}-{y}", "{x}{.y}", "a{.x,y}", "{x}.{y}.json", "{+x},{y}", "{x}{#y}", "{+x,y}"]
)
def test_values_come_back_where_they_do_not_hold_what_separates_them(template: str, x: str, y: str) -> None:
    made = UriTemplate(template)
    assert made.match(made.expand({"x": x, "y": y})) == {"x": x, "y": y}


@given(path=paths.filter(_safe), name=separate)
@pytest.mark.parametrize(
    "template", ["f:///{+x}", "f:///{+x}/{y}", "f:///{y}/{+x}", "f:///{+x}{?y}", "f://{#x}"]
)
def test_paths_come_back_with_their_steps(template: str, path: str, name: str) -> None:
    made = UriTemplate(template)
    values = {name_: text for name_, text in {"x": path, "y": name}.items() if name_ in made.variables}
    assert made.match(made.expand(values)) == values


@given(steps=st.lists(plain, min_size=1, max_size=4))
def test_the_steps_of_an_exploded_path_come_back_as_one_text(steps: list[str]) -> None:
    template = UriTemplate("f://{/x*}")
    assert template.match(template.expand({"x": steps})) == {"x": "/".join(steps)}


#: Each template with the kinds of beginnings that its URIs have.
WAYS = {
    "{x}": "",
    "{+x}": "",
    "{x}{.y}": "",
    "{+x}/{y}{?z}": "",
    "{/x}": "/",
    "{/x*}": "/",
    "{?x}": "?x=",
    "{;x,y}": ";x=",
    "{#x}": "#",
}
#: Those whose values are one step of a path.
STEPS = ("{x}", "{x}{.y}", "{/x}", "{;x,y}")
crumbs = st.sampled_from(
    [".", "..", "%2e", "%2E", "/", "%2f", "%5c", "\\", "a", "%252e", "%252F", "%00", "\0", "ü"]
)


@settings(max_examples=300)
@given(way=st.sampled_from(list(WAYS.items())), rest=st.lists(crumbs, min_size=1, max_size=5).map("".join))
def test_no_uri_whatever_gives_a_value_that_climbs(way: tuple[str, str], rest: str) -> None:
    template, begin = way
    for text in (UriTemplate(template).match(begin + rest) or {}).values():
        again = percent.decode(percent.units(text) or [])
        assert again is not None
        assert "\0" not in text
        assert "/" not in text or template not in STEPS
        for spelling in (text, again):
            assert ".." not in spelling.replace("\\", "/").split("/")


def steps_of(template: UriTemplate, uri: str) -> int:
    """How many lines run to match a URI."""
    count = 0

    def line(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ARG001
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: line if "uri_template" in frame.f_code.co_filename else None)  # noqa: ARG005
    try:
        template.match(uri)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    ("template", "unit"),
    [
        ("{a}{b}{c}{d}{e}x", "a"),
        ("{+a}{+b}{+c}{+d}{+e}x", "a/"),
        ("{a}-{b}-{c}-{d}-{e}!", "-"),
        ("{/a,b,c,d,e}x", "/a"),
        ("{/a*}{/b*}{/c*}{/d*}x", "/"),
        ("u{?a}{&b}&x=1{&c}y", "&x=1"),
        ("{+a}aaaa{+b}aaaa{+c}aaaa{+d}b", "a"),
        ("{+a}{?q}", "%25"),
    ],
)
def test_a_hostile_uri_costs_no_more_than_its_length(template: str, unit: str) -> None:
    made = UriTemplate(template)
    short, long = (steps_of(made, "u?" * ("?" in template) + unit * count) for count in (100, 800))
    assert long <= 8.5 * short
