"""Transports for ``httpx`` and its successor ``httpx2`` that send requests to the instances of a route.

>>> import httpx
>>> from pointsman import Instance, Pool
>>> from pointsman.httpx import Transport
>>> pool = Pool([Instance("10.0.0.1:8080"), Instance("10.0.0.2:8080", tags={"version": "gray"})])
>>> route = pool.route("weighted_random", tiers=[{"match": ["version"]}, {}])
>>> orders = Transport(route, hosts=["orders"], tag_headers={"x-version": "version"}, retries=2, deadline=5)
>>> with httpx.Client(mounts={"http://orders": orders}) as client:
...     response = client.get("http://orders/42", headers={"x-version": "gray"})
...     response.json()["name"], response.extensions["pointsman"].instance.id
('gray', '10.0.0.2:8080')

Only the hosts named are balanced. A copy of the request goes to the instance: Host, the name in TLS and its check, cookies
and redirects stay those of the logical host, unless ``host_header="instance"``.

- ``tag_headers``: request headers that become tags, as names or as a mapping to the tags' keys; ``key_header``: the one that
  becomes the key.
- ``retries``: further tries, each on another instance. What failed before sending is tried again for every method. Read,
  write and protocol errors before the response headers, and 502, 503 and 504, only for idempotent methods or with an
  ``Idempotency-Key``, and only with a body that can be sent again. Nothing after the headers.
- ``retry_budget``: retries as a share of the requests of the last ten seconds, at least three a second.
- ``deadline``: seconds for all tries up to the response headers.
- ``transport_options``: for the transport of each instance, ``{"limits": httpx.Limits(...)}`` say; limits are per instance.

Tags of ``pointsman.request_tags`` are sent on as the headers of ``tag_headers`` that the request has not got itself. A
request may bring arguments of its pick as ``extensions={"pointsman": {"tags": …, "key": …}}``; the response has the lease
there.

An instance's latency is the time to the response headers, its lease lasts until the body ends. Where there is no instance,
the error is both ``pointsman.NoInstance`` and the client's own ``ConnectError``.
"""

from __future__ import annotations

import ssl
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Generator, Iterator, Mapping
from functools import cache, partial
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from pointsman import Instance, Lease, NoInstance, Pool, Route
from pointsman._balance import Options, Rules, split_address
from pointsman._retry import Fault, Tries

__all__ = ["AsyncTransport", "Transport"]

if TYPE_CHECKING:
    import httpx
    from typing_extensions import Unpack

    _Base = httpx.BaseTransport
    _AsyncBase = httpx.AsyncBaseTransport
else:
    # Clients of either library take whatever has the methods.
    _Base = _AsyncBase = object


class _Inner:
    """The transport of one instance, for one logical host where TLS was checked for it."""

    def __init__(self, instance: Instance, transport: Any) -> None:
        self.instance = instance
        self.transport = transport
        self.users = 0
        self.left = False


class _Balancer:
    """What both transports share: rules, and the transports of the instances."""

    def __init__(self, rules: Rules, verify: ssl.SSLContext | bool, options: Mapping[str, Any], kind: str) -> None:
        self.rules = rules
        self._verify = verify
        self._options = dict(options)
        self._kind = kind
        self._lock = threading.Lock()
        self._inners: dict[tuple[str, str, str | None], _Inner] = {}
        self._direct: Any = None
        self._context: ssl.SSLContext | None = None
        self._version = 0

    def direct(self, lib: ModuleType) -> Any:
        """The transport for hosts that are not balanced."""
        with self._lock:
            if self._direct is None:
                self._direct = self._make(lib)
            return self._direct

    def enter(self, lib: ModuleType, instance: Instance, secure_name: str | None) -> tuple[_Inner, list[Any]]:
        """The transport of an instance, in use until ``leave``; and transports to close, of instances that have gone."""
        pool = self.rules.route.pool
        with self._lock:
            key = (instance.id, instance.address, secure_name)
            inner = self._inners.get(key)
            if inner is None:
                inner = self._inners[key] = _Inner(instance, self._make(lib))
            inner.users += 1
            idle = []
            if self._version != pool.version:
                self._version = pool.version
                for key, other in list(self._inners.items()):
                    if _address(pool, other.instance.id) != other.instance.address:
                        other.left = True
                        del self._inners[key]
                        if other.users == 0:
                            idle.append(other.transport)
            return inner, idle

    def leave(self, inner: _Inner) -> Any | None:
        """Ends a use. Returns the transport if it is to be closed."""
        with self._lock:
            inner.users -= 1
            return inner.transport if inner.left and inner.users == 0 else None

    def all(self) -> list[Any]:
        with self._lock:
            transports = [inner.transport for inner in self._inners.values()]
            self._inners.clear()
            if self._direct is not None:
                transports.append(self._direct)
                self._direct = None
            return transports

    def _make(self, lib: ModuleType) -> Any:
        if self._context is None:
            # One for all: it holds the certificates, and takes long to make.
            verify = self._verify
            self._context = verify if isinstance(verify, ssl.SSLContext) else lib.create_ssl_context(verify=verify)
        return getattr(lib, self._kind)(verify=self._context, **self._options)


class _Exchange:
    """One request of the client, and its tries."""

    def __init__(self, balancer: _Balancer, verbs: _Verbs, request: Any) -> None:
        self._balancer = balancer
        self._verbs = verbs
        self._request = request
        self._lib = _lib(request)
        self._timeouts: dict[str, float | None] = {}
        self._read_timeout: float | None = None

    def steps(self) -> _Steps:
        """What is to be done, as a generator: it yields calls of the library and is sent what they return."""
        balancer, verbs, lib, request = self._balancer, self._verbs, self._lib, self._request
        if not balancer.rules.balances(request.url.host, request.url.port):
            return (yield partial(getattr(balancer.direct(lib), verbs.send), request))
        tries = self._tries()
        while True:
            inner, idle = balancer.enter(lib, tries.lease.instance, self._secure_name)
            try:
                for transport in idle:
                    yield getattr(transport, verbs.close)
                tries.start()
                copy = self._copy(tries)
                response = yield partial(getattr(inner.transport, verbs.send), copy)
            except BaseException as error:
                again = tries.failed(_fault(lib, error))
                if (transport := balancer.leave(inner)) is not None:
                    yield getattr(transport, verbs.close)
                if again:
                    continue
                raise
            lease = tries.lease
            given_up = tries.unserved(response.status_code)
            body = verbs.body(lib)(balancer, inner, lease, tries.latency, response.status_code < 500, response.stream)
            if given_up:
                yield getattr(body, verbs.close)
                continue
            # The deadline has no say in the body, whose reads look at the timeouts when they begin.
            if "read" in self._timeouts:
                self._timeouts["read"] = self._read_timeout
            extensions = {**response.extensions, "pointsman": lease}
            return lib.Response(response.status_code, headers=response.headers, stream=body, extensions=extensions)

    def _tries(self) -> Tries:
        request, rules = self._request, self._balancer.rules
        asked = {**rules.asked(request.headers), **request.extensions.get("pointsman", {})}
        repeatable = isinstance(request.stream, self._lib.ByteStream)
        try:
            return Tries(rules, asked, request.method, request.headers, repeatable=repeatable)
        except NoInstance as refused:
            raise _no_instance(self._lib)(refused, request) from None

    @property
    def _secure_name(self) -> str | None:
        """The name that the certificate is checked for, where it is not the instance's own."""
        logical = self._balancer.rules.host_header == "logical"
        return self._request.url.host if logical and self._request.url.scheme == "https" else None

    def _copy(self, tries: Tries) -> Any:
        """The request as it goes to the instance."""
        request, rules = self._request, self._balancer.rules
        host, port = split_address(tries.lease.instance.address)
        url = request.url.copy_with(host=host, port=port or request.url.port)
        headers = request.headers.copy()
        headers.update(rules.passed_on(headers))
        extensions = {key: value for key, value in request.extensions.items() if key != "pointsman"}
        if rules.host_header == "instance":
            headers["host"] = url.netloc.decode("ascii")
        elif self._secure_name is not None:
            extensions.setdefault("sni_hostname", self._secure_name)
        left = tries.left()
        if left is not None:
            given = {"connect": None, "read": None, "write": None, "pool": None, **extensions.get("timeout", {})}
            self._read_timeout = given["read"]
            self._timeouts = {key: left if value is None else min(left, value) for key, value in given.items()}
            extensions["timeout"] = self._timeouts
        return self._lib.Request(request.method, url, headers=headers, stream=request.stream, extensions=extensions)


def _fault(lib: ModuleType, error: BaseException) -> Fault:
    if not isinstance(error, lib.TransportError) or isinstance(error, lib.LocalProtocolError | lib.UnsupportedProtocol):
        return Fault.OTHER
    if isinstance(error, lib.PoolTimeout):
        return Fault.NO_ROOM
    return Fault.UNSENT if isinstance(error, lib.ConnectError | lib.ConnectTimeout) else Fault.SENT


class _Body:
    """The rest of a response: ends lease and use once."""

    def __init__(self, balancer: _Balancer, inner: _Inner, lease: Lease, latency: float, ok: bool, stream: Any) -> None:
        self._balancer = balancer
        self._inner = inner
        self._lease = lease
        self._latency = latency
        self._ok = ok
        self._stream = stream
        self._open = True

    def _fail(self) -> None:
        self._ok = False

    def _end(self) -> Any | None:
        """Returns the transport if it is to be closed."""
        if not self._open:
            return None
        self._open = False
        self._lease.done(self._ok, self._latency)
        return self._balancer.leave(self._inner)


@cache
def _body(lib: ModuleType) -> Any:
    class Body(_Body, lib.SyncByteStream):  # type: ignore[name-defined, misc]
        def __iter__(self) -> Iterator[bytes]:
            try:
                yield from self._stream
            except Exception:
                self._fail()
                raise

        def close(self) -> None:
            try:
                self._stream.close()
            finally:
                transport = self._end()
                if transport is not None:
                    transport.close()

    return Body


@cache
def _async_body(lib: ModuleType) -> Any:
    class Body(_Body, lib.AsyncByteStream):  # type: ignore[name-defined, misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for part in self._stream:
                    yield part
            except Exception:
                self._fail()
                raise

        async def aclose(self) -> None:
            try:
                await self._stream.aclose()
            finally:
                transport = self._end()
                if transport is not None:
                    await transport.aclose()

    return Body


@cache
def _no_instance(lib: ModuleType) -> Any:
    class NoInstanceError(NoInstance, lib.ConnectError):  # type: ignore[name-defined, misc]
        """No instance can take the request."""

        def __init__(self, refused: NoInstance, request: Any) -> None:
            NoInstance.__init__(self, str(refused), refused.reason, refused.tier, refused.branch)
            lib.RequestError.__init__(self, str(refused), request=request)

    return NoInstanceError


class _Verbs(NamedTuple):
    """What the transports of a library call the same things."""

    transport: str
    send: str
    close: str
    body: Callable[[ModuleType], Any]


_SYNC = _Verbs("HTTPTransport", "handle_request", "close", _body)
_ASYNC = _Verbs("AsyncHTTPTransport", "handle_async_request", "aclose", _async_body)

_Steps = Generator[Callable[[], Any], Any, Any]


class Transport(_Base):
    """Sends the requests of a synchronous client to the instances of a route; see the module."""

    def __init__(
        self,
        route: Route,
        *,
        hosts: Collection[str] | None,
        verify: ssl.SSLContext | bool = True,
        transport_options: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> None:
        self._balancer = _Balancer(Rules.of(route, hosts, **options), verify, transport_options or {}, _SYNC.transport)

    def handle_request(self, request: Any) -> Any:
        steps = _Exchange(self._balancer, _SYNC, request).steps()
        try:
            step = next(steps)
            while True:
                try:
                    done = step()
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(done)
        except StopIteration as end:
            return end.value

    def close(self) -> None:
        for transport in self._balancer.all():
            transport.close()

    def __enter__(self) -> Transport:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        self.close()


class AsyncTransport(_AsyncBase):
    """Sends the requests of an asynchronous client to the instances of a route; see the module.

    >>> import asyncio
    >>> import httpx
    >>> from pointsman import Instance, Pool
    >>> route = Pool([Instance("10.0.0.1:8080")]).route("peak_ewma")
    >>> async def main():
    ...     async with httpx.AsyncClient(transport=AsyncTransport(route, hosts=["orders"])) as client:
    ...         return (await client.get("http://orders/42")).json()["headers"]["host"]
    >>> asyncio.run(main())
    'orders'
    """

    def __init__(
        self,
        route: Route,
        *,
        hosts: Collection[str] | None,
        verify: ssl.SSLContext | bool = True,
        transport_options: Mapping[str, Any] | None = None,
        **options: Unpack[Options],
    ) -> None:
        self._balancer = _Balancer(Rules.of(route, hosts, **options), verify, transport_options or {}, _ASYNC.transport)

    async def handle_async_request(self, request: Any) -> Any:
        steps = _Exchange(self._balancer, _ASYNC, request).steps()
        try:
            step = next(steps)
            while True:
                try:
                    done = await step()
                except BaseException as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(done)
        except StopIteration as end:
            return end.value

    async def aclose(self) -> None:
        for transport in self._balancer.all():
            await transport.aclose()

    async def __aenter__(self) -> AsyncTransport:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()


def _address(pool: Pool, id: str) -> str | None:
    try:
        return pool[id].address
    except KeyError:
        return None


def _lib(request: Any) -> ModuleType:
    """The library that the request is of: its transports and errors are to be used."""
    return sys.modules[type(request).__module__.partition(".")[0]]
