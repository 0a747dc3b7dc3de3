from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from clients import Proxy
from conftest import Backend, check_shares
from pointsman import Instance, Pool, current_tags
from pointsman.asgi import ReverseProxy, RouteTags

Start = Callable[..., list[Backend]]
SIZE = 100_000_000


@pytest.fixture
def proxy() -> Iterator[Callable[..., Proxy]]:
    started: list[Proxy] = []

    def make(backends: list[Backend], settings: dict[str, Any] | None = None, **given: Any) -> Proxy:
        instances = [{"address": one.address, "id": one.name, **(settings or {}).get(one.name, {})} for one in backends]
        started.append(Proxy(instances, **given))
        return started[-1]

    yield make
    for one in started:
        one.stop()


async def ask_many(url: str, count: int, **arguments: Any) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=20)
    async with httpx.AsyncClient(limits=limits, timeout=30) as client:
        responses: list[httpx.Response] = []
        for _ in range(count // 20):
            responses += await asyncio.gather(*(client.get(url, **arguments) for _ in range(20)))
        return responses


async def test_shares_and_tags(start: Start, proxy: Callable[..., Proxy]) -> None:
    one = proxy(
        start("a", "b", "c"),
        {"a": {"weight": 3.0}, "c": {"tags": {"version": "gray"}}},
        tiers=[{"match": ["version"], "when_absent": "untagged"}],
        options={
            "tag_headers": {"x-version": "version"},
            "tag_cookies": {"v": "version"},
            "expose": True,
            "explain_path": "/-/pointsman",
        },
    )
    responses = await ask_many(one.url, 200)
    check_shares((Instance(response.json()["name"]) for response in responses), {"a": 0.75, "b": 0.25})
    name, tier, version = responses[0].headers["x-pointsman"].split("; ")
    assert (name, tier, version) == (responses[0].json()["name"], "0", "1")
    gray = await ask_many(one.url, 40, headers={"x-version": "gray"})
    assert {response.json()["name"] for response in gray} == {"c"}
    async with httpx.AsyncClient(cookies={"v": "gray", "other": "x"}, timeout=30) as client:
        assert (await client.get(one.url)).json()["name"] == "c"
        assert (await client.get(one.url, headers={"x-version": "none"})).status_code == 503
        told = (await client.get(one.url + "/-/pointsman")).json()
        assert told["explain"]["shares"] == [{"id": "c", "share": 1.0}]
        assert told["status"]["instances"] == 3
        response = await client.get(one.url, headers={"x-version": "none"})
        assert (response.status_code, response.headers["x-pointsman-reason"]) == (503, "no_match")
        assert response.text == "no instance: no_match\n"


async def test_what_is_passed_on(start: Start, proxy: Callable[..., Proxy]) -> None:
    one = proxy(start("a"), options={"forwarded": "x-forwarded"})
    async with httpx.AsyncClient(timeout=30) as client:
        headers = {"connection": "keep-alive, x-hop", "x-hop": "1", "te": "trailers", "x-end": "2", "host": "orders"}
        seen = (await client.get(one.url + "/a%2Fb/%20c?q=%20&r", headers=headers)).json()
        assert seen["target"] == "/a%2Fb/%20c?q=%20&r"
        sent = seen["headers"]
        assert (sent["host"], sent["x-end"], "x-hop" in sent, "te" in sent) == ("orders", "2", False, False)
        assert (sent["x-forwarded-for"], sent["x-forwarded-proto"]) == ("127.0.0.1", "http")
        assert sent["x-forwarded-host"] == "orders"
        response = await client.get(one.url + "/redirect")
        assert (response.status_code, response.headers["location"]) == (302, "/after")
        assert "x-pointsman" not in response.headers
        assert (await client.get(one.url + "/-/pointsman")).json()["target"] == "/-/pointsman"
        assert (await client.post(one.url, content=b"abc")).json()["length"] == 3
        assert (await client.put(one.url, content=b"x" * 100_000)).json()["length"] == 100_000
        assert (await client.head(one.url)).headers["content-type"] == "application/json"
        cookie = await client.get(one.url + "/cookie")
        assert cookie.headers["set-cookie"] == "session=1"


async def test_instance_host_and_standard_forwarded(start: Start, proxy: Callable[..., Proxy]) -> None:
    (backend,) = start("a")
    one = proxy([backend], options={"forwarded": "forwarded", "host": "instance"})
    async with httpx.AsyncClient(timeout=30) as client:
        headers = {"forwarded": "for=10.0.0.9", "host": "orders"}
        sent = (await client.get(one.url, headers=headers)).json()["headers"]
        assert sent["host"] == backend.address
        assert sent["forwarded"] == 'for=10.0.0.9, for=127.0.0.1;proto=http;host="orders"'


async def test_sticky_by_a_key_header(start: Start, proxy: Callable[..., Proxy]) -> None:
    one = proxy(start("a", "b", "c"), policy="consistent_hash", options={"key_header": "x-user"})
    owners = set()
    for user in ("1", "2", "3", "4", "5", "6", "7", "8"):
        names = {response.json()["name"] for response in await ask_many(one.url, 20, headers={"x-user": user})}
        assert len(names) == 1
        owners |= names
    assert len(owners) > 1


async def test_errors_of_instances(start: Start, proxy: Callable[..., Proxy]) -> None:
    backends = [*start("a", "b"), *start("quiet", options=("silent",))]
    one = proxy(backends, options={"timeout": 0.5, "retries": 0})
    backends[0].stop()
    codes = {response.status_code for response in await ask_many(one.url, 60)}
    assert codes == {200, 502, 504}


async def test_large_bodies_stream_in_flat_memory(start: Start, proxy: Callable[..., Proxy]) -> None:
    one = proxy(start("a"))
    await ask_many(one.url, 100)
    before = one.peak()

    async def parts() -> Any:
        for _ in range(SIZE // 100_000):
            yield b"x" * 100_000

    async with httpx.AsyncClient(timeout=60) as client:
        assert (await client.post(one.url, content=parts())).json()["length"] == SIZE
        headers = {"content-length": str(SIZE)}
        assert (await client.post(one.url, content=parts(), headers=headers)).json()["length"] == SIZE
        total = 0
        async with client.stream("GET", f"{one.url}/bytes/{SIZE}") as response:
            async for part in response.aiter_raw():
                total += len(part)
        assert total == SIZE
    assert one.peak() - before < 30_000_000


async def test_a_client_that_goes_away_cancels_upstream(start: Start) -> None:
    (backend,) = start("a", options=("silent",))
    pool = Pool([Instance(backend.address, max_in_flight=1)])
    route = pool.route("random")
    app = ReverseProxy(route)
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await gone.wait()
        return {"type": "http.disconnect"}

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [], "client": ("::1", 1)}
    task = asyncio.create_task(app(scope, receive, send))
    while not _is_full(pool):
        await asyncio.sleep(0.01)
    gone.set()
    await asyncio.wait_for(task, 5)
    assert sent == []
    assert not _is_full(pool)
    await app.aclose()


def _is_full(pool: Pool) -> bool:
    try:
        pool.route("random").lease().done(None)
        return False
    except LookupError:
        return True


async def test_the_lifespan_opens_and_closes_and_the_pool_is_ticked(start: Start) -> None:
    (backend,) = start("a")
    spec = {"ejection": {"consecutive_failures": 1, "max_ejection_percent": 100}}
    pool = Pool([Instance(backend.address), Instance("127.0.0.1:1", id="gone")], spec=spec)
    route = pool.route("round_robin")
    app = ReverseProxy(route)
    asked, told = asyncio.Queue[Any](), asyncio.Queue[Any]()
    life = asyncio.create_task(app({"type": "lifespan"}, asked.get, told.put))
    await asked.put({"type": "lifespan.startup"})
    assert await told.get() == {"type": "lifespan.startup.complete"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop", timeout=30) as client:
        for _ in range(2):
            assert (await client.get("/")).json()["name"] == "a"
    # Nobody but the proxy ticks, and without a tick nobody is ejected.
    while set(route.shares()) != {backend.address}:
        await asyncio.sleep(0.01)
    inners = app._open()._balancer._inners
    assert inners
    await asked.put({"type": "lifespan.shutdown"})
    assert await told.get() == {"type": "lifespan.shutdown.complete"}
    await life
    assert not inners
    assert app._transport is None and app._ticker is None


async def test_websockets_are_refused() -> None:
    app = ReverseProxy(Pool().route("random"))
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app({"type": "websocket", "headers": []}, receive, send)
    assert sent[0]["type"] == "websocket.close"
    await app({"type": "websocket", "headers": [], "extensions": {"websocket.http.response": {}}}, receive, send)
    assert sent[1]["status"] == 501


async def test_route_tags() -> None:
    seen: list[dict[str, Any]] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.append(current_tags())

    app = RouteTags(inner, {"X-Version": "version"})

    async def nothing(message: Any = None) -> Any:
        return {}

    await app({"type": "http", "headers": [(b"x-version", b"gray"), (b"other", b"x")]}, nothing, nothing)
    await app({"type": "http", "headers": []}, nothing, nothing)
    await app({"type": "lifespan"}, nothing, nothing)
    assert seen == [{"version": "gray"}, {}, {}]


@pytest.mark.parametrize(
    ("cookie", "version"),
    [
        (b"version=gray", "gray"),
        (b"path=/; version=gray; Domain=x", "gray"),
        (b'a; b=; version="gray" ;=c', "gray"),
        (b"version=gray; version=blue", "gray"),
        (b"other version=x; \xffversion=y", None),
    ],
)
def test_any_cookie_may_be_a_tag(cookie: bytes, version: str | None) -> None:
    app = ReverseProxy(Pool().route("random"), tag_cookies=["version"])
    expected = {} if version is None else {"tags": {"version": version}}
    assert app._asked([(b"cookie", cookie)]) == expected


@pytest.mark.skipif(shutil.which("wrk") is None, reason="wrk is not installed")
def test_under_wrk(start: Start, proxy: Callable[..., Proxy]) -> None:
    one = proxy(start("a", "b"))
    # Its own limit of two seconds is within what a busy machine takes.
    command = ["wrk", "-t2", "-c32", "-d3s", "--timeout", "60s", one.url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Non-2xx" not in done.stdout and "Socket errors" not in done.stdout, done.stdout
