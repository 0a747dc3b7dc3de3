from __future__ import annotations

import pickle
import ssl
import time
from collections.abc import Callable
from typing import Any

import pytest
import requests

from conftest import Backend
from pointsman import Instance, NoInstance, Pool, request_tags
from pointsman.requests import Adapter

Start = Callable[..., list[Backend]]


def fleet(backends: list[Backend], **settings: Any) -> Pool:
    return Pool(Instance(one.address, id=one.name, **settings.get(one.name, {})) for one in backends)


def make(pool: Pool, policy: str = "weighted_round_robin", **options: Any) -> requests.Session:
    session = requests.Session()
    adapter = Adapter(pool.route(policy, tiers=options.pop("tiers", [{}])), **options)
    session.mount("http://orders", adapter)
    session.mount("https://orders", adapter)
    return session


def test_tags_and_other_hosts(start: Start) -> None:
    other, *backends = start("other", "a", "b")
    pool = fleet(backends, a={"tags": {"version": "gray"}})
    tiers = [{"match": ["version"], "when_absent": "untagged"}]
    with make(pool, tiers=tiers, tag_headers={"X-Version": "version"}) as session:
        assert session.get(f"http://{other.address}/").json()["name"] == "other"
        assert session.get("http://orders/", headers={"X-Version": "gray"}).json()["name"] == "a"
        assert session.get("http://orders/").json()["name"] == "b"
        with request_tags({"version": "gray"}):
            seen = session.get("http://orders/").json()
            assert (seen["name"], seen["headers"]["x-version"]) == ("a", "gray")
        with pytest.raises(NoInstance) as caught:
            session.get("http://orders/", headers={"X-Version": "blue"})
        assert isinstance(caught.value, requests.ConnectionError)
        assert caught.value.reason == "no_match"


def test_the_logical_host_stays(start: Start) -> None:
    pool = fleet(start("a", "b"))
    with make(pool) as session:
        response = session.get("http://orders/redirect")
        assert (response.url, response.history[0].url) == ("http://orders/after", "http://orders/redirect")
        assert response.json()["headers"]["host"] == "orders"
        assert session.get("http://orders/cookie").cookies.get("session") == "1"
        assert {session.get("http://orders/").json()["headers"].get("cookie") for _ in range(4)} == {"session=1"}
    with make(pool, host_header="instance") as session:
        seen = session.get("http://orders/").json()
        assert seen["headers"]["host"] == pool[seen["name"]].address


def test_retries(start: Start) -> None:
    backends = start("a", "b", "c")
    pool = fleet(backends)
    with make(pool, retry_budget=1.0) as session:
        assert session.get("http://orders/status/503").status_code == 503
        with pytest.raises(requests.ConnectionError):
            session.post("http://orders/drop", data=b"x")
        with requests.Session() as direct:
            used = sum(direct.get(f"http://{one.address}/").json()["requests"] - 1 for one in backends)
        assert used == 3 + 1
        backends[0].stop()
        for _ in range(9):
            assert session.get("http://orders/").json()["name"] in "bc"
            assert session.post("http://orders/", data=b"xy").json()["length"] == 2


def test_deadline_lease_and_pickle(start: Start) -> None:
    (quiet,) = start("quiet", options=("silent",))
    with make(fleet([quiet]), deadline=0.4) as session:
        began = time.monotonic()
        with pytest.raises(requests.Timeout):
            session.get("http://orders/")
        assert time.monotonic() - began < 15
    pool = Pool([Instance(start("a")[0].address, max_in_flight=1)])
    with make(pool) as session:
        with session.get("http://orders/bytes/300000", stream=True) as response:
            with pytest.raises(NoInstance, match="limit"):
                session.get("http://orders/")
            assert len(response.content) == 300_000
        assert session.get("http://orders/").status_code == 200
        with session.get("http://orders/bytes/300000", stream=True):
            pass
        assert session.get("http://orders/").status_code == 200
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(session)


def test_tls_checks_the_logical_name(start: Start, certificate: tuple[ssl.SSLContext, str]) -> None:
    _, file = certificate
    pool = fleet(start("a", options=(file,)))
    authority = file.replace("server.pem", "authority.pem")
    with make(pool) as session:
        assert session.get("https://orders/", verify=authority).json()["name"] == "a"
    with make(pool, host_header="instance") as session, pytest.raises(requests.exceptions.SSLError):
        session.get("https://orders/", verify=authority)
