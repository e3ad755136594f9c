"""A server that answers well until its tool ``fault`` is called, and then does what its mode says.

Usage: faulty.py MODE [--version V] [--starts FILE] [--always]. ``--starts`` counts the starts in a file, one
byte each; without ``--always`` only the first of them is faulty. Uses nothing but the standard library.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

HANG = 60.0


class Server:
    """Speaks JSON lines over stdin and stdout."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.stdin = sys.stdin.buffer

    def write(self, data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    def say(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def reply(self, id_: Any, result: Any) -> None:
        self.say({"jsonrpc": "2.0", "id": id_, "result": result})

    def refuse(self, id_: Any, code: int, message: str) -> None:
        self.say({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}})

    def text(self, id_: Any, value: str) -> None:
        self.reply(id_, said(value))

    def progress(self, params: Any) -> None:
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            news = {"progressToken": token, "progress": 1}
            self.say({"jsonrpc": "2.0", "method": "notifications/progress", "params": news})

    def read(self) -> Any:
        line = self.stdin.readline()
        return json.loads(line) if line else None

    def serve(self, fault: Callable[[Server, Any], object]) -> None:
        while (message := self.read()) is not None:
            self.handle(message, fault)

    def call(self, id_: Any, params: Any, fault: Callable[[Server, Any], object]) -> None:
        if params["name"] == "fault":
            fault(self, id_)
        elif params["name"] == "pid":
            self.progress(params)
            self.text(id_, str(os.getpid()))
        elif params["name"] == "surroundings":
            self.text(id_, json.dumps({"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd()}))
        else:
            self.text(id_, json.dumps(params.get("arguments")))

    def handle(self, message: Any, fault: Callable[[Server, Any], object]) -> None:
        method, id_ = message.get("method"), message.get("id")
        if method == "tools/call":
            self.call(id_, message["params"], fault)
        elif method == "server/discover" and self.version == "2026-07-28":
            self.reply(id_, {"supportedVersions": [self.version], "capabilities": {"tools": {}}})
        elif method == "initialize" and self.version != "2026-07-28":
            info = {"name": "faulty", "version": "1"}
            self.reply(
                id_, {"protocolVersion": self.version, "capabilities": {"tools": {}}, "serverInfo": info}
            )
        elif method == "tools/list":
            self.reply(id_, {"tools": [{"name": "fault", "inputSchema": {"type": "object"}}]})
        elif method == "ping":
            self.reply(id_, {})
        elif id_ is not None and method is not None:
            self.refuse(id_, -32601, "Method not found")


def said(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def frame(id_: Any, value: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id_, "result": said(value)}, ensure_ascii=False).encode()


FAULTS: dict[str, Callable[[Server, Any], object]] = {}
AT_START: dict[str, Callable[[Server], object]] = {}


def mode(name: str) -> Callable[[Callable[[Server, Any], object]], Callable[[Server, Any], object]]:
    def register(fault: Callable[[Server, Any], object]) -> Callable[[Server, Any], object]:
        FAULTS[name] = fault
        return fault

    return register


def at_start(name: str) -> Callable[[Callable[[Server], object]], Callable[[Server], object]]:
    def register(fault: Callable[[Server], object]) -> Callable[[Server], object]:
        AT_START[name] = fault
        return fault

    return register


# The process.


@mode("none")
def none(server: Server, id_: Any) -> None:
    server.text(id_, "fine")


@mode("exit")
def leave(_server: Server, _id: Any) -> None:
    sys.stderr.write("FATAL: database password rejected\n")
    sys.stderr.flush()
    os._exit(7)


@mode("sigkill")
def killed(_server: Server, _id: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@mode("answer-then-exit")
def answer_then_exit(server: Server, id_: Any) -> None:
    server.text(id_, "last words")
    os._exit(0)


@mode("grandchild-holds-stdout")
def grandchild(_server: Server, _id: Any) -> None:
    if os.fork() == 0:
        time.sleep(HANG)
    os._exit(3)


@mode("stopped")
def stopped(_server: Server, _id: Any) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


@mode("silence")
def silence(_server: Server, _id: Any) -> None:
    return


@at_start("exit-at-once")
def exit_at_once(_server: Server) -> None:
    sys.stderr.write("ModuleNotFoundError: No module named 'psycopg'\n")
    sys.stderr.flush()
    os._exit(3)


@at_start("never-answers")
def never_answers(server: Server) -> None:
    while server.stdin.readline():
        pass
    os._exit(0)


@at_start("exit-on-probe")
def exit_on_probe(server: Server) -> None:
    server.version = "2025-06-18"
    first = server.read()
    if first["method"] == "server/discover":
        os._exit(1)
    server.handle(first, none)
    server.serve(none)


@at_start("dies-after-handshake")
def dies_after_handshake(server: Server) -> None:
    server.handle(server.read(), none)
    os._exit(9)


@at_start("stubborn")
def stubborn(server: Server) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server.serve(none)
    time.sleep(HANG)


@at_start("slow-to-end")
def slow_to_end(server: Server) -> None:
    server.serve(none)
    time.sleep(0.5)
    server_marker = os.environ["MARKER"]
    with open(server_marker, "w", encoding="ascii") as file:
        file.write("saved")


@at_start("leaves-children")
def leaves_children(server: Server) -> None:
    program = f"import time; time.sleep({HANG})"
    for group in (False, True):
        child = subprocess.Popen(
            [sys.executable, "-S", "-c", program], start_new_session=group, stdin=subprocess.DEVNULL
        )
        with open(os.environ["MARKER"], "a", encoding="ascii") as file:
            file.write(f"{child.pid}\n")
    server.serve(none)


@at_start("talks-after-eof")
def talks_after_eof(server: Server) -> None:
    server.serve(none)
    server.write(b"x" * 10_000_000)


# The pipes.


@mode("close-stdout")
def close_stdout(_server: Server, _id: Any) -> None:
    os.close(1)
    time.sleep(HANG)


@mode("close-stdin")
def close_stdin(server: Server, id_: Any) -> None:
    os.close(0)
    server.text(id_, "deaf now")
    time.sleep(HANG)


@mode("stop-reading")
def stop_reading(_server: Server, _id: Any) -> None:
    time.sleep(HANG)


@mode("stderr-flood")
def stderr_flood(server: Server, id_: Any) -> None:
    for _ in range(300):
        os.write(2, b"noise " * 1000 + b"\n")
    os.write(2, b"endless" * 100_000)
    server.text(id_, "quiet again")


@mode("half-a-frame")
def half_a_frame(server: Server, id_: Any) -> None:
    whole = frame(id_, "never whole")
    server.write(whole[: len(whole) // 2])
    os._exit(0)


@mode("drip")
def drip(server: Server, id_: Any) -> None:
    for byte in frame(id_, "ünhurried") + b"\n":
        server.write(bytes([byte]))
        time.sleep(0.002)


@mode("cut")
def cut(server: Server, id_: Any) -> None:
    """Die after so many bytes of the answer as there are starts."""
    server.write((frame(id_, "x") + b"\n")[: STARTS - 1])
    os._exit(0)


# The framing.


@mode("endless-line")
def endless_line(server: Server, _id: Any) -> None:
    for _ in range(int(os.environ.get("MEBIBYTES", "17"))):
        server.write(b"x" * (1 << 20))
    time.sleep(HANG)


@mode("large-frame")
def large_frame(server: Server, id_: Any) -> None:
    server.write(frame(id_, "x" * 200_000) + b"\n")


@mode("bad-utf8")
def bad_utf8(server: Server, id_: Any) -> None:
    server.write(b'{"jsonrpc":"2.0","method":"x","params":{"a":"\xff\xfe"}}\n\xff\n\xc3\n')
    server.text(id_, "after bad bytes")


@mode("answer-in-bad-utf8")
def answer_in_bad_utf8(server: Server, id_: Any) -> None:
    server.write(frame(id_, "@").replace(b"@", b"\xff") + b"\n")


@mode("rubbish")
def rubbish(server: Server, id_: Any) -> None:
    server.write(b'INFO starting up\n\n   \n\t\nnull\n7\n[]\n{}\n"x"\n{broken\nTraceback:\n\0\n')
    server.text(id_, "after rubbish")


@mode("crlf")
def crlf(server: Server, id_: Any) -> None:
    server.write(b"\r\n" + frame(id_, "windows") + b"\r\n\r\n")


@at_start("bom")
def bom(server: Server) -> None:
    server.write(b"\xef\xbb\xbf")
    server.serve(none)


@mode("separators")
def separators(server: Server, id_: Any) -> None:
    server.write(frame(id_, "a\u2028b\u2029c\u0085d\u000be").replace(b"\x0b", b"\\u000b") + b"\n")


@mode("split-characters")
def split_characters(server: Server, id_: Any) -> None:
    whole = frame(id_, "ü€𝄞") + b"\n"
    for start in range(0, len(whole), 3):
        server.write(whole[start : start + 3])
        time.sleep(0.001)


@mode("no-newline-then-exit")
def no_newline_then_exit(server: Server, id_: Any) -> None:
    server.write(frame(id_, "unended"))
    os._exit(0)


# The JSON.


@mode("deep")
def deep(server: Server, id_: Any) -> None:
    server.write(b'{"jsonrpc":"2.0","id":%d,"result":%s%s}\n' % (id_, b"[" * 100_000, b"]" * 100_000))


@mode("deep-notification")
def deep_notification(server: Server, id_: Any) -> None:
    nested = b'{"a":' * 50_000 + b"1" + b"}" * 50_000
    server.write(b'{"jsonrpc":"2.0","method":"deep","params":' + nested + b"}\n")
    server.text(id_, "after the deep")


@mode("digits")
def digits(server: Server, id_: Any) -> None:
    server.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"isError":%s}}\n' % (id_, b"9" * 100_000))


@mode("digits-as-id")
def digits_as_id(server: Server, id_: Any) -> None:
    server.write(b'{"jsonrpc":"2.0","id":%s,"result":{}}\n' % (b"9" * 100_000))
    server.text(id_, "after the digits")


@mode("nan")
def nan(server: Server, id_: Any) -> None:
    server.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[],"structuredContent":{"n":NaN}}}\n' % id_)


@mode("surrogate")
def surrogate(server: Server, id_: Any) -> None:
    server.write(frame(id_, "@").replace(b"@", b"\\ud800") + b"\n")


@mode("duplicate-members")
def duplicate_members(server: Server, id_: Any) -> None:
    ours = b'{"jsonrpc":"2.0","ID":%d,"Result":{},"id":-1,"id":%d,"result":{"content":[]},' % (id_, id_)
    server.write(ours + b'"result":%s}\n' % json.dumps(said("the last counts")).encode())


# JSON-RPC.


@mode("twice")
def twice(server: Server, id_: Any) -> None:
    server.text(id_, "first")
    server.text(id_, "second")


@mode("unknown-ids")
def unknown_ids(server: Server, id_: Any) -> None:
    for other in (id_ + 1, id_ + 1000, -1, "x", 0):
        server.text(other, "foreign")
    server.text(id_, "mine")


@mode("odd-ids")
def odd_ids(server: Server, id_: Any) -> None:
    for other in (True, str(id_), float(id_), None, [id_], {"id": id_}):
        server.text(other, "foreign")
    server.text(id_, "mine")


@mode("wrong-shapes")
def wrong_shapes(server: Server, id_: Any) -> None:
    for message in (
        {"id": 0, "result": {}},
        {"jsonrpc": "1.0", "id": 0, "result": {}},
        {"jsonrpc": "2.0", "id": 0, "result": {}, "error": {"code": 1, "message": "x"}},
        {"jsonrpc": "2.0", "id": 0},
        {"jsonrpc": "2.0"},
        {"jsonrpc": "2.0", "method": 5},
        {"jsonrpc": "2.0", "method": "x", "params": 5, "id": None},
        {"jsonrpc": "2.0", "id": 0, "error": 5},
    ):
        server.say(message)
    server.text(id_, "after wrong shapes")


@mode("result-and-error")
def result_and_error(server: Server, id_: Any) -> None:
    server.say({"jsonrpc": "2.0", "id": id_, "result": {}, "error": {"code": 1, "message": "x"}})


@mode("null-id-error")
def null_id_error(server: Server, id_: Any) -> None:
    server.refuse(None, -32700, "Parse error")
    server.text(id_, "still served")


@mode("batch")
def batch(server: Server, id_: Any) -> None:
    server.say([{"jsonrpc": "2.0", "method": "x"}, json.loads(frame(id_, "in a batch"))])


@mode("asks-back")
def asks_back(server: Server, id_: Any) -> None:
    """Send requests, one with the id of the pending call, and tell what was answered."""
    answers = []
    for method, other in (("ping", id_), ("sampling/createMessage", "s"), ("roots/list", 5), ("x", 6)):
        server.say({"jsonrpc": "2.0", "id": other, "method": method, "params": {}})
        answer = server.read()
        answers.append(answer.get("error", {}).get("code", "ok"))
    server.text(id_, json.dumps(answers))


@mode("idle-chatter")
def idle_chatter(server: Server, id_: Any) -> None:
    for method, params in (
        ("notifications/progress", {"progressToken": 999, "progress": 1}),
        ("notifications/progress", {}),
        ("notifications/cancelled", {"requestId": 999}),
        ("notifications/cancelled", {"requestId": True}),
        ("notifications/cancelled", {}),
        ("notifications/unheard/of", {"a": 1}),
    ):
        server.say({"jsonrpc": "2.0", "method": method, "params": params})
    server.text(id_, "after chatter")


@mode("progress-then-wait")
def progress_then_wait(server: Server, id_: Any) -> None:
    """Answer after the next message."""
    server.progress({"_meta": {"progressToken": id_}})
    following = server.read()
    server.text(id_, "waited for")
    server.handle(following, none)


@mode("error-answer")
def error_answer(server: Server, id_: Any) -> None:
    server.refuse(id_, -32000, "no such thing")


@mode("late")
def late(server: Server, id_: Any) -> None:
    """Answer only when the cancellation has come."""
    while (message := server.read()) is not None:
        if message.get("method") == "notifications/cancelled":
            server.text(id_, "too late")
            return


# Floods.


@mode("notification-flood")
def notification_flood(server: Server, id_: Any) -> None:
    line = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n'
    for _ in range(100):
        server.write(line * 1000)
    server.text(id_, "after the flood")


@mode("list-changed-flood")
def list_changed_flood(server: Server, id_: Any) -> None:
    server.write(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' * 20_000)
    server.text(id_, "after the flood")


@mode("ping-flood")
def ping_flood(server: Server, id_: Any) -> None:
    """Many pings whose answers are not read before the end."""
    server.write(b"".join(b'{"jsonrpc":"2.0","id":"p%d","method":"ping"}\n' % n for n in range(100_000)))
    server.text(id_, "after the pings")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode")
    parser.add_argument("--version", default="2026-07-28")
    parser.add_argument("--starts")
    parser.add_argument("--always", action="store_true")
    options, _ = parser.parse_known_args()
    global STARTS
    if options.starts:
        with open(options.starts, "ab") as file:
            file.write(b".")
        STARTS = os.path.getsize(options.starts)
    server = Server(options.version)
    faulty = options.always or int(os.environ.get("FAULTY_STARTS", "1")) >= STARTS
    if faulty and options.mode in AT_START:
        AT_START[options.mode](server)
    else:
        server.serve(FAULTS.get(options.mode, none) if faulty else none)


STARTS = 1

if __name__ == "__main__":
    main()
