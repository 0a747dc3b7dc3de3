from __future__ import annotations

import asyncio
import gc
import pickle
from typing import Any

import pytest

from pointsman import Instance, NoInstance, Pool

EJECTION = {"ejection": {"consecutive_failures": 1, "max_ejection_percent": 100}}


def in_flight(pool: Pool) -> int:
    """How many leases are open, of a pool with one instance that takes at most nine."""
    route, taken = pool.route("random"), []
    while True:
        try:
            taken.append(route.lease())
        except NoInstance as error:
            assert error.reason == "saturated"
            break
    for lease in taken:
        lease.done(None)
    return 9 - len(taken)


@pytest.fixture
def pool() -> Pool:
    return Pool([Instance("a", max_in_flight=9, user_data="data")])


def test_counts_until_it_is_done(pool: Pool) -> None:
    route = pool.route("random")
    lease = route.lease()
    assert (lease.instance, lease.tier, lease.branch, lease.version, lease.relaxed) == (pool["a"], 0, 0, 1, False)
    assert lease.instance.user_data == "data"
    assert in_flight(pool) == 1
    with route.lease():
        assert in_flight(pool) == 2
    lease.done()
    lease.done(False, latency=1.0)
    lease.done(True)
    assert in_flight(pool) == 0
    lease = route.picker().lease()
    assert in_flight(pool) == 1
    del lease
    gc.collect()
    assert in_flight(pool) == 0


def test_outlives_its_instance(pool: Pool) -> None:
    with pool.route("random").lease() as lease:
        pool.replace([Instance("b")])
        assert lease.instance.id == "a"
        assert lease.instance.user_data == "data"
    assert [instance.id for instance in pool] == ["b"]


def judged_a_failure(error: type[BaseException] | None) -> bool:
    """Whether leaving a block like that counts against the instance."""
    pool = Pool([Instance("a"), Instance("b")], spec=EJECTION)
    route = pool.route("random")
    try:
        with route.lease():
            if error is not None:
                raise error
    except BaseException as raised:
        assert type(raised) is error
    pool.tick()
    return pool.status()["available"] < 2 or len(route.shares()) < 2


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (None, False),
        (OSError, True),
        (ValueError, True),
        (asyncio.CancelledError, False),
        (GeneratorExit, False),
        (KeyboardInterrupt, False),
    ],
)
def test_the_way_out_is_the_outcome(error: type[BaseException] | None, failure: bool) -> None:
    assert judged_a_failure(error) == failure


async def test_async_with(pool: Pool) -> None:
    route = pool.route("random")
    async with route.lease() as lease:
        assert lease.instance.id == "a"
        assert in_flight(pool) == 1
    assert in_flight(pool) == 0

    async def hang() -> None:
        async with route.lease():
            await asyncio.sleep(60)

    task = asyncio.create_task(hang())
    await asyncio.sleep(0)
    assert in_flight(pool) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert in_flight(pool) == 0


async def test_an_async_generator_that_is_closed_gives_it_back(pool: Pool) -> None:
    route = pool.route("random")

    async def stream() -> Any:
        async with route.lease():
            yield 1
            yield 2

    values = stream()
    await anext(values)
    assert in_flight(pool) == 1
    await values.aclose()
    assert in_flight(pool) == 0


def test_latency_teaches_peak_ewma() -> None:
    pool = Pool([Instance("slow"), Instance("fast")])
    route = pool.route("peak_ewma")
    for _ in range(50):
        for id, latency in (("slow", 0.5), ("fast", 0.01)):
            route.lease(prefer=id).done(latency=latency)
    picks = [route.pick().id for _ in range(1_000)]
    assert picks.count("fast") > 900


def test_bad_latency(pool: Pool) -> None:
    lease = pool.route("random").lease()
    for latency in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="latency"):
            lease.done(latency=latency)
    assert in_flight(pool) == 1
    wrong: Any = "1"
    with pytest.raises(TypeError):
        lease.done(latency=wrong)
    with pytest.raises(TypeError, match=r"send lease\.instance"):
        pickle.dumps(lease)
    assert repr(lease) == "<Lease of 'a', tier 0, version 1>"


def test_least_request_looks_at_leases() -> None:
    pool = Pool(Instance(id) for id in "abcd")
    route = pool.route("least_request")
    leases = [route.lease() for _ in range(8)]
    assert sorted(lease.instance.id for lease in leases) == list("aabbccdd")
