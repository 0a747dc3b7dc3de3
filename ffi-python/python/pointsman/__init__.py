"""Given a service's instances, says which one takes the next request. It opens no socket and starts no thread.

>>> from pointsman import Instance, Pool
>>> pool = Pool([
...     Instance("10.0.0.1:8080", weight=8.0, tags={"version": "stable"}),
...     Instance("10.0.0.2:8080", weight=2.0, tags={"version": "gray"}),
... ])
>>> route = pool.route("weighted_random", tiers=[{"match": ["version"]}, {}])
>>> route.pick(tags={"version": "gray"}).address
'10.0.0.2:8080'
"""

from pointsman._context import current_tags, request_tags
from pointsman._errors import FormatError, NoInstance, RouteError, UpdateError
from pointsman._pointsman import Edit, Instance, Lease, Pick, Picker, Pool, Route
from pointsman._report import Ignored, Merged, Report

__all__ = [
    "Edit",
    "FormatError",
    "Ignored",
    "Instance",
    "Lease",
    "Merged",
    "NoInstance",
    "Pick",
    "Picker",
    "Pool",
    "Report",
    "Route",
    "RouteError",
    "UpdateError",
    "current_tags",
    "request_tags",
]
