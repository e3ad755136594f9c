"""Planted bugs in the server machine: admission, answers, arrays, ends."""

from __future__ import annotations

from tests.protocol.mutation import Mutation
from tests.protocol.mutations_of_sessions import LISTENING, SAID, WORLD

OPENING, ENTRY, ENDS = "serving/test_opening.py", "serving/test_entry.py", "serving/test_ends.py"
BATCHES, CANCELLING = "serving/test_batches.py", "serving/test_cancelling.py"
OWN, PARTS = "serving/test_own_requests.py", "serving/test_parts.py"

SERVING = (
    *SAID,
    # What is let in, and under which rules.
    Mutation(
        "a version is judged before the rest of a request's description",
        "serving/entry.py",
        "    fault = _misfit(meta)\n    if fault is not None:\n",
        "    fault = _misfit(meta)\n"
        "    if fault is not None and profile.revision(meta[VERSION], stateless=True):\n",
        (ENTRY,),
    ),
    Mutation(
        "any meta makes a request modern",
        "serving/entry.py",
        "    return isinstance(meta, dict) and VERSION in meta\n",
        "    return isinstance(meta, dict)\n",
        (OPENING,),
    ),
    Mutation(
        "a handshake revision serves a request that describes itself",
        "serving/profile.py",
        "            if revision.version == version and revision.stateless is stateless:\n",
        "            if revision.version == version:\n",
        (ENTRY,),
    ),
    Mutation(
        "what is not announced exists all the same",
        "serving/profile.py",
        "    return path is None or has(said, path)\n",
        "    return True\n",
        (ENTRY,),
    ),
    Mutation(
        "a request is served before initialize",
        "serving/reception.py",
        '        if request.method != "ping":\n',
        '        if request.method == "initialize":\n',
        (OPENING,),
    ),
    Mutation(
        "a second initialize changes what was agreed on",
        "serving/reception.py",
        '        if self.agreed is not None:\n            return Refused(jsonrpc.INVALID_REQUEST, "this',
        '        if self.agreed is ...:\n            return Refused(jsonrpc.INVALID_REQUEST, "this',
        (WORLD, OPENING),
    ),
    Mutation(
        "a ping finishes the handshake",
        "serving/reception.py",
        '        if modern or request.method in ("ping", "initialize"):\n',
        '        if modern or request.method == "initialize":\n',
        (OPENING,),
    ),
    Mutation(
        "the client may take any time for its handshake",
        "serving/cells.py",
        "            self._out.append(SetTimer(E.PhaseExpired(), self._policy.init_timeout))\n",
        "",
        (WORLD, OPENING),
    ),
    Mutation(
        "the timer of a phase outlives it",
        "session.py",
        "            if before is Phase.GREETED:\n",
        "            if before is Phase.FRESH:\n",
        (WORLD, OPENING),
    ),
    Mutation(
        "the id of a request is taken over by another",
        "serving/reception.py",
        "        return id_ in self.running or id_ in self.listens\n",
        "        return id_ in self.listens\n",
        (WORLD, ENTRY),
    ),
    Mutation(
        "any number of requests runs at once",
        "serving/reception.py",
        "            if len(self.running) >= self._policy.max_running:\n",
        "            if len(self.running) > self._policy.max_running:\n",
        (WORLD, ENTRY),
    ),
    # Answers and cancellations.
    Mutation(
        "a request is answered as often as its handler says",
        "serving/reception.py",
        "        del self.running[id_]\n",
        "        self.running[id_]\n",
        (WORLD, ENTRY),
    ),
    Mutation(
        "a handler is told to stop when it is forgotten already",
        "serving/cells.py",
        "            self._out.append(CancelJob(id_, reason))\n"
        "        self.reception.cancel(id_, tell=tell)\n",
        "        ran = id_ in self.reception.running\n"
        "        self.reception.cancel(id_, tell=tell)\n"
        "        if ran:\n            self._out.append(CancelJob(id_, reason))\n",
        (WORLD, CANCELLING),
    ),
    Mutation(
        "a cancelled request does not end",
        "serving/reception.py",
        "        if (self.listens.close(id_) or ran) and (tell or id_ in self._bundles):\n",
        "        if (self.listens.close(id_) or ran) and id_ in self._bundles:\n",
        (WORLD, CANCELLING),
    ),
    Mutation(
        "a dismissed request is answered",
        "serving/cells.py",
        "        self._cancel(event.id, event.reason, tell=False)\n",
        "        self._cancel(event.id, event.reason, tell=True)\n",
        (WORLD, CANCELLING),
    ),
    Mutation(
        "True cancels request 1",
        "serving/cells.py",
        "            if isinstance(id_, int | str) and not isinstance(id_, bool):\n",
        "            if isinstance(id_, int | str):\n",
        (CANCELLING,),
    ),
    # Arrays.
    Mutation(
        "every revision has arrays",
        "serving/reception.py",
        "        if self.agreed is None or not self.agreed.revision.has_batching:\n",
        "        if self.agreed is None:\n",
        (BATCHES,),
    ),
    Mutation(
        "an array is answered before its last request",
        "serving/bundles.py",
        "        if self.waiting:\n            return None\n",
        "        if len(self.waiting) > 1:\n            return None\n",
        (WORLD, BATCHES),
    ),
    Mutation(
        "what was no message in an array is not said",
        "serving/reception.py",
        "            self._bundles.open(Bundle(ids, errors))\n",
        "            self._bundles.open(Bundle(ids))\n",
        (WORLD, BATCHES),
    ),
    Mutation(
        "a dismissed request holds back its array",
        "serving/reception.py",
        " and (tell or id_ in self._bundles):\n",
        " and tell:\n",
        (BATCHES,),
    ),
    Mutation(
        "a modern request is served inside an array",
        "serving/reception.py",
        "            if request.id in self._bundles:\n",
        "            if request.id in ():\n",
        (BATCHES,),
    ),
    Mutation(
        "an array does not finish the handshake",
        "serving/cells.py",
        "                self.phase = self._hear(message, False)\n        return self.phase\n",
        "                self._hear(message, False)\n        return self.phase\n",
        (BATCHES,),
    ),
    Mutation(
        "arrays outlive their client",
        "serving/reception.py",
        "        self._bundles.clear()\n",
        "",
        (BATCHES,),
    ),
    # Ends.
    Mutation(
        "streams are left open by a server that stops",
        "serving/cells.py",
        "    def stop(self, event: E.StopAsked) -> Phase:\n        self.reception.end_listens()\n",
        "    def stop(self, event: E.StopAsked) -> Phase:\n",
        (WORLD, LISTENING),
    ),
    Mutation(
        "a session that closes takes another request",
        "serving/cells.py",
        "            self.reception.turn_away(request)\n",
        "            self.reception.serve(request, modern)\n",
        (ENDS,),
    ),
    Mutation(
        "a session waits for its grace though the last request is cancelled",
        "serving/cells.py",
        "        return self._settle() if phase is Phase.CLOSING else phase\n",
        "        return phase\n",
        (WORLD, CANCELLING),
    ),
    Mutation(
        "the grace of a session that closed in time goes on",
        "serving/cells.py",
        "        if self.phase is Phase.CLOSING and not self.reception.running:\n"
        "            self._out.append(CancelTimer(E.GraceOver()))\n",
        "        if self.phase is Phase.CLOSING and not self.reception.running:\n",
        (WORLD, ENDS),
    ),
    Mutation(
        "what is broken off is not answered",
        "serving/cells.py",
        "            self.reception.refuse(id_, Refused(jsonrpc.INTERNAL_ERROR, reason))\n",
        "            self.reception.running.pop(id_)\n",
        (WORLD, ENDS),
    ),
    Mutation(
        "handlers are not told that their client is gone",
        "serving/cells.py",
        "            self._out.append(CancelJob(id_, event.reason))\n",
        "            pass\n",
        (WORLD, ENDS),
    ),
    # Finishing.
    Mutation(
        "a result that asks for input may be kept",
        "serving/finishing.py",
        '    if method in CACHEABLE and told["resultType"] == _COMPLETE:\n',
        "    if method in CACHEABLE:\n",
        (PARTS,),
    ),
    Mutation(
        "an older client is told words that came later",
        "serving/finishing.py",
        " if key not in _LATER_WORDS}\n",
        "}\n",
        (PARTS,),
    ),
    Mutation(
        "a session may watch any number of resources",
        "serving/reception.py",
        "        if len(self._watched) >= MAX_WATCHED and uri not in self._watched:\n",
        "        if len(self._watched) > MAX_WATCHED and uri not in self._watched:\n",
        (OWN,),
    ),
    Mutation(
        "a stream may watch any number of resources",
        "serving/listens.py",
        "    if len(uris) + len(tasks) > MAX_WATCHED:\n",
        "    if len(uris) > MAX_WATCHED:\n",
        (LISTENING,),
    ),
)
