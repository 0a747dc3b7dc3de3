"""The README's and the docstrings' examples, executed. Their first two instances are servers in processes of their own."""

from __future__ import annotations

import doctest
import inspect
import pathlib
import types
from collections.abc import Iterator

import pytest

import pointsman
import pointsman.aiohttp
import pointsman.asgi
import pointsman.discovery
import pointsman.httpx
import pointsman.requests
from conftest import Backend
from pointsman import _balance, _context, _errors, _pointsman, _report, _retry

README = pathlib.Path(__file__).parents[1] / "README.md"
INTEGRATIONS = (pointsman.httpx, pointsman.aiohttp, pointsman.requests, pointsman.asgi, pointsman.discovery)
MODULES = (pointsman, _balance, _context, _errors, _pointsman, _report, _retry, *INTEGRATIONS)
ADDRESSES = {"10.0.0.1:8080": "stable", "10.0.0.2:8080": "gray"}


def documented() -> Iterator[tuple[str, str, types.ModuleType]]:
    """Every docstring with an example, also those of the native module, which doctest's finder passes over."""
    for module in MODULES:
        yield module.__name__, module.__doc__ or "", module
        for name, value in vars(module).items():
            if not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            # What the native half defines has the package's name.
            if value.__module__ == module.__name__ or (module is pointsman and value.__module__ == "pointsman"):
                yield f"{module.__name__}.{name}", inspect.getdoc(value) or "", module
                for member, function in vars(value).items() if inspect.isclass(value) else ():
                    yield f"{module.__name__}.{name}.{member}", inspect.getdoc(function) or "", module


EXAMPLES = {name: (text, module) for name, text, module in documented() if ">>>" in text}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    """The addresses of the documents, and those of the servers in their stead."""
    backends = {address: Backend(name) for address, name in ADDRESSES.items()}
    yield {address: backend.address for address, backend in backends.items()}
    for backend in backends.values():
        backend.stop()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples write files."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", EXAMPLES)
def test_docstring(name: str, servers: dict[str, str]) -> None:
    text, module = EXAMPLES[name]
    run(text, name, dict(vars(module)), servers)


@pytest.mark.parametrize("module", [*INTEGRATIONS, _pointsman], ids=lambda module: module.__name__)
def test_every_module_has_an_example(module: types.ModuleType) -> None:
    names = {name for name, (_, of) in EXAMPLES.items() if of is (pointsman if module is _pointsman else module)}
    assert names


def test_readme(servers: dict[str, str]) -> None:
    run(README.read_text(), "README.md", {}, servers)


def run(text: str, name: str, names: dict[str, object], servers: dict[str, str]) -> None:
    if name != "pointsman" and not name.startswith("pointsman._") and "http://" in text:
        for address, server in servers.items():
            text = text.replace(address, server)
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_every_public_name_says_what_it_is() -> None:
    for name in pointsman.__all__:
        value = getattr(pointsman, name)
        assert inspect.getdoc(value), name
        for member, function in vars(value).items() if isinstance(value, type) else ():
            described = isinstance(function, (types.MethodDescriptorType, types.GetSetDescriptorType))
            if described and not member.startswith("_"):
                assert inspect.getdoc(function), f"{name}.{member}"
