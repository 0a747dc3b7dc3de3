from __future__ import annotations

import functools
import math
import pathlib
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import pytest
import trustme

from pointsman import Instance, Pool

# Chance that a right distribution fails a share test, once in a billion.
SIGMAS = 6.2


def check_shares(picked: Iterable[Instance], shares: dict[str, float]) -> None:
    counts = Counter(instance.id for instance in picked)
    total = sum(counts.values())
    assert set(counts) <= {id for id, share in shares.items() if share > 0}
    for id, share in shares.items():
        slack = SIGMAS * math.sqrt(total * share * (1 - share)) + 1
        assert abs(counts[id] - total * share) <= slack, (id, counts[id], total * share, slack)


@pytest.fixture
def fleet() -> Callable[[], Pool]:
    def make() -> Pool:
        return Pool(
            [
                Instance("a", weight=8.0, zone="east", tags={"version": "stable"}),
                Instance("b", weight=2.0, zone="west", tags={"version": "gray"}),
                Instance("c", weight=1.0, zone="west", tags={"version": ["stable", "next"]}),
            ]
        )

    return make


class Backend:
    """A server in a process of its own."""

    def __init__(self, name: str, *options: str) -> None:
        script = pathlib.Path(__file__).with_name("backend.py")
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, str(script), name, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    @functools.cached_property
    def address(self) -> str:
        assert self.process.stdout is not None
        return f"127.0.0.1:{int(self.process.stdout.readline())}"

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def start() -> Iterator[Callable[..., list[Backend]]]:
    started: list[Backend] = []

    def start(*names: str, options: tuple[str, ...] = ()) -> list[Backend]:
        backends = [Backend(name, *options) for name in names]
        started.extend(backends)
        for backend in backends:
            assert backend.address
        return backends

    yield start
    for backend in started:
        backend.stop()


@pytest.fixture
def certificate(tmp_path: pathlib.Path) -> tuple[ssl.SSLContext, str]:
    """A context that trusts the server's certificate, for the name orders, and the file of that."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    authority.issue_cert("orders").private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "server.pem"))
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context, str(tmp_path / "server.pem")
