"""Planted bugs: each must be caught by the tests it names, or those tests prove nothing."""

from __future__ import annotations

from tests.protocol.mutation import LAWS, Mutation
from tests.protocol.mutations_of_agreed import AGREED, PULSE
from tests.protocol.mutations_of_serving import SERVING

MUTATIONS = (
    *AGREED,
    *SERVING,
    Mutation(
        "a loss does not fail the pending calls",
        "cells.py",
        "        self.conversation.lose(cause if isinstance(cause, Ending) else _CLOSED_BY_US)\n",
        "",
    ),
    Mutation(
        "a lane that eases grants permits in any state",
        "cells.py",
        "        if self.state is State.READY or self._introduction is not None:\n"
        "            self._replenish()\n",
        "        self._replenish()\n",
    ),
    Mutation(
        "a permit is granted twice",
        "flow.py",
        "        self.outstanding = policy.window\n",
        "        self.outstanding = 0\n",
    ),
    Mutation(
        "a delivery does not use up its permit",
        "flow.py",
        "        self.outstanding -= 1\n",
        "        pass\n",
    ),
    Mutation(
        "a new wire inherits the old wire's permits",
        "flow.py",
        "        self.outstanding = 0\n"
        "        self.paused = False\n"
        "        self.arrivals = Arrivals(self._policy.scan_above)\n"
        "\n"
        "    def used",
        "        self.paused = False\n"
        "        self.arrivals = Arrivals(self._policy.scan_above)\n"
        "\n"
        "    def used",
    ),
    Mutation(
        "the deadline of an ended call is not cancelled",
        "conversation.py",
        "        self._out.append(CancelTimer(RequestExpired(flight.id)))\n",
        "",
    ),
    Mutation(
        "the retry of an ended call is not cancelled",
        "conversation.py",
        "            self._out.append(CancelTimer(RetryDue(flight.id)))\n",
        "            pass\n",
        (LAWS, "test_conversation.py"),
    ),
    Mutation(
        "an answered call stays in the table and is answered again",
        "conversation.py",
        "        flight = self.pending.take(id_)\n        if flight is not None:\n            # Most calls",
        "        flight = self.pending.get(id_)\n        if flight is not None:\n            # Most calls",
    ),
    Mutation(
        "a probe that is given up is cancelled upstream",
        "introduction.py",
        "        self._bury()\n        return self._follow(self._handshake.silent())\n",
        """        about = b'{"requestId":%d}' % (self._question or 0)
        cancel = b'{"method":"notifications/cancelled","params":%s}' % about
        self._out.append(Send(cancel, None))
        self._bury()
        return self._follow(self._handshake.silent())
""",
        ("test_introduction.py", LAWS),
    ),
    Mutation(
        "ids match when they are equal, so that True is 1",
        "pending.py",
        "        flight = self._by_id.pop(id_, None) if type(id_) is int else None\n",
        "        flight = self._by_id.pop(id_, None) if isinstance(id_, int) else None\n",
        ("test_pending.py",),
    ),
    Mutation(
        "the frames of an old wire are delivered",
        "cells.py",
        "        if event.wire != self.wire:\n            return self.state\n        self.flow.used()\n",
        "        self.flow.used()\n",
        (LAWS, "test_connection.py"),
    ),
    Mutation(
        "an answer that was fetched over an old wire counts",
        "cells.py",
        "        if event.wire != self.wire:\n"
        "            return self.state\n"
        "        self.pulse.heard = True\n",
        "        self.pulse.heard = True\n",
    ),
    Mutation(
        "a request that its caller sent over an old wire counts",
        "cells.py",
        "            return self.strand(event)\n",
        "            pass\n",
    ),
    Mutation(
        "who sent a request over a wire that has ended is forgotten",
        "reception.py",
        '        self._out.append(Reply(event.caller, Lost(ending, "not_sent" if unsent else "unknown")))\n',
        "",
    ),
    Mutation(
        "what a caller sent over a wire that has ended is said not to be sent",
        "reception.py",
        'Lost(ending, "not_sent" if unsent else "unknown")',
        'Lost(ending, "not_sent")',
    ),
    Mutation(
        "a request that its caller sends has no deadline",
        "conversation.py",
        "        self._out.append(SetTimer(RequestExpired(event.id), event.seconds))\n"
        "        self._out.append(Underway",
        "        self._out.append(Underway",
    ),
    Mutation(
        "a listing that its caller asked for is not asked for again",
        "conversation.py",
        "        if event.method in LISTINGS:\n"
        "            self.standing.listed.add(event.method)\n"
        "        self._out.append(SetTimer",
        "        self._out.append(SetTimer",
    ),
    Mutation(
        "an answer that was fetched uses up a permit",
        "cells.py",
        "        # Others may be held up behind a large frame",
        "        self.flow.used()\n        # Others may be held up behind a large frame",
    ),
    Mutation(
        "an answer that was fetched waits behind a large frame",
        "cells.py",
        "        return self._hear(iter((event.message,)))\n",
        "        if len(self.flow.arrivals):\n"
        "            self.flow.arrivals.append(event.message, 0)\n"
        "            return self.state\n"
        "        return self._hear(iter((event.message,)))\n",
    ),
    Mutation(
        "an answer that was fetched is no sign of life",
        "cells.py",
        "            return self.state\n        self.pulse.heard = True\n",
        "            return self.state\n",
        (PULSE, LAWS),
    ),
    Mutation(
        "an answer that breaks the protocol is called a loss",
        "events.py",
        "        if self.ending.kind is EndKind.BREACH:\n",
        "        if False:\n",
        ("test_exchanges.py",),
    ),
    Mutation(
        "the end of an old wire ends the new one",
        "cells.py",
        "        if event.wire != self.wire:\n            return self.state\n        self.wire = None\n",
        "        self.wire = None\n",
    ),
    Mutation(
        "a parked connection forgets its waiters",
        "cells.py",
        "        self.waiters.dismiss(Parked(self.attempts.failed_starts, self.cause))\n",
        "",
        (LAWS, "test_connection.py"),
    ),
    Mutation(
        "shedding never ends",
        "flow.py",
        "        self.shedding = shedding\n",
        "        self.shedding = self.shedding or shedding\n",
        (LAWS, "test_flow.py"),
    ),
    Mutation(
        "tombstones are never swept",
        "tombstones.py",
        "if age + 1 < self._sweeps}",
        "}",
        (LAWS, "test_tombstones.py"),
    ),
    Mutation(
        "sweeping stops after the first time",
        "conversation.py",
        "        self.tombstones.sweep()\n        if self.tombstones:\n",
        "        self.tombstones.sweep()\n        if not self.tombstones:\n",
    ),
    Mutation(
        "a refused frame is offered twice",
        "conversation.py",
        "            flight.attempts += 1\n            self._out.append(Send(frame, id_))\n",
        "            flight.attempts += 1\n            self._out.append(Send(frame, id_))\n"
        "            self._out.append(Send(frame, id_))\n",
        ("test_conversation.py", LAWS),
    ),
    Mutation(
        "what the wire left unsent is called unknown",
        "conversation.py",
        " or flight.id in ending.unsent\n",
        "\n",
        ("test_conversation.py",),
    ),
    Mutation(
        "jitter takes a delay above the cap",
        "backoff.py",
        "        return min(self.cap, spread(exact, self.jitter, random))\n",
        "        return spread(exact, self.jitter, random)\n",
        ("test_backoff.py",),
    ),
    Mutation(
        "nothing ends a backoff",
        "cells.py",
        "        self._out.append(SetTimer(E.StateExpired(), self._delay))\n",
        "",
    ),
    Mutation(
        "nothing bounds a handshake after a backoff",
        "cells.py",
        "        self._out.append(SetTimer(E.StateExpired(), self._policy.init_timeout))\n"
        "        return State.STARTING",
        "        return State.STARTING",
    ),
    Mutation(
        "progress is told after the call ended",
        "conversation.py",
        '        flight = self.pending.get(params.get("progressToken"))\n',
        '        flight = self.pending.get(params.get("progressToken")) or getattr(self, "_last", None)\n'
        "        self._last = flight\n",
        ("test_conversation_news.py",),
    ),
    Mutation(
        "a parked connection never opens again",
        "attempts.py",
        "        self.parked = False\n        self.failed_starts = self._row = 0\n",
        "        self.failed_starts = self._row = 0\n",
        ("test_attempts.py", LAWS),
    ),
    Mutation(
        "a second beginning opens a second wire",
        "cells.py",
        "        return self.open(event) if self.wire is None else self.state\n",
        "        return self.open(event)\n",
    ),
    Mutation(
        "a wire that ends after the halt halts again",
        "cells.py",
        "        self.wire = None\n        self._out.append(Halt())\n",
        "        self._out.append(Halt())\n",
    ),
    Mutation(
        "news before a failed handshake waits for the next wire",
        "cells.py",
        "        self.conversation.flush()\n"
        "        if state is not State.BACKOFF:\n"
        "            self._replenish()\n",
        "        if state is not State.BACKOFF:\n"
        "            self.conversation.flush()\n"
        "            self._replenish()\n",
        ("test_repairs.py", LAWS),
    ),
    Mutation(
        "small frames overtake a large one",
        "arrivals.py",
        "            if self._places:\n",
        "            if False:\n",
    ),
    Mutation(
        "a pause outlives its wire",
        "cells.py",
        "(E.UptimeReached(), E.PauseOver(), E.PulseDue())",
        "(E.UptimeReached(), E.PulseDue())",
    ),
    Mutation(
        "news is dropped before it is merged",
        "backlog.py",
        "        self._unread = self._next\n        while self._over:",
        "        self._unread = self._next + 8\n        while self._over:",
        ("test_backlog.py",),
    ),
    Mutation(
        "a scanned frame is put in another's place",
        "arrivals.py",
        "        self._places[place - self._first] = message\n",
        "        self._places[place - self._first - 1] = message\n",
        ("test_arrivals.py",),
    ),
    Mutation(
        "a comma too many is spliced in",
        "envelope.py",
        '            separator = b"" if params == b"{}" else b","\n',
        '            separator = b","\n',
        ("test_envelope.py",),
    ),
    Mutation(
        "a cursor that comes again is followed again",
        "recovery.py",
        " and cursor not in self._cursors",
        "",
        ("test_recovery.py",),
    ),
    Mutation(
        "a server that always names a version is probed for ever",
        "handshake.py",
        " and self._probes < 2",
        "",
        ("test_handshake.py",),
    ),
    Mutation(
        "an answer in a batch is not recognised",
        "jsonrpc.py",
        " if named is None else Answer(named, result)",
        "",
        ("test_jsonrpc.py",),
    ),
    Mutation(
        "a call that timed out does not know what held it back",
        "conversation.py",
        "TimedOut(flight.seconds, flight.hindrance)",
        "TimedOut(flight.seconds)",
        ("test_hindrances.py",),
    ),
    Mutation(
        "a login that a person broke off is begun again by nobody",
        "attempts.py",
        "        self.resting = self.parked = broken_off or (",
        "        self.resting = self.parked = False or (",
        ("test_hindrances.py",),
    ),
    Mutation(
        "several who call together begin nothing anew",
        "reception.py",
        "        return self._wake()\n\n    def strand",
        "        self._wake()\n        return self.state\n\n    def strand",
        ("test_hindrances.py",),
    ),
    Mutation(
        "who said no to a login is asked again and again",
        "attempts.py",
        "        self.resting = self.parked = broken_off or (self.ever_ready and _was_denied(cause))\n",
        "        self.resting = self.parked = broken_off\n",
        ("test_attempts.py",),
    ),
    Mutation(
        "Ctrl-C in any call ends the login of another",
        "reception.py",
        "(waited or (flight is not None and flight.hindrance is not None))",
        "(waited or flight is not None)",
        ("test_hindrances.py",),
    ),
    Mutation(
        "a payload nested too deep raises",
        "jsonrpc.py",
        "    except RecursionError:\n        # Writing",
        "    except KeyError:\n        # Writing",
        ("test_jsonrpc.py",),
    ),
)
