from __future__ import annotations

import itertools
import json
import pickle
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import check_shares
from pointsman import Instance, NoInstance, Pool, Route, RouteError

HASHES = [{"consistent_hash": {"algorithm": name}} for name in ("rendezvous", "maglev", "ketama")]
# At no load, so that shares do not depend on it.
IDLE: list[Any] = [
    "random",
    "weighted_random",
    "round_robin",
    "weighted_round_robin",
    "least_load",
    "least_request",
    "power_of_two",
    "peak_ewma",
    *HASHES,
]
TAGS: list[dict[str, Any]] = [
    {},
    {"version": "gray"},
    {"version": "stable"},
    {"version": ["gray", "next"]},
    {"version": "none"},
]


def picks(route: Route, count: int, seed: int = 1, **arguments: Any) -> list[Instance]:
    """Each of a key of its own, which policies without a hash pass over."""
    draws = random.Random(seed)
    return [route.pick(key=draws.randbytes(8), **arguments) for _ in range(count)]


@pytest.mark.parametrize("policy", IDLE, ids=str)
def test_picks_follow_shares(policy: Any, fleet: Callable[[], Pool]) -> None:
    route = fleet().route(policy, tiers=[{"match": ["version"]}, {}])
    for tags in TAGS:
        shares = route.shares(tags=tags)
        assert sum(shares.values()) == pytest.approx(1.0)
        check_shares(picks(route, 5_000, tags=tags), shares)
        # Without a key, hashes draw by weight.
        if policy not in HASHES:
            check_shares(route.pick_many(5_000, tags=tags), shares)
        picker = route.picker(seed=2)
        check_shares((picker.pick(tags=tags, key=str(at)) for at in range(5_000)), shares)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.sampled_from("xyz"), st.booleans()), min_size=1, max_size=12),
    st.sampled_from(IDLE),
    st.one_of(st.none(), st.sampled_from("xyz")),
    st.sets(st.integers(0, 11), max_size=3),
)
def test_any_fleet_is_picked_by_its_shares(
    fleet: list[tuple[int, str, bool]], policy: Any, version: str | None, excluded: set[int]
) -> None:
    pool = Pool(
        [
            Instance(str(at), weight=weight, tags={"version": tag}, healthy=healthy)
            for at, (weight, tag, healthy) in enumerate(fleet)
        ],
        seed=3,
    )
    route = pool.route(policy, tiers=[{"match": ["version"]}, {}])
    asked: dict[str, Any] = {"exclude": [str(at) for at in excluded]}
    if version is not None:
        asked["tags"] = {"version": version}
    shares = route.shares(**asked)
    if shares:
        assert sum(shares.values()) == pytest.approx(1.0)
        check_shares(picks(route, 2_000, **asked), shares)
        assert route.select(**asked).instance.id in shares
    else:
        with pytest.raises(NoInstance) as caught:
            route.pick(**asked)
        assert caught.value.reason == route.explain(**asked)["reason"]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.floats(0.01, 100), st.sampled_from("xyz")), min_size=2, max_size=8), st.integers(1, 99))
def test_a_split_is_picked_by_its_shares(fleet: list[tuple[float, str]], percent: int) -> None:
    pool = Pool((Instance(str(at), weight=w, tags={"version": tag}) for at, (w, tag) in enumerate(fleet)), seed=4)
    branches = [
        {"name": "gray", "percent": percent, "tiers": [{"tags": {"version": "x"}}], "spill": True},
        {"name": "rest", "percent": 100 - percent, "tiers": [{}]},
    ]
    route = pool.route({"policy": "weighted_random", "split": branches})
    check_shares(route.pick_many(3_000), route.shares())
    by_key = pool.route({"policy": "weighted_random", "split": branches, "by": "key"})
    check_shares(picks(by_key, 3_000), by_key.shares())


def test_the_arguments_of_a_pick(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    route = pool.route("weighted_random", tiers=[{"match": ["version"]}, {}])
    for _ in range(50):
        assert route.pick(tags={"version": "gray"}).id == "b"
        assert route.pick(require={"version": ("gray", "next")}).id in "bc"
        assert route.pick(exclude=["a", pool["b"]]).id == "c"
        assert route.pick(exclude={"a", "b"}, prefer="a").id == "c"
        assert route.pick(prefer=pool["b"]).id == "b"
        assert route.pick(prefer="b", tags={"version": "stable"}).id in "ac"
    pick = route.select(tags={"version": "gray"}, exclude=["b"])
    assert (pick.instance.id in "ac", pick.tier, pick.branch, pick.version, pick.relaxed) == (True, 1, 0, 1, False)
    pick = route.select(exclude=["a", "b", "c"], relax=True)
    assert pick.relaxed
    assert repr(pick) == f"<Pick of '{pick.instance.id}', tier 0, version 1>"


@pytest.mark.parametrize(
    "arguments",
    [
        {"tags": 1},
        {"tags": {"version": None}},
        {"tags": {1: "gray"}},
        {"tags": [("version", "gray")]},
        {"require": {"version": 1}},
        {"key": 1},
        {"exclude": "a"},
        {"exclude": [1]},
        {"exclude": 1},
        {"prefer": 1},
        {"relax": 1},
        {"other": 1},
    ],
)
def test_wrong_types_are_type_errors(arguments: dict[str, Any], fleet: Callable[[], Pool]) -> None:
    route = fleet().route("random")
    picker = route.picker()
    for call in (route.pick, route.select, route.explain, route.shares, picker.pick, picker.select):
        with pytest.raises(TypeError):
            call(**arguments)
    with pytest.raises(TypeError):
        route.pick_distinct(2, **arguments)
    assert picker.pick().id in "abc"


def test_a_value_that_changes_its_own_mapping_is_harmless(fleet: Callable[[], Pool]) -> None:
    tags: dict[str, Any] = {}

    class Values:
        def __iter__(self) -> Any:
            tags.clear()
            tags.update((str(at), "x") for at in range(100))
            return iter(["gray"])

    route = fleet().route("random", tiers=[{"match": ["version"]}])
    for call in (route.pick, route.picker().pick):
        tags.clear()
        tags.update(version=Values(), other="x")
        assert call(tags=tags).id == "b"


def test_tags_are_read_alike_however_they_come(fleet: Callable[[], Pool]) -> None:
    class Text(str):
        pass

    route = fleet().route("random", tiers=[{"match": ["version"]}])
    many = {"version": "gray", **{str(at): "x" for at in range(20)}}
    ways: list[Any] = [
        many,
        {Text("version"): Text("gray")},
        {"version": ["gray"]},
        {"v\u00e4rsion": "x", "version": "gray"},
    ]
    for tags in ways:
        assert route.pick(tags=tags).id == route.select(tags=tags).instance.id == "b"
    for wrong in ({"version": "\ud800"}, {"\ud800": "gray"}):
        with pytest.raises(UnicodeEncodeError):
            route.pick(tags=wrong)
    assert route.pick(tags={"version": "gray"}).id == "b"


@pytest.mark.parametrize("count", range(7))
def test_any_number_of_tags_is_read(count: int, fleet: Callable[[], Pool]) -> None:
    route = fleet().route("random", tiers=[{"match": ["version"]}])
    others = {f"other-{at}": "x" for at in range(count)}
    picker = route.picker()
    for tags in ({"version": "gray", **others}, {**others, "version": "gray"}):
        for call in (route.pick, picker.pick, lambda tags: route.select(tags=tags).instance):
            assert call(tags=tags).id == "b"
    for call in (route.pick, picker.pick):
        with pytest.raises(NoInstance) as caught:
            call(tags={**others, "version": "none"})
        assert caught.value.reason == "no_match"
    assert {route.pick(tags=others).id for _ in range(200)} == {instance.id for instance in route.pool}


def test_any_mapping_will_do(fleet: Callable[[], Pool]) -> None:
    import collections
    import types

    route = fleet().route("random", tiers=[{"match": ["version"]}])
    for make in (types.MappingProxyType, collections.OrderedDict, collections.ChainMap):
        assert route.pick(tags=make({"version": "gray"})).id == "b"


def test_reasons() -> None:
    pool = Pool()
    route = pool.route("random", tiers=[{"match": ["version"]}], counters=True)

    def reason(**arguments: Any) -> tuple[str, int]:
        with pytest.raises(NoInstance) as caught:
            route.pick(**arguments)
        again = pickle.loads(pickle.dumps(caught.value))
        assert (again.reason, again.tier, str(again)) == (caught.value.reason, caught.value.tier, str(caught.value))
        assert isinstance(caught.value, LookupError)
        return caught.value.reason, caught.value.tier

    assert reason() == ("empty", 0)
    pool.replace([Instance("a", tags={"version": "gray"})])
    assert reason(tags={"version": "x"}) == ("no_match", 0)
    assert reason(exclude=["a"]) == ("excluded", 0)
    pool.set_healthy("a", False)
    assert reason() == ("unavailable", 0)
    pool.replace([Instance("a", weight=0)])
    assert reason() == ("drained", 0)
    stats = route.stats()
    assert stats["refused"]["excluded"] == 1
    assert stats["tiers"] == [{"branch": "", "tier": "0", "picks": 0}]
    assert pool.route("random").stats() == {}


def test_pick_distinct(fleet: Callable[[], Pool]) -> None:
    route = fleet().route("weighted_random")
    firsts: Counter[str] = Counter()
    for _ in range(3_000):
        several = route.pick_distinct(2)
        assert len(set(several)) == 2
        firsts[several[0].id] += 1
    assert 8 / 11 == pytest.approx(firsts["a"] / 3_000, abs=0.05)
    assert sorted(instance.id for instance in route.pick_distinct(9)) == ["a", "b", "c"]
    assert sorted(instance.id for instance in route.pick_distinct(9, exclude=["a"])) == ["b", "c"]
    assert route.pick_distinct(0) == []
    with pytest.raises(ValueError):
        route.pick_distinct(-1)
    with pytest.raises(NoInstance):
        Pool().route("random").pick_distinct(2)


def test_pick_many(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    route = pool.route("weighted_random")
    assert route.pick_many(0) == []
    assert all(instance is pool[instance.id] for instance in route.pick_many(2_000))
    with pytest.raises(ValueError):
        route.pick_many(-1)
    with pytest.raises(NoInstance):
        route.pick_many(3, require={"version": "none"})


def test_a_batch_beyond_memory_is_a_memory_error(fleet: Callable[[], Pool]) -> None:
    route = fleet().route("random")
    for n in (10**15, 2**63 - 1):
        with pytest.raises(MemoryError):
            route.pick_many(n)
    assert route.pick().id in "abc"


@pytest.mark.parametrize("seed", [-1, 2**64, 2**200])
def test_a_seed_out_of_range_is_a_value_error(seed: int, fleet: Callable[[], Pool]) -> None:
    for make in (fleet().route("random").picker, lambda seed: Pool(seed=seed), lambda seed: Pool.from_json("[]", seed=seed)):
        with pytest.raises(ValueError, match=f"seed is {seed}, must be 0 to 18446744073709551615"):
            make(seed)
    wrong: Any
    for wrong in ("1", 1.5, [1]):
        with pytest.raises(TypeError):
            Pool(seed=wrong)
    assert Pool(seed=2**64 - 1).version == 1


def test_pickers_are_deterministic(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    route = pool.route("weighted_random")

    def picks(seed: int | None) -> list[str]:
        picker = route.picker(seed)
        return [picker.pick().id for _ in range(40)]

    assert picks(1) == picks(1)
    assert picks(1) != picks(2)
    assert picks(None) != picks(None)
    assert route.picker(3).select().instance is pool[route.picker(3).pick().id]


def test_a_picker_of_equal_weights_goes_in_list_order() -> None:
    picker = Pool(Instance(id) for id in "abc").route("round_robin").picker(5)
    turns = "".join(picker.pick().id for _ in range(9))
    assert turns in ("abc" * 4, ("abc" * 4)[1:10], ("abc" * 4)[2:11]) or turns in "abc" * 5


def test_a_picker_serves_one_at_a_time(fleet: Callable[[], Pool]) -> None:
    picker = fleet().route("random").picker()

    class Mapping(dict[str, str]):
        def items(self) -> Any:
            picker.pick()
            return super().items()

    with pytest.raises(RuntimeError, match="one for each thread"):
        picker.pick(tags=Mapping(version="gray"))
    assert picker.pick().id in "abc"


def test_specs(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    spec = {"policy": "weighted_random", "tiers": [{"zone": "west"}, {}]}
    for route in (
        pool.route(spec),
        pool.route(json.dumps(spec)),
        pool.route("weighted_random", tiers=[{"zone": "west"}, {}]),
        pool.route({"weighted_random": {}}, tiers=({"zone": "west"}, {})),
    ):
        assert json.loads(route.spec) == spec
        assert set(route.shares()) == {"b", "c"}
        assert route.pool is pool
    split = {
        "policy": "random",
        "split": [
            {"name": "gray", "percent": 25, "tiers": [{"tags": {"version": "gray"}}]},
            {"name": "rest", "percent": 75, "tiers": [{"not_tags": {"version": "gray"}}]},
        ],
        "by": "key",
    }
    route = pool.route(split)
    assert route.shares()["b"] == pytest.approx(0.25)
    branches = {key: route.select(key=key).branch for key in map(str, range(100))}
    assert set(branches.values()) == {0, 1}
    assert all(route.select(key=key.encode()).branch == branch for key, branch in branches.items())


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        (("weighted_randomly",), "policy"),
        (({"policy": "random"},), "tiers"),
        (({"policy": "random", "tiers": [{"zones": "a"}]},), "tiers[0].zones"),
        (('{"policy": "random"} {}',), "."),
    ],
)
def test_refused_specs_name_the_place(arguments: tuple[Any], path: str, fleet: Callable[[], Pool]) -> None:
    with pytest.raises(RouteError) as caught:
        fleet().route(*arguments)
    assert caught.value.path == path


def test_specs_of_the_wrong_type(fleet: Callable[[], Pool]) -> None:
    wrong: Any
    for wrong in (1, None, ["random"]):
        with pytest.raises(TypeError):
            fleet().route(wrong)
    with pytest.raises(TypeError):
        fleet().route({"policy": "random"}, tiers=[{}])


def test_explain_says_why(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    pool.set_healthy("b", False)
    explained = pool.route("random", tiers=[{"match": ["version"]}, {}]).explain(tags={"version": "gray"})
    first, second = explained["branches"][0]["tiers"]
    assert (first["members"], first["available"], first["reason"]) == (1, 0, "unavailable")
    assert (second["members"], second["share"]) == (3, 1.0)


def test_exclusions_of_every_subset(fleet: Callable[[], Pool]) -> None:
    route = fleet().route("weighted_round_robin")
    for size in range(3):
        for excluded in itertools.combinations("abc", size):
            assert {route.pick(exclude=excluded).id for _ in range(200)} == set("abc") - set(excluded)
