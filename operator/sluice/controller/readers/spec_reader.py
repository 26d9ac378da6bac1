"""Has long specs read by a process beside the acting loop: namespaces take turns, and one spec is read at a time."""

import asyncio
import logging
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from sluice.controller.cache.cluster_cache import ClusterCache
from sluice.controller.process.fair_queue import FairQueue
from sluice.controller.process.memory_shares import MemoryShares
from sluice.footprint import NotUnderstoodError
from sluice.lifecycle.job.job_view import JobView
from sluice.lifecycle.spec.read_requests import FACTORY, SpecAnswer, SpecQuestion
from sluice.processes.bounded_dict import BoundedDict
from sluice.processes.child import DeathCause, DeathError, NoAnswerError
from sluice.processes.limits import Limits, memory_of_container
from sluice.processes.pool import Pool, QuarantineError

logger = logging.getLogger(__name__)

CPU_SECONDS = 20
"""For one spec."""
MOST_ANSWERS = 8
"""Answers that are kept for equal jobs."""
ASK_AGAIN = 1.0
"""Seconds until a question is asked again whose process ended."""
_SPLIT = "write it as several jobs, or with fewer statements, values and conditions"


def pool_in(container_mib: int | None) -> Pool:
    """The process that reads specs, in a container of so much memory; None: it has no limit."""
    memory = MemoryShares.of(container_mib).spec_process
    limits = Limits(memory, CPU_SECONDS, patience=60.0, answer_mib=64)
    return Pool("specs", FACTORY, limits, processes=1)


@dataclass
class _Asked:
    question: SpecQuestion
    """The last one: the job may have changed since the first."""
    since: float
    """When the first one came."""


class SpecReader:
    def __init__(self, world: ClusterCache, pool: Pool | None = None) -> None:
        self._world = world
        self._pool = pool or pool_in(memory_of_container())
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="specs")
        self._turns = FairQueue()
        self._asked: dict[str, _Asked] = {}
        """By the job's uid."""
        self._reading: asyncio.Task[None] | None = None
        self._answers: BoundedDict[tuple[str, bool], tuple[SpecQuestion, SpecAnswer]] = BoundedDict(
            MOST_ANSWERS
        )
        """The last ones, by what was asked. The thread alone uses it."""

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._pool.close()

    @property
    def deaths(self) -> Counter[DeathCause]:
        """Processes that died since the beginning."""
        return self._pool.deaths

    def has_read(self, job: JobView) -> bool:
        """Whether all that is to be read of the job's spec was read. If not, the job is marked when it is."""
        question = job.to_read
        if question is None:
            return True
        asked = self._asked.get(job.uid)
        if asked is None:
            # One that was begun is done before the next one of its namespace begins.
            self._turns.add(job.uid, job.namespace, before_others=question.names is not None)
            self._asked[job.uid] = _Asked(question, time.monotonic())
        else:
            asked.question = question
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read(), name="read specs")
            self._reading.add_done_callback(self._ended)
        return False

    def waited(self, job: JobView) -> float:
        """Seconds since its spec was asked for that is still to be read."""
        asked = self._asked.get(job.uid)
        return 0.0 if asked is None else time.monotonic() - asked.since

    def ahead(self, job: JobView) -> int:
        """How many specs are read before the job's."""
        return self._turns.ahead(job.uid, job.namespace) + (job.uid in self._turns)

    async def _read(self) -> None:
        while self._turns:
            uid = self._turns.take()
            question = self._asked[uid].question
            try:
                answer = await self._answer(uid, question) if uid in self._world.jobs else None
            finally:
                del self._asked[uid]  # the next look at the job asks for what has changed meanwhile
            job = self._world.jobs.get(uid)
            if job is not None and answer is not None:
                job.take(question, answer)
            self._world.mark(uid)

    def _ended(self, reading: "asyncio.Task[None]") -> None:
        if self._reading is reading:  # another job may have come since it ended
            self._reading = None
        if not reading.cancelled() and (failure := reading.exception()) is not None:
            logger.error("the operator failed on the specs that are to be read", exc_info=failure)

    async def _answer(self, uid: str, question: SpecQuestion) -> SpecAnswer | None:
        """None: it is to be asked again."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._asks, question)
        except QuarantineError as error:
            why = f"the spec cannot be read: its reader {error}: {_SPLIT}"
            return SpecAnswer(NotUnderstoodError(why))
        except DeathError as error:
            if error.death.cause is not DeathCause.CLOSED:
                logger.warning("job %s: the reader of its spec %s; asking once more", uid, error)
                await asyncio.sleep(ASK_AGAIN)
            return None
        except NoAnswerError as error:
            return SpecAnswer(NotUnderstoodError(f"the spec cannot be read: the operator {error}"))

    def _asks(self, question: SpecQuestion) -> SpecAnswer:
        """Equal jobs share one answer: it may take long to unpack, and much memory."""
        key = (question.key, question.names is None)
        known = self._answers.get(key)
        if known is not None and known[0].names is question.names and known[0].asks_the_same(question):
            return known[1]
        answer = self._pool.ask(question.key, question, lane=0)
        assert isinstance(answer, SpecAnswer)  # noqa: S101 - the other end is ours
        self._answers.put(key, (question, answer))
        return answer
