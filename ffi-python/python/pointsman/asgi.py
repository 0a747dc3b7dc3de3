"""For ASGI servers: a reverse proxy over a route, and a middleware that reads tags from headers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, MutableMapping
from typing import Any, Literal

from pointsman import Lease, NoInstance, Route, request_tags
from pointsman._balance import any_httpx
from pointsman.httpx import AsyncTransport

__all__ = ["ReverseProxy", "RouteTags"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

# RFC 9110, section 7.6.1, and what older clients send.
HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)

# A body up to this size is held, so that it can be sent again; a larger one streams through.
HELD_BODY = 65536

_TICK = 1.0


class _Disconnect(Exception):
    """The client has gone before its request was complete."""


class ReverseProxy:
    """An ASGI application that proxies HTTP to the instances of a route.

    Streams both ways; bytes are passed on as they are, but for hop-by-hop headers. A client that goes away cancels the
    request to the instance. WebSockets are refused. The pool is ticked.

    - ``tag_headers``, ``tag_cookies``: what becomes tags, as names or as a mapping to the tags' keys; headers win.
    - ``key_header``: the header that becomes the key, for sticky policies.
    - ``host``: ``"preserve"`` passes the client's Host on, ``"instance"`` sends the instance's address.
    - ``forwarded``: ``"x-forwarded"`` adds X-Forwarded-For, -Proto and -Host, ``"forwarded"`` the header of RFC 7239.
    - ``expose``: adds ``x-pointsman: instance; tier; version`` to responses.
    - ``explain_path``: where to answer with the explanation of the request, ``"/-/pointsman"`` say.
    - ``retries``, ``retry_budget``, ``deadline``, ``verify``, ``transport_options``: as in ``pointsman.httpx``.

    503 with the reason where no instance can serve, 502 where the instance cannot be reached, 504 where it is too slow.

    >>> from pointsman import Instance, Pool
    >>> pool = Pool([Instance("10.0.0.1:8080"), Instance("10.0.0.2:8080", tags={"version": "gray"})])
    >>> route = pool.route("least_request", tiers=[{"match": ["version"]}])
    >>> proxy = ReverseProxy(route, tag_headers={"x-version": "version"}, tag_cookies={"version": "version"})

    An ASGI server runs it, ``uvicorn shop:proxy`` say, and so does the ASGI transport of ``httpx``:

    >>> import asyncio
    >>> import httpx
    >>> async def main(**headers):
    ...     async with httpx.AsyncClient(transport=httpx.ASGITransport(proxy), base_url="http://shop") as client:
    ...         response = await client.get("/orders", headers=headers)
    ...     await proxy.aclose()
    ...     return response.json()["name"] if response.is_success else response.text
    >>> asyncio.run(main(cookie="version=gray"))
    'gray'
    >>> asyncio.run(main(cookie="version=blue"))
    'no instance: no_match\\n'
    """

    def __init__(
        self,
        route: Route,
        *,
        tag_headers: Mapping[str, str] | Iterable[str] = (),
        tag_cookies: Mapping[str, str] | Iterable[str] = (),
        key_header: str | None = None,
        host: Literal["preserve", "instance"] = "preserve",
        forwarded: Literal["x-forwarded", "forwarded"] | None = None,
        expose: bool = False,
        explain_path: str | None = None,
        scheme: Literal["http", "https"] = "http",
        timeout: float | None = 60.0,
        **options: Any,
    ) -> None:
        self._lib = any_httpx("ReverseProxy", "asgi")
        self._route = route
        self._cookies = _named(tag_cookies)
        self._forwarded = forwarded
        self._expose = expose
        self._explain_path = explain_path
        self._scheme = scheme
        self._timeout = timeout
        self._settings: dict[str, Any] = {
            "hosts": None,
            "tag_headers": tag_headers,
            "key_header": key_header,
            "host_header": {"preserve": "logical", "instance": "instance"}[host],
            **options,
        }
        self._transport: AsyncTransport | None = None
        self._ticker: asyncio.Task[None] | None = None
        self._open()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "websocket":
            await _refuse_websocket(scope, receive, send)
        elif scope["type"] == "http":
            if self._ticker is None:
                self._ticker = asyncio.create_task(self._tick())
            if scope["path"] == self._explain_path:
                await self._explain(scope, send)
            else:
                await self._proxy(scope, receive, send)

    def _open(self) -> AsyncTransport:
        if self._transport is None:
            self._transport = AsyncTransport(self._route, **self._settings)
        return self._transport

    async def aclose(self) -> None:
        """Closes the connections; the lifespan does it too."""
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.gather(self._ticker, return_exceptions=True)
            self._ticker = None
        if self._transport is not None:
            await self._transport.aclose()
            self._transport = None

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self._open()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.aclose()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _tick(self) -> None:
        while True:
            due = self._route.pool.tick()
            await asyncio.sleep(_TICK if due is None else min(max(due, 0.01), _TICK))

    def _asked(self, headers: Headers) -> dict[str, Any]:
        """The tags that cookies give; those of headers are the transport's business."""
        tags = _cookie_tags(headers, self._cookies) if self._cookies else {}
        by_header = self._open()._balancer.rules.asked(self._lib.Headers(headers))
        tags.update(by_header["tags"] or {})
        return {"tags": tags} if tags else {}

    async def _explain(self, scope: Scope, send: Send) -> None:
        headers: Headers = list(scope["headers"])
        by_header = self._open()._balancer.rules.asked(self._lib.Headers(headers))
        asked = {"key": by_header["key"], **self._asked(headers)}
        told = {"explain": self._route.explain(**asked), "status": self._route.pool.status()}
        await _answer(send, 200, json.dumps(told, indent=1).encode(), b"application/json")

    async def _proxy(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = _Upload(receive)
        forward = asyncio.create_task(self._forward(scope, body, send))
        watch = asyncio.create_task(body.disconnected())
        try:
            await asyncio.wait({forward, watch}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            watch.cancel()
            if not forward.done():
                forward.cancel()
            done = await asyncio.gather(forward, watch, return_exceptions=True)
        if isinstance(done[0], Exception) and not isinstance(done[0], _Disconnect):
            raise done[0]

    async def _forward(self, scope: Scope, body: _Upload, send: Send) -> None:
        lib = self._lib
        try:
            response = await self._open().handle_async_request(await self._request(scope, body))
        except NoInstance as refused:
            text = f"no instance: {refused.reason}\n".encode()
            await _answer(send, 503, text, b"text/plain", [(b"x-pointsman-reason", refused.reason.encode())])
            return
        except lib.TimeoutException:
            await _answer(send, 504, b"the instance does not answer in time\n", b"text/plain")
            return
        except lib.TransportError:
            if body.gone:
                raise _Disconnect from None
            await _answer(send, 502, b"the instance cannot be reached\n", b"text/plain")
            return
        try:
            headers = _end_to_end(response.headers.raw)
            if self._expose:
                lease: Lease = response.extensions["pointsman"]
                told = f"{lease.instance.id}; {lease.tier}; {lease.version}"
                headers.append((b"x-pointsman", told.encode("ascii", "backslashreplace")))
            await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
            async for part in response.stream:
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await response.stream.aclose()

    async def _request(self, scope: Scope, body: _Upload) -> Any:
        lib = self._lib
        given: Headers = list(scope["headers"])
        headers = _end_to_end(given)
        names = {name: value for name, value in given}
        if self._forwarded is not None:
            headers = _forwarded(headers, scope, self._forwarded)
        target = scope.get("raw_path") or scope["path"].encode()
        if scope.get("query_string"):
            target += b"?" + scope["query_string"]
        length = names.get(b"content-length")
        if length is None and b"transfer-encoding" not in names:
            stream = lib.ByteStream(b"")
            body.whole()
        elif length is not None and int(length) <= HELD_BODY:
            stream = lib.ByteStream(b"".join([part async for part in body]))
        else:
            stream = _stream_of(lib, body)
            if length is None:
                headers.append((b"transfer-encoding", b"chunked"))
        extensions: dict[str, Any] = {"pointsman": self._asked(given)}
        if self._timeout is not None:
            extensions["timeout"] = dict.fromkeys(("connect", "read", "write", "pool"), self._timeout)
        host = names.get(b"host", b"instance").decode("latin-1")
        url = lib.URL(f"{self._scheme}://{host}").copy_with(raw_path=target)
        return lib.Request(scope["method"], url, headers=headers, stream=stream, extensions=extensions)


class _Upload:
    """The request's body as it arrives, and the news that the client has gone."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._complete = asyncio.Event()
        self.gone = False

    def whole(self) -> None:
        """There is no body to wait for."""
        self._complete.set()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        more = not self._complete.is_set()
        while more:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.gone = True
                raise _Disconnect
            if part := message.get("body", b""):
                yield part
            more = message.get("more_body", False)
        self._complete.set()

    async def disconnected(self) -> None:
        """Returns when the client has gone."""
        await self._complete.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True


class RouteTags:
    """A middleware that reads headers into the context tags, so that every pick while a request is handled takes them.

    ``headers`` as names or as a mapping to the tags' keys.

    >>> import asyncio
    >>> import httpx
    >>> from pointsman import current_tags
    >>> async def app(scope, receive, send):
    ...     await send({"type": "http.response.start", "status": 200, "headers": []})
    ...     await send({"type": "http.response.body", "body": str(current_tags()).encode()})
    >>> async def main():
    ...     transport = httpx.ASGITransport(RouteTags(app, {"x-version": "version"}))
    ...     async with httpx.AsyncClient(transport=transport, base_url="http://shop") as client:
    ...         return (await client.get("/", headers={"x-version": "gray"})).text
    >>> asyncio.run(main())
    "{'version': 'gray'}"
    """

    def __init__(self, app: App, headers: Mapping[str, str] | Iterable[str]) -> None:
        self._app = app
        self._headers = {name.lower().encode(): tag for name, tag in _named(headers).items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        tags: dict[str, str] = {}
        if scope["type"] in ("http", "websocket"):
            for name, value in scope["headers"]:
                if name in self._headers:
                    tags[self._headers[name]] = value.decode("latin-1")
        with request_tags(tags) if tags else contextlib.nullcontext():
            await self._app(scope, receive, send)


def _named(names: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    return dict(names) if isinstance(names, Mapping) else {name: name for name in names}


def _end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    headers = [(name.lower(), value) for name, value in headers]
    named = {token.strip().lower() for name, value in headers if name == b"connection" for token in value.split(b",")}
    return [(name, value) for name, value in headers if name not in HOP_BY_HOP and name not in named]


def _forwarded(headers: Headers, scope: Scope, kind: str) -> Headers:
    client = scope["client"][0] if scope.get("client") else "unknown"
    scheme = scope.get("scheme", "http")
    host = next((value.decode("latin-1") for name, value in headers if name == b"host"), "")
    if kind == "forwarded":
        node = f'"[{client}]"' if ":" in client else client
        mine = f'for={node};proto={scheme};host="{host}"'
        return _appended(headers, b"forwarded", mine.encode("latin-1"))
    headers = _appended(headers, b"x-forwarded-for", client.encode("latin-1"))
    known = {name for name, _ in headers}
    more = [(b"x-forwarded-proto", scheme), (b"x-forwarded-host", host)]
    return headers + [(name, value.encode("latin-1")) for name, value in more if name not in known]


def _appended(headers: Headers, name: bytes, value: bytes) -> Headers:
    before = [old for other, old in headers if other == name]
    return [pair for pair in headers if pair[0] != name] + [(name, b", ".join([*before, value]))]


def _cookie_tags(headers: Headers, cookies: Mapping[str, str]) -> dict[str, str]:
    # RFC 6265, section 4.2.1. `http.cookies` reads `version` and other names as attributes of the cookie before.
    tags: dict[str, str] = {}
    for header, value in headers:
        if header == b"cookie":
            for pair in value.decode("latin-1").split(";"):
                name, given, text = pair.strip().partition("=")
                if given and name in cookies:
                    # Cookies of a longer path come first.
                    tags.setdefault(cookies[name], text.removeprefix('"').removesuffix('"'))
    return tags


def _stream_of(lib: Any, body: _Upload) -> Any:
    class Stream(lib.AsyncByteStream):  # type: ignore[misc]
        def __aiter__(self) -> AsyncIterator[bytes]:
            return body.__aiter__()

    return Stream()


async def _answer(send: Send, status: int, body: bytes, kind: bytes, more: Headers | None = None) -> None:
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *(more or [])]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _refuse_websocket(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    if "websocket.http.response" in scope.get("extensions", {}):
        body = b"this proxy does not take WebSockets\n"
        headers = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
        await send({"type": "websocket.http.response.start", "status": 501, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": body})
    else:
        await send({"type": "websocket.close", "code": 1003, "reason": "this proxy does not take WebSockets"})
