"""An adapter for ``requests`` that sends requests to the instances of a route.

>>> import requests
>>> from pointsman import Instance, Pool
>>> from pointsman.requests import Adapter
>>> route = Pool([Instance("10.0.0.1:8080"), Instance("10.0.0.2:8080", weight=0)]).route("weighted_random")
>>> with requests.Session() as session:
...     session.mount("http://orders", Adapter(route))
...     response = session.get("http://orders/42")
...     response.json()["name"], response.url
('stable', 'http://orders/42')

The rules are those of ``pointsman.httpx``; what is mounted is balanced. Host and the check of certificates are those of the
logical host, and the response has the logical URL. Where there is a deadline, each read of the body may take what was
left of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import requests
from requests.adapters import DEFAULT_POOLSIZE, HTTPAdapter
from requests.cookies import RequestsCookieJar, extract_cookies_to_jar
from urllib3.exceptions import MaxRetryError, NewConnectionError

from pointsman import Instance, Lease, NoInstance, Route
from pointsman._balance import Options, Rules, split_address
from pointsman._retry import Fault, Tries

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Adapter", "NoInstanceError"]

# Pools of connections that are kept, one an instance.
POOLS = 1_000


class NoInstanceError(NoInstance, requests.ConnectionError):
    """No instance can take the request."""

    def __init__(self, refused: NoInstance, request: requests.PreparedRequest) -> None:
        requests.ConnectionError.__init__(self, str(refused), request=request)
        NoInstance.__init__(self, str(refused), refused.reason, refused.tier, refused.branch)

    def __str__(self) -> str:
        return str(self.args[0])


class Adapter(HTTPAdapter):
    """Sends the requests of a session to the instances of a route; see the module."""

    def __init__(
        self,
        route: Route,
        *,
        pool_connections: int = POOLS,
        pool_maxsize: int = DEFAULT_POOLSIZE,
        pool_block: bool = False,
        **options: Unpack[Options],
    ) -> None:
        self._rules = Rules.of(route, None, **options)
        super().__init__(pool_connections=pool_connections, pool_maxsize=pool_maxsize, pool_block=pool_block)

    def __getstate__(self) -> Any:
        raise TypeError("an Adapter cannot be pickled, its route belongs to a live Pool; make one where it is used")

    def build_connection_pool_key_attributes(
        self, request: requests.PreparedRequest, verify: bool | str, cert: Any = None
    ) -> tuple[Any, Any]:
        host, pool = super().build_connection_pool_key_attributes(request, verify, cert)
        name = getattr(request, "_secure_name", None)
        return host, pool if name is None else {**pool, "server_hostname": name, "assert_hostname": name}

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: bool | str = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        headers = {name.lower(): _text(value) for name, value in request.headers.items()}
        repeatable = request.body is None or isinstance(request.body, bytes | str)
        try:
            tries = Tries(self._rules, self._rules.asked(headers), request.method or "", headers, repeatable=repeatable)
        except NoInstance as refused:
            raise NoInstanceError(refused, request) from None
        while True:
            tries.start()
            try:
                copy = self._copy(request, tries.lease.instance)
                copy.headers.update(self._rules.passed_on(headers))
                limit = _at_most(timeout, tries.left())
                # No proxies: an instance's address is where the request is to go.
                response = super().send(copy, stream=stream, timeout=limit, verify=verify, cert=cert, proxies=None)
            except BaseException as error:
                if tries.failed(_fault(error)):
                    continue
                raise
            if not tries.unserved(response.status_code):
                _hold(response, tries.lease, tries.latency)
                return _restored(response, request)
            response.close()

    def _copy(self, request: requests.PreparedRequest, instance: Instance) -> requests.PreparedRequest:
        """The request as it goes to the instance."""
        logical = urlsplit(request.url or "")
        host, port = split_address(instance.address)
        port = port or logical.port
        netloc = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
        copy = request.copy()
        copy.url = urlunsplit(logical._replace(scheme=logical.scheme, netloc=netloc))
        if self._rules.host_header == "logical":
            copy.headers.setdefault("Host", logical.netloc.rpartition("@")[2])
            if logical.scheme == "https":
                copy._secure_name = logical.hostname  # type: ignore[attr-defined]
        return copy


def _fault(error: BaseException) -> Fault:
    if not isinstance(error, requests.ConnectionError | requests.Timeout):
        return Fault.OTHER
    cause = error.args[0] if error.args else None
    refused = isinstance(cause, MaxRetryError) and isinstance(cause.reason, NewConnectionError)
    return Fault.UNSENT if refused or isinstance(error, requests.ConnectTimeout) else Fault.SENT


def _hold(response: requests.Response, lease: Lease, latency: float) -> None:
    """Keeps the lease until the connection is given back, which is when the body has ended."""
    release = response.raw.release_conn
    ok = response.status_code < 500

    def released() -> None:
        lease.done(ok, latency)
        release()

    response.raw.__dict__["release_conn"] = released


def _restored(response: requests.Response, request: requests.PreparedRequest) -> requests.Response:
    """The response as if it had come from the logical host."""
    response.request, response.url = request, request.url or ""
    response.cookies = RequestsCookieJar()
    extract_cookies_to_jar(response.cookies, request, response.raw)
    return response


def _at_most(timeout: Any, left: float | None) -> Any:
    if left is None:
        return timeout
    connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
    left = max(left, 0.001)
    return tuple(left if value is None else min(value, left) for value in (connect, read))


def _text(value: str | bytes) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else value
