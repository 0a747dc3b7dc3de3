from __future__ import annotations

import asyncio
import json
import os
import pathlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from pointsman import Instance, Pool
from pointsman.discovery import poll, poll_http, watch_file


async def until(condition: Callable[[], Any], seconds: float = 100.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


def ids(pool: Pool) -> list[str]:
    return [instance.id for instance in pool]


def document(*addresses: str) -> str:
    return json.dumps([{"address": address} for address in addresses])


async def test_poll_keeps_the_last_good_list() -> None:
    pool, answers = Pool(), [document("a"), OSError("down"), document("b")]
    asked = 0

    async def fetch() -> str:
        nonlocal asked
        asked += 1
        answer = answers[0]
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    async with poll(fetch, pool, interval=0.02) as feed:
        assert feed.stale and feed.age is None
        await feed.first()
        assert ids(pool) == ["a"] and not feed.stale and feed.age is not None and feed.age < 100
        assert feed.report is not None and feed.report.taken == 1
        answers.pop(0)
        await until(lambda: feed.stale)
        assert ids(pool) == ["a"] and isinstance(feed.error, OSError)
        answers.pop(0)
        await until(lambda: not feed.stale)
        assert ids(pool) == ["b"] and feed.error is None
        answers[0] = "[{}]"
        await until(lambda: feed.stale)
        assert ids(pool) == ["b"] and "address" in str(feed.error)
    stopped = asked
    await asyncio.sleep(0.1)
    assert asked == stopped


async def test_poll_takes_instances_and_a_refused_list_stays_refused() -> None:
    pool = Pool()
    given: list[Instance] | None = [Instance("a", user_data=(1,))]

    async def fetch() -> list[Instance] | None:
        return given

    async with poll(fetch, pool, interval=0.02, jitter=0) as feed:
        await feed.first()
        assert pool["a"].user_data == (1,)
        given = None
        await asyncio.sleep(0.1)
        assert not feed.stale
        given = [Instance("a", weight=-1.0)]
        await until(lambda: feed.stale)
        given = None
        await asyncio.sleep(0.1)
        assert feed.stale
        assert pool.version == 2
    with pytest.raises(ValueError, match="interval"):
        poll(fetch, pool, interval=0)
    with pytest.raises(ValueError, match="jitter"):
        poll(fetch, pool, jitter=2)


async def test_a_feed_ticks_its_pool() -> None:
    spec = {"ejection": {"consecutive_failures": 1, "max_ejection_percent": 100}}
    pool = Pool([Instance("a"), Instance("b")], spec=spec)
    route = pool.route("random")

    async def fetch() -> None:
        return None

    async with poll(fetch, pool, interval=60):
        route.lease(prefer="a").done(False)
        await until(lambda: set(route.shares()) == {"b"})


class Server:
    """Answers every request with the same document, and with 304 where the tag is known."""

    def __init__(self) -> None:
        self.status, self.text, self.tag = "200 OK", document("a"), '"1"'
        self.requests: list[str] = []

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode().lower():
                self.requests.append(head)
                known = f"if-none-match: {self.tag}" in head and self.status.startswith("200")
                status, body = ("304 Not Modified", "") if known else (self.status, self.text)
                writer.write(f"HTTP/1.1 {status}\r\netag: {self.tag}\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode())
                await writer.drain()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


async def test_poll_http() -> None:
    web = Server()
    server = await asyncio.start_server(web.answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/instances"
    pool = Pool()
    async with poll_http(url, pool, headers={"X-Token": "secret"}, interval=0.02, format="plain") as feed:
        await feed.first()
        await until(lambda: len(web.requests) > 3)
        assert ids(pool) == ["a"] and not feed.stale and pool.version == 2
        assert "x-token: secret" in web.requests[0] and "if-none-match" not in web.requests[0]
        assert 'if-none-match: "1"' in web.requests[3]
        web.text, web.tag = document("b"), '"2"'
        await until(lambda: ids(pool) == ["b"])
        web.status = "500 Oops"
        await until(lambda: feed.stale)
        assert ids(pool) == ["b"]
        web.status = "200 OK"
        await until(lambda: not feed.stale)
    server.close()
    await server.wait_closed()


async def test_watch_file(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "instances.json"
    pool = Pool()
    async with watch_file(file, pool) as feed:
        await until(lambda: feed.error is not None)
        file.write_text(document("a"))
        await feed.first()
        assert ids(pool) == ["a"]
        file.write_text("[{")
        await until(lambda: feed.stale)
        await asyncio.sleep(1.2)
        assert feed.stale and ids(pool) == ["a"]
        other = tmp_path / "other"
        other.write_text(document("b"))
        os.replace(other, file)
        await until(lambda: ids(pool) == ["b"])
        assert not feed.stale


async def test_watch_a_mounted_config_map(tmp_path: pathlib.Path) -> None:
    def mount(version: str, text: str) -> None:
        (tmp_path / version).mkdir()
        (tmp_path / version / "instances.json").write_text(text)
        (tmp_path / "..new").symlink_to(version)
        os.replace(tmp_path / "..new", tmp_path / "..data")

    mount("..1", document("a"))
    (tmp_path / "instances.json").symlink_to("..data/instances.json")
    pool = Pool()
    async with watch_file(tmp_path / "instances.json", pool) as feed:
        await feed.first()
        assert ids(pool) == ["a"]
        mount("..2", document("b", "c"))
        await until(lambda: ids(pool) == ["b", "c"])
