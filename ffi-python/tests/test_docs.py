"""The README's and the docstrings' examples, executed."""

from __future__ import annotations

import doctest
import inspect
import pathlib
import types
from collections.abc import Iterator

import pytest

import pointsman
from pointsman import _context, _errors, _pointsman, _report

README = pathlib.Path(__file__).parents[1] / "README.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented() -> Iterator[tuple[str, str]]:
    """Every docstring with an example, also those of the native module, which doctest's finder passes over."""
    for module in (pointsman, _context, _errors, _pointsman, _report):
        yield module.__name__, module.__doc__ or ""
        for name, value in vars(module).items():
            if inspect.isclass(value) and value.__module__.startswith("pointsman"):
                yield f"{name}", value.__doc__ or ""
                for member, function in vars(value).items():
                    yield f"{name}.{member}", inspect.getdoc(function) or ""


EXAMPLES = dict((name, text) for name, text in documented() if ">>>" in text)


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring(name: str) -> None:
    run(EXAMPLES[name], name)


def test_readme() -> None:
    run(README.read_text(), "README.md")


def run(text: str, name: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    assert test.examples
    assert doctest.DocTestRunner(optionflags=FLAGS).run(test).failed == 0


def test_every_public_name_says_what_it_is() -> None:
    for name in pointsman.__all__:
        value = getattr(pointsman, name)
        assert inspect.getdoc(value), name
        for member, function in vars(value).items() if isinstance(value, type) else ():
            described = isinstance(function, (types.MethodDescriptorType, types.GetSetDescriptorType))
            if described and not member.startswith("_"):
                assert inspect.getdoc(function), f"{name}.{member}"
