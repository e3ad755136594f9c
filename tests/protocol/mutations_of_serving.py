"""Planted bugs in the server machine: admission, answers, arrays, questions, streams, ends."""

from __future__ import annotations

from tests.protocol.mutation import Mutation

SESSIONS = ("serving/test_session_properties.py",)
OPENING, ENTRY = ("serving/test_opening.py",), ("serving/test_entry.py",)
ASKING, BATCHES = ("serving/test_asking.py",), ("serving/test_batches.py",)
NEWS, LISTENING = ("serving/test_news.py",), ("serving/test_listening.py",)
PARTS, OWN = ("serving/test_parts.py",), ("serving/test_own_requests.py",)

SERVING = (
    # What is let in, and under which rules.
    Mutation(
        "a version is judged before the rest of a request's description",
        "serving/entry.py",
        "    fault = _misfit(meta)\n    if fault is not None:\n        return Refused(jsonrpc.INVALID_PARAMS, fault)\n"
        "    version = meta[VERSION]\n    revision = profile.revision(version, stateless=True)\n"
        "    if revision is None:\n        return unsupported(version, profile)\n",
        "    version = meta[VERSION]\n    revision = profile.revision(version, stateless=True)\n"
        "    if revision is None:\n        return unsupported(version, profile)\n"
        "    fault = _misfit(meta)\n    if fault is not None:\n        return Refused(jsonrpc.INVALID_PARAMS, fault)\n",
        ENTRY,
    ),
    Mutation(
        "any meta makes a request modern",
        "serving/entry.py",
        "    return isinstance(meta, dict) and VERSION in meta\n",
        "    return isinstance(meta, dict)\n",
        OPENING,
    ),
    Mutation(
        "a handshake revision serves a request that describes itself",
        "serving/profile.py",
        "            if revision.version == version and revision.stateless is stateless:\n",
        "            if revision.version == version:\n",
        ENTRY,
    ),
    Mutation(
        "what is not announced exists all the same",
        "serving/profile.py",
        "    return path is None or has(said, path)\n",
        "    return True\n",
        ENTRY,
    ),
    Mutation(
        "a request is served before initialize",
        "serving/reception.py",
        '        if request.method != "ping":\n',
        '        if request.method == "initialize":\n',
        OPENING,
    ),
    Mutation(
        "a second initialize changes what was agreed on",
        "serving/reception.py",
        '        if self.agreed is not None:\n            return Refused(jsonrpc.INVALID_REQUEST, "this',
        '        if self.agreed is ...:\n            return Refused(jsonrpc.INVALID_REQUEST, "this',
        SESSIONS,
    ),
    Mutation(
        "a ping finishes the handshake",
        "serving/reception.py",
        '        if modern or request.method in ("ping", "initialize"):\n',
        '        if modern or request.method == "initialize":\n',
        OPENING,
    ),
    Mutation(
        "the client may take any time for its handshake",
        "serving/cells.py",
        "            self._out.append(SetTimer(E.PhaseExpired(), self._policy.init_timeout))\n",
        "",
        SESSIONS,
    ),
    Mutation(
        "the timer of a phase outlives it",
        "session.py",
        "            if before is Phase.GREETED:\n",
        "            if before is Phase.FRESH:\n",
        SESSIONS,
    ),
    Mutation(
        "the id of a request is taken over by another",
        "serving/reception.py",
        "        return id_ in self.running or id_ in self.listens\n",
        "        return id_ in self.listens\n",
        SESSIONS,
    ),
    Mutation(
        "any number of requests runs at once",
        "serving/reception.py",
        "            if len(self.running) >= self._policy.max_running:\n",
        "            if len(self.running) > self._policy.max_running:\n",
        SESSIONS,
    ),
    # Answers and cancellations.
    Mutation(
        "a request is answered as often as its handler says",
        "serving/reception.py",
        "        del self.running[id_]\n",
        "        self.running[id_]\n",
        SESSIONS,
    ),
    Mutation(
        "a handler is told to stop when it is forgotten already",
        "serving/cells.py",
        "            self._out.append(CancelJob(id_, reason))\n        self.reception.cancel(id_, tell=tell)\n",
        "        ran = id_ in self.reception.running\n"
        "        self.reception.cancel(id_, tell=tell)\n"
        "        if ran:\n            self._out.append(CancelJob(id_, reason))\n",
        SESSIONS,
    ),
    Mutation(
        "a cancelled request does not end",
        "serving/reception.py",
        "        if (self.listens.close(id_) or ran) and (tell or id_ in self._bundles):\n",
        "        if (self.listens.close(id_) or ran) and id_ in self._bundles:\n",
        SESSIONS,
    ),
    Mutation(
        "a dismissed request is answered",
        "serving/cells.py",
        "        self._cancel(event.id, event.reason, tell=False)\n",
        "        self._cancel(event.id, event.reason, tell=True)\n",
        SESSIONS,
    ),
    Mutation(
        "True cancels request 1",
        "serving/cells.py",
        "            if isinstance(id_, int | str) and not isinstance(id_, bool):\n",
        "            if isinstance(id_, int | str):\n",
        ("serving/test_cancelling.py",),
    ),
    # Arrays.
    Mutation(
        "every revision has arrays",
        "serving/reception.py",
        "        if self.agreed is None or not self.agreed.revision.has_batching:\n",
        "        if self.agreed is None:\n",
        BATCHES,
    ),
    Mutation(
        "an array is answered before its last request",
        "serving/bundles.py",
        "        if self.waiting:\n            return None\n",
        "        if len(self.waiting) > 1:\n            return None\n",
        SESSIONS,
    ),
    Mutation(
        "what was no message in an array is not said",
        "serving/reception.py",
        "            self._bundles.open(Bundle(ids, errors))\n",
        "            self._bundles.open(Bundle(ids))\n",
        SESSIONS,
    ),
    Mutation(
        "a dismissed request holds back its array",
        "serving/reception.py",
        " and (tell or id_ in self._bundles):\n",
        " and tell:\n",
        SESSIONS,
    ),
    Mutation(
        "a modern request is served inside an array",
        "serving/reception.py",
        "            if request.id in self._bundles:\n",
        "            if request.id in ():\n",
        BATCHES,
    ),
    Mutation(
        "an array forgets what its first message changed",
        "serving/cells.py",
        "                self.phase = self._hear(message, False)\n        return self.phase\n",
        "                phase = self._hear(message, False)\n        return phase\n",
        BATCHES,
    ),
    Mutation(
        "arrays outlive their client",
        "serving/reception.py",
        "        self._bundles.clear()\n",
        "",
        SESSIONS,
    ),
    # Questions.
    Mutation(
        "a modern client is sent a request",
        "serving/cells.py",
        "            self.asking.ask(question, running[question.about].job.terms)\n",
        "            self.asking.ask(question, self.reception.agreed)\n",
        SESSIONS,
    ),
    Mutation(
        "a client is asked what it does not offer",
        "serving/asking.py",
        "    if path is not None and not agreed.declares(path):\n",
        "    if path is not None and path in ():\n",
        SESSIONS,
    ),
    Mutation(
        "a question follows the last word about its request",
        "serving/cells.py",
        '            self.asking.leave(question, "its request is over")\n',
        "            self.asking.ask(question, self.reception.agreed)\n",
        SESSIONS,
    ),
    Mutation(
        "a question is taken back after the answer to its request",
        "serving/cells.py",
        '            self.asking.abandon(event.id, "its request is answered")\n'
        "            self.reception.conclude(event.id, event.body, event.code)\n",
        "            self.reception.conclude(event.id, event.body, event.code)\n"
        '            self.asking.abandon(event.id, "its request is answered")\n',
        SESSIONS,
    ),
    Mutation(
        "the timer of an answered question is not cancelled",
        "serving/asking.py",
        "        assert type(id_) is int\n        self._out.append(CancelTimer(QuestionExpired(id_)))\n",
        "        assert type(id_) is int\n",
        SESSIONS,
    ),
    Mutation(
        "whoever went away is told the answer",
        "serving/asking.py",
        '            self._take_back(number, question, "not needed any more")\n',
        '            self._withdraw(number, question, Unanswered("not needed any more"))\n',
        SESSIONS,
    ),
    Mutation(
        "questions outlive their request",
        "serving/cells.py",
        "            self.asking.abandon(id_, reason)\n",
        "",
        SESSIONS,
    ),
    Mutation(
        "True answers question 1",
        "serving/questions.py",
        "        return self._open.pop(id_, None) if type(id_) is int else None\n",
        "        return self._open.pop(int(id_ or 0), None)\n",
        ASKING,
    ),
    Mutation(
        "an answer that cannot be read leaves its question open",
        "serving/cells.py",
        "        self.asking.spoil(message.id, message.reason)\n",
        "",
        SESSIONS,
    ),
    # News.
    Mutation(
        "progress goes back",
        "serving/reception.py",
        " or (running.progress is not None and progress <= running.progress):\n",
        " or (running.progress is not None and progress < running.progress):\n",
        NEWS,
    ),
    Mutation(
        "a request without a token hears of progress",
        "serving/reception.py",
        "        if token is None or (running",
        "        if (running",
        SESSIONS,
    ),
    Mutation(
        "a modern request hears what its session asked for",
        "serving/reception.py",
        "        threshold = terms.log_level if terms.revision.stateless else self._level\n",
        "        threshold = terms.log_level or self._level\n",
        SESSIONS,
    ),
    Mutation(
        "a level includes what is below it",
        "serving/reception.py",
        " and LEVELS.index(level) >= LEVELS.index(threshold)\n",
        " and LEVELS.index(level) <= LEVELS.index(threshold)\n",
        SESSIONS,
    ),
    Mutation(
        "a session that is not ready hears of changes",
        "serving/cells.py",
        "ready=self._lasting and self.phase is Phase.READY)\n",
        "ready=self._lasting)\n",
        SESSIONS,
    ),
    Mutation(
        "a guest hears of changes that it did not ask for",
        "serving/cells.py",
        "ready=self._lasting and self.phase is Phase.READY)\n",
        "ready=self.phase is Phase.READY)\n",
        SESSIONS,
    ),
    Mutation(
        "a stream is granted what is not announced",
        "serving/listens.py",
        " if wanted.get(word) is True and has(said, path)}\n",
        " if wanted.get(word) is True}\n",
        SESSIONS,
    ),
    Mutation(
        "a stream hears what it did not ask for",
        "serving/listens.py",
        "        return news.kind in self.kinds\n",
        "        return True\n",
        SESSIONS,
    ),
    Mutation(
        "news about a resource reach its namesakes",
        "serving/news.py",
        '    return uri == subscribed or (uri.startswith(subscribed) and uri[len(subscribed.rstrip("/"))] in "/#?")\n',
        "    return uri.startswith(subscribed)\n",
        SESSIONS,
    ),
    Mutation(
        "any number of streams is open",
        "serving/reception.py",
        "        if len(self.listens) >= self._policy.max_listens:\n",
        "        if len(self.listens) > self._policy.max_listens:\n",
        SESSIONS,
    ),
    Mutation(
        "a session goes on hearing of changes when its last stream is over",
        "serving/cells.py",
        "        self._attend(self.phase)\n        return self._settle()\n",
        "        return self._settle()\n",
        SESSIONS,
    ),
    # Ends.
    Mutation(
        "streams are left open by a server that stops",
        "serving/cells.py",
        "    def stop(self, event: E.StopAsked) -> Phase:\n        self.reception.end_listens()\n",
        "    def stop(self, event: E.StopAsked) -> Phase:\n",
        SESSIONS,
    ),
    Mutation(
        "a session that closes takes another request",
        "serving/cells.py",
        "            self.reception.turn_away(request)\n",
        "            self.reception.serve(request, modern)\n",
        ("serving/test_ends.py",),
    ),
    Mutation(
        "a session waits for its grace though the last request is cancelled",
        "serving/cells.py",
        "        return self._settle() if phase is Phase.CLOSING else phase\n",
        "        return phase\n",
        SESSIONS,
    ),
    Mutation(
        "the grace of a session that closed in time goes on",
        "serving/cells.py",
        "        if self.phase is Phase.CLOSING and not self.reception.running:\n"
        "            self._out.append(CancelTimer(E.GraceOver()))\n",
        "        if self.phase is Phase.CLOSING and not self.reception.running:\n",
        SESSIONS,
    ),
    Mutation(
        "what is broken off is not answered",
        "serving/cells.py",
        "            self.reception.refuse(id_, Refused(jsonrpc.INTERNAL_ERROR, reason))\n",
        "            self.reception.running.pop(id_)\n",
        SESSIONS,
    ),
    Mutation(
        "handlers are not told that their client is gone",
        "serving/cells.py",
        "            self._out.append(CancelJob(id_, event.reason))\n",
        "            pass\n",
        SESSIONS,
    ),
    # Finishing.
    Mutation(
        "a result that asks for input may be kept",
        "serving/finishing.py",
        '    if method in CACHEABLE and told["resultType"] == _COMPLETE:\n',
        "    if method in CACHEABLE:\n",
        PARTS,
    ),
    Mutation(
        "an older client is told words that came later",
        "serving/finishing.py",
        " if key not in _LATER_WORDS}\n",
        "}\n",
        PARTS,
    ),
    Mutation(
        "a session may watch any number of resources",
        "serving/reception.py",
        "        if len(self._watched) >= MAX_WATCHED and uri not in self._watched:\n",
        "        if len(self._watched) > MAX_WATCHED and uri not in self._watched:\n",
        OWN,
    ),
    Mutation(
        "a stream may watch any number of resources",
        "serving/listens.py",
        "    if len(uris) + len(tasks) > MAX_WATCHED:\n",
        "    if len(uris) > MAX_WATCHED:\n",
        LISTENING,
    ),
)
