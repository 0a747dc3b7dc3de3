"""Picks that Rust has written down, `examples/vectors.rs`."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from pointsman import Pool

VECTORS = json.loads(pathlib.Path(__file__).with_name("vectors.json").read_text())


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: f"{case['route'][:40]} {case['version']}")
def test_picks_are_those_of_rust(case: dict[str, Any]) -> None:
    picker = Pool.from_json(VECTORS["instances"]).route(case["route"]).picker(case["seed"])
    tags = {"version": case["version"]} if case["version"] else None
    picks = [picker.select(tags=tags, key=f"user-{at}") for at in range(len(case["picks"]))]
    assert [[pick.instance.id, pick.tier] for pick in picks] == case["picks"]
