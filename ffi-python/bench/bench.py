"""What a pick costs, beside what Python offers.

The rows take turns, round after round, by pyperf's clock; each figure is the least of its rounds, so that what else the
machine does falls out and the ratios are of one run: `python bench/bench.py [--rounds N] [--json FILE]`.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import json
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy
import pyperf

from pointsman import Instance, Pool, request_tags

N = 100
BATCH = 10_000
LOOPS = 20_000
WEIGHTS = [float(at % 7 + 1) for at in range(N)]

Row = Callable[[], float]


def timed(call: Callable[[], object], loops: int = LOOPS, items: int = 1) -> Row:
    """A row: nanoseconds an item, of a call without arguments."""

    def row() -> float:
        repeat = itertools.repeat(None, loops)
        begin = pyperf.perf_counter()
        for _ in repeat:
            call()
        return float(pyperf.perf_counter() - begin) / loops / items * 1e9

    return row


def with_tags(pick: Callable[..., object]) -> Row:
    def row() -> float:
        repeat = itertools.repeat(None, LOOPS)
        begin = pyperf.perf_counter()
        for _ in repeat:
            pick(tags={"version": "gray"})
        return float(pyperf.perf_counter() - begin) / LOOPS * 1e9

    return row


def with_choices(population: list[str], cumulative: list[float]) -> Row:
    choices = random.choices

    def row() -> float:
        repeat = itertools.repeat(None, LOOPS)
        begin = pyperf.perf_counter()
        for _ in repeat:
            choices(population, cum_weights=cumulative)
        return float(pyperf.perf_counter() - begin) / LOOPS * 1e9

    return row


def in_context(row: Row) -> Row:
    def inside() -> float:
        with request_tags({"version": "gray"}):
            return row()

    return inside


def by_threads(call: Callable[[], object], threads: int) -> Row:
    """By the wall clock, for calls that are shared out among threads."""
    calls = 100_000

    def work() -> None:
        for _ in itertools.repeat(None, calls // threads):
            call()

    def row() -> float:
        workers = [threading.Thread(target=work) for _ in range(threads)]
        begin = pyperf.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return float(pyperf.perf_counter() - begin) / calls * 1e9

    return row


def rows() -> list[dict[str, Row]]:
    """Those that never saw context tags, and then those that did: their first use is for good."""
    addresses = [f"10.0.0.{at}:8080" for at in range(N)]
    instances = [
        Instance(address, weight=weight, tags={"version": "gray" if at % 5 == 0 else "stable"})
        for at, (address, weight) in enumerate(zip(addresses, WEIGHTS, strict=True))
    ]
    tiers: list[dict[str, Any]] = [{"match": ["version"]}, {}]
    pool = Pool(instances)
    plain, tagged = pool.route("weighted_random"), pool.route("weighted_random", tiers=tiers)
    off = Pool(instances, context_tags=False).route("weighted_random", tiers=tiers)
    cumulative = list(itertools.accumulate(WEIGHTS))
    total = cumulative[-1]
    generator = numpy.random.default_rng()
    shares = numpy.array(WEIGHTS) / total

    def by_hand() -> str:
        return addresses[bisect.bisect(cumulative, random.random() * total)]

    return [
        {
            "floor: len of a list": timed([1].__len__),
            "pick": timed(plain.pick),
            "random.choices": with_choices(addresses, cumulative),
            "bisect by hand": timed(by_hand),
            "pick with tags": with_tags(tagged.pick),
            "picker.pick": timed(plain.picker().pick),
            "select": timed(plain.select),
            "lease and done": timed(lambda: plain.lease().done()),
            "pick_many, an item": timed(lambda: plain.pick_many(BATCH), 1, BATCH),
            "numpy choice, an item": timed(lambda: generator.choice(N, size=BATCH, p=shares), 1, BATCH),
            "pick, one thread": by_threads(plain.pick, 1),
            "pick, four threads": by_threads(plain.pick, 4),
        },
        {
            "pick, context tags": in_context(timed(tagged.pick)),
            "pick, context tags off": in_context(timed(off.pick)),
            "pick, context tags used before": timed(tagged.pick),
        },
    ]


RATIOS = {
    "random.choices / pick": ("random.choices", "pick", "20 or more"),
    "bisect by hand / pick": ("bisect by hand", "pick", "4 or more"),
    "pick with tags / pick": ("pick with tags", "pick", "3 or less"),
    "numpy / pick_many": ("numpy choice, an item", "pick_many, an item", "6 or more"),
    "four threads / one": ("pick, four threads", "pick, one thread", "1.1 or less"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--json", help="also writes the figures to this file")
    arguments = parser.parse_args()
    figures: dict[str, float] = {}
    for group in rows():
        for _ in range(arguments.rounds):
            for name, row in group.items():
                figures[name] = min(row(), figures.get(name, float("inf")))
    ratios = {name: figures[above] / figures[below] for name, (above, below, _) in RATIOS.items()}
    for name, figure in figures.items():
        print(f"{name:34}{figure:9.1f} ns")
    print()
    for name, ratio in ratios.items():
        print(f"{name:34}{ratio:9.2f}    aim: {RATIOS[name][2]}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump({"ns": figures, "ratios": ratios}, file, indent=1)


if __name__ == "__main__":
    main()
