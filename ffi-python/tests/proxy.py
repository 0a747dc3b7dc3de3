"""A reverse proxy in a process of its own, for tests. Takes instances and options as JSON, prints its port."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from typing import Any

import uvicorn

from pointsman import Instance, Pool
from pointsman.asgi import ReverseProxy

given: dict[str, Any] = json.loads(sys.argv[1])


async def main() -> None:
    pool = Pool(Instance(**instance) for instance in given["instances"])
    route = pool.route(given.get("policy", "weighted_random"), tiers=given.get("tiers", [{}]))
    proxy = ReverseProxy(route, **given.get("options", {}))
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(proxy, log_level="warning", lifespan="on", server_header=False)
    await uvicorn.Server(config).serve(sockets=[listener])


asyncio.run(main())
