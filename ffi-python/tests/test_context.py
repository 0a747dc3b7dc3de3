from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman import Instance, Pool, current_tags, request_tags

POOL = Pool(Instance(version, tags={"version": version}) for version in ("plain", "gray", "blue"))
ROUTE = POOL.route("random", tiers=[{"match": ["version"], "when_absent": "any"}])


def seen() -> set[str]:
    return {ROUTE.pick().id for _ in range(60)}


EVERY = {"plain", "gray", "blue"}


def test_every_call_takes_them() -> None:
    with request_tags({"version": "gray"}):
        assert seen() == {"gray"}
        assert ROUTE.select().instance.id == "gray"
        assert {instance.id for instance in ROUTE.pick_many(50)} == {"gray"}
        assert [instance.id for instance in ROUTE.pick_distinct(3)] == ["gray"]
        assert ROUTE.lease().instance.id == "gray"
        assert ROUTE.picker().pick().id == "gray"
        assert ROUTE.shares() == {"gray": 1.0}
        assert ROUTE.explain()["shares"] == [{"id": "gray", "share": 1.0}]
    assert seen() == EVERY


def test_they_nest_and_the_call_wins() -> None:
    with request_tags({"version": "gray", "other": "x"}):
        with request_tags({"version": ["blue"]}):
            assert seen() == {"blue"}
            assert ROUTE.pick(tags={"version": "plain"}).id == "plain"
            assert ROUTE.pick(tags={"other": "y"}).id == "blue"
            with request_tags({"version": None}):
                assert seen() == EVERY
                assert current_tags() == {"other": "x"}
        assert seen() == {"gray"}
    assert current_tags() == {}


def test_a_pool_may_do_without() -> None:
    pool = Pool(list(POOL), context_tags=False)
    with request_tags({"version": "gray"}):
        route = pool.route("random", tiers=[{"match": ["version"]}])
        assert {route.pick().id for _ in range(60)} == EVERY


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_leaving_out_of_order(order: tuple[int, ...]) -> None:
    blocks = [request_tags({key: "x"}) for key in "abc"]
    for block in blocks:
        block.__enter__()
    left = set("abc")
    for at in order:
        blocks[at].__exit__(None, None, None)
        left.discard("abc"[at])
        assert set(current_tags()) == left
    blocks[0].__exit__(None, None, None)
    assert current_tags() == {}


def test_one_block_may_be_entered_again() -> None:
    block = request_tags({"version": "gray"})
    with block:
        with block:
            assert seen() == {"gray"}
        assert seen() == {"gray"}
    assert seen() == EVERY


def test_left_in_another_context() -> None:
    block = request_tags({"version": "gray"})
    contextvars.copy_context().run(block.__enter__)
    with request_tags({"version": "blue"}):
        block.__exit__(None, None, None)
        assert seen() == {"blue"}


async def test_tasks_and_threads_of_asyncio_inherit_them() -> None:
    async def task() -> set[str]:
        await asyncio.sleep(0)
        return seen()

    with request_tags({"version": "gray"}):
        started = asyncio.create_task(task())
        assert await asyncio.to_thread(seen) == {"gray"}
        assert contextvars.copy_context().run(seen) == {"gray"}
    assert await started == {"gray"}
    assert seen() == EVERY


def test_bare_threads_do_not() -> None:
    found: list[set[str]] = []
    with request_tags({"version": "gray"}):
        thread = threading.Thread(target=lambda: found.append(seen()))
        thread.start()
        thread.join()
    # A free-threaded build may hand the context on.
    assert found[0] in (EVERY, {"gray"})


@pytest.mark.parametrize("wrong", [{"version": 1}, {1: "gray"}, {"version": [1]}])
def test_wrong_types(wrong: Any) -> None:
    with pytest.raises(TypeError):
        request_tags(wrong)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.one_of(st.none(), st.sampled_from("xyz"))), max_size=5))
def test_nesting_is_an_update(layers: list[dict[str, str | None]]) -> None:
    expected: dict[str, str | None] = {}
    blocks = []
    for layer in layers:
        blocks.append(request_tags(layer))
        blocks[-1].__enter__()
        expected.update(layer)
        assert current_tags() == {key: value for key, value in expected.items() if value is not None}
    for block in reversed(blocks):
        block.__exit__(None, None, None)
    assert current_tags() == {}
