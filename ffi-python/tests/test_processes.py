from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from multiprocessing.connection import Connection

import pytest

from pointsman import Instance, Pool, Route

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
# Python 3.12 and later warn of forks with threads, which is what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def make(seed: int | None = None) -> Pool:
    return Pool((Instance(str(id)) for id in range(10)), seed=seed)


def send_picks(route: Route | None, to: Connection) -> None:
    if route is None:
        route = make().route("weighted_random")
    to.send([route.pick().id for _ in range(20)])
    pool = route.pool
    pool.set_weight("0", 5.0)
    pool.replace([Instance("x")])
    to.send(route.pick().id)


def children(method: str, route: Route | None, count: int) -> list[list[str]]:
    context = multiprocessing.get_context(method)
    picks = []
    for _ in range(count):
        here, there = context.Pipe()
        process = context.Process(target=send_picks, args=(route, there))  # type: ignore[attr-defined]
        process.start()
        assert here.poll(120)
        picks.append(here.recv())
        assert here.poll(120)
        assert here.recv() == "x"
        process.join(120)
        assert process.exitcode == 0
    return picks


@needs_fork
@pytest.mark.parametrize("policy", ["weighted_random", "weighted_round_robin"])
def test_forked_children_differ_from_their_parent_and_from_each_other(policy: str) -> None:
    pool = make()
    with pool.edit() as edit:
        for id in range(10):
            edit.set_weight(str(id), 1.0 + id * 0.7)
    route = pool.route(policy)
    route.pick_many(100)
    picks = [*children("fork", route, 4), [route.pick().id for _ in range(20)]]
    assert len({tuple(one) for one in picks}) == 5


@needs_fork
def test_a_seed_holds_in_children() -> None:
    route = make(seed=4).route("weighted_random")
    picks = children("fork", route, 2)
    assert picks[0] == picks[1] == [route.pick().id for _ in range(20)]


def test_spawned_processes_differ() -> None:
    picks = children("spawn", None, 2)
    assert picks[0] != picks[1]


@needs_fork
def test_a_child_of_a_busy_process_can_pick_and_update() -> None:
    pool = make()
    route = pool.route("weighted_random")
    stop = threading.Event()

    def update() -> None:
        while not stop.is_set():
            pool.replace([Instance(str(id)) for id in range(10)])
            pool.set_weight("1", 3.0)
            route.pick_many(2_000)

    threads = [threading.Thread(target=update) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        children("fork", route, 25)
    finally:
        stop.set()
        for thread in threads:
            thread.join(120)


def replace_during_a_batch(route: Route, to: Connection) -> None:
    begun = threading.Event()

    def batch() -> None:
        begun.set()
        try:
            to.send(len(route.pick_many(1_000_000)))
        except RuntimeError as error:
            to.send(str(error))

    thread = threading.Thread(target=batch)
    thread.start()
    begun.wait()
    # Instances that the batch picks go before it makes a list of what it picked.
    for at in range(10):
        route.pool.replace(Instance(f"{at}-{id}") for id in range(100))
        time.sleep(0.0005)
        route.pool.replace([Instance("x")])
        route.pool.tick()
    thread.join()


@needs_fork
def test_a_batch_of_a_child_of_a_busy_process_keeps_its_objects() -> None:
    route = make().route("weighted_random")
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            route.pick_many(1_000_000)

    thread = threading.Thread(target=work)
    thread.start()
    context = multiprocessing.get_context("fork")
    try:
        for _ in range(10):
            here, there = context.Pipe()
            process = context.Process(target=replace_during_a_batch, args=(route, there))
            process.start()
            assert here.poll(120)
            assert here.recv() == 1_000_000
            process.join(120)
            assert process.exitcode == 0
    finally:
        stop.set()
        thread.join(120)


def run(code: str, **environment: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FIRST = """
import os
from pointsman import Instance, Pool
for policy in ("weighted_random", "round_robin"):
    print(Pool(Instance(str(id)) for id in range(10)).route(policy).pick().id)
"""


def test_fresh_processes_begin_differently() -> None:
    firsts = [run(FIRST).split() for _ in range(50)]
    for policy in range(2):
        counts = Counter(first[policy] for first in firsts)
        assert len(counts) > 1
        assert max(counts.values()) < 18


OWNERS = """
from pointsman import Instance, Pool
pool = Pool(Instance(f"10.0.0.{id}:80", weight=1.0 + id) for id in range(10))
for policy in ({"consistent_hash": {"algorithm": name}} for name in ("rendezvous", "maglev", "ketama")):
    route = pool.route(policy)
    print(*(route.pick(key=f"user-{key}").id for key in range(1_000)))
"""


def test_keys_have_the_same_owner_in_every_process() -> None:
    owners = {run(OWNERS, PYTHONHASHSEED=seed) for seed in ("0", "1", "random")}
    assert len(owners) == 1


SUBINTERPRETER = """
import pointsman
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
one = interpreters.create()
code = '''
try:
    import pointsman
except ImportError as error:
    assert "subinterpreters" in str(error), error
    print("refused")
else:
    print("imported")
'''
interpreters.run_string(one, code)
"""


def test_a_subinterpreter_is_told_why_it_cannot() -> None:
    assert run(SUBINTERPRETER).strip() == "refused"


LAZY = """
import sys
import pointsman
heavy = {"httpx", "httpx2", "aiohttp", "requests", "watchfiles", "asyncio"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""


def test_no_integration_is_imported_unless_used() -> None:
    run(LAZY)


GIL = """
import sys
enabled = getattr(sys, "_is_gil_enabled", lambda: None)
before = enabled()
import pointsman
assert enabled() == before
"""


def test_importing_leaves_the_gil_as_it_is() -> None:
    run(GIL)
