from __future__ import annotations

import contextlib
import gc
import json
import pickle
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import check_shares
from pointsman import FormatError, Instance, NoInstance, Pool, RouteError, UpdateError


def test_is_a_container(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    assert len(pool) == 3
    assert [instance.id for instance in pool] == ["a", "b", "c"]
    assert "a" in pool and pool["a"] in pool and "x" not in pool and 1 not in pool
    assert pool["a"].weight == 8.0
    with pytest.raises(KeyError, match="x"):
        pool["x"]


def test_a_pick_is_the_object_that_was_put_in() -> None:
    data = object()
    given = Instance("a", user_data=data)
    pool = Pool([given])
    route = pool.route("random")
    assert route.pick() is given
    assert route.pick().user_data is data
    assert pool["a"] is given
    assert next(iter(pool)) is given


def test_setters_replace_the_object_and_keep_the_user_data() -> None:
    data = object()
    given = Instance("a", user_data=data, load=0.5)
    pool = Pool([given])
    route = pool.route("random")
    pool.set_weight("a", 3.0)
    assert pool["a"] == Instance("a", weight=3.0, load=0.5)
    pool.set_healthy(given, False)
    with pytest.raises(NoInstance):
        route.pick()
    pool.set_healthy("a", True)
    pool.set_enabled("a", False)
    assert not pool["a"].enabled
    pool.set_enabled("a", True)
    assert route.pick() is pool["a"]
    assert route.pick().user_data is data
    assert given.weight == 1.0
    assert pool.version == 6


def test_what_changes_nothing_leaves_version_and_object() -> None:
    data = object()
    given = Instance("a", weight=2.0, tags={"k": "v"}, user_data=data)
    pool = Pool([given, Instance("b")])
    assert pool.replace([Instance("a", weight=2.0, tags={"k": "v"}, user_data=data), Instance("b")]) == 1
    pool.set_weight("a", 2.0)
    pool.upsert(given)
    assert pool.version == 1
    assert pool["a"] is given
    other = object()
    pool.upsert(given.__replace__(user_data=other))
    assert pool.version == 2
    assert pool["a"].user_data is other


def test_edit_commits_once_and_later_changes_see_earlier_ones(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    with pool.edit() as edit:
        edit.set_weight("a", 4.0)
        edit.set_weight("a", 5.0)
        edit.remove("b")
        edit.upsert(Instance("d"))
        edit.set_healthy("d", False)
        edit.remove("c")
        edit.upsert(Instance("c"))
        assert pool.version == 1
    assert pool.version == 2
    assert list(pool) == [
        Instance("a", weight=5.0, zone="east", tags={"version": "stable"}),
        Instance("d", healthy=False),
        Instance("c"),
    ]


def test_edit_leaves_nothing_behind_on_an_exception(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    before = list(pool)
    with pytest.raises(ZeroDivisionError), pool.edit() as edit:
        edit.remove("a")
        _ = 1 / 0
    with pytest.raises(UpdateError, match="negative"), pool.edit() as edit:
        edit.remove("a")
        edit.set_weight("b", -1.0)
    with pytest.raises(UpdateError) as caught, pool.edit() as edit:
        edit.remove("a")
        edit.set_weight("x", 1.0)
    assert (caught.value.instance, caught.value.field) == ("x", "id")
    assert list(pool) == before
    assert pool.version == 1
    with pytest.raises(RuntimeError):
        edit.remove("a")


def test_a_setter_leaves_the_load_that_was_reported() -> None:
    pool = Pool([Instance("a", load=0.9), Instance("b", load=0.5)])
    route = pool.route("least_load")
    assert route.shares() == {"b": 1.0}
    pool.report_load("a", 0.1)
    for weight in (1.0, 2.0, 2.0):
        pool.set_weight("a", weight)
        assert route.shares() == {"a": 1.0}
    with pool.edit() as edit:
        edit.set_healthy("a", True)
        edit.set_healthy("a", False)
        edit.set_healthy("a", True)
    assert route.shares() == {"a": 1.0}
    pool.upsert(Instance("a", load=0.7))
    assert route.shares() == {"b": 1.0}


def test_an_edit_that_comes_back_to_where_it_was_changes_nothing() -> None:
    pool = Pool([Instance("a"), Instance("b")])
    before = pool["a"]
    with pool.edit() as edit:
        edit.set_weight("a", 0.5)
        edit.set_weight("a", 1.0)
    assert pool.version == 1
    assert pool["a"] is before
    with pool.edit() as edit:
        edit.set_weight("a", 0.5)
        edit.set_weight("a", 0.5)
    assert pool.version == 2
    assert pool["a"].weight == 0.5


def test_what_is_taken_out_and_put_in_again_stays_in() -> None:
    pool = Pool([Instance("a"), Instance("b")])
    route = pool.route("random")
    with pool.edit() as edit:
        edit.set_weight("a", 1.0)
        edit.remove("a")
        edit.upsert(Instance("a"))
        edit.set_weight("a", 1.0)
    for _ in range(3):
        pool.tick()
        pool.upsert(Instance("b", user_data=object()))
    assert [instance.id for instance in pool] == ["b", "a"]
    assert {route.pick().id for _ in range(100)} == {"a", "b"}


IDS = st.sampled_from("abcd")
VERBS = st.one_of(
    st.tuples(st.just("set_weight"), IDS, st.sampled_from([0.0, 1.0, 2.5, -1.0, float("nan")])),
    st.tuples(st.sampled_from(["set_healthy", "set_enabled"]), IDS, st.booleans()),
    st.tuples(st.just("upsert"), st.builds(Instance, IDS, weight=st.sampled_from([0.0, 1.0, 3.0]), user_data=st.just(1))),
    st.tuples(st.just("remove"), IDS),
)


def apply(verb: tuple[Any, ...], to: dict[str, Instance]) -> bool:
    """What a verb does to a list, kept as a dict. Whether it may be done."""
    name, what, *value = verb
    if name == "upsert":
        to[what.id] = what
        return True
    if what not in to or (name == "set_weight" and not value[0] >= 0):
        return False
    if name == "remove":
        del to[what]
    else:
        to[what] = to[what].__replace__(**{name.removeprefix("set_"): value[0]})
    return True


def state(instances: Iterable[Instance]) -> list[tuple[Instance, Any]]:
    return [(instance, instance.user_data) for instance in instances]


def by_weight(instances: Iterable[Instance]) -> dict[str, float]:
    weights = {one.id: one.weight for one in instances if one.healthy and one.enabled and one.weight > 0}
    return {id: weight / sum(weights.values()) for id, weight in weights.items()}


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.booleans(), st.lists(VERBS, max_size=5)), max_size=6))
def test_any_edits_are_done_as_a_whole_or_not_at_all(batches: list[tuple[bool, list[tuple[Any, ...]]]]) -> None:
    pool = Pool([Instance("a", user_data=0), Instance("b")])
    route = pool.route("weighted_random")
    expected = {instance.id: instance for instance in pool}
    for as_one, verbs in batches:
        for together in [verbs] if as_one else [[verb] for verb in verbs]:
            after, before, version = dict(expected), list(pool), pool.version
            fits = all(apply(verb, after) for verb in together)
            try:
                with pool.edit() if as_one else contextlib.nullcontext(pool) as to:
                    for name, *arguments in together:
                        getattr(to, name)(*arguments)
            except UpdateError as error:
                assert not fits
                assert error.instance in set("abcd") and error.field in ("id", "weight")
                assert all(one is other for one, other in zip(pool, before, strict=True))
            else:
                assert fits
                expected = after
            assert state(pool) == state(expected.values())
            if state(pool) != state(before):
                assert pool.version == version + 1
            elif "remove" not in {name for name, *_ in together}:
                # What is taken out and put in again begins anew, so that it is a change.
                assert pool.version == version
            assert route.shares() == pytest.approx(by_weight(expected.values()))


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf"), float("-inf")])
def test_a_bad_weight_is_refused_and_the_list_before_stays(weight: float) -> None:
    pool = Pool([Instance("a")])
    route = pool.route("weighted_random")
    with pytest.raises(UpdateError) as caught:
        pool.replace([Instance("a", weight=2.0), Instance("b", weight=weight), Instance("c")])
    assert (caught.value.instance, caught.value.field) == ("b", "weight")
    assert isinstance(caught.value, ValueError)
    for change in (pool.set_weight, lambda id, weight: pool.upsert(Instance(id, weight=weight))):
        with pytest.raises(ValueError, match="weight"):
            change("a", weight)
    assert [pick.id for pick in route.pick_many(1_000)] == ["a"] * 1_000
    assert pool["a"].weight == 1.0
    assert pool.status()["stale"]
    with pytest.raises(UpdateError):
        Pool([Instance("a", weight=weight)])


@pytest.mark.parametrize(
    "policy", ["random", "weighted_random", "round_robin", "weighted_round_robin", "least_request", "peak_ewma"]
)
def test_weight_zero_is_not_a_missing_weight(policy: str) -> None:
    route = Pool([Instance("a", weight=0), Instance("b", weight=1)]).route(policy)
    assert {pick.id for pick in route.pick_many(10_000)} == {"b"}


def test_a_missing_weight_is_one() -> None:
    assert (Instance("a").weight, Instance("a", weight=0).weight) == (1.0, 0.0)
    pool = Pool.from_json('[{"address": "a"}, {"address": "b", "weight": 0}, {"address": "c", "weight": 3}]')
    assert [instance.weight for instance in pool] == [1.0, 0.0, 3.0]
    check_shares(pool.route("weighted_random").pick_many(10_000), {"a": 0.25, "b": 0.0, "c": 0.75})


def test_weights_that_are_text_in_metadata_count() -> None:
    document = [
        {"host": "10.0.0.1", "port": 80, "serviceId": "orders", "metadata": {"nacos.weight": "20"}},
        {"host": "10.0.0.2", "port": 80, "serviceId": "orders", "metadata": {"nacos.weight": "80"}},
    ]
    pool = Pool.from_json(json.dumps(document), "spring")
    check_shares(pool.route("weighted_random").pick_many(10_000), {"10.0.0.1:80": 0.2, "10.0.0.2:80": 0.8})


@pytest.mark.parametrize("tags", [{"a": None}, {None: "a"}, {"a": ["b", None]}, {"a": "\ud800"}])
def test_a_tag_that_is_no_text_is_refused_and_the_list_stays(tags: Any) -> None:
    pool = Pool([Instance("a")])
    with pytest.raises((TypeError, UnicodeEncodeError)):
        pool.replace([Instance("b", tags=tags)])
    assert [instance.id for instance in pool] == ["a"]


def test_a_weight_that_is_text_is_a_type_error() -> None:
    pool = Pool([Instance("a")])
    text: Any = "20"
    with pytest.raises(TypeError):
        pool.set_weight("a", text)
    with pytest.raises(TypeError), pool.edit() as edit:
        edit.set_weight("a", text)
    assert pool["a"].weight == 1.0


@pytest.mark.parametrize("wrong", [1, "ab", b"ab", ["a"], [Instance("a"), None], None])
def test_a_list_of_the_wrong_type_leaves_the_pool(wrong: Any) -> None:
    pool = Pool([Instance("a")])
    with pytest.raises(TypeError):
        pool.replace(wrong)
    assert pool.version == 1


def test_a_list_that_raises_half_way_leaves_the_pool() -> None:
    pool = Pool([Instance("a")])

    def broken() -> Any:
        yield Instance("b")
        raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        pool.replace(broken())
    assert [instance.id for instance in pool] == ["a"]


def test_refusals_name_the_place() -> None:
    pool = Pool([Instance("a")], keep_last=True)
    with pytest.raises(UpdateError) as caught:
        pool.replace([Instance("b"), Instance("b")])
    assert (caught.value.instance, caught.value.field) == ("b", "id")
    with pytest.raises(UpdateError) as caught:
        pool.replace([])
    assert caught.value.instance is None
    with pytest.raises(UpdateError):
        pool.remove("x")
    with pytest.raises(UpdateError):
        pool.report_load("x", 1.0)
    with pytest.raises(UpdateError):
        pool.report_load("a", float("nan"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.field) == (str(caught.value), caught.value.field)


def test_specs() -> None:
    pool = Pool(spec={"zone": "east", "keep_last": True})
    with pytest.raises(UpdateError):
        pool.replace([])
    Pool(spec='{"zone": "east"}', zone="west")
    with pytest.raises(RouteError) as caught:
        Pool(spec={"zones": "east"})
    assert caught.value.path == "zones"


def test_discovery_documents() -> None:
    document = {
        "hosts": [
            {"ip": "10.0.0.1", "port": 8080, "weight": 2, "metadata": {"version": "gray", "cpu": "0.4"}},
            {"ip": "10.0.0.1", "port": 8080, "weight": 1},
            {"ip": "10.0.0.2", "port": 8080, "weight": "broken"},
        ]
    }
    text = json.dumps(document)
    pool = Pool.from_json(text, lenient=True, load_key="cpu")
    assert list(pool) == [Instance("10.0.0.1:8080", weight=2.0, tags={"version": "gray"}, load=0.4)]
    report = pool.replace_json(text.encode(), "nacos", lenient=True, load_key="cpu", port=1)
    assert pool.version == 1
    assert (report.format, report.taken, len(report.merged)) == ("nacos", 1, 1)
    assert report.ignored[0].path == "hosts[2].weight"
    assert "port" in report.notes[0]
    with pytest.raises(FormatError) as caught:
        pool.replace_json(text)
    assert caught.value.path == "hosts[2].weight"
    wrong: Any = "etcd"
    with pytest.raises(FormatError):
        pool.replace_json("[]", wrong)
    with pytest.raises(TypeError):
        pool.replace_json(wrong and 1)  # type: ignore[arg-type]
    assert pool.version == 1


def test_pools_and_routes_say_what_to_pickle_instead(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    for value in (pool, pool.route("random"), pool.route("random").picker()):
        with pytest.raises(TypeError, match=r"cannot be pickled.*(list|seed)"):
            pickle.dumps(value)
    again = Pool(pickle.loads(pickle.dumps(list(pool))))
    assert list(again) == list(pool)


def test_objects_go_when_nothing_can_return_them() -> None:
    class Data:
        pass

    data = Data()
    gone = weakref.ref(data)
    pool = Pool([Instance("a", user_data=data), Instance("b")])
    route = pool.route("random")
    del data
    pool.set_weight("a", 2.0)
    assert gone() is not None
    pool.remove("a")
    pool.set_weight("b", 2.0)
    assert gone() is None
    assert route.pick().id == "b"


def test_a_cycle_through_user_data_is_collected() -> None:
    class Data:
        pool: Pool
        route: Any

    data = Data()
    data.pool = Pool([Instance("a", user_data=data)])
    data.route = data.pool.route("random")
    gone = weakref.ref(data), weakref.ref(data.pool), weakref.ref(data.route)
    del data
    gc.collect()
    assert [one() for one in gone] == [None, None, None]


def test_destructors_may_use_the_pool() -> None:
    seen: list[str] = []

    class Data:
        def __del__(self) -> None:
            seen.append(route.pick().id)
            pool.set_weight("b", 1.0 + len(seen))
            seen.extend(instance.id for instance in pool)

    pool = Pool([Instance("a", user_data=Data()), Instance("b")])
    route = pool.route("weighted_random")
    pool.remove("a")
    pool.set_weight("b", 9.0)
    assert seen[:2] == ["b", "b"]
    pool.upsert(Instance("b", user_data=Data()))
    pool.upsert(Instance("b"))
    pool.upsert(Instance("c"))
    assert len(seen) >= 4


def test_seeded_pools_repeat_themselves() -> None:
    def picks() -> list[str]:
        route = Pool([Instance("a"), Instance("b", weight=3.0)], seed=7).route("weighted_random")
        return [route.pick().id for _ in range(50)]

    assert picks() == picks()


def test_shares_follow_an_update(fleet: Callable[[], Pool]) -> None:
    pool = fleet()
    route = pool.route("weighted_random")
    check_shares(route.pick_many(20_000), {"a": 8 / 11, "b": 2 / 11, "c": 1 / 11})
    pool.set_weight("b", 40.0)
    check_shares(route.pick_many(20_000), {"a": 8 / 49, "b": 40 / 49, "c": 1 / 49})
