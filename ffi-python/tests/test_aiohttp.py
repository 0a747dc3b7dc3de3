from __future__ import annotations

import ssl
import time
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from conftest import Backend
from pointsman import Instance, NoInstance, Pool, request_tags
from pointsman.aiohttp import Middleware

Start = Callable[..., list[Backend]]


def fleet(backends: list[Backend], **settings: Any) -> Pool:
    return Pool(Instance(one.address, id=one.name, **settings.get(one.name, {})) for one in backends)


def make(pool: Pool, policy: str = "weighted_round_robin", **options: Any) -> aiohttp.ClientSession:
    tiers = options.pop("tiers", [{}])
    connector = aiohttp.TCPConnector(limit=0, limit_per_host=options.pop("limit_per_host", 20))
    middleware = Middleware(pool.route(policy, tiers=tiers), hosts=["orders"], **options)
    return aiohttp.ClientSession(connector=connector, middlewares=[middleware])


async def ask(session: aiohttp.ClientSession, path: str = "/", **arguments: Any) -> dict[str, Any]:
    async with session.get("http://orders" + path, **arguments) as response:
        seen: dict[str, Any] = await response.json()
        return seen


async def test_tags(start: Start) -> None:
    pool = fleet(start("a", "b"), a={"tags": {"version": "gray"}})
    tiers = [{"match": ["version"], "when_absent": "untagged"}]
    async with make(pool, tiers=tiers, tag_headers={"X-Version": "version"}) as session:
        assert {(await ask(session, headers={"X-Version": "gray"}))["name"] for _ in range(10)} == {"a"}
        assert {(await ask(session))["name"] for _ in range(10)} == {"b"}
        with request_tags({"version": "gray"}):
            seen = await ask(session)
            assert (seen["name"], seen["headers"]["x-version"]) == ("a", "gray")
        with pytest.raises(NoInstance) as caught:
            await ask(session, headers={"X-Version": "blue"})
        assert isinstance(caught.value, aiohttp.ClientConnectorError)
        assert (caught.value.reason, str(caught.value)) == ("no_match", "no instance: no instance matches (tier 0)")


async def test_other_hosts_and_the_logical_host(start: Start) -> None:
    other, *backends = start("other", "a", "b")
    async with make(fleet(backends)) as session:
        async with session.get(f"http://{other.address}/x") as response:
            assert (await response.json())["headers"]["host"] == other.address
        async with session.get("http://orders/redirect") as response:
            assert str(response.url) == "http://orders/after"
            assert (await response.json())["headers"]["host"] == "orders"
        await ask(session, "/cookie")
        assert {(await ask(session))["headers"].get("cookie") for _ in range(4)} == {"session=1"}
    pool = fleet(backends)
    async with make(pool, host_header="instance") as session:
        seen = await ask(session)
        assert seen["headers"]["host"] == pool[seen["name"]].address


async def test_retries(start: Start) -> None:
    backends = start("a", "b", "c")
    pool = fleet(backends)
    async with make(pool, retry_budget=1.0) as session:
        async with session.get("http://orders/status/503") as response:
            assert response.status == 503
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await session.post("http://orders/drop", data=b"x")
        async with aiohttp.ClientSession() as direct:
            used = 0
            for backend in backends:
                async with direct.get(f"http://{backend.address}/") as response:
                    used += (await response.json())["requests"] - 1
        assert used == 3 + 1
        backends[0].stop()
        for _ in range(9):
            assert (await ask(session))["name"] in "bc"
            async with session.post("http://orders/", data=b"xy") as response:
                assert (await response.json())["length"] == 2


async def test_deadline_and_lease(start: Start) -> None:
    pool = fleet([*start("a"), *start("quiet", options=("silent",))])
    silent = Pool([Instance(pool["quiet"].address, max_in_flight=1)])
    async with make(silent, deadline=0.4) as session:
        began = time.monotonic()
        with pytest.raises(aiohttp.ServerTimeoutError):
            await ask(session)
        assert time.monotonic() - began < 15
    lone = Pool([Instance(pool["a"].address, max_in_flight=1)])
    async with make(lone) as session:
        async with session.get("http://orders/slow") as response:
            with pytest.raises(NoInstance, match="limit"):
                await ask(session)
            assert await response.read() == b"ab"
        assert (await ask(session))["name"] == "a"


async def test_tls_checks_the_logical_name(start: Start, certificate: tuple[ssl.SSLContext, str]) -> None:
    context, file = certificate
    pool = fleet(start("a", options=(file,)))
    async with make(pool) as session:
        async with session.get("https://orders/", ssl=context) as response:
            assert (await response.json())["name"] == "a"
    async with make(pool, host_header="instance") as session:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await session.get("https://orders/", ssl=context)
