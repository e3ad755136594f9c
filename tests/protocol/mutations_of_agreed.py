"""Planted bugs in what outlives a call: subscriptions, the server's requests, signs of life, arrays."""

from __future__ import annotations

from tests.protocol.mutation import LAWS, Mutation

DUTIES, STREAMS, CROSSINGS = "test_duties.py", "test_subscriptions.py", "test_crossings.py"
PULSE, INTRODUCTION = "test_pulse.py", "test_introduction.py"

AGREED = (
    # What the server asks of us.
    Mutation(
        "the server's requests outlive their wire",
        "duties.py",
        "        self._open.clear()\n",
        "",
        (DUTIES, LAWS),
    ),
    Mutation(
        "an answer for an earlier wire is sent over the present one",
        "cells.py",
        "        if event.wire == self.wire:\n            self.conversation.serve(event.id, event.frame)\n",
        "        self.conversation.serve(event.id, event.frame)\n",
        (CROSSINGS,),
    ),
    Mutation(
        "any number of the server's requests is handed on",
        "duties.py",
        "        elif len(self._open) + waiting >= self._most:\n",
        "        elif len(self._open) + waiting >= 10 * self._most:\n",
    ),
    Mutation(
        "answers that wait for a busy wire are not counted",
        "duties.py",
        "        elif len(self._open) + waiting >= self._most:\n",
        "        elif len(self._open) >= self._most:\n",
        (CROSSINGS,),
    ),
    Mutation(
        "a second request under the same id is handed on",
        "duties.py",
        "        elif request.id in self._open:\n",
        "        elif request.id in ():\n",
        (DUTIES, LAWS),
    ),
    Mutation(
        "a request of the server's is answered as often as the desk says",
        "duties.py",
        "        self._open.discard(id_)\n        self._answered.append(id_)\n",
        "        self._answered.append(id_)\n",
    ),
    Mutation(
        "a cancellation ends our call before the server's own request",
        "conversation.py",
        "        if not self.duties.cancel(id_):\n            flight = self.pending.take(id_)\n",
        "        if self.pending.get(id_) is not None or not self.duties.cancel(id_):\n"
        "            flight = self.pending.take(id_)\n",
        (DUTIES,),
    ),
    Mutation(
        "a cancellation that met our answer ends a call of ours",
        "duties.py",
        "        if id_ in self._answered:\n",
        "        if id_ in ():\n",
        (CROSSINGS,),
    ),
    Mutation(
        "True takes back request 1",
        "duties.py",
        " or isinstance(id_, bool):\n",
        ":\n",
        (CROSSINGS,),
    ),
    Mutation(
        "a request is answered although the server took it back",
        "duties.py",
        "        if id_ in self._open:\n            self._open.discard(id_)\n            return True\n",
        "        if id_ in self._open:\n            return True\n",
        (DUTIES, LAWS),
    ),
    # Frames of the connection's own.
    Mutation(
        "what a busy wire refused is dropped",
        "insistence.py",
        "        self._refused.append(frame)\n        self._out.append(SetTimer",
        "        self._out.append(SetTimer",
        (DUTIES, LAWS),
    ),
    Mutation(
        "a frame overtakes those that wait for a busy wire",
        "insistence.py",
        "        if self._refused:\n            self._refused.append(frame)\n        else:\n",
        "        if True:\n",
        (CROSSINGS, LAWS),
    ),
    Mutation(
        "waiting frames are offered over the next wire",
        "insistence.py",
        "            self._refused = []\n            self._out.append(CancelTimer(RetryDue(INSISTED)))\n",
        "            pass\n",
        (LAWS, STREAMS),
    ),
    # Streams and subscriptions.
    Mutation(
        "the acknowledgement of a replaced stream is accepted",
        "listening.py",
        "for other, wider in self._proposed.items() if other > id_}\n",
        "for other, wider in self._proposed.items() if other != id_}\n",
        (STREAMS,),
    ),
    Mutation(
        "the streams that a newer one replaced go on",
        "conversation.py",
        "        self._retire(begun.older, begun.granted)\n",
        "",
    ),
    Mutation(
        "a change that was refused is still wanted",
        "listening.py",
        "        self._changes.pop(id_, None)\n",
        "",
        (STREAMS,),
    ),
    Mutation(
        "a stream that came to nothing is waited for",
        "listening.py",
        "        self._proposed.pop(id_, None)\n",
        "",
    ),
    Mutation(
        "a subscription that was granted does not stand",
        "conversation.py",
        "            self.standing.fulfilled(flight.method, subject)\n",
        "            pass\n",
    ),
    Mutation(
        "a subscription stands although it was refused",
        "conversation.py",
        "        if fulfilled:\n            self.standing.fulfilled",
        "        if True:\n            self.standing.fulfilled",
    ),
    Mutation(
        "what the server did not grant counts as granted",
        "listening.py",
        "        self._opened = asked if granted is None else asked.about(granted)\n",
        "        self._opened = asked\n",
        (CROSSINGS, LAWS),
    ),
    Mutation(
        "what the server grants no longer is lost in silence",
        "listening.py",
        "                self.lost.append(uri)\n",
        "",
        (CROSSINGS, LAWS),
    ),
    Mutation(
        "who asked for a stream that nobody wants any more waits in vain",
        "conversation.py",
        "            self._retire(self.subscriptions.close())\n            self.pending.take(flight.id)\n",
        "            for stream in self.subscriptions.close():\n"
        "                self.subscriptions.take_back(stream)\n"
        "            self.pending.take(flight.id)\n",
        (CROSSINGS, LAWS),
    ),
    Mutation(
        "a stream that was never written is taken back",
        "conversation.py",
        "            if flight is None or flight.refused is None:\n",
        "            if True:\n",
        (CROSSINGS, LAWS),
    ),
    Mutation(
        "a stream that the server ended is never opened again",
        "subscriptions.py",
        "        self._listen_later()\n        self._ends += 1\n",
        "        self._ends += 1\n",
    ),
    Mutation(
        "what relied on a stream that came to nothing is forgotten",
        "subscriptions.py",
        "!= self._listening.newest:\n            self._listen_later()\n",
        "!= self._listening.newest:\n            pass\n",
        (CROSSINGS,),
    ),
    Mutation(
        "a stream whose exchange broke counts as refused",
        "subscriptions.py",
        "        if self._listening.proposes(id_):\n            self._listening.settle(id_)\n",
        "        if self._listening.proposes(id_):\n            self._listening.refuse(id_)\n",
        (CROSSINGS, LAWS),
    ),
    Mutation(
        "the time to listen again outlives its wire",
        "subscriptions.py",
        "        self._out.append(CancelTimer(ListenDue()))\n",
        "",
    ),
    # What is agreed anew.
    Mutation(
        "nobody is told that news may have been missed",
        "introduction.py",
        '            self._out.append(Missed("the connection was lost", lost))\n',
        "",
    ),
    Mutation(
        "the first connection is said to have missed something",
        "introduction.py",
        "        if self._again:\n",
        "        if True:\n",
    ),
    Mutation(
        "subscriptions are not renewed in the handshake era",
        "recovery.py",
        "        for uri in standing.uris:\n",
        "        for uri in ():\n",
    ),
    Mutation(
        "the level is not set again",
        "recovery.py",
        "    if standing.level is not None and declares",
        "    if False and declares",
    ),
    Mutation(
        "subscriptions are not renewed in the stateless era",
        "listening.py",
        "        uris = dict(self._standing.uris)\n",
        "        uris: dict[str, None] = {}\n",
    ),
    Mutation(
        "a subscription that could not be renewed stands all the same",
        "introduction.py",
        "            del self._conversation.standing.uris[uri]\n",
        "            pass\n",
        (STREAMS, LAWS),
    ),
    Mutation(
        "the server does not look at the roots again",
        "introduction.py",
        "            self._refresh_roots()\n",
        "",
        (STREAMS,),
    ),
    Mutation(
        "who begins to listen during a recovery is not heard",
        "introduction.py",
        "            self._conversation.listen()\n        return Introduced()\n",
        "            pass\n        return Introduced()\n",
        (CROSSINGS,),
    ),
    # Signs of life.
    Mutation(
        "a server at work is called silent",
        "cells.py",
        "busy=deaf or len(self.conversation.pending) > 0)",
        "busy=deaf)",
    ),
    Mutation(
        "a server that we do not listen to is called silent",
        "cells.py",
        "busy=deaf or len(self.conversation.pending) > 0)",
        "busy=len(self.conversation.pending) > 0)",
        (CROSSINGS, LAWS),
    ),
    Mutation(
        "a silent server lives for ever",
        "pulse.py",
        "        if self._asked >= self._most:\n",
        "        if self._asked < 0:\n",
        (PULSE, LAWS),
    ),
    Mutation(
        "what was heard is no sign of life",
        "cells.py",
        "        self.flow.used()\n        self.pulse.heard = True\n",
        "        self.flow.used()\n",
        (PULSE,),
    ),
    Mutation(
        "misses are counted over many silences",
        "pulse.py",
        "        if self.heard or busy:\n            self.restart()\n",
        "        if self.heard or busy:\n            self.heard = False\n",
        (PULSE, LAWS),
    ),
    Mutation(
        "a pulse outlives its wire",
        "cells.py",
        "(E.UptimeReached(), E.PauseOver(), E.PulseDue())",
        "(E.UptimeReached(), E.PauseOver())",
    ),
    Mutation(
        "the answer to a ping surprises",
        "conversation.py",
        "        self._errands.add(id_)\n",
        "",
        (PULSE, LAWS),
    ),
    Mutation(
        "what was not granted counts as a success",
        "subscriptions.py",
        "    return NotGranted(flight.subject)\n",
        "    return DONE\n",
        (STREAMS, CROSSINGS),
    ),
    Mutation(
        "what was missed before a stream began anew is not told",
        "subscriptions.py",
        '            self._out.append(Missed("the subscription began anew"))\n',
        "            pass\n",
        (STREAMS,),
    ),
    Mutation(
        "a stream that ended is told of with every other that begins",
        "subscriptions.py",
        "            self._deaf = False\n            # Again",
        "            # Again",
        (STREAMS,),
    ),
    Mutation(
        "news that were missed are kept to oneself",
        "cells.py",
        "            self._out.append(Missed(event.reason))\n",
        "            pass\n",
    ),
    Mutation(
        "what an earlier wire missed is told as if it were news",
        "cells.py",
        "        if event.wire == self.wire:\n            self._out.append(Missed(event.reason))\n",
        "        self._out.append(Missed(event.reason))\n",
    ),
    Mutation(
        "where every question is answered, silence tells the era all the same",
        "introduction.py",
        "                if probing and self._policy.silence_tells_era:\n",
        "                if probing:\n",
        (INTRODUCTION,),
    ),
    Mutation(
        "where every question is answered, hanging up tells the era all the same",
        "introduction.py",
        "        return probing and self._policy.silence_tells_era\n",
        "        return probing\n",
        (INTRODUCTION,),
    ),
    # Arrays.
    Mutation(
        "the last call of an array is not sent",
        "conversation.py",
        "            self._out.append(SendTogether(tuple(frames)))\n",
        "            self._out.append(SendTogether(tuple(frames[:-1])))\n",
    ),
    Mutation(
        "arrays are sent in every revision",
        "conversation.py",
        "        if self.agreement.revision.has_batching and len(event.calls) > 1:\n",
        "        if len(event.calls) > 1:\n",
    ),
    Mutation(
        "who calls together while not ready is told once",
        "reception.py",
        "        for call in event.calls:\n            self._out.append(Reply(call.caller, NotReady",
        "        for call in event.calls[:1]:\n            self._out.append(Reply(call.caller, NotReady",
    ),
)
