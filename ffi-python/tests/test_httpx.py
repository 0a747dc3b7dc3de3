from __future__ import annotations

import asyncio
import importlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from conftest import Backend, check_shares
from pointsman import Instance, NoInstance, Pool, request_tags
from pointsman._balance import split_address
from pointsman._retry import Budget
from pointsman.httpx import AsyncTransport, Transport

Start = Callable[..., list[Backend]]


@pytest.fixture(params=["httpx", "httpx2"])
def lib(request: pytest.FixtureRequest) -> Any:
    return importlib.import_module(request.param)


def fleet(backends: list[Backend], **settings: Any) -> Pool:
    return Pool(Instance(backend.address, id=backend.name, **settings.get(backend.name, {})) for backend in backends)


def make(lib: Any, pool: Pool, policy: str = "weighted_round_robin", **options: Any) -> Any:
    tiers = options.pop("tiers", [{}])
    transport = Transport(pool.route(policy, tiers=tiers), hosts=["orders"], **options)
    return lib.Client(transport=transport, timeout=20)


def test_gray_requests_stay_on_gray_instances(lib: Any, start: Start) -> None:
    pool = fleet(start("a", "b", "c"), a={"tags": {"version": "gray"}})
    tiers = [{"match": ["version"], "when_absent": "untagged"}]
    with make(lib, pool, tiers=tiers, tag_headers={"X-Version": "version"}) as client:
        gray = {client.get("http://orders/", headers={"x-version": "gray"}).json()["name"] for _ in range(50)}
        plain = {client.get("http://orders/").json()["name"] for _ in range(50)}
        with request_tags({"version": "gray"}):
            assert client.get("http://orders/").json()["name"] == "a"
        asked = {"pointsman": {"tags": {"version": "gray"}}}
        assert client.get("http://orders/", extensions=asked).json()["name"] == "a"
        assert gray == {"a"} and plain == {"b", "c"}
        with pytest.raises(NoInstance) as caught:
            client.get("http://orders/", headers={"x-version": "blue"})
        assert isinstance(caught.value, lib.ConnectError)
        assert caught.value.reason == "no_match"
        assert str(caught.value.request.url) == "http://orders/"


def test_other_hosts_are_untouched(lib: Any, start: Start) -> None:
    (other,) = start("other")
    with make(lib, Pool()) as client:
        seen = client.get(f"http://{other.address}/x").json()
        assert (seen["name"], seen["headers"]["host"]) == ("other", other.address)
        with pytest.raises(NoInstance):
            client.get("http://orders/")
    with lib.Client(mounts={"http://orders": Transport(Pool().route("random"), hosts=["orders"])}) as client:
        assert client.get(f"http://{other.address}/x").json()["name"] == "other"


def test_the_logical_host_stays(lib: Any, start: Start) -> None:
    pool = fleet(start("a", "b"))
    with make(lib, pool) as client:
        response = client.get("http://orders/redirect", follow_redirects=True)
        assert str(response.url) == "http://orders/after"
        assert [str(one.url) for one in response.history] == ["http://orders/redirect"]
        assert response.json()["headers"]["host"] == "orders"
        client.get("http://orders/cookie")
        assert {client.get("http://orders/").json()["headers"].get("cookie") for _ in range(4)} == {"session=1"}
        assert [cookie.domain for cookie in client.cookies.jar] == ["orders.local"]
    with make(lib, pool, host_header="instance") as client:
        seen = client.get("http://orders/").json()
        assert seen["headers"]["host"] == pool[seen["name"]].address


def test_retries(lib: Any, start: Start) -> None:
    good, bad = start("good", "bad")
    pool = fleet([good, bad])
    with make(lib, pool, "round_robin") as client:
        for _ in range(6):
            assert client.get("http://orders/status/503").status_code == 503
        with pytest.raises(lib.RemoteProtocolError):
            client.post("http://orders/drop", content=b"x")
        with pytest.raises(lib.RemoteProtocolError):
            client.get("http://orders/drop")
    bad.stop()
    with make(lib, pool, "round_robin") as client:
        # Refused connections: every method, also with a body that cannot be repeated.
        for _ in range(6):
            assert client.get("http://orders/").json()["name"] == "good"
            assert client.post("http://orders/", content=b"x").json()["length"] == 1
            assert client.post("http://orders/", content=iter([b"x", b"y"])).json()["length"] == 2
    with make(lib, pool, "round_robin", retries=0) as client:
        outcomes = []
        for _ in range(4):
            try:
                outcomes.append(client.get("http://orders/").json()["name"])
            except lib.ConnectError:
                outcomes.append("refused")
        assert sorted(outcomes) == ["good", "good", "refused", "refused"]


@pytest.mark.parametrize(
    ("method", "headers", "content", "again"),
    [
        ("GET", {}, None, True),
        ("PUT", {}, b"x", True),
        ("DELETE", {}, None, True),
        ("POST", {}, b"x", False),
        ("PATCH", {}, None, False),
        ("POST", {"Idempotency-Key": "1"}, b"x", True),
        ("PUT", {}, "generator", False),
    ],
)
@pytest.mark.parametrize("path", ["/status/503", "/drop"])
def test_what_is_tried_again_after_sending(
    start: Start, method: str, headers: dict[str, str], content: Any, again: bool, path: str
) -> None:
    import httpx

    backends = start("a", "b", "c", "d")
    pool = fleet(backends)
    with make(httpx, pool) as client:
        given = iter([b"x"]) if content == "generator" else content
        try:
            assert client.request(method, "http://orders" + path, headers=headers, content=given).status_code == 503
        except httpx.RemoteProtocolError:
            assert path == "/drop"
        with httpx.Client() as direct:
            requests = sum(direct.get(f"http://{one.address}/").json()["requests"] - 1 for one in backends)
        assert requests == (3 if again else 1)


def test_transports_close_after_their_instance_has_left(start: Start) -> None:
    import httpx

    pool = fleet(start("a", "b"))
    transport = Transport(pool.route("round_robin"), hosts=["orders"])
    inners = transport._balancer._inners
    with httpx.Client(transport=transport) as client:
        for _ in range(2):
            client.get("http://orders/")
        with client.stream("GET", "http://orders/bytes/500000", extensions={"pointsman": {"prefer": "a"}}) as response:
            inner = next(inner for inner in inners.values() if inner.instance.id == "a")
            pool.remove("a")
            assert client.get("http://orders/").json()["name"] == "b"
            assert inner.left and inner.users == 1 and len(inners) == 1
            assert sum(map(len, response.iter_bytes())) == 500_000
        assert inner.users == 0


def test_a_transport_that_fails_to_close_keeps_no_other_in_use(start: Start) -> None:
    import httpx

    pool = fleet(start("a", "b"))
    transport = Transport(pool.route("round_robin"), hosts=["orders"])
    with httpx.Client(transport=transport) as client:
        for _ in range(2):
            client.get("http://orders/")
        inners = {inner.instance.id: inner for inner in transport._balancer._inners.values()}

        def fail() -> None:
            inners["a"].transport.__class__.close(inners["a"].transport)
            raise OSError("cannot close")

        inners["a"].transport.close = fail
        pool.remove("a")
        with pytest.raises(OSError, match="cannot close"):
            client.get("http://orders/")
        assert inners["b"].users == 0
        assert client.get("http://orders/").json()["name"] == "b"


def test_the_lease_lasts_until_the_body_ends(start: Start) -> None:
    import httpx

    pool = Pool([Instance(start("a")[0].address, max_in_flight=1)])
    with make(httpx, pool) as client:
        with client.stream("GET", "http://orders/bytes/10") as response:
            with pytest.raises(NoInstance) as caught:
                client.get("http://orders/")
            assert caught.value.reason == "saturated"
            response.read()
        assert client.get("http://orders/").status_code == 200


def test_the_deadline_spans_all_tries(lib: Any, start: Start) -> None:
    pool = fleet(start("a", "b", "c", options=("silent",)))
    with make(lib, pool, deadline=0.6) as client:
        began = time.monotonic()
        with pytest.raises(lib.TimeoutException):
            client.get("http://orders/")
        assert 0.5 < time.monotonic() - began < 15


def test_the_deadline_has_no_say_in_the_body(lib: Any, start: Start) -> None:
    with make(lib, fleet(start("a")), deadline=1.5) as client:
        assert client.get("http://orders/slow").content == b"ab"


def test_tls_checks_the_logical_name(lib: Any, start: Start, certificate: tuple[Any, str]) -> None:
    context, file = certificate
    pool = fleet(start("a", "b", options=(file,)))
    with make(lib, pool, verify=context) as client:
        names = {client.get("https://orders/").json()["name"] for _ in range(4)}
        assert names == {"a", "b"}
    with make(lib, pool, verify=context, host_header="instance") as client, pytest.raises(lib.ConnectError):
        client.get("https://orders/")


async def test_the_asynchronous_transport(lib: Any, start: Start) -> None:
    backends = start("a", "b", "c")
    pool = fleet(backends, a={"weight": 2.0, "max_in_flight": 40}, c={"tags": {"version": "gray"}})
    route = pool.route("weighted_random", tiers=[{"match": ["version"], "when_absent": "untagged"}])
    transport = AsyncTransport(route, hosts=["orders"], tag_headers=["version"], retry_budget=1.0)
    async with lib.AsyncClient(transport=transport, timeout=20) as client:

        async def ask(**headers: str) -> str:
            name: str = (await client.get("http://orders/", headers=headers)).json()["name"]
            return name

        names = [name for _ in range(30) for name in await asyncio.gather(*(ask() for _ in range(20)))]
        check_shares(map(Instance, names), {"a": 2 / 3, "b": 1 / 3})
        assert {await ask(version="gray") for _ in range(10)} == {"c"}
        with pytest.raises(NoInstance) as caught:
            await ask(version="blue")
        assert isinstance(caught.value, lib.ConnectError)
        response = await client.get("http://orders/redirect", follow_redirects=True)
        assert str(response.url) == "http://orders/after"
        slow = asyncio.create_task(client.get("http://orders/silent"))
        await asyncio.sleep(0.1)
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        async with client.stream("GET", "http://orders/bytes/300000") as response:
            assert sum([len(part) async for part in response.aiter_bytes()]) == 300_000
        backends[0].stop()
        assert {await ask() for _ in range(20)} == {"b"}
        direct = await client.get(f"http://{backends[1].address}/")
        assert direct.json()["headers"]["host"] == backends[1].address


def test_the_budget() -> None:
    now = 0.0
    budget = Budget(0.2, lambda: now)
    assert [budget.take() for _ in range(31)] == [True] * 30 + [False]
    now = 11.0
    for _ in range(1_000):
        budget.request()
    assert [budget.take() for _ in range(201)] == [True] * 200 + [False]
    now = 22.0
    assert budget.take()
    with pytest.raises(ValueError, match="retry_budget"):
        Budget(-1)


@pytest.mark.parametrize(
    ("address", "split"),
    [
        ("10.0.0.1:80", ("10.0.0.1", 80)),
        ("name", ("name", None)),
        ("[2001:db8::1]:80", ("2001:db8::1", 80)),
        ("[2001:db8::1]", ("2001:db8::1", None)),
        ("2001:db8::1", ("2001:db8::1", None)),
    ],
)
def test_addresses(address: str, split: tuple[str, int | None]) -> None:
    assert split_address(address) == split


@pytest.mark.parametrize("address", ["a:b", ":80", "http://a:80"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ValueError, match="not host:port"):
        split_address(address)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"hosts": "orders"}, TypeError),
        ({"retries": -1}, ValueError),
        ({"deadline": 0}, ValueError),
        ({"host_header": "both"}, ValueError),
    ],
)
def test_bad_rules(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Transport(Pool().route("random"), **{"hosts": ["orders"], **arguments})
