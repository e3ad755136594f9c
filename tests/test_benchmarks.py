"""The benchmarks work: each workload is run, tiny, and its results have their shape; no speed is asserted."""

from __future__ import annotations

import io
import socket
from contextlib import redirect_stdout
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from benchmarks import figures, goals, profile
from benchmarks.bench_mailbox import Weather, bounds_of
from benchmarks.bench_round_trip import ECHO
from benchmarks.case import Job
from benchmarks.command import chosen, main, parse
from benchmarks.contestants import roster
from benchmarks.contestants.over_http import Form, open_http_contestant
from benchmarks.contestants.roster import Era
from benchmarks.harness import JobFailed, JobTimeout, Row, Settings, run_case, run_job
from benchmarks.questions import CASES
from benchmarks.report import as_text
from benchmarks.servers.http_process import http_server

LIMITS_AND_OURS = "raw,raw-threads,http.client,urllib3,mcp_actors"
TWO_WEATHERS = "M stuck storm/64 frames=all window=4,M none calm frames=1 window=1"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, str]:
    """All workloads once, without the peers, which take seconds to import: the JSON and the tables."""
    file = tmp_path_factory.mktemp("benchmarks") / "results.json"
    only = f"A,B,C,D,E,F,{TWO_WEATHERS}"
    tables = io.StringIO()
    with redirect_stdout(tables):
        code = main(["--smoke", "--only", only, "--contestants", LIMITS_AND_OURS, "--json", str(file)])
    assert code == 0
    return orjson.loads(file.read_bytes()), tables.getvalue()


def test_every_workload_has_a_result_of_every_contestant(run: tuple[Any, str]) -> None:
    rows = {(row["case"], row["contestant"]): row for row in run[0]["results"]}
    wanted = {
        (case.id, name)
        for case in chosen(f"A,B,C,D,E,F,{TWO_WEATHERS}")
        for name in case.contestants
        if name in LIMITS_AND_OURS.split(",")
    }
    assert rows.keys() == wanted
    assert {row["status"] for row in rows.values()} == {"ok"}


def test_each_result_holds_its_rounds_their_medians_and_the_ratios_to_the_others(
    run: tuple[Any, str],
) -> None:
    for row in run[0]["results"]:
        case = CASES[row["case"]]
        assert len(row["rounds"]) == 1
        assert {column.figure for column in case.columns} <= row["medians"].keys()
        assert all(isinstance(value, float | int) for value in row["medians"].values())
        assert row["contestant"] not in row["ratios"]
    ours = next(r for r in run[0]["results"] if r["case"] == "A" and r["contestant"] == "mcp_actors")
    assert ours["ratios"].keys() == {"raw", "raw-threads"}
    assert ours["ratios"]["raw"]["p50_us"] == pytest.approx(
        ours["medians"]["p50_us"]
        / next(r for r in run[0]["results"] if r["case"] == "A" and r["contestant"] == "raw")["medians"][
            "p50_us"
        ]
    )


def test_the_machine_and_the_options_are_written_down(run: tuple[Any, str]) -> None:
    assert {"cpu", "cores", "python", "system", "commit", "versions"} <= run[0]["machine"].keys()
    assert run[0]["options"]["scale"] == "smoke"


def test_goals_stand_beside_their_values_and_those_not_measured_say_so(run: tuple[Any, str]) -> None:
    verdicts = {(goal["case"], goal["figure"], goal["against"]): goal for goal in run[0]["goals"]}
    assert verdicts[("A", "p50_us", "raw")]["verdict"] in ("met", "missed")
    assert verdicts[("A", "p50_us", "official-portal")]["verdict"] == "not measured"
    for case, figure in (("E1", "p50_us"), ("E50", "wall_s"), ("ES", "p50_us")):
        assert verdicts[(case, figure, "urllib3")]["verdict"] in ("met", "missed")
        assert verdicts[(case, figure, "official-portal")]["verdict"] == "not measured"


def test_the_tables_name_every_case_and_warn_of_small_sizes(run: tuple[Any, str]) -> None:
    for case in chosen("A,B,C,D,E,F"):
        assert f"{case.id}: {case.what}" in run[1]
    assert "prove nothing" in run[1]


@pytest.mark.parametrize(
    ("contestant", "case"),
    [
        ("official-async", "D counting"),
        ("official-portal", "A"),
        ("fastmcp-portal", "A"),
        ("official-async", "E50"),
        ("official-portal", "ES"),
        ("fastmcp-portal", "E1"),
    ],
)
def test_a_peer_takes_part_or_is_reported_as_skipped(contestant: str, case: str) -> None:
    settings = Settings("smoke", contestants=frozenset({contestant}))
    [row] = run_case(CASES[case], settings, lambda _line: None)
    assert row.status == ("ok" if roster.ROSTER[contestant].missing is None else "skipped"), row.error


def test_a_contestant_that_is_not_installed_is_a_row_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(roster.ROSTER["raw"], package="no_such_package_anywhere")
    monkeypatch.setitem(roster.ROSTER, "raw", entry)
    told: list[str] = []
    [row] = run_case(CASES["A"], Settings("smoke", contestants=frozenset({"raw"})), told.append)
    assert (row.status, row.error) == ("skipped", "no_such_package_anywhere is not installed")
    assert told == ["A: raw is skipped: no_such_package_anywhere is not installed"]


def test_a_contestant_that_crashes_is_a_row_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = replace(CASES["A"], smoke={})
    monkeypatch.setattr("benchmarks.harness._TAIL_LINES", 1)
    settings = Settings("smoke", rounds=2, contestants=frozenset({"raw"}))
    [row] = run_case(broken, settings, lambda _line: None)
    assert (row.status, row.rounds) == ("failed", [])
    assert "KeyError" in row.error
    assert "failed: ended with 1" in as_text({}, "smoke", [broken], [row], [])


def test_a_job_that_takes_too_long_is_killed() -> None:
    with pytest.raises(JobTimeout, match="not done after"):
        run_job(CASES["A"].job("raw", "full"), 0.02)


def test_a_job_without_a_module_fails_with_the_reason() -> None:
    with pytest.raises(JobFailed, match="No module named"):
        run_job(Job("benchmarks.no_such_bench", "A", "raw", {}), 30.0)


def test_a_profile_names_the_threads(capsys: pytest.CaptureFixture[str]) -> None:
    assert profile.main(["A", "--smoke", "--top", "3"]) == 0
    shown = capsys.readouterr().out
    assert "MainThread" in shown
    assert "connection" in shown


def test_every_bench_file_is_asked() -> None:
    folder = Path(profile.__file__).parent
    files = {path.stem for path in folder.glob("bench_*.py")}
    assert {case.bench.rpartition(".")[2] for case in CASES.values()} == files


#: Workloads that measure servers.
SERVERS = ("G", "H", "S")


@pytest.mark.parametrize("case", [case.id for case in CASES.values() if case.workload in SERVERS])
def test_a_server_of_this_library_is_measured(case: str) -> None:
    [row] = run_case(
        CASES[case], Settings("smoke", contestants=frozenset({"mcp_actors"})), lambda _line: None
    )
    assert row.status == "ok", row.error


def test_every_contestant_speaks_the_way_that_its_case_asks_for() -> None:
    for case in CASES.values():
        if case.workload in SERVERS:
            continue  # these are contestants that are spoken to
        for entry in (roster.ROSTER[name] for name in case.contestants):
            assert (entry.http if case.workload == "E" else entry.stdio) is not None
            assert case.workload != "F" or (entry.imports and entry.program_path.is_file())


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("form", ["json", "sse"])
@pytest.mark.parametrize("contestant", ["raw", "http.client", "urllib3", "mcp_actors"])
def test_the_http_server_answers_in_both_forms_and_both_eras(
    contestant: str, form: Form, era: Era, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A contestant's process switches proxies off for good; this one has other tests to run.
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("no_proxy", "")
    job = CASES["E1"].job(contestant, "smoke")
    with open_http_contestant(job, form, era=era) as connected:
        assert len(connected.sequence(ECHO, 2)) == 2
        assert len(connected.crowd(ECHO, 3, 2).seconds) == 6


def test_the_http_server_greets_accepts_and_refuses() -> None:
    discover = b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}'
    initialize = b'{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}'
    with http_server(["modern"]) as modern, http_server(["legacy"]) as legacy:
        assert orjson.loads(_post(modern, discover)[1])["result"]["supportedVersions"] == ["2026-07-28"]
        assert orjson.loads(_post(legacy, discover)[1])["error"]["code"] == -32601
        assert orjson.loads(_post(legacy, initialize)[1])["result"]["protocolVersion"] == "2025-06-18"
        assert _post(legacy, b'{"jsonrpc":"2.0","method":"notifications/initialized"}') == (202, b"")
        assert _post(legacy, b"", method="GET") == (405, b"")
        assert _post(legacy, discover, path="/elsewhere") == (404, b"")


def test_the_http_server_takes_requests_in_pieces_and_several_at_once() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    request = b"POST /json HTTP/1.1\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    with http_server(["legacy"]) as address, socket.create_connection(_host_and_port(address), 5.0) as sock:
        for piece in (request[:30], request[30:70], request[70:] + request * 2):
            sock.sendall(piece)
        received = b""
        while received.count(b'"result":{}}') < 3:
            chunk = sock.recv(4096)
            assert chunk
            received += chunk
    assert received.count(b"HTTP/1.1 200 OK") == 3


def _host_and_port(address: str) -> tuple[str, int]:
    parts = urlsplit(address)
    return str(parts.hostname), int(parts.port or 0)


def _post(address: str, body: bytes, *, method: str = "POST", path: str = "/json") -> tuple[int, bytes]:
    connection = HTTPConnection(*_host_and_port(address), timeout=5.0)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_every_goal_names_a_figure_and_a_contestant_of_its_case() -> None:
    for goal in goals.GOALS:
        case = CASES[goal.case]
        assert goal.figure in {column.figure for column in case.columns}
        assert goal.against is None or goal.against in case.contestants


def test_a_goal_is_met_up_to_its_limit_and_missed_above_it() -> None:
    goal = goals.Goal("A", "p50_us", 2.0, "raw")
    rows = [Row("A", "mcp_actors", "one", [{"p50_us": 20.0}]), Row("A", "raw", "one", [{"p50_us": 10.0}])]
    assert goals.judge(rows, [goal])[0].word == "met"
    rows[0].rounds[0]["p50_us"] = 20.1
    assert goals.judge(rows, [goal])[0].word == "missed"


def test_percentiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(100, 0, -1)]
    assert figures.percentile(values, 50) == 50.0
    assert figures.percentile(values, 99) == 99.0
    assert figures.percentile([7.0], 99) == 7.0


def test_the_mailbox_bound_counts_the_callers_that_are_admitted() -> None:
    few = bounds_of(Weather("none", 64, None, 1), 200)["connection"]
    many = bounds_of(Weather("none", 1024, None, 4), 200)["connection"]
    assert many - few == (4 + 201) - (1 + 64)


@pytest.mark.parametrize("arguments", [["--only", "Z"], ["--contestants", "nobody"]])
def test_an_unknown_name_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        parse(arguments)
