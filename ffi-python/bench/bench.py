"""What a pick costs, beside what Python offers. All rows in one run, each the least of many rounds, so that the ratios hold.

pyperf does the timing in this process: `python bench/bench.py [--rounds N] [--json FILE]`.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import json
import random
import threading
import time
from collections.abc import Callable

import numpy
import pyperf

from pointsman import Instance, Pool, request_tags

N = 100
BATCH = 10_000
WEIGHTS = [float(at % 7 + 1) for at in range(N)]


def measure(call: Callable[[], object], loops: int, rounds: int) -> float:
    """Nanoseconds a call."""
    calls = itertools.repeat(None, loops)
    best = float("inf")
    for _ in range(rounds):
        calls = itertools.repeat(None, loops)
        begin = pyperf.perf_counter()
        for _ in calls:
            call()
        best = min(best, pyperf.perf_counter() - begin)
    return best / loops * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", help="also writes the figures to this file")
    arguments = parser.parse_args()

    addresses = [f"10.0.0.{at}:8080" for at in range(N)]
    instances = [
        Instance(address, weight=weight, tags={"version": "gray" if at % 5 == 0 else "stable"})
        for at, (address, weight) in enumerate(zip(addresses, WEIGHTS, strict=True))
    ]
    pool = Pool(instances)
    plain = pool.route("weighted_random")
    tagged = pool.route("weighted_random", tiers=[{"match": ["version"]}, {}])
    untouched = Pool(instances, context_tags=False).route("weighted_random", tiers=[{"match": ["version"]}, {}])
    picker = plain.picker()
    cumulative = list(itertools.accumulate(WEIGHTS))
    total = cumulative[-1]
    generator = numpy.random.default_rng()
    shares = numpy.array(WEIGHTS) / total

    def by_hand() -> str:
        return addresses[bisect.bisect(cumulative, random.random() * total)]

    rows: dict[str, tuple[Callable[[], object], int]] = {
        "floor: len of a list": ([1].__len__, 1),
        "pick": (plain.pick, 1),
        "random.choices": (lambda: None, 1),
        "bisect by hand": (by_hand, 1),
        "pick, tags": (lambda: None, 1),
        "picker.pick": (picker.pick, 1),
        "select": (plain.select, 1),
        "lease and done": (lambda: plain.lease().done(), 1),
        f"pick_many({BATCH})": (lambda: plain.pick_many(BATCH), BATCH),
        f"numpy choice({BATCH})": (lambda: generator.choice(N, size=BATCH, p=shares), BATCH),
    }
    choices = random.choices
    statements: dict[str, Callable[[int], float]] = {
        "random.choices": lambda loops: _choices(choices, addresses, cumulative, loops),
        "pick, tags": lambda loops: _tags(tagged.pick, loops),
    }
    figures: dict[str, float] = {}
    for name, (call, items) in rows.items():
        loops = 100 if items > 1 else 50_000
        if name in statements:
            figures[name] = min(statements[name](loops) for _ in range(arguments.rounds))
        else:
            figures[name] = measure(call, loops, arguments.rounds) / items
    figures["pick, four threads"] = min(_threads(plain.pick, 4) for _ in range(5))
    figures["pick, one thread"] = min(_threads(plain.pick, 1) for _ in range(5))
    with request_tags({"version": "gray"}):
        figures["pick, context tags"] = measure(tagged.pick, 50_000, arguments.rounds)
        figures["pick, context tags off"] = measure(untouched.pick, 50_000, arguments.rounds)
    figures["pick, context tags used before"] = measure(tagged.pick, 50_000, arguments.rounds)

    for name, figure in figures.items():
        print(f"{name:34}{figure:9.1f} ns")
    ratios = {
        "random.choices / pick (20 or more)": figures["random.choices"] / figures["pick"],
        "bisect by hand / pick (4 or more)": figures["bisect by hand"] / figures["pick"],
        "pick with tags / pick (3 or less)": figures["pick, tags"] / figures["pick"],
        "numpy / pick_many (6 or more)": figures[f"numpy choice({BATCH})"] / figures[f"pick_many({BATCH})"],
        "four threads / one (1.1 or less)": figures["pick, four threads"] / figures["pick, one thread"],
    }
    print()
    for name, ratio in ratios.items():
        print(f"{name:40}{ratio:7.2f}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"ns": figures, "ratios": ratios}, file, indent=1)


def _choices(choices: Callable[..., object], population: list[str], cumulative: list[float], loops: int) -> float:
    repeat = itertools.repeat(None, loops)
    begin = pyperf.perf_counter()
    for _ in repeat:
        choices(population, cum_weights=cumulative)
    return float(pyperf.perf_counter() - begin) / loops * 1e9


def _tags(pick: Callable[..., object], loops: int) -> float:
    repeat = itertools.repeat(None, loops)
    begin = pyperf.perf_counter()
    for _ in repeat:
        pick(tags={"version": "gray"})
    return float(pyperf.perf_counter() - begin) / loops * 1e9


def _threads(call: Callable[[], object], threads: int, calls: int = 400_000) -> float:
    """Nanoseconds a call, by the wall clock, of calls that are shared out among threads."""

    def work() -> None:
        for _ in itertools.repeat(None, calls // threads):
            call()

    workers = [threading.Thread(target=work) for _ in range(threads)]
    begin = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (time.perf_counter() - begin) / calls * 1e9


if __name__ == "__main__":
    main()
