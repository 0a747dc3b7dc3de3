from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import pytest

from pointsman import Instance, NoInstance, Pool, request_tags

POOL = Pool(
    [
        Instance("a", tags={"version": "gray"}, user_data=object()),
        Instance("b", tags={"version": "stable"}, user_data=object()),
    ]
)
ROUTE = POOL.route("weighted_random", tiers=[{"match": ["version"]}])
PICKER = ROUTE.picker()
TAGS = {"version": "gray"}


def refuse() -> None:
    with pytest.raises(NoInstance):
        ROUTE.pick(tags={"version": "none"})


def with_context() -> None:
    with request_tags(TAGS):
        ROUTE.pick()


def lease() -> None:
    with ROUTE.lease():
        pass


def replace() -> None:
    POOL.replace(list(POOL))
    POOL.upsert(Instance("c", user_data=object()))
    POOL.set_weight("c", 2.0)
    POOL.remove("c")


@pytest.mark.parametrize(
    ("call", "times"),
    [
        (ROUTE.pick, 1_000_000),
        (lambda: ROUTE.pick(tags=TAGS), 100_000),
        (lambda: ROUTE.pick(exclude=["a"], prefer="b", key="key", require={"version": ["stable"]}), 100_000),
        (PICKER.pick, 100_000),
        (ROUTE.select, 100_000),
        (lease, 100_000),
        (with_context, 20_000),
        (lambda: ROUTE.pick_many(1_001), 300),
        (lambda: ROUTE.pick_distinct(2), 50_000),
        (lambda: list(POOL), 20_000),
        (ROUTE.shares, 5_000),
        (refuse, 5_000),
        (replace, 1_000),
    ],
    ids=str,
)
def test_reference_counts_are_flat(call: Callable[[], object], times: int) -> None:
    objects = [POOL, ROUTE, PICKER, POOL["a"], POOL["a"].user_data, POOL["a"].id, TAGS, None, "version"]
    for _ in range(200):
        call()
    gc.collect()
    before, blocks = [sys.getrefcount(one) for one in objects], sys.getallocatedblocks()
    for _ in range(times):
        call()
    gc.collect()
    after = [sys.getrefcount(one) for one in objects]
    assert all(abs(now - then) < 20 for now, then in zip(after, before, strict=True)), (before, after)
    assert sys.getallocatedblocks() - blocks < 200
