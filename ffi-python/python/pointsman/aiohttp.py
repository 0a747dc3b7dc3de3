"""A client middleware for ``aiohttp`` 3.12 and newer that sends requests to the instances of a route.

::

    connector = aiohttp.TCPConnector(limit=0, limit_per_host=20)
    session = aiohttp.ClientSession(connector=connector, middlewares=[Middleware(route, hosts=["orders"])])
    await session.get("http://orders/42")

The rules are those of ``pointsman.httpx``. The connector keeps the connections: ``limit_per_host`` is the limit per
instance, and its ``limit`` is shared by all, so that one silent instance could take it up; 0 is no limit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from functools import partial

import aiohttp
from aiohttp.client_reqrep import ConnectionKey

from pointsman import Instance, Lease, NoInstance, Route
from pointsman._balance import UNSERVED, Rules, Tries, is_idempotent, split_address

__all__ = ["Middleware", "NoInstanceError"]

Handler = Callable[[aiohttp.ClientRequest], Awaitable[aiohttp.ClientResponse]]


class NoInstanceError(NoInstance, aiohttp.ClientConnectorError):
    """No instance can take the request."""

    def __init__(self, refused: NoInstance, key: ConnectionKey) -> None:
        aiohttp.ClientConnectorError.__init__(self, key, OSError(0, str(refused)))
        NoInstance.__init__(self, str(refused), refused.reason, refused.tier, refused.branch)

    def __str__(self) -> str:
        return str(self.args[0])


class Middleware:
    """Sends the requests of a session to the instances of a route; see the module."""

    def __init__(
        self,
        route: Route,
        *,
        hosts: Collection[str] | None,
        tag_headers: Mapping[str, str] | Iterable[str] = (),
        key_header: str | None = None,
        host_header: str = "logical",
        retries: int = 2,
        retry_budget: float = 0.2,
        deadline: float | None = None,
    ) -> None:
        self._rules = Rules.of(
            route,
            hosts=hosts,
            tag_headers=tag_headers,
            key_header=key_header,
            host_header=host_header,
            retries=retries,
            retry_budget=retry_budget,
            deadline=deadline,
        )

    async def __call__(self, request: aiohttp.ClientRequest, handler: Handler) -> aiohttp.ClientResponse:
        rules, logical = self._rules, request.url
        if logical.host is None or not rules.balances(logical.host, logical.port):
            return await handler(request)
        headers = {name.lower(): value for name, value in request.headers.items()}
        repeatable = not request.body or isinstance(request.body, bytes | aiohttp.BytesPayload)
        tries = Tries(rules, rules.asked(headers), is_idempotent(request.method, headers), repeatable)
        request.headers.update(rules.passed_on(headers))
        try:
            lease = tries.first()
        except NoInstance as refused:
            raise NoInstanceError(refused, request.connection_key) from None
        name, host = request.server_hostname, request.headers.get("Host", "")
        try:
            while True:
                self._direct(request, lease.instance)
                started = time.monotonic()
                try:
                    response = await _within(handler(request), tries.left())
                except BaseException as error:
                    again = _after_error(tries, lease, error, started)
                    if again is None:
                        raise
                    lease = again
                    continue
                latency = time.monotonic() - started
                again = tries.again(unsent=False) if response.status in UNSERVED else None
                if again is None:
                    _hold(response, lease, latency)
                    return response
                lease.done(False, latency)
                response.release()
                lease = again
        finally:
            request.url, request.server_hostname, request.headers["Host"] = logical, name, host

    def _direct(self, request: aiohttp.ClientRequest, instance: Instance) -> None:
        """Points the request at an instance."""
        logical = request.original_url
        host, port = split_address(instance.address)
        request.url = logical.with_host(host).with_port(port or logical.port).with_fragment(None)
        if self._rules.host_header == "instance":
            request.server_hostname = None
            request.headers["Host"] = request.url.authority
        elif request.server_hostname is None:
            request.server_hostname = logical.host


def _after_error(tries: Tries, lease: Lease, error: BaseException, started: float) -> Lease | None:
    """Ends the lease, and takes another if there is one more try."""
    unsent = isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError)
    if not unsent and not isinstance(error, aiohttp.ClientConnectionError):
        lease.done(None)
        return None
    lease.done(False, time.monotonic() - started)
    return tries.again(unsent=unsent)


def _hold(response: aiohttp.ClientResponse, lease: Lease, latency: float) -> None:
    """Keeps the lease until the body has ended, well or not, or nobody wants it any more."""
    done = partial(lease.done, response.status < 500, latency)
    if response.connection is None:
        done()
        return

    def released() -> None:
        if response.content.exception() is None:
            done()
        else:
            lease.done(False, latency)

    response.connection.add_callback(released)


async def _within(response: Awaitable[aiohttp.ClientResponse], seconds: float | None) -> aiohttp.ClientResponse:
    if seconds is None:
        return await response
    try:
        return await asyncio.wait_for(response, seconds)
    except asyncio.TimeoutError as error:
        if isinstance(error, aiohttp.ClientError):
            raise
        raise aiohttp.ServerTimeoutError("no response before the deadline") from None
