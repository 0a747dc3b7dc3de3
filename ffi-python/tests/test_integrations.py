"""What must hold for every integration, against servers in processes of their own."""

from __future__ import annotations

import asyncio
import pathlib
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from clients import KINDS, LIMIT, TIMEOUT, connect
from conftest import Backend, check_shares
from pointsman import Instance, NoInstance, Pool

Start = Callable[..., list[Backend]]

BY_VERSION = [{"match": ["version"], "when_absent": "untagged"}]
CLIENTS = [kind for kind in KINDS if kind != "proxy"]


@pytest.fixture(scope="module")
def standing() -> Iterator[list[Backend]]:
    """Forty instances that no test stops."""
    backends = [Backend(f"i{at}") for at in range(40)]
    for backend in backends:
        assert backend.address
    yield backends
    for backend in backends:
        backend.stop()


def fleet(backends: list[Backend], **settings: dict[str, Any]) -> Pool:
    return Pool(Instance(one.address, id=one.name, **settings.get(one.name, {})) for one in backends)


@pytest.mark.parametrize("kind", KINDS)
async def test_shares_by_weight(kind: str, standing: list[Backend]) -> None:
    pool = fleet(standing[:3], i0={"weight": 5.0}, i1={"weight": 3.0})
    async with connect(kind, pool, policy="weighted_random") as client:
        names = await client.names(5_000)
    assert len(names) == 5_000
    check_shares(map(Instance, names), {"i0": 5 / 9, "i1": 3 / 9, "i2": 1 / 9})


@pytest.mark.parametrize("kind", KINDS)
async def test_gray_requests_on_gray_instances_alone(kind: str, standing: list[Backend]) -> None:
    pool = fleet(standing[:4], i0={"tags": {"version": "gray"}}, i1={"tags": {"version": "gray"}})
    async with connect(kind, pool, tiers=BY_VERSION, tag_headers={"X-Version": "version"}) as client:
        assert set(await client.names(60, x_version="gray")) == {"i0", "i1"}
        assert set(await client.names(60)) == {"i2", "i3"}
        with pytest.raises(NoInstance) as caught:
            await client.get(x_version="blue")
        assert caught.value.reason == "no_match"


@pytest.mark.parametrize("kind", CLIENTS)
async def test_a_request_to_another_host_is_untouched(kind: str, start: Start) -> None:
    (other,) = start("other")
    async with connect(kind, Pool()) as client:
        answer = await client.get_url(f"http://{other.address}/x", {})
        assert (answer.seen["name"], answer.seen["target"]) == ("other", "/x")
        assert answer.seen["headers"]["host"] == other.address
        with pytest.raises(NoInstance):
            await client.get()


@pytest.mark.parametrize("kind", KINDS)
async def test_connections_are_kept_alive_per_instance(kind: str, standing: list[Backend]) -> None:
    def opened() -> Counter[str]:
        counts: Counter[str] = Counter()
        with httpx.Client(limits=httpx.Limits(max_keepalive_connections=0), timeout=TIMEOUT) as direct:
            for backend in standing:
                counts[backend.name] = direct.get(f"http://{backend.address}/").json()["connections"]
        return counts

    before = opened()
    async with connect(kind, fleet(standing)) as client:
        names = [(await client.get()).seen["name"] for _ in range(400)]
    assert Counter(names) == {backend.name: 10 for backend in standing}
    # One of them asks for the count.
    assert opened() - before == {backend.name: 2 for backend in standing}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_silent_instance_does_not_starve_the_others(kind: str, start: Start) -> None:
    backends = [*start("a", "b", "c"), *start("quiet", options=("silent",))]
    pool = fleet(backends, quiet={"tags": {"version": "quiet"}})
    async with connect(kind, pool, tiers=BY_VERSION, tag_headers={"X-Version": "version"}, retries=0) as client:
        # More than there are connections for, so that some wait for one.
        waiting = [asyncio.create_task(client.get(x_version="quiet")) for _ in range(2 * LIMIT)]
        assert Counter(await client.names(120)) == {"a": 40, "b": 40, "c": 40}
        assert not any(task.done() for task in waiting)
        backends[3].stop()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(one, Exception) for one in ended)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_killed_instance_fails_no_idempotent_request(kind: str, start: Start) -> None:
    backends = start("a", "b", "c")
    served: Counter[str] = Counter()
    enough = asyncio.Event()
    least = 30

    async with connect(kind, fleet(backends), retry_budget=1.0) as client:

        async def ask() -> None:
            while not enough.is_set():
                answer = await client.get()
                assert answer.status == 200
                served[answer.seen["name"]] += 1

        async def kill() -> None:
            try:
                while min(served[name] for name in "abc") < least:
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(backends[1].stop)
                now = served.copy()
                while min(served[name] - now[name] for name in "ac") < least:
                    await asyncio.sleep(0.01)
            finally:
                enough.set()

        asking = [asyncio.create_task(ask()) for _ in range(LIMIT)]
        killing = asyncio.create_task(kill())
        # The first request that fails ends the test.
        await asyncio.gather(killing, *asking)
    assert set(served) == {"a", "b", "c"}


@pytest.mark.parametrize("kind", KINDS)
async def test_redirects_and_cookies_are_of_the_logical_host(kind: str, standing: list[Backend]) -> None:
    async with connect(kind, fleet(standing[:2])) as client:
        answer = await client.get("/redirect")
        assert answer.url == client.base + "/after"
        assert answer.seen["target"] == "/after"
        if kind != "proxy":
            assert answer.seen["headers"]["host"] == "orders"
        await client.get("/cookie")
        for _ in range(4):
            assert (await client.get()).seen["headers"].get("cookie") == "session=1"


@pytest.mark.parametrize("kind", KINDS)
async def test_tls_with_the_logical_name(kind: str, start: Start, certificate: tuple[ssl.SSLContext, str]) -> None:
    _, file = certificate
    authority = str(pathlib.Path(file).with_name("authority.pem"))
    pool = fleet(start("a", "b", options=(file,)))
    async with connect(kind, pool, authority=authority) as client:
        if kind != "proxy":
            client.base = "https://orders"
        assert set(await client.names(4 * LIMIT)) == {"a", "b"}
