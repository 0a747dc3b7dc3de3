"""What the client integrations share: which requests are balanced, with which tags, and how often they are tried."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pointsman import Instance, Lease, NoInstance, Route, current_tags

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


@dataclass(frozen=True)
class Rules:
    """How requests are balanced; the keyword arguments of the integrations."""

    route: Route
    hosts: frozenset[str] | None
    tag_headers: Mapping[str, str]
    key_header: str | None
    host_header: str
    retries: int
    budget: Budget
    deadline: float | None

    @classmethod
    def of(
        cls,
        route: Route,
        *,
        hosts: Collection[str] | None,
        tag_headers: Mapping[str, str] | Iterable[str] = (),
        key_header: str | None = None,
        host_header: str = "logical",
        retries: int = 2,
        retry_budget: float = 0.2,
        deadline: float | None = None,
    ) -> Rules:
        if isinstance(hosts, str):
            raise TypeError("hosts: expected a collection of host names, got a text")
        if host_header not in ("logical", "instance"):
            raise ValueError(f'host_header is {host_header!r}, must be "logical" or "instance"')
        if retries < 0:
            raise ValueError(f"retries is {retries}, must not be negative")
        if deadline is not None and not deadline > 0:
            raise ValueError(f"deadline is {deadline}, must be above 0")
        named = tag_headers.items() if isinstance(tag_headers, Mapping) else ((name, name) for name in tag_headers)
        return cls(
            route,
            None if hosts is None else frozenset(host.lower() for host in hosts),
            {header.lower(): tag for header, tag in named},
            key_header,
            host_header,
            retries,
            Budget(retry_budget),
            deadline,
        )

    def balances(self, host: str, port: int | None) -> bool:
        """Whether requests to this host go to the route: it is named, with its port or without one."""
        return self.hosts is None or host.lower() in self.hosts or f"{host.lower()}:{port}" in self.hosts

    def asked(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """The arguments of a pick that the headers of a request come to."""
        tags = {tag: headers[header] for header, tag in self.tag_headers.items() if header in headers}
        key = headers.get(self.key_header) if self.key_header else None
        return {"tags": tags or None, "key": key or None}

    def passed_on(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Headers for the tags of the context that the request does not carry itself, for the hop behind the instance."""
        context = current_tags() if self.tag_headers and self.route.pool.context_tags else {}
        wanted = ((header, context.get(tag)) for header, tag in self.tag_headers.items() if header not in headers)
        return {header: value for header, value in wanted if isinstance(value, str)}


@dataclass
class Tries:
    """The tries of one request: each on an instance that was not tried before."""

    rules: Rules
    asked: dict[str, Any]
    idempotent: bool
    """Whether the request may have been served and still be sent again."""
    repeatable: bool
    """Whether there is a body that can be sent again, or none."""
    tried: list[Instance] = field(default_factory=list)
    begun: float = field(default_factory=time.monotonic)

    def first(self) -> Lease:
        """The lease of the first try. Raises ``NoInstance``."""
        self.rules.budget.request()
        lease = self.rules.route.lease(**self.asked)
        self.tried.append(lease.instance)
        return lease

    def left(self) -> float | None:
        """Seconds until the deadline, not below zero; ``None`` where there is none."""
        if self.rules.deadline is None:
            return None
        return max(0.0, self.rules.deadline - (time.monotonic() - self.begun))

    def again(self, *, unsent: bool) -> Lease | None:
        """The lease of one more try, if there may be one and there is somebody else to ask.

        ``unsent`` says that nothing of the request has left, so that it cannot have been served.
        """
        if len(self.tried) > self.rules.retries or self.left() == 0.0:
            return None
        if not unsent and not (self.idempotent and self.repeatable):
            return None
        try:
            lease = self.rules.route.lease(**{**self.asked, "exclude": self.tried})
        except NoInstance:
            return None
        if not self.rules.budget.take():
            lease.done(None)
            return None
        self.tried.append(lease.instance)
        return lease


def is_idempotent(method: str, headers: Mapping[str, str]) -> bool:
    """Whether sending the request twice is as good as once: by its method, or since the server can tell."""
    return method.upper() in IDEMPOTENT or "idempotency-key" in headers


def split_address(address: str) -> tuple[str, int | None]:
    """Host and port of an instance's address: ``host``, ``host:port``, ``[ipv6]:port`` or a bare IPv6 address."""
    if "/" in address:
        raise ValueError(f"address {address!r} is not host:port")
    if address.startswith("["):
        host, _, port = address[1:].partition("]")
        port = port.removeprefix(":")
    elif address.count(":") > 1:
        return address, None
    else:
        host, _, port = address.partition(":")
    if not host or (port and not port.isdigit()):
        raise ValueError(f"address {address!r} is not host:port")
    return host, int(port) if port else None


def any_httpx(what: str, extra: str) -> Any:
    """``httpx``, or its successor where that alone is installed."""
    try:
        import httpx

        return httpx
    except ImportError:
        pass
    try:
        import httpx2

        return httpx2
    except ImportError as error:
        raise ImportError(f"{what} needs httpx: pip install 'pointsman[{extra}]'") from error
