"""A client middleware for ``aiohttp`` 3.12 and newer that sends requests to the instances of a route.

>>> import asyncio
>>> import aiohttp
>>> from pointsman import Instance, Pool
>>> from pointsman.aiohttp import Middleware
>>> route = Pool([Instance("10.0.0.1:8080"), Instance("10.0.0.2:8080", weight=0)]).route("peak_ewma")
>>> async def main():
...     connector = aiohttp.TCPConnector(limit=0, limit_per_host=20)
...     balanced = Middleware(route, hosts=["orders"])
...     async with aiohttp.ClientSession(connector=connector, middlewares=[balanced]) as session:
...         async with session.get("http://orders/42") as response:
...             return (await response.json())["name"]
>>> asyncio.run(main())
'stable'

The rules are those of ``pointsman.httpx``. The connector keeps the connections: ``limit_per_host`` is the limit per
instance, and its ``limit`` is shared by all, so that one silent instance could take it up; 0 is no limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import TYPE_CHECKING

import aiohttp
from aiohttp.client_reqrep import ConnectionKey

from pointsman import Instance, Lease, NoInstance, Route
from pointsman._balance import Options, Rules, split_address
from pointsman._retry import Fault, Tries

if TYPE_CHECKING:
    from typing_extensions import Unpack

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
        **options: Unpack[Options],
    ) -> None:
        self._rules = Rules.of(route, hosts, **options)

    async def __call__(self, request: aiohttp.ClientRequest, handler: Handler) -> aiohttp.ClientResponse:
        rules, logical = self._rules, request.url
        if logical.host is None or not rules.balances(logical.host, logical.port):
            return await handler(request)
        headers = {name.lower(): value for name, value in request.headers.items()}
        repeatable = not request.body or isinstance(request.body, bytes | aiohttp.BytesPayload)
        request.headers.update(rules.passed_on(headers))
        try:
            tries = Tries(rules, rules.asked(headers), request.method, headers, repeatable=repeatable)
        except NoInstance as refused:
            raise NoInstanceError(refused, request.connection_key) from None
        name, host = request.server_hostname, request.headers.get("Host", "")
        try:
            while True:
                tries.start()
                try:
                    self._direct(request, tries.lease.instance)
                    response = await _within(handler(request), tries.left())
                except BaseException as error:
                    if tries.failed(_fault(error)):
                        continue
                    raise
                if not tries.unserved(response.status):
                    _hold(response, tries.lease, tries.latency)
                    return response
                response.release()
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


def _fault(error: BaseException) -> Fault:
    if isinstance(error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Fault.UNSENT
    return Fault.SENT if isinstance(error, aiohttp.ClientConnectionError) else Fault.OTHER


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
