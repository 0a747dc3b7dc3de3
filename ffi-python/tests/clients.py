"""Every integration behind one face, so that what must hold for all is asked of all."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import pathlib
import ssl
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import aiohttp
import httpx
import requests

from pointsman import NoInstance, Pool
from pointsman.aiohttp import Middleware
from pointsman.httpx import AsyncTransport, Transport
from pointsman.requests import Adapter

KINDS = ("httpx", "httpx2", "httpx async", "httpx2 async", "aiohttp", "requests", "proxy")

# Connections to one instance.
LIMIT = 4
# Far beyond what a busy machine takes, for an answer and between two uses of a connection.
TIMEOUT = 60.0


class Answer(NamedTuple):
    status: int
    url: str
    seen: dict[str, Any]
    """What the instance saw of the request."""


class Client(ABC):
    """A client of one library, or of the proxy, for the host ``orders``."""

    base = "http://orders"

    async def get(self, path: str = "/", **headers: str) -> Answer:
        return await self.get_url(self.base + path, {name.replace("_", "-"): value for name, value in headers.items()})

    @abstractmethod
    async def get_url(self, url: str, headers: Mapping[str, str]) -> Answer: ...

    async def names(self, count: int, **headers: str) -> list[str]:
        """Who serves so many requests, of which a few are under way at any time."""
        names: list[str] = []

        async def some(count: int) -> None:
            for _ in range(count):
                names.append((await self.get(**headers)).seen["name"])

        await asyncio.gather(*(some(count // LIMIT) for _ in range(LIMIT)))
        return names


class Threads(Client):
    """A synchronous client, on threads."""

    def __init__(self, get: Callable[[str, Mapping[str, str]], Any]) -> None:
        self._get = get
        self._threads = ThreadPoolExecutor(4 * LIMIT)

    async def get_url(self, url: str, headers: Mapping[str, str]) -> Answer:
        response = await asyncio.get_running_loop().run_in_executor(self._threads, self._get, url, headers)
        return Answer(response.status_code, str(response.url), response.json())

    def close(self) -> None:
        self._threads.shutdown()


class Httpx(Client):
    def __init__(self, client: Any, base: str = Client.base, host: Mapping[str, str] | None = None) -> None:
        self._client, self.base, self._host = client, base, host or {}

    async def get_url(self, url: str, headers: Mapping[str, str]) -> Answer:
        response = await self._client.get(url, headers={**self._host, **headers})
        if reason := response.headers.get("x-pointsman-reason"):
            assert response.status_code == 503
            raise NoInstance(response.text, reason)
        return Answer(response.status_code, str(response.url), response.json())


class Aiohttp(Client):
    def __init__(self, session: aiohttp.ClientSession, context: ssl.SSLContext | bool) -> None:
        self._session, self._context = session, context

    async def get_url(self, url: str, headers: Mapping[str, str]) -> Answer:
        async with self._session.get(url, headers=headers, ssl=self._context) as response:
            return Answer(response.status, str(response.url), await response.json())


class Proxy:
    """The reverse proxy in a process of its own."""

    def __init__(self, instances: list[dict[str, Any]], **given: Any) -> None:
        script = pathlib.Path(__file__).with_name("proxy.py")
        command = [sys.executable, str(script), json.dumps({"instances": instances, **given})]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def peak(self) -> int:
        """The most memory it ever had, in bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(60) in (0, -15)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextlib.asynccontextmanager
async def connect(
    kind: str,
    pool: Pool,
    *,
    policy: str = "weighted_round_robin",
    tiers: list[dict[str, Any]] | None = None,
    authority: str | None = None,
    **rules: Any,
) -> AsyncIterator[Client]:
    """A client of that kind. ``rules`` are keyword arguments that all integrations have."""
    spec: dict[str, Any] = {"policy": policy, "tiers": tiers or [{}]}
    context = ssl.create_default_context(cafile=authority)
    if kind == "proxy":
        instances = [
            {
                "address": one.address,
                "id": one.id,
                "weight": one.weight,
                "tags": one.tags,
                "max_in_flight": one.max_in_flight,
            }
            for one in pool
        ]
        options = {**rules, "scheme": "http" if authority is None else "https", "timeout": TIMEOUT}
        proxy = Proxy(instances, **spec, options=options, authority=authority, limits=(LIMIT, TIMEOUT))
        try:
            async with httpx.AsyncClient(timeout=TIMEOUT, follow_redirects=True) as client:
                yield Httpx(client, proxy.url, {"host": "orders"} if authority else None)
        finally:
            proxy.stop()
        return
    route = pool.route(spec)
    if kind == "aiohttp":
        connector = aiohttp.TCPConnector(limit=0, limit_per_host=LIMIT, keepalive_timeout=TIMEOUT)
        middleware = Middleware(route, hosts=["orders"], **rules)
        async with aiohttp.ClientSession(connector=connector, middlewares=[middleware]) as session:
            yield Aiohttp(session, context)
    elif kind == "requests":
        with requests.Session() as session:
            for scheme in ("http", "https"):
                session.mount(f"{scheme}://orders", Adapter(route, pool_maxsize=LIMIT, **rules))
            verify = authority or True
            with contextlib.closing(
                Threads(lambda url, headers: session.get(url, headers=headers, verify=verify, timeout=TIMEOUT))
            ) as threads:
                yield threads
    else:
        lib: Any = importlib.import_module(kind.split()[0])
        limits = lib.Limits(max_connections=LIMIT, keepalive_expiry=TIMEOUT)
        given = {"verify": context, "transport_options": {"limits": limits}, **rules}
        settings = {"timeout": TIMEOUT, "follow_redirects": True}
        if kind.endswith("async"):
            async with lib.AsyncClient(transport=AsyncTransport(route, hosts=["orders"], **given), **settings) as client:
                yield Httpx(client)
        else:
            with lib.Client(transport=Transport(route, hosts=["orders"], **given), **settings) as client:
                with contextlib.closing(Threads(lambda url, headers: client.get(url, headers=headers))) as threads:
                    yield threads
