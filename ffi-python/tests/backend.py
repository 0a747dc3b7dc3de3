"""A small HTTP/1.1 server for tests, one instance to a process. Prints its port.

Answers every request with what it saw as JSON. Paths: /redirect, /cookie, /status/N, /silent (never answers), /drop (closes
after reading), /instances (a list for discovery), /bytes/N (a body of N bytes), /slow (two parts, two seconds apart),
/die (the process ends).
"""

from __future__ import annotations

import asyncio
import json
import os
import ssl
import sys

NAME = sys.argv[1]
SILENT = "silent" in sys.argv
CERTIFICATE = next((word for word in sys.argv if word.endswith(".pem")), None)
seen = {"connections": 0, "requests": 0}


async def read_body(headers: dict[str, str], reader: asyncio.StreamReader) -> int:
    total = 0
    if "content-length" in headers:
        left = int(headers["content-length"])
        while left:
            part = await reader.read(min(left, 65536))
            if not part:
                raise asyncio.IncompleteReadError(b"", left)
            left -= len(part)
            total += len(part)
    elif headers.get("transfer-encoding") == "chunked":
        while size := int(await reader.readline(), 16):
            total += len(await reader.readexactly(size))
            await reader.readline()
        await reader.readline()
    return total


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    seen["connections"] += 1
    try:
        while line := (await reader.readline()).decode():
            method, target, _ = line.split()
            headers: dict[str, str] = {}
            while (line := (await reader.readline()).decode().strip()) != "":
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            if SILENT or target == "/silent":
                await asyncio.sleep(60)
            length = await read_body(headers, reader)
            seen["requests"] += 1
            if target == "/drop":
                return
            if target == "/die":
                os._exit(1)
            status, extra = "200 OK", ""
            if target == "/redirect":
                status, extra = "302 Found", "location: /after\r\n"
            elif target == "/cookie":
                extra = "set-cookie: session=1\r\n"
            elif target.startswith("/status/"):
                status = target.removeprefix("/status/") + " Whatever"
            if target.startswith("/bytes/"):
                left = int(target.removeprefix("/bytes/"))
                writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {left}\r\n\r\n".encode())
                while left:
                    part = min(left, 65536)
                    writer.write(b"x" * part)
                    await writer.drain()
                    left -= part
                continue
            if target == "/slow":
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\na")
                await writer.drain()
                await asyncio.sleep(2)
                writer.write(b"b")
                continue
            saw = {"name": NAME, "method": method, "target": target, "headers": headers, "length": length, **seen}
            body = json.dumps([{"address": "10.0.0.9:8080"}] if target == "/instances" else saw)
            head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n{extra}\r\n"
            writer.write((head + ("" if method == "HEAD" else body)).encode())
            await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def main() -> None:
    context = None
    if CERTIFICATE:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(CERTIFICATE)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main())
