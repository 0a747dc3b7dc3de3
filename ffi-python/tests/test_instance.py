from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman import Instance, UpdateError

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
tags = st.dictionaries(texts, st.one_of(texts, st.lists(texts, min_size=1, max_size=3)), max_size=3)
weights = st.floats(min_value=0, allow_nan=False)
settings = st.fixed_dictionaries(
    {},
    optional={
        "id": texts,
        "weight": weights,
        "zone": texts,
        "tags": tags,
        "healthy": st.booleans(),
        "enabled": st.booleans(),
        "load": weights,
        "max_in_flight": st.integers(1, 2**32 - 1),
        "user_data": st.one_of(st.none(), st.integers(), texts),
    },
)


@given(texts, settings)
def test_repr_is_the_call_that_makes_it(address: str, given: dict[str, Any]) -> None:
    instance = Instance(address, **given)
    again = eval(repr(instance), {"Instance": Instance, "inf": float("inf")})
    assert again == instance
    assert again.user_data == instance.user_data


@given(texts, settings)
def test_a_pickle_is_the_same_instance(address: str, given: dict[str, Any]) -> None:
    instance = Instance(address, **given)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(instance, protocol))
        assert again == instance
        assert hash(again) == hash(instance)
        assert again.user_data == instance.user_data


def test_fields() -> None:
    data = object()
    instance = Instance("x:1", id="x", weight=2, zone="z", tags={"k": ["b", "a"], "l": "c"}, user_data=data)
    assert (instance.address, instance.id, instance.weight, instance.zone) == ("x:1", "x", 2.0, "z")
    assert instance.tags == {"k": ("a", "b"), "l": "c"}
    assert (instance.healthy, instance.enabled, instance.load, instance.max_in_flight) == (True, True, None, None)
    assert instance.user_data is data


def test_compares_by_all_but_user_data_and_hashes_by_id() -> None:
    assert Instance("a", user_data=1) == Instance("a", user_data=2)
    assert Instance("a") != Instance("a", weight=2.0)
    assert Instance("a") != "a"
    assert hash(Instance("a", weight=2.0)) == hash(Instance("b", id="a")) == hash("a")


def test_is_frozen() -> None:
    instance: Any = Instance("a")
    for field in ("id", "weight", "tags", "user_data", "other"):
        with pytest.raises(AttributeError):
            setattr(instance, field, 1)
    with pytest.raises(TypeError):
        type("Sub", (Instance,), {})


def test_tags_are_a_copy() -> None:
    instance = Instance("a", tags={"k": "v"})
    instance.tags["k"] = "w"
    assert instance.tags == {"k": "v"}


def test_copies() -> None:
    data = [1]
    instance = Instance("a", weight=3.0, user_data=data)
    assert copy.copy(instance).user_data is data
    assert copy.deepcopy(instance).user_data == data
    assert instance.__replace__(weight=4.0) == Instance("a", weight=4.0)
    assert instance.__replace__(weight=4.0).user_data is data


@pytest.mark.parametrize(
    "arguments",
    [
        {"address": 1},
        {"address": "a", "id": 1},
        {"address": "a", "weight": "20"},
        {"address": "a", "weight": None},
        {"address": "a", "healthy": "yes"},
        {"address": "a", "load": "1"},
        {"address": "a", "max_in_flight": 1.5},
        {"address": "a", "zone": b"z"},
        {"address": "a", "tags": {"k": None}},
        {"address": "a", "tags": {1: "v"}},
        {"address": "a", "tags": {"k": [None]}},
        {"address": "a", "tags": {"k": b"v"}},
        {"address": "a", "tags": ["k"]},
        {"address": "a", "other": 1},
    ],
)
def test_wrong_types_are_type_errors(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        Instance(**arguments)


def test_a_limit_that_is_no_limit() -> None:
    with pytest.raises(UpdateError) as caught:
        Instance("a", max_in_flight=-1)
    assert (caught.value.instance, caught.value.field) == ("a", "max_in_flight")
