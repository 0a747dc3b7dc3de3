"""A reverse proxy in a process of its own, for tests. Takes instances and options as JSON, prints its port."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import sys
from typing import Any

import httpx
import uvicorn

from pointsman import Instance, Pool
from pointsman.asgi import ReverseProxy

given: dict[str, Any] = json.loads(sys.argv[1])


async def main() -> None:
    pool = Pool(Instance(**instance) for instance in given["instances"])
    route = pool.route(given.get("policy", "weighted_random"), tiers=given.get("tiers", [{}]))
    options: dict[str, Any] = given.get("options", {})
    if authority := given.get("authority"):
        options["verify"] = ssl.create_default_context(cafile=authority)
    if limits := given.get("limits"):
        connections, expiry = limits
        options["transport_options"] = {"limits": httpx.Limits(max_connections=connections, keepalive_expiry=expiry)}
    proxy = ReverseProxy(route, **options)
    # With its protocol named, since asyncio turns Nagle's algorithm off for no other.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(proxy, log_level="warning", lifespan="on", server_header=False)
    await uvicorn.Server(config).serve(sockets=[listener])


asyncio.run(main())
