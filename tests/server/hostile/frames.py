"""Frames that no honest client sends, each with the codes that may answer it; None: a result may."""

from __future__ import annotations

from typing import Final

PARSE, INVALID, METHOD, PARAMS = -32700, -32600, -32601, -32602


def _ping(id_: bytes, params: bytes = b"{}") -> bytes:
    return b'{"jsonrpc":"2.0","id":%s,"method":"ping","params":%s}' % (id_, params)


#: Each is answered exactly once.
ANSWERED: Final[dict[str, tuple[bytes, frozenset[int | None]]]] = {
    "half an object": (b'{"jsonrpc":', frozenset({PARSE})),
    "no JSON": (b"GET / HTTP/1.1", frozenset({PARSE})),
    "two values": (b"{} {}", frozenset({PARSE})),
    "invalid UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', frozenset({PARSE})),
    "invalid UTF-8 in the params": (_ping(b"1", b'{"a":"\xff"}'), frozenset({PARSE, PARAMS})),
    "UTF-16": ('{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16-le"), frozenset({PARSE})),
    "a byte order mark": (b"\xef\xbb\xbf" + _ping(b"1"), frozenset({PARSE})),
    "100,000 arrays": (b"[" * 100_000 + b"]" * 100_000, frozenset({PARSE, INVALID})),
    "100,000 arrays in the params": (
        _ping(b"1", b"[" * 100_000 + b"]" * 100_000),
        frozenset({PARSE, PARAMS}),
    ),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, frozenset({PARSE, INVALID})),
    "100,000 digits": (_ping(b"1", b'{"a":' + b"9" * 100_000 + b"}"), frozenset({PARSE, PARAMS})),
    "an id of 100,000 digits": (_ping(b"9" * 100_000), frozenset({PARSE, INVALID})),
    "an exponent": (_ping(b"1", b'{"a":1e999999999}'), frozenset({None, PARSE, PARAMS})),
    "not a number": (_ping(b"1", b'{"a":NaN}'), frozenset({None, PARSE, PARAMS})),
    "an id that is not a number": (_ping(b"NaN"), frozenset({PARSE, INVALID})),
    "a lone surrogate": (_ping(b"1", b'{"a":"\\ud800"}'), frozenset({None, PARSE, PARAMS})),
    "a lone surrogate as method": (
        b'{"jsonrpc":"2.0","id":1,"method":"\\udfff"}',
        frozenset({PARSE, METHOD}),
    ),
    "an array": (b"[%s]" % _ping(b"1"), frozenset({INVALID})),
    "an empty array": (b"[]", frozenset({INVALID})),
    "an array of rubbish": (b"[1,null,[]]", frozenset({INVALID})),
    "a string": (b'"ping"', frozenset({INVALID})),
    "null": (b"null", frozenset({INVALID})),
    "an empty object": (b"{}", frozenset({INVALID})),
    "JSON-RPC 1.0": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', frozenset({INVALID})),
    "no version": (b'{"id":1,"method":"ping"}', frozenset({INVALID})),
    "a method that is a number": (b'{"jsonrpc":"2.0","id":1,"method":1}', frozenset({INVALID})),
    "an id that is null": (_ping(b"null"), frozenset({INVALID})),
    "an id that is true": (_ping(b"true"), frozenset({INVALID})),
    "an id that is a fraction": (_ping(b"1.5"), frozenset({INVALID})),
    "an id that is an array": (_ping(b"[1]"), frozenset({INVALID})),
    "an id that is an object": (_ping(b'{"a":1}'), frozenset({INVALID})),
    "a result and an error": (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', frozenset({INVALID})),
    "params that are a string": (_ping(b"1", b'"a"'), frozenset({PARAMS})),
    "params that are an array": (_ping(b"1", b"[1]"), frozenset({PARAMS})),
    "params that are null": (_ping(b"1", b"null"), frozenset({None, PARAMS})),
    "a method of a megabyte": (
        b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 1_000_000 + b'"}',
        frozenset({METHOD}),
    ),
    "a method with control characters": (
        b'{"jsonrpc":"2.0","id":1,"method":"ping\\u0000\\u001b[2J\\n"}',
        frozenset({METHOD}),
    ),
    "an unknown method": (b'{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}', frozenset({METHOD})),
    "a request before the handshake": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
        frozenset({INVALID}),
    ),
    "a version that is a number": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":'
        b'{"io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":{}}}}',
        frozenset({PARAMS}),
    ),
}

#: Nobody waits for an answer to these.
UNANSWERED: Final[dict[str, bytes]] = {
    "an answer that nobody asked for": b'{"jsonrpc":"2.0","id":4711,"result":{}}',
    "an error that nobody asked for": b'{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"?"}}',
    "an error under no id": b'{"jsonrpc":"2.0","id":null,"error":null}',
    "an unknown notification": b'{"jsonrpc":"2.0","method":"notifications/rubbish","params":[1]}',
    "a cancellation of nothing": b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
    b'"params":{"requestId":{"a":1},"reason":[]}}',
    "a cancellation under true": b'{"jsonrpc":"2.0","method":"notifications/cancelled",'
    b'"params":{"requestId":true}}',
    "a notification that cannot be read": b'{"jsonrpc":"2.0","method":"notifications/initialized",'
    b'"params":{"a":"\xff"}}',
    "initialized before initialize": b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
}
