"""How often a request is tried, and on whom. The clients send; this decides."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from pointsman import Instance, Lease, NoInstance

if TYPE_CHECKING:
    from pointsman._balance import Rules

# RFC 9110, section 9.2.2.
IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})

# The gateway in front of the instance, or the instance itself, says that nobody has served the request.
UNSERVED = frozenset({502, 503, 504})

BUDGET_WINDOW = 10.0
BUDGET_FLOOR = 3.0


class Budget:
    """Allows retries as a share of the requests of the last ten seconds, and three a second in any case."""

    def __init__(self, share: float, clock: Callable[[], float] = time.monotonic) -> None:
        if not share >= 0:
            raise ValueError(f"retry_budget is {share}, must not be negative")
        self._share = share
        self._clock = clock
        self._lock = threading.Lock()
        self._requests: deque[list[float]] = deque()
        self._retries: deque[list[float]] = deque()

    def request(self) -> None:
        """Counts a request."""
        with self._lock:
            self._count(self._requests)

    def take(self) -> bool:
        """Counts a retry, if there is one left."""
        with self._lock:
            allowed = max(BUDGET_FLOOR * BUDGET_WINDOW, self._share * self._sum(self._requests))
            if self._sum(self._retries) + 1 > allowed:
                return False
            self._count(self._retries)
            return True

    def _count(self, counts: deque[list[float]]) -> None:
        # In steps of a hundredth of the window, so that the memory is bounded.
        now = self._clock()
        if counts and now - counts[-1][0] < BUDGET_WINDOW / 100:
            counts[-1][1] += 1
        else:
            counts.append([now, 1.0])
            self._sum(counts)

    def _sum(self, counts: deque[list[float]]) -> float:
        begin = self._clock() - BUDGET_WINDOW
        while counts and counts[0][0] < begin:
            counts.popleft()
        return sum(count for _, count in counts)


class Fault(Enum):
    """What an error says of the try that raised it."""

    UNSENT = auto()
    """Nothing of the request has left, so that it cannot have been served."""
    SENT = auto()
    """The request may have been served."""
    NO_ROOM = auto()
    """This client's own pool of connections was full. Nothing has left, and the instance is not to blame."""
    OTHER = auto()
    """Nothing that another instance would do better at."""


class Tries:
    """The tries of one request: each on an instance that was not tried before.

    Raises ``NoInstance`` where there is none for the first. Then, as long as it says so: ``start``, send the request to
    ``lease.instance``, and ask ``failed`` or ``unserved`` whether there is another try, with another lease.
    """

    def __init__(
        self, rules: Rules, asked: dict[str, Any], method: str, headers: Mapping[str, str], *, repeatable: bool
    ) -> None:
        """``repeatable`` says whether there is a body that can be sent again, or none."""
        self._rules = rules
        self._asked = asked
        self._again = repeatable and (method.upper() in IDEMPOTENT or "idempotency-key" in headers)
        self._begun = self._started = time.monotonic()
        rules.budget.request()
        self.lease: Lease = rules.route.lease(**asked)
        self._tried: list[Instance] = [self.lease.instance]
        self.latency = 0.0

    def left(self) -> float | None:
        """Seconds until the deadline, not below zero; ``None`` where there is none."""
        if self._rules.deadline is None:
            return None
        return max(0.0, self._rules.deadline - (time.monotonic() - self._begun))

    def start(self) -> None:
        """The request is about to be sent."""
        self._started = time.monotonic()

    def failed(self, fault: Fault) -> bool:
        """The try ended by an error, and its lease with it. Whether there is another one."""
        blamed = fault in (Fault.UNSENT, Fault.SENT)
        self.lease.done(False if blamed else None, time.monotonic() - self._started)
        return fault is not Fault.OTHER and self._next(unsent=fault is not Fault.SENT)

    def unserved(self, status: int) -> bool:
        """The headers of the response are there. Whether there is another try, so that this one is to be given up.

        If not, the lease and the ``latency`` are for whoever reads the body.
        """
        self.latency = time.monotonic() - self._started
        given_up = self.lease
        if status not in UNSERVED or not self._next(unsent=False):
            return False
        given_up.done(False, self.latency)
        return True

    def _next(self, *, unsent: bool) -> bool:
        if len(self._tried) > self._rules.retries or self.left() == 0.0 or not (unsent or self._again):
            return False
        try:
            lease = self._rules.route.lease(**{**self._asked, "exclude": self._tried})
        except NoInstance:
            return False
        if not self._rules.budget.take():
            lease.done(None)
            return False
        self.lease = lease
        self._tried.append(lease.instance)
        return True
