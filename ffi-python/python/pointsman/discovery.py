"""Feeds: tasks of asyncio that keep a pool up to date from a file, an URL or any source.

A feed fetches a list, hands it to the pool, and ticks the pool meanwhile. When a fetch fails or the pool refuses the list,
the last good one stays in force, and the feed says since when.

>>> import asyncio
>>> from pointsman import Instance, Pool
>>> from pointsman.discovery import poll
>>> async def fetch():
...     return '[{"address": "10.0.0.1:8080"}]'
>>> async def main():
...     pool = Pool()
...     async with poll(fetch, pool, interval=5.0) as feed:
...         await feed.first()
...         return pool.route("random").pick().id, feed.stale
>>> asyncio.run(main())
('10.0.0.1:8080', False)
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from pointsman import Instance, Pool, Report
from pointsman._balance import any_httpx

__all__ = ["Feed", "poll", "poll_http", "watch_file"]

Fetched = str | bytes | Iterable[Instance] | None
"""A discovery document, a list of instances, or ``None`` for "as before"."""

_Lists = AsyncGenerator[Callable[[], Awaitable[Fetched]], None]

_log = logging.getLogger("pointsman.discovery")

# A feed looks at its pool's clock at least so often, in seconds: what becomes due by a lease is not announced.
_TICK = 1.0


class Feed:
    """A running feed. Stops with its ``async with`` block or by ``stop``; make it where an event loop runs."""

    def __init__(self, lists: _Lists, pool: Pool, options: dict[str, Any]):
        self._lists = lists
        self._pool = pool
        self._options = options
        self._last_good: float | None = None
        self._error: Exception | None = None
        self._refused: Exception | None = None
        self._report: Report | None = None
        self._first = asyncio.Event()
        self._tasks = [asyncio.create_task(self._feed()), asyncio.create_task(self._tick())]

    @property
    def age(self) -> float | None:
        """Seconds since the source last answered with a list the pool took; ``None`` before the first."""
        return None if self._last_good is None else time.monotonic() - self._last_good

    @property
    def stale(self) -> bool:
        """Whether the list in force is not what the source says now: the last fetch failed, or there was none yet."""
        return self._error is not None or self._last_good is None

    @property
    def error(self) -> Exception | None:
        """What was wrong with the last fetch."""
        return self._error

    @property
    def report(self) -> Report | None:
        """What was taken from the last document."""
        return self._report

    async def first(self) -> None:
        """Waits for the first list that the pool takes."""
        await self._first.wait()

    async def stop(self) -> None:
        """Ends the feed. The pool keeps its list."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def __aenter__(self) -> Feed:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    async def _feed(self) -> None:
        async with contextlib.aclosing(self._lists) as lists:
            async for fetch in lists:
                try:
                    fetched = await fetch()
                except Exception as error:
                    self._judge(error)
                    continue
                if fetched is not None:
                    try:
                        self._report = await asyncio.to_thread(self._hand_over, fetched)
                        self._refused = None
                    except Exception as error:
                        self._refused = error
                # As before is as good as before.
                self._judge(self._refused)

    def _hand_over(self, fetched: str | bytes | Iterable[Instance]) -> Report | None:
        if isinstance(fetched, str | bytes):
            return self._pool.replace_json(fetched, **self._options)
        self._pool.replace(fetched)
        return None

    def _judge(self, error: Exception | None) -> None:
        if error is None:
            if self._error is not None:
                _log.info("good lists arrive again")
            self._last_good = time.monotonic()
            self._first.set()
        elif self._error is None:
            _log.warning("the last good list stays in force: %s", error)
        self._error = error

    async def _tick(self) -> None:
        while True:
            due = self._pool.tick()
            await asyncio.sleep(_TICK if due is None else min(max(due, 0.01), _TICK))


def poll(
    fetch: Callable[[], Awaitable[Fetched]], pool: Pool, *, interval: float = 10.0, jitter: float = 0.1, **options: Any
) -> Feed:
    """Asks ``fetch`` again and again, at first at once. ``options`` are those of ``Pool.replace_json``.

    ``interval`` in seconds between one answer and the next question, longer or shorter by up to the share ``jitter``, so
    that many clients do not ask in step.
    """
    _check(interval, jitter)

    async def lists() -> _Lists:
        while True:
            yield fetch
            await asyncio.sleep(interval * (1 + random.uniform(-jitter, jitter)))

    return Feed(lists(), pool, options)


def poll_http(
    url: str,
    pool: Pool,
    *,
    headers: Mapping[str, str] | None = None,
    interval: float = 10.0,
    jitter: float = 0.1,
    timeout: float = 10.0,
    client: Any = None,
    **options: Any,
) -> Feed:
    """Polls an URL, by ``httpx`` or ``httpx2``. An answer whose ``ETag`` is known is not sent again.

    ``client`` is an ``AsyncClient`` to use in place of one of the feed's own.

    >>> import asyncio
    >>> from pointsman import Pool
    >>> async def main():
    ...     pool = Pool()
    ...     async with poll_http("http://10.0.0.1:8080/instances", pool, headers={"x-token": "secret"}) as feed:
    ...         await feed.first()
    ...         return [instance.id for instance in pool], feed.report.format
    >>> asyncio.run(main())
    (['10.0.0.9:8080'], 'plain')
    """
    _check(interval, jitter)
    own = client is None
    if own:
        client = any_httpx("poll_http", "discovery").AsyncClient(timeout=timeout)
    seen: dict[str, str] = {}

    async def fetch() -> bytes | None:
        response = await client.get(url, headers={**(headers or {}), **seen})
        if response.status_code == 304 and seen:
            return None
        response.raise_for_status()
        seen.clear()
        if "etag" in response.headers:
            seen["if-none-match"] = response.headers["etag"]
        content: bytes = response.content
        return content

    async def fetch_whole() -> bytes | None:
        try:
            return await fetch()
        except BaseException:
            # The list before may not be what the server thinks this client has.
            seen.clear()
            raise

    async def lists() -> _Lists:
        try:
            while True:
                yield fetch_whole
                await asyncio.sleep(interval * (1 + random.uniform(-jitter, jitter)))
        finally:
            if own:
                await client.aclose()

    return Feed(lists(), pool, options)


def watch_file(path: str | os.PathLike[str], pool: Pool, **options: Any) -> Feed:
    """Reads a file, and again when it changes. Needs ``watchfiles``. ``options`` are those of ``Pool.replace_json``.

    The directory is watched, not the file: a mounted ConfigMap changes by a swap of the link that leads to it.

    >>> import asyncio
    >>> from pathlib import Path
    >>> from pointsman import Pool
    >>> async def main():
    ...     pool = Pool()
    ...     _ = Path("instances.json").write_text('[{"address": "10.0.0.8:8080"}]')
    ...     async with watch_file("instances.json", pool) as feed:
    ...         await feed.first()
    ...         return [instance.id for instance in pool]
    >>> asyncio.run(main())
    ['10.0.0.8:8080']
    """
    try:
        import watchfiles
    except ImportError as error:
        raise ImportError("watch_file needs watchfiles: pip install 'pointsman[discovery]'") from error
    file = Path(path)
    last: bytes | None = None

    async def fetch() -> bytes | None:
        nonlocal last
        text = await asyncio.to_thread(file.read_bytes)
        if text == last:
            return None
        last = text
        return text

    async def lists() -> _Lists:
        while True:
            yield fetch
            try:
                changes = watchfiles.awatch(
                    file.parent,
                    watch_filter=None,
                    recursive=False,
                    debounce=200,
                    rust_timeout=1_000,
                    yield_on_timeout=True,
                )
                async for _ in changes:
                    yield fetch
            except (OSError, RuntimeError) as error:
                _log.warning("cannot watch %s: %s", file.parent, error)
            await asyncio.sleep(_TICK)

    return Feed(lists(), pool, options)


def _check(interval: float, jitter: float) -> None:
    if not interval > 0:
        raise ValueError(f"interval is {interval}, must be above 0")
    if not 0 <= jitter <= 1:
        raise ValueError(f"jitter is {jitter}, must be between 0 and 1")
