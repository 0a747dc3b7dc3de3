"""What the client integrations share: which requests are balanced, and with which tags."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from pointsman import Route, current_tags
from pointsman._retry import Budget


class Options(TypedDict, total=False):
    """The keyword arguments that all integrations have; ``pointsman.httpx`` says what they mean."""

    tag_headers: Mapping[str, str] | Iterable[str]
    key_header: str | None
    host_header: Literal["logical", "instance"]
    retries: int
    retry_budget: float
    deadline: float | None


@dataclass(frozen=True)
class Rules:
    """How requests are balanced; the keyword arguments of the integrations."""

    route: Route
    hosts: frozenset[str] | None
    tag_headers: Mapping[str, str]
    key_header: str | None
    host_header: str
    retries: int
    budget: Budget
    deadline: float | None

    @classmethod
    def of(
        cls,
        route: Route,
        hosts: Collection[str] | None,
        *,
        tag_headers: Mapping[str, str] | Iterable[str] = (),
        key_header: str | None = None,
        host_header: str = "logical",
        retries: int = 2,
        retry_budget: float = 0.2,
        deadline: float | None = None,
    ) -> Rules:
        if isinstance(hosts, str):
            raise TypeError("hosts: expected a collection of host names, got a text")
        if host_header not in ("logical", "instance"):
            raise ValueError(f'host_header is {host_header!r}, must be "logical" or "instance"')
        if retries < 0:
            raise ValueError(f"retries is {retries}, must not be negative")
        if deadline is not None and not deadline > 0:
            raise ValueError(f"deadline is {deadline}, must be above 0")
        named = tag_headers.items() if isinstance(tag_headers, Mapping) else ((name, name) for name in tag_headers)
        return cls(
            route,
            None if hosts is None else frozenset(host.lower() for host in hosts),
            {header.lower(): tag for header, tag in named},
            key_header,
            host_header,
            retries,
            Budget(retry_budget),
            deadline,
        )

    def balances(self, host: str, port: int | None) -> bool:
        """Whether requests to this host go to the route: it is named, with its port or without one."""
        return self.hosts is None or host.lower() in self.hosts or f"{host.lower()}:{port}" in self.hosts

    def asked(self, headers: Mapping[str, str]) -> dict[str, Any]:
        """The arguments of a pick that the headers of a request come to."""
        tags = {tag: headers[header] for header, tag in self.tag_headers.items() if header in headers}
        key = headers.get(self.key_header) if self.key_header else None
        return {"tags": tags or None, "key": key or None}

    def passed_on(self, headers: Mapping[str, str]) -> dict[str, str]:
        """Headers for the tags of the context that the request does not carry itself, for the hop behind the instance."""
        context = current_tags() if self.tag_headers and self.route.pool.context_tags else {}
        wanted = ((header, context.get(tag)) for header, tag in self.tag_headers.items() if header not in headers)
        return {header: value for header, value in wanted if isinstance(value, str)}


def split_address(address: str) -> tuple[str, int | None]:
    """Host and port of an instance's address: ``host``, ``host:port``, ``[ipv6]:port`` or a bare IPv6 address."""
    if "/" in address:
        raise ValueError(f"address {address!r} is not host:port")
    if address.startswith("["):
        host, _, port = address[1:].partition("]")
        port = port.removeprefix(":")
    elif address.count(":") > 1:
        return address, None
    else:
        host, _, port = address.partition(":")
    if not host or (port and not port.isdigit()):
        raise ValueError(f"address {address!r} is not host:port")
    return host, int(port) if port else None


def any_httpx(what: str, extra: str) -> Any:
    """``httpx``, or its successor where that alone is installed."""
    try:
        import httpx

        return httpx
    except ImportError:
        pass
    try:
        import httpx2

        return httpx2
    except ImportError as error:
        raise ImportError(f"{what} needs httpx: pip install 'pointsman[{extra}]'") from error
