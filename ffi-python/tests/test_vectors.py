"""The vectors of ``core/tests/vectors``: each case is run as its steps say, and gives what they promise."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pointsman import Instance, Lease, NoInstance, Pick, Pool, RouteError, UpdateError

VECTORS = pathlib.Path(__file__).parents[2] / "core" / "tests" / "vectors"


def cases() -> Iterator[Any]:
    for path in sorted(VECTORS.glob("*.json")):
        file = json.loads(path.read_text(encoding="utf-8"))
        assert file["format"] == 1
        for case in file["cases"]:
            yield pytest.param(case, id=f"{path.stem}: {case['name']}")


def instance(described: dict[str, Any]) -> Instance:
    fields = dict(described)
    return Instance(fields.pop("address"), **fields)


def outcome(pick: Callable[[], Pick]) -> str:
    """``id@branch.tier``, with ``relaxed`` behind it where that is so; ``!reason@branch.tier`` where there is none."""
    try:
        picked = pick()
    except NoInstance as error:
        return f"!{error.reason}@{error.branch}.{error.tier}"
    return f"{picked.instance.id}@{picked.branch}.{picked.tier}{' relaxed' if picked.relaxed else ''}"


def refusal(do: Callable[[], object]) -> dict[str, Any]:
    try:
        do()
    except UpdateError as error:
        return {"error": str(error), "at": error.field}
    except RouteError as error:
        return {"error": str(error), "at": error.path}
    return {}


class World:
    def __init__(self, case: dict[str, Any]) -> None:
        seed = case.get("seed")
        self.pool = Pool(map(instance, case["instances"]), spec=case.get("pool"), seed=None if seed is None else int(seed))
        self.routes = [self.pool.route(spec) for spec in case.get("routes", ())]
        self.pickers = [self.routes[one["route"]].picker(int(one["seed"])) for one in case.get("pickers", ())]
        self.leases: dict[str, Lease] = {}

    def run(self, step: dict[str, Any]) -> object:
        return getattr(self, "do_" + step["do"])(step)

    def hand(self, step: dict[str, Any]) -> Any:
        return self.pickers[step["picker"]] if "picker" in step else self.routes[step["route"]]

    def do_pick(self, step: dict[str, Any]) -> list[str]:
        hand, request = self.hand(step), step.get("request", {})
        keys = step.get("keys") or [request.get("key")] * step.get("times", 1)
        return [outcome(lambda key=key: hand.select(**{**request, "key": key})) for key in keys]  # type: ignore[misc]

    def do_pick_distinct(self, step: dict[str, Any]) -> list[str]:
        try:
            drawn = self.routes[step["route"]].pick_distinct(step["times"], **step.get("request", {}))
        except NoInstance as error:
            return [f"!{error.reason}@{error.branch}.{error.tier}"]
        return [one.id for one in drawn]

    def do_lease(self, step: dict[str, Any]) -> list[str]:
        hand = self.hand(step)

        def take(name: str) -> Lease:
            lease: Lease = hand.lease(**step.get("request", {}))
            self.leases[name] = lease
            return lease

        return [outcome(lambda name=name: take(name)) for name in step["hold"]]  # type: ignore[misc]

    def do_done(self, step: dict[str, Any]) -> None:
        ok = {"success": True, "failure": False, "cancelled": None}[step["outcome"]]
        self.leases.pop(step["lease"]).done(ok, step.get("latency_s"))

    def do_report(self, step: dict[str, Any]) -> object:
        return refusal(lambda: self.pool.report_load(step["id"], step["load"]))

    def do_edit(self, step: dict[str, Any]) -> object:
        def edit() -> None:
            with self.pool.edit() as edit:
                for change in step["changes"]:
                    ((verb, to),) = change.items()
                    if verb == "upsert":
                        edit.upsert(instance(to))
                    else:
                        getattr(edit, verb)(*(to if isinstance(to, list) else [to]))

        return refusal(edit) or {"version": self.pool.version}

    def do_replace(self, step: dict[str, Any]) -> object:
        return refusal(lambda: self.pool.replace(map(instance, step["instances"]))) or {"version": self.pool.version}

    def do_tick(self, step: dict[str, Any]) -> None:
        self.pool.tick()

    def do_explain(self, step: dict[str, Any]) -> object:
        return self.routes[step["route"]].explain(**step.get("request", {}))

    def do_route(self, step: dict[str, Any]) -> object:
        return refusal(lambda: self.pool.route(step["spec"]))

    def do_pool(self, step: dict[str, Any]) -> object:
        return refusal(lambda: Pool(spec=step["spec"]))


@pytest.mark.parametrize("case", list(cases()))
def test_a_case_gives_what_it_promises(case: dict[str, Any]) -> None:
    world = World(case)
    for step in case["steps"]:
        assert world.run(step) == step.get("gives")
