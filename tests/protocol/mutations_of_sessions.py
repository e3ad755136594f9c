"""Planted bugs in what a session says of its own accord: questions, news, streams."""

from __future__ import annotations

from tests.protocol.mutation import Mutation

WORLD = "serving/test_session_properties.py"
RESUMING = "serving/test_resuming.py"
ASKING, NEWS, LISTENING = "serving/test_asking.py", "serving/test_news.py", "serving/test_listening.py"

SAID = (
    # Questions.
    Mutation(
        "a modern client is sent a request",
        "serving/cells.py",
        "            self.asking.ask(question, running[question.about].job.terms)\n",
        "            self.asking.ask(question, self.reception.agreed)\n",
        (ASKING,),
    ),
    Mutation(
        "a client is asked what it does not offer",
        "serving/asking.py",
        "    if path is not None and not agreed.declares(path):\n",
        "    if path is not None and path in ():\n",
        (ASKING,),
    ),
    Mutation(
        "a question follows the last word about its request",
        "serving/cells.py",
        '            self.asking.leave(question, "its request is over")\n',
        "            self.asking.ask(question, self.reception.agreed)\n",
        (WORLD, ASKING),
    ),
    Mutation(
        "a question is taken back after the answer to its request",
        "serving/cells.py",
        '            self.asking.abandon(event.id, "its request is answered")\n'
        "            self.reception.conclude(event.id, event.body, event.code)\n",
        "            self.reception.conclude(event.id, event.body, event.code)\n"
        '            self.asking.abandon(event.id, "its request is answered")\n',
        (WORLD, ASKING),
    ),
    Mutation(
        "the timer of an answered question is not cancelled",
        "serving/asking.py",
        "        assert type(id_) is int\n        self._out.append(CancelTimer(QuestionExpired(id_)))\n",
        "        assert type(id_) is int\n",
        (WORLD, ASKING),
    ),
    Mutation(
        "whoever went away is told the answer",
        "serving/asking.py",
        '            self._take_back(number, question, "not needed any more")\n',
        '            self._withdraw(number, question, Unanswered("not needed any more"))\n',
        (WORLD, ASKING),
    ),
    Mutation(
        "questions outlive their request",
        "serving/cells.py",
        "            self.asking.abandon(id_, reason)\n",
        "",
        (WORLD, ASKING),
    ),
    Mutation(
        "True answers question 1",
        "serving/questions.py",
        "        return self._open.pop(id_, None) if type(id_) is int else None\n",
        "        return self._open.pop(int(id_ or 0), None)\n",
        (ASKING,),
    ),
    Mutation(
        "an answer that cannot be read leaves its question open",
        "serving/cells.py",
        "        self.asking.spoil(message.id, message.reason)\n",
        "",
        (ASKING,),
    ),
    # News.
    Mutation(
        "progress goes back",
        "serving/reception.py",
        " or (running.progress is not None and progress <= running.progress):\n",
        " or (running.progress is not None and progress < running.progress):\n",
        (NEWS,),
    ),
    Mutation(
        "a request without a token hears of progress",
        "serving/reception.py",
        "        if token is None or (running",
        "        if (running",
        (WORLD, NEWS),
    ),
    Mutation(
        "a modern request hears what its session asked for",
        "serving/reception.py",
        "        threshold = terms.log_level if terms.revision.stateless else self._level\n",
        "        threshold = terms.log_level or self._level\n",
        (NEWS,),
    ),
    Mutation(
        "a level includes what is below it",
        "serving/reception.py",
        " and LEVELS.index(level) >= LEVELS.index(threshold)\n",
        " and LEVELS.index(level) <= LEVELS.index(threshold)\n",
        (NEWS,),
    ),
    Mutation(
        "a session that is not ready hears of changes",
        "serving/cells.py",
        "ready=self._lasting and self.phase is Phase.READY)\n",
        "ready=self._lasting)\n",
        (NEWS,),
    ),
    Mutation(
        "a guest hears of changes that it did not ask for",
        "serving/cells.py",
        "ready=self._lasting and self.phase is Phase.READY)\n",
        "ready=self.phase is Phase.READY)\n",
        (LISTENING,),
    ),
    Mutation(
        "a stream is granted what is not announced",
        "serving/listens.py",
        " if wanted.get(word) is True and has(said, path)}\n",
        " if wanted.get(word) is True}\n",
        (WORLD, LISTENING),
    ),
    Mutation(
        "a stream hears what it did not ask for",
        "serving/listens.py",
        "        return news.kind in self.kinds\n",
        "        return True\n",
        (WORLD, LISTENING),
    ),
    Mutation(
        "news about a resource reach its namesakes",
        "serving/news.py",
        ' and uri[len(subscribed.rstrip("/"))] in "/#?")\n',
        ")\n",
        (NEWS,),
    ),
    Mutation(
        "any number of streams is open",
        "serving/reception.py",
        "        if len(self.listens) >= self._policy.max_listens:\n",
        "        if len(self.listens) > self._policy.max_listens:\n",
        (LISTENING,),
    ),
    Mutation(
        "a session goes on hearing of changes when its last stream is over",
        "serving/cells.py",
        "        self._attend(self.phase)\n        return self._settle()\n",
        "        return self._settle()\n",
        (LISTENING,),
    ),
    # Sessions that go on elsewhere.
    Mutation(
        "what a client watched is forgotten where its session goes on",
        "serving/reception.py",
        "        self._watched = set(keepsake.watched)\n",
        "",
        (RESUMING,),
    ),
    Mutation(
        "a session goes on under a revision that is not spoken",
        "serving/cells.py",
        "        if not self.reception.resume(event.keepsake):\n",
        "        if self.reception.resume(event.keepsake) is None:\n",
        (RESUMING,),
    ),
    Mutation(
        "who goes on elsewhere hears of no changes",
        "serving/cells.py",
        "        self._attend(Phase.READY)\n",
        "",
        (RESUMING,),
    ),
)
