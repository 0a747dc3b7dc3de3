from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

import pytest

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
