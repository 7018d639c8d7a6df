"""Outputs: values of a component, which may be unknown, secret, and of other resources."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, Sequence

from .errors import HuskError
from .values import (
    MAX_DEPTH, Output, Path, Properties, Reference, Secret, Segment, Value, by_bytes, by_key, contains_secrets, contains_unknowns, is_null, is_number,
    kind_of, parse_path, parts, path_text, plain, transform, unknown, untagged, well_formed,
)


def output_of(value: Value, secret: bool = False, dependencies: Iterable[str] = ()) -> Output[Any]:
    """Returns a value as an output. Wrappers never nest."""
    urns = set(dependencies)
    while isinstance(value, (Secret, Output)):
        secret = secret or isinstance(value, Secret) or value.secret
        if isinstance(value, Output):
            urns.update(value.dependencies)
        value = value.value
    return Output(value, secret, sorted(urns, key=by_bytes))


def dependencies_of(v: Value) -> list[str]:
    """Returns the URNs of the resources that a value and its parts come from."""
    found: set[str] = set()

    def within(v: Value) -> None:
        if isinstance(v, Output):
            found.update(v.dependencies)
        for x in parts(v):
            within(x)

    within(v)
    return sorted(found, key=by_bytes)


def dependencies(m: Properties) -> list[dict[str, Any]]:
    """Lists the resources that each property comes from."""
    all = [{"key": key, "urns": dependencies_of(m[key])} for key in sorted(m, key=by_key)]
    return [d for d in all if d["urns"]]


def marked(v: Value, source: Value) -> Output[Any]:
    """Returns a value as one that is computed from another: with its dependencies, and secret if a part of it is."""
    return output_of(v, contains_secrets(source), dependencies_of(source))


def applied(o: Output[Any], f: Callable[[Any], Any]) -> Output[Any]:
    if not o.known:
        return marked(unknown, o)
    return marked(given(f(transform(o.value, plain))), o)


def part(v: Value, path: Path) -> Value:
    """Returns the part of a value at a path, None where there is none. Within an unknown all is unknown, within a secret secret."""
    for segment in path:
        inner = plain(v)
        if inner is unknown:
            return v
        found = None
        if isinstance(segment, int):
            found = inner[segment] if isinstance(inner, list) and segment < len(inner) else None
        elif isinstance(inner, dict) and isinstance(segment, str):
            found = inner.get(segment)
        if isinstance(v, Secret):
            found = output_of(found, True)
        elif isinstance(v, Output):
            found = output_of(found, v.secret, v.dependencies)
        v = found
    return v


class Child:
    """A resource that a component declared or read. As an input of another, it is a reference. Its outputs wait until it is made."""

    def __init__(self, operation: Any, type: str, name: str, custom: bool, preview: bool) -> None:
        self._operation = operation
        self._type = type
        self._name = name
        self._custom = custom
        self._preview = preview

    def __repr__(self) -> str:
        return f"Child({self._type} {self._name})"

    def _later(self, make: Callable[[dict[str, Any]], Value], name: str | None = None) -> Output[Any]:
        def depending() -> Output[Any]:
            made = self._operation.answer
            if self._operation.failure:
                raise self._operation.failure
            urns = [u for d in made.get("stateDependencies") or () if name is None or d["key"] == name for u in d["urns"]]
            return output_of(make(made), False, [made["urn"], *urns])

        return Output.later((self._operation,), depending)

    @property
    def urn(self) -> Output[str]:
        return self._later(lambda made: made["urn"], "urn")

    @property
    def id(self) -> Output[str]:
        """None for a component."""
        return self._later(lambda made: made["id"] or unknown if self._custom else None, "id")

    @property
    def outputs(self) -> Output[dict[str, Any]]:
        return self._later(lambda made: made["state"])

    def output(self, path: str) -> Output[Any]:
        """Returns the output at a path, such as subjects[0].name. In a preview, one that is not there yet is unknown."""
        name, *rest = parse_path(path)
        if not rest and name == "urn":
            return self.urn
        if not rest and name == "id":
            return self.id

        def found(made: dict[str, Any]) -> Value:
            if name not in made["state"] and self._preview:
                return unknown
            return part(made["state"].get(name), rest)

        return self._later(found, str(name))

    @property
    def reference(self) -> Output[Any]:
        return self._later(lambda made: Reference(made["urn"], made["id"] if self._custom else None, ""))


def sources(v: Any, found: dict[int, Any]) -> dict[int, Any]:
    """Returns the operations that a value of an author waits for."""
    if isinstance(v, Child):
        found[id(v._operation)] = v._operation
    elif isinstance(v, Output):
        if v.pending:
            found.update((id(o), o) for o in v.pending)
        else:
            sources(v.value, found)
    elif isinstance(v, (dict, list, tuple, Secret)):
        for x in v if isinstance(v, tuple) else parts(v):
            sources(x, found)
    return found


def given(v: Any) -> Value:
    """Returns an author's value as properties have it, when what it waits for is there."""
    return _Given().value(v)


class _Given:
    def __init__(self, whole: bool = True) -> None:
        self.path: Path = []
        self.whole = whole

    def wrong(self, what: str) -> HuskError:
        return HuskError("invalid-argument", f"a property cannot be {what}", path_text(self.path))

    def at(self, segment: Segment, v: Any) -> Value:
        self.path.append(segment)
        v = self.value(v)
        self.path.pop()
        return v

    def value(self, v: Any) -> Value:
        if len(self.path) > MAX_DEPTH:
            raise self.wrong(f"nested more than {MAX_DEPTH} deep")
        if v is None or v is unknown or isinstance(v, bool):
            return v
        if isinstance(v, str):
            return well_formed(v)
        if is_number(v):
            if float(v) != v and v == v:
                raise self.wrong("an integer that is too large for a number, which is a double: pass it as a str")
            return float(v)
        if isinstance(v, Child):
            return wire(v.reference) if self.whole else None
        if isinstance(v, Secret):
            return wire(output_of(self.value(v.value), True))
        if isinstance(v, Output):
            if not self.whole and v.pending:
                return None
            return wire(output_of(self.value(v.value), v.secret, v.dependencies))
        if isinstance(v, (list, tuple)):
            elements = []
            for i, x in enumerate(v):
                elements.append(self.at(i, x))
            return elements
        if isinstance(v, dict):
            entries = {}
            for k, x in v.items():
                if not isinstance(k, str):
                    raise self.wrong(f"a dict with a key that is a {type(k).__name__}")
                x = self.at(well_formed(k), x)
                if not is_null(x):
                    entries[well_formed(k)] = x
            return entries
        if untagged(v) is None:
            raise self.wrong(f"a {type(v).__name__}")
        return v


def checked(v: Any) -> None:
    """Raises an error for a value that can never be that of a property, with the path of the part."""
    _Given(whole=False).value(v)


def wire(o: Output[Any]) -> Value:
    """Returns an output as it crosses: without dependencies it is a plain value, or a secret."""
    return o if o.dependencies else Secret(o.value) if o.secret else o.value


def lowered(v: Value) -> Value:
    """Returns a value without outputs, as a state has it."""
    if isinstance(v, Output):
        inner = lowered(v.value)
        return Secret(inner) if v.secret else inner
    if isinstance(v, Secret):
        return Secret(lowered(v.value))
    if isinstance(v, list):
        elements = []
        for x in v:
            elements.append(lowered(x))
        return elements
    if isinstance(v, dict):
        entries = {}
        for k, x in v.items():
            entries[k] = lowered(x)
        return entries
    return v


def all_of(values: Mapping[str, Any] | Sequence[Any]) -> Output[Any]:
    """Returns one output of a list or dict with outputs in it."""
    checked(values)
    return Output.later(tuple(sources(values, {}).values()), lambda: output_of(given(values)))


def concat(*values: Any) -> Output[str]:
    """Returns one text of several parts."""

    def text(all: list[Any]) -> str:
        whole = ""
        for v in all:
            if isinstance(v, bool):
                whole += "true" if v else "false"
            elif is_number(v):
                whole += str(int(v)) if v == v and abs(v) < 1e21 and v == int(v) else repr(v)
            elif isinstance(v, str):
                whole += v
            elif v is not None:
                raise HuskError("invalid-argument", f"text cannot be made of a value of kind {kind_of(v)}")
        return whole

    return all_of(values).apply(text)
