"""What was taken from a discovery document, and what was not."""

from typing import NamedTuple


class Merged(NamedTuple):
    """An entry that gave way to another with the same address."""

    address: str
    kept: str
    dropped: str


class Ignored(NamedTuple):
    """A part of the document that was left out."""

    path: str
    reason: str


class Report(NamedTuple):
    """What was taken from a discovery document, and what was not."""

    format: str
    taken: int
    merged: list[Merged]
    ignored: list[Ignored]
    notes: list[str]
