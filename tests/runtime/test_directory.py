"""Directory: who bears which name now."""

from __future__ import annotations

from mcp_actors.runtime.directory import Directory, Restart
from tests.runtime.probes import start_probe, stop


def test_a_name_leads_to_its_current_bearer_or_nobody() -> None:
    directory = Directory()
    _probe, ref = start_probe()
    assert directory.get("child") is None
    directory.publish("child", ref)
    assert directory.get("child") is ref
    directory.withdraw("child")
    directory.withdraw("child")
    assert directory.get("child") is None
    stop(ref)


def test_the_history_keeps_the_last_thirty_two() -> None:
    directory = Directory()
    for number in range(40):
        directory.record(Restart(float(number), "child", "Bang: no"))
    assert [restart.time for restart in directory.history] == [float(number) for number in range(8, 40)]
