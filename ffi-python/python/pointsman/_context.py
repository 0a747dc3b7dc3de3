"""Tags that every pick inside takes, carried by the context."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from types import TracebackType

from pointsman import _pointsman

__all__ = ["current_tags", "request_tags"]

_Tags = Mapping[str, "str | Iterable[str] | None"]


class _Frame:
    """One `with` block that is open in a context."""

    __slots__ = ("tags",)

    def __init__(self, tags: dict[str, str | tuple[str, ...] | None]) -> None:
        self.tags = tags


_frames: ContextVar[tuple[_Frame, ...]] = ContextVar("pointsman.frames", default=())
_tag_set: ContextVar[_pointsman.TagSet | None] = ContextVar("pointsman.tags", default=None)


class request_tags:
    """Every pick inside the block takes these tags.

    Blocks nest: inner keys win, ``None`` removes a key, and the ``tags=`` of a call win over both. Tasks of asyncio,
    ``asyncio.to_thread`` and ``contextvars.copy_context().run`` inherit the tags; a bare thread does not. Blocks may be
    left in any order and in another context than they were entered in, which then is as it was.

    >>> from pointsman import Instance, Pool, request_tags
    >>> pool = Pool([Instance("a", tags={"version": "stable"}), Instance("b", tags={"version": "gray"})])
    >>> route = pool.route("round_robin", tiers=[{"match": ["version"]}])
    >>> with request_tags({"version": "gray"}):
    ...     route.pick().id
    'b'
    """

    def __init__(self, tags: _Tags) -> None:
        self._tags = {key: value if value is None or isinstance(value, str) else tuple(value) for key, value in tags.items()}
        # Refuses wrong types here and not at the block.
        _pointsman.TagSet({key: value for key, value in self._tags.items() if value is not None})
        self._open: list[_Frame] = []

    def __enter__(self) -> request_tags:
        _pointsman.use_context(_tag_set.get)
        frame = _Frame(self._tags)
        self._open.append(frame)
        _set((*_frames.get(), frame))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        frames = _frames.get()
        mine = next((frame for frame in reversed(self._open) if frame in frames), None)
        if mine is None:
            if self._open:
                self._open.pop()
            return
        self._open.remove(mine)
        _set(tuple(frame for frame in frames if frame is not mine))


def current_tags() -> dict[str, str | tuple[str, ...]]:
    """The tags that a pick would take here, without those of its own call."""
    return _merged(_frames.get())


def _set(frames: tuple[_Frame, ...]) -> None:
    merged = _merged(frames)
    _frames.set(frames)
    _tag_set.set(_pointsman.TagSet(merged) if merged else None)


def _merged(frames: tuple[_Frame, ...]) -> dict[str, str | tuple[str, ...]]:
    merged: dict[str, str | tuple[str, ...] | None] = {}
    for frame in frames:
        merged.update(frame.tags)
    return {key: value for key, value in merged.items() if value is not None}
