#!/usr/bin/env python3
"""A naive engine, written from the published rules, that shares nothing with the engine it is held against.

It reads the files whose origin is "independent", works every case out again, and compares. Weights are fractions, draws walk
along the sum of the weights, rotations are laid out turn by turn, and hash tables are what their papers say. Standard library
only.

    independent.py            compares; the exit status is 1 where something differs
    independent.py --write    fills promises that are marked with "?", and changes nothing else
"""

from __future__ import annotations

import json
import math
import pathlib
import sys
import zlib
from collections.abc import Callable
from fractions import Fraction
from typing import Any

MASK = 2**64 - 1
GOLDEN = 0x9E3779B97F4A7C15
KEY_SEED = 1  # of XXH64 for keys and ids; splits have 0
MARK = '"gives": "?"'

Instance = dict[str, Any]


def mix(z: int) -> int:
    """SplitMix64's output function."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def mix2(a: int, b: int) -> int:
    return mix(mix((a + GOLDEN) & MASK) ^ b)


def xxh64(data: bytes, seed: int) -> int:
    """XXH64, from its specification."""
    p1, p2, p3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
    p4, p5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5

    def rotate(x: int, by: int) -> int:
        return (x << by | x >> (64 - by)) & MASK

    def step(acc: int, lane: int) -> int:
        return rotate((acc + lane * p2) & MASK, 31) * p1 & MASK

    def word(at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], "little")

    at = 0
    if len(data) >= 32:
        lanes = [(seed + p1 + p2) & MASK, (seed + p2) & MASK, seed, (seed - p1) & MASK]
        while at + 32 <= len(data):
            lanes = [step(lane, word(at + 8 * number, 8)) for number, lane in enumerate(lanes)]
            at += 32
        acc = sum(rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            acc = ((acc ^ step(0, lane)) * p1 + p4) & MASK
    else:
        acc = (seed + p5) & MASK
    acc = (acc + len(data)) & MASK
    while at + 8 <= len(data):
        acc = (rotate(acc ^ step(0, word(at, 8)), 27) * p1 + p4) & MASK
        at += 8
    if at + 4 <= len(data):
        acc = (rotate(acc ^ (word(at, 4) * p1 & MASK), 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        acc = rotate(acc ^ (byte * p5 & MASK), 11) * p1 & MASK
    acc = (acc ^ (acc >> 33)) * p2 & MASK
    acc = (acc ^ (acc >> 29)) * p3 & MASK
    return acc ^ (acc >> 32)


class Generator:
    """SplitMix64, begun at a mix of the seed."""

    def __init__(self, seed: int) -> None:
        self.state = mix((seed + GOLDEN) & MASK)

    def draw(self) -> int:
        self.state = (self.state + GOLDEN) & MASK
        return mix(self.state)


def fall(point: int, parts: list[Fraction]) -> int:
    """Where a point of the circle falls when the parts cover it in their order."""
    left = Fraction(point, 2**64) * sum(parts)
    for at, part in enumerate(parts):
        if left < part:
            return at
        left -= part
    raise AssertionError("the parts cover the circle")


def weight(instance: Instance) -> Fraction:
    return Fraction(instance.get("weight", 1))


def name(instance: Instance) -> str:
    return str(instance.get("id", instance["address"]))


# Rotations


def cycle(turns: list[int]) -> list[int]:
    """Tijdeman's rule by brute force: of those released the one that is due first, the first in the list among equals."""
    total, unit = sum(turns), 2 * len(turns) - 2
    counts = [0] * len(turns)

    def first_turn(at: int, part: int) -> int:
        turn = 1
        while turn * turns[at] * unit < total * (counts[at] * unit + part):
            turn += 1
        return turn

    order = []
    for turn in range(1, total + 1):
        released = [at for at in range(len(turns)) if first_turn(at, 1) <= turn]
        chosen = min(released, key=lambda at: (first_turn(at, unit - 1), at))
        counts[chosen] += 1
        order.append(chosen)
    return order


def decimals(weights: list[Fraction]) -> list[int] | None:
    """Integers in the ratio of weights that have at most six decimals and a cycle of at most 4,096 turns."""
    near = [Fraction(round(value * 10**6), 10**6) for value in weights]
    if any(abs(value - other) > other / 2**48 for value, other in zip(weights, near)):
        return None
    scaled = [int(value * 10**6) for value in near]
    turns = [value // math.gcd(*scaled) for value in scaled]
    return turns if sum(turns) <= 4096 else None


def turn_of(number: int, weights: list[Fraction]) -> int:
    """Who has a turn."""
    if len(set(weights)) == 1:
        return number % len(weights)
    turns = decimals(weights)
    if turns is None:
        return fall(number * GOLDEN & MASK, weights)
    order = cycle(turns)
    return order[number % len(order)]


# Hashing


def rendezvous(slots: int, members: list[Instance], key: str, takes: Callable[[int], bool]) -> int:
    def best(seed: int) -> list[int]:
        def cost(at: int) -> float:
            lot = mix(seed ^ xxh64(name(members[at]).encode(), KEY_SEED))
            return -math.log(((lot >> 11) + 0.5) * 2.0**-53) / float(weight(members[at]))

        return sorted(range(len(members)), key=cost)

    hashed = xxh64(key.encode(), KEY_SEED)
    owners = best(mix(hashed % slots))[:2]
    return next((at for at in owners if takes(at)), None) or next(at for at in [*owners, *best(mix(hashed))] if takes(at))


def maglev(slots: int, members: list[Instance], key: str, takes: Callable[[int], bool]) -> int:
    ids = [xxh64(name(member).encode(), KEY_SEED) for member in members]
    heaviest = max(weight(member) for member in members)
    skips = [mix(id) % (slots - 1) + 1 for id in ids]
    order = sorted(range(len(members)), key=lambda at: ids[at])
    owners: list[int | None] = [None] * slots
    next_slot, taken, round_number = [id % slots for id in ids], [0] * len(members), 0
    while None in owners:
        round_number += 1
        for at in order:
            if None in owners and taken[at] < round_number * weight(members[at]) / heaviest:
                while owners[next_slot[at]] is not None:
                    next_slot[at] = (next_slot[at] + skips[at]) % slots
                owners[next_slot[at]] = at
                taken[at] += 1
    hashed = xxh64(key.encode(), KEY_SEED)
    probes = [hashed, *(mix((hashed + probe * GOLDEN) & MASK) for probe in range(1, 128))]
    found = (owners[probe % slots] for probe in probes)
    return next(at for at in found if at is not None and takes(at))


def ketama(members: list[Instance], key: str, takes: Callable[[int], bool]) -> int:
    ring: dict[int, tuple[str, int]] = {}
    for at, member in enumerate(members):
        host, _, port = member["address"].rpartition(":")
        base, point = zlib.crc32(host.encode() + b"\0" + port.encode()), 0
        for _ in range(round(weight(member) * 160)):
            point = zlib.crc32(point.to_bytes(4, "little"), base)
            ring[point] = min(ring.get(point, (member["address"], at)), (member["address"], at))
    hashed = zlib.crc32(key.encode())
    points = sorted(ring)
    behind = [point for point in points if point >= hashed] + [point for point in points if point < hashed]
    return next(ring[point][1] for point in behind if takes(ring[point][1]))


# Routes


class Pool:
    def __init__(self, case: dict[str, Any]) -> None:
        self.instances: list[Instance] = case["instances"]
        self.zone = (case.get("pool") or {}).get("zone")
        self.in_flight = dict.fromkeys(map(name, self.instances), 0)
        self.loads = {name(one): Fraction(one["load"]) for one in self.instances if "load" in one}
        self.leases: dict[str, str] = {}


def values(tags: dict[str, Any], key: str) -> list[str]:
    held = tags.get(key, [])
    return [held] if isinstance(held, str) else held


def is_member(tier: dict[str, Any], instance: Instance, request: dict[str, Any], pool: Pool) -> bool:
    known = {"name", "tags", "not_tags", "match", "without", "zone", "health"}
    assert set(tier) <= known, f"no rules for {set(tier) - known}"
    tags = instance.get("tags", {})
    zone = tier.get("zone")
    wanted = [pool.zone] if zone == "local" and pool.zone else [] if zone in (None, "local") else zone
    wanted = [wanted] if isinstance(wanted, str) else wanted

    def has(key: str, asked: Any) -> bool:
        return any(value in values(tags, key) for value in ([asked] if isinstance(asked, str) else asked))

    return (
        (not wanted or instance.get("zone") in wanted)
        and all(has(key, asked) for key, asked in tier.get("tags", {}).items())
        and not any(has(key, asked) for key, asked in tier.get("not_tags", {}).items())
        and all(key not in request["tags"] or has(key, request["tags"][key]) for key in tier.get("match", []))
        and not any(key in tags for key in tier.get("without", []))
    )


def is_available(tier: dict[str, Any], instance: Instance) -> bool:
    up = instance.get("healthy", True) or tier.get("health") == "any"
    return up and instance.get("enabled", True) and weight(instance) > 0


class Picker:
    def __init__(self, pool: Pool, spec: dict[str, Any], seed: int) -> None:
        self.pool, self.spec, self.seed = pool, spec, seed
        self.generator = Generator(seed)
        self.turns: dict[int, int] = {}
        policy = spec["policy"]
        self.policy, self.options = next(iter(policy.items())) if isinstance(policy, dict) else (policy, {})

    def pick(self, request: dict[str, Any]) -> str:
        branches = self.spec.get("split")
        if not branches:
            return self.tiers(0, self.spec["tiers"], request)
        key = request.get("key")
        by_key = self.spec.get("by") == "key" and key is not None
        point = xxh64(key.encode(), 0) if by_key else self.generator.draw()
        branch = fall(point, [Fraction(one["percent"]) for one in branches])
        return self.tiers(branch, branches[branch]["tiers"], request)

    def tiers(self, branch: int, tiers: list[dict[str, Any]], request: dict[str, Any]) -> str:
        for number, tier in enumerate(tiers):
            members = [one for one in self.pool.instances if is_member(tier, one, request, self.pool)]
            members = [one for one in members if is_available(tier, one)]
            left = [one for one in members if name(one) not in request["exclude"]]
            assert left or not members, "a tier that exclusions empty is left to other files"
            if not left:
                continue
            prefer = [one for one in left if name(one) == request["prefer"]]
            chosen = prefer[0] if prefer else self.choose(branch, number, tier, members, left, request)
            return f"{name(chosen)}@{branch}.{number}"
        raise AssertionError("errors are left to other files")

    def choose(
        self,
        branch: int,
        number: int,
        tier: dict[str, Any],
        members: list[Instance],
        left: list[Instance],
        request: dict[str, Any],
    ) -> Instance:
        weighted = self.policy not in ("random", "round_robin")
        parts = [weight(one) if weighted else Fraction(1) for one in left]
        pool = self.pool
        if self.policy in ("round_robin", "weighted_round_robin") and len(left) == len(members):
            place = branch << 32 | number
            for key in tier.get("match", []):
                for value in values(request["tags"], key):
                    place = mix2(place, xxh64(value.encode(), 0))
            turn = self.turns.setdefault(place, mix2(self.seed, place))
            self.turns[place] = turn + 1
            return left[turn_of(turn, parts)]
        if self.policy == "least_request":
            costs = [pool.in_flight[name(one)] / part for one, part in zip(left, parts)]
            left, parts = self.lowest(left, parts, costs)
        elif self.policy == "least_load":
            known = [pool.loads[name(one)] for one in left if name(one) in pool.loads]
            mean = sum(known) / len(known) if known else Fraction(0)
            costs = [pool.loads.get(name(one), mean) for one in left]
            left, parts = self.lowest(left, [Fraction(1)] * len(left), costs)
        elif self.policy == "power_of_two":
            return self.of_candidates(left, parts)
        elif self.policy == "consistent_hash" and request.get("key") is not None:
            return members[self.owner(members, left, request["key"])]
        else:
            assert self.policy in ("random", "weighted_random", "round_robin", "weighted_round_robin", "consistent_hash")
            if len(left) < len(members):
                whole = [weight(one) if weighted else Fraction(1) for one in members]
                for _ in range(4):
                    one = members[fall(self.generator.draw(), whole)]
                    if one in left:
                        return one
        return left[fall(self.generator.draw(), parts)]

    @staticmethod
    def lowest(
        left: list[Instance], parts: list[Fraction], costs: list[Fraction]
    ) -> tuple[list[Instance], list[Fraction]]:
        ties = [at for at, cost in enumerate(costs) if cost == min(costs)]
        return [left[at] for at in ties], [parts[at] for at in ties]

    def of_candidates(self, left: list[Instance], parts: list[Fraction]) -> Instance:
        drawn: list[int] = []
        while len(drawn) < min(self.options.get("choices", 2), len(left)):
            rest = [at for at in range(len(left)) if at not in drawn]
            drawn.append(rest[fall(self.generator.draw(), [parts[at] for at in rest])])
        if self.options.get("load") == "reported":
            loads = [self.pool.loads.get(name(left[at])) for at in drawn]
            known = [load for load in loads if load is not None]
            mean = sum(known) / len(known) if known else Fraction(0)
            costs = [mean if load is None else load for load in loads]
        else:
            costs = [self.pool.in_flight[name(left[at])] / parts[at] for at in drawn]
        return left[drawn[costs.index(min(costs))]]

    def owner(self, members: list[Instance], left: list[Instance], key: str) -> int:
        def takes(at: int) -> bool:
            return members[at] in left

        assert set(self.options) <= {"algorithm", "slots"}, "no rules for bounds"
        slots = self.options.get("slots", 65537)
        match_algorithm = self.options.get("algorithm", "rendezvous")
        if match_algorithm == "ketama":
            return ketama(members, key, takes)
        return (maglev if match_algorithm == "maglev" else rendezvous)(slots, members, key, takes)


def run(case: dict[str, Any]) -> list[list[str]]:
    """What each step that promises something gives."""
    pool = Pool(case)
    pickers = [Picker(pool, case["routes"][one["route"]], int(one["seed"])) for one in case["pickers"]]
    gave = []
    for step in case["steps"]:
        asked = {"tags": {}, "exclude": [], "prefer": None, **step.get("request", {})}
        assert set(asked) <= {"tags", "exclude", "prefer", "key"}, f"no rules for a request of {set(asked)}"
        if step["do"] == "pick":
            keys = step.get("keys") or [asked.get("key")] * step.get("times", 1)
            gave.append([pickers[step["picker"]].pick({**asked, "key": key}) for key in keys])
        elif step["do"] == "lease":
            outcomes = []
            for lease in step["hold"]:
                outcomes.append(pickers[step["picker"]].pick(asked))
                pool.leases[lease] = outcomes[-1].split("@")[0]
                pool.in_flight[pool.leases[lease]] += 1
            gave.append(outcomes)
        elif step["do"] == "done":
            pool.in_flight[pool.leases.pop(step["lease"])] -= 1
        elif step["do"] == "report":
            pool.loads[step["id"]] = Fraction(step["load"])
        else:
            raise AssertionError(f"no rules for a step that does {step['do']}")
    return gave


def filled(outcomes: list[str]) -> str:
    lines, width = ["["], 20
    for at, outcome in enumerate(outcomes):
        text = json.dumps(outcome)
        comma = ", " if at else ""
        width += len(text) + len(comma)
        if width > 118:
            width = 11 + len(text)
            lines += [",\n          ", text]
        else:
            lines += [comma, text]
    return '"gives": ' + "".join(lines) + "]"


def main() -> int:
    write, wrong, checked = "--write" in sys.argv[1:], 0, 0
    for path in sorted(pathlib.Path(__file__).parent.glob("*.json")):
        text = path.read_text(encoding="utf-8")
        file = json.loads(text)
        if not file["origin"].startswith("independent: "):
            continue
        parts = text.split(MARK)
        result = parts.pop(0)
        for case in file["cases"]:
            promises = [step for step in case["steps"] if step["do"] in ("pick", "lease")]
            for step, gave in zip(promises, run(case), strict=True):
                checked += len(gave)
                if step["gives"] == "?" and write:
                    result += filled(gave) + parts.pop(0)
                elif step["gives"] != gave:
                    print(f"{path.name}, {case['name']!r}:\n  promised {step['gives']}\n  gave     {gave}")
                    wrong += 1
        if write and result != text:
            path.write_text(result, encoding="utf-8")
    print(f"{checked} outcomes worked out independently, {wrong} steps differ")
    return 1 if wrong or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
