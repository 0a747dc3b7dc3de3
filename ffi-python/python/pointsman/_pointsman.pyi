from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Literal, TypeAlias, final

from typing_extensions import disjoint_base

from pointsman._report import Report

__all__ = [
    "Edit",
    "Instance",
    "Lease",
    "Pick",
    "Picker",
    "Pool",
    "Route",
    "TagSet",
    "use_context",
]

_Tags: TypeAlias = Mapping[str, str | Iterable[str]]
_Spec: TypeAlias = str | Mapping[str, Any]
_Format: TypeAlias = Literal["auto", "nacos", "consul", "kubernetes", "eureka", "spring", "plain"]
_Family: TypeAlias = Literal["ipv4", "ipv6"]

@final
class TagSet:
    def __new__(cls, tags: dict[str, str | tuple[str, ...]]) -> TagSet: ...

def use_context(current: Callable[[], TagSet | None]) -> None: ...

@final
class Instance:
    def __new__(
        cls,
        address: str,
        *,
        id: str | None = None,
        weight: float = 1.0,
        zone: str | None = None,
        tags: _Tags | None = None,
        healthy: bool = True,
        enabled: bool = True,
        load: float | None = None,
        max_in_flight: int | None = None,
        user_data: object = None,
    ) -> Instance: ...
    @property
    def address(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def weight(self) -> float: ...
    @property
    def zone(self) -> str | None: ...
    @property
    def tags(self) -> dict[str, str | tuple[str, ...]]: ...
    @property
    def healthy(self) -> bool: ...
    @property
    def enabled(self) -> bool: ...
    @property
    def load(self) -> float | None: ...
    @property
    def max_in_flight(self) -> int | None: ...
    @property
    def user_data(self) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]: ...
    def __replace__(self, **changes: Any) -> Instance: ...

@final
class Edit:
    def set_weight(self, id: str | Instance, weight: float) -> None: ...
    def set_healthy(self, id: str | Instance, healthy: bool) -> None: ...
    def set_enabled(self, id: str | Instance, enabled: bool) -> None: ...
    def upsert(self, instance: Instance) -> None: ...
    def remove(self, id: str | Instance) -> None: ...
    def __enter__(self) -> Edit: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
        /,
    ) -> None: ...

@final
class Pool:
    def __new__(
        cls,
        instances: Iterable[Instance] = (),
        *,
        zone: str | None = None,
        seed: int | None = None,
        keep_last: bool = False,
        spec: _Spec | None = None,
        context_tags: bool = True,
    ) -> Pool: ...
    @classmethod
    def from_json(
        cls,
        text: str | bytes | bytearray,
        format: _Format = "auto",
        *,
        service: str | None = None,
        port: str | int | None = None,
        lenient: bool = False,
        load_key: str | None = None,
        prefer_ip: bool = False,
        address_family: _Family | None = None,
        zone: str | None = None,
        seed: int | None = None,
        keep_last: bool = False,
        spec: _Spec | None = None,
        context_tags: bool = True,
    ) -> Pool: ...
    def replace(self, instances: Iterable[Instance]) -> int: ...
    def replace_json(
        self,
        text: str | bytes | bytearray,
        format: _Format = "auto",
        *,
        service: str | None = None,
        port: str | int | None = None,
        lenient: bool = False,
        load_key: str | None = None,
        prefer_ip: bool = False,
        address_family: _Family | None = None,
    ) -> Report: ...
    def set_weight(self, id: str | Instance, weight: float) -> None: ...
    def set_healthy(self, id: str | Instance, healthy: bool) -> None: ...
    def set_enabled(self, id: str | Instance, enabled: bool) -> None: ...
    def upsert(self, instance: Instance) -> None: ...
    def remove(self, id: str | Instance) -> None: ...
    def edit(self) -> Edit: ...
    def report_load(self, id: str | Instance, load: float) -> None: ...
    def tick(self) -> float | None: ...
    @property
    def tick_due(self) -> bool: ...
    def route(self, policy: _Spec, *, tiers: Iterable[Mapping[str, Any]] | None = None, counters: bool = False) -> Route: ...
    @property
    def context_tags(self) -> bool: ...
    @property
    def version(self) -> int: ...
    def status(self) -> dict[str, Any]: ...
    def __len__(self) -> int: ...
    def __contains__(self, id: object, /) -> bool: ...
    def __getitem__(self, id: str | Instance, /) -> Instance: ...
    def __iter__(self) -> Iterator[Instance]: ...
    def __reduce__(self) -> Any: ...

@final
class Route:
    def pick(
        self,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> Instance: ...
    def select(
        self,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> Pick: ...
    def lease(
        self,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> Lease: ...
    def pick_many(
        self,
        n: int,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        exclude: Collection[str | Instance] | None = (),
    ) -> list[Instance]: ...
    def pick_distinct(
        self,
        k: int,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> list[Instance]: ...
    def picker(self, seed: int | None = None) -> Picker: ...
    def explain(
        self,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> dict[str, Any]: ...
    def shares(
        self,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> dict[str, float]: ...
    def stats(self) -> dict[str, Any]: ...
    @property
    def spec(self) -> str: ...
    @property
    def pool(self) -> Pool: ...
    def __reduce__(self) -> Any: ...

@disjoint_base
class Pick:
    @property
    def instance(self) -> Instance: ...
    @property
    def tier(self) -> int: ...
    @property
    def branch(self) -> int: ...
    @property
    def version(self) -> int: ...
    @property
    def relaxed(self) -> bool: ...

@final
class Lease(Pick):
    def done(self, ok: bool | None = True, latency: float | None = None) -> None: ...
    def __enter__(self) -> Lease: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
        /,
    ) -> None: ...
    def __aenter__(self) -> Awaitable[Lease]: ...
    def __aexit__(
        self,
        kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
        /,
    ) -> Awaitable[None]: ...
    def __reduce__(self) -> Any: ...

@final
class Picker:
    def pick(
        self,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> Instance: ...
    def select(
        self,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> Pick: ...
    def lease(
        self,
        *,
        tags: _Tags | None = None,
        require: _Tags | None = None,
        key: str | bytes | None = None,
        exclude: Collection[str | Instance] | None = (),
        prefer: str | Instance | None = None,
        relax: bool = False,
    ) -> Lease: ...
    def __reduce__(self) -> Any: ...
