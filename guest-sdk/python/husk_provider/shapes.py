"""Dataclasses as properties: what their annotations say, and their instances."""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from typing import Annotated, Any, Iterable, Literal, NoReturn, TypeVar, Union

from .errors import HuskError
from .outputs import Child, output_of, wire
from .schema import MAX_INTEGER, ObjectType, Property, Type, fits, fits_whole, is_integer
from .values import (
    Archive, Asset, Output, Path, Properties, Reference, Secret, Segment, Unknown, Value, is_number, kind_of, path_text, plain, secret_of, unknown,
    untagged, well_formed,
)

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Field:
    """What is said of a field beside its type: Annotated[str, Field(replace=True)]."""

    name: str = ""
    """The name of the property; that of the field in camel case if there is none."""
    doc: str = ""
    deprecated: str = ""
    min: float | None = None
    max: float | None = None
    replace: bool = False
    """A change replaces the resource."""
    secret: bool = False
    """The value is always sensitive. Inputs arrive as plain values."""
    write_only: bool = False
    """The input is secret, and never recorded: the state must not have it."""
    computed: bool = False
    """The provider may choose a value if the program gives none."""
    stable: bool = False
    """An update never changes the output."""
    autoname: bool | int = False
    """The name of the resource, at most so many characters long: made up if the program gives none."""


_scalars: dict[Any, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_others: dict[Any, Type] = {
    Any: Type("any"), object: Type("any"), Asset: Type("asset"), Archive: Type("archive"), Reference: Type("resource"), Asset | Archive: Type("asset"),
}
_objects: dict[type, ObjectType] = {}
_tokens: dict[type, str] = {}


def _wrong(where: str, what: str) -> TypeError:
    return TypeError(f"{where}: {what}")


def camel(name: str) -> str:
    """Returns the name of a property: that of the field in camel case, without the _ behind a keyword."""
    first, *more = name.rstrip("_").split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in more)


def _stripped(annotation: Any) -> tuple[Any, list[Any], bool]:
    """Returns an annotation without what is around it, what that says, and whether None fits."""
    said: list[Any] = []
    optional = False
    while True:
        origin, args = typing.get_origin(annotation), typing.get_args(annotation)
        given = [a for a in args if a is not types.NoneType]
        if origin is Annotated:
            annotation = args[0]
            said += args[1:]
        elif origin in (Union, types.UnionType) and len(given) < len(args):
            optional = True
            annotation = Union[tuple(given)]
        elif hasattr(annotation, "__supertype__") or hasattr(annotation, "__value__"):
            annotation = getattr(annotation, "__supertype__", None) or annotation.__value__
        else:
            return annotation, said, optional


def _type_of(annotation: Any, said: Iterable[Any], where: str) -> tuple[Type, tuple[Any, ...]]:
    """Returns the type that an annotation has without what is around it, and its only values."""
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    token = next((s for s in said if isinstance(s, str)), "")
    if annotation in _scalars:
        return Type(_scalars[annotation]), ()
    if annotation is Reference and token:
        return Type("resource", token=token), ()
    if dataclasses.is_dataclass(annotation):
        return Type("object", object=_object_of(typing.cast(type, annotation))), ()
    if origin is Literal:
        kinds = {_scalars.get(type(a)) for a in args}
        kind = kinds.pop()
        if kinds or kind is None:
            raise _wrong(where, "the values of a Literal are texts, or bools, or integers")
        return Type(kind), args
    if origin is Output or annotation is Output:
        return _element(args[0] if args else Any, where).as_output(), ()
    if origin is list:
        return Type("array", element=_element(args[0], where)), ()
    if origin is dict:
        if args[0] is not str:
            raise _wrong(where, "the keys of a dict are str")
        return Type("map", element=_element(args[1], where)), ()
    for known, t in _others.items():
        if annotation == known:
            return t, ()
    if origin in (Union, types.UnionType):
        return Type("union", one_of=[_element(a, where) for a in args]), ()
    raise _wrong(where, f"there are no properties of {annotation}, but of str, bool, int, float, Literal, list, dict, dataclasses, Any, Asset, Archive, and Reference")


def _element(annotation: Any, where: str) -> Type:
    annotation, said, optional = _stripped(annotation)
    if optional:
        raise _wrong(where, "an element of a list, dict, or union is never None")
    if any(isinstance(s, Field) for s in said):
        raise _wrong(where, "a Field is of the property, and not of its elements")
    t, one_of = _type_of(annotation, said, where)
    if one_of:
        raise _wrong(where, "only a property has a Literal")
    return t


def named(cls: type, token: str) -> None:
    """Has objects of a dataclass have a token."""
    _tokens[cls] = token


def _object_of(cls: type) -> ObjectType:
    o = _objects.get(cls)
    if o is None:
        o = _objects[cls] = ObjectType(_tokens.get(cls, ""), doc_of(cls), cls)  # first, because objects may hold themselves
        o.fill(_properties_of(cls))
    return o


def doc_of(code: Any) -> str:
    """Returns the docstring, without those that Python makes, as one that an author wrote."""
    text = code.__doc__ or ""
    if isinstance(code, type) and (text.startswith(code.__name__ + "(") or "__doc__" not in code.__dict__):
        return ""
    return "\n".join(line.strip() for line in text.strip().split("\n"))


def _properties_of(cls: type) -> list[Property]:
    if not dataclasses.is_dataclass(cls):
        raise TypeError(f"{getattr(cls, '__qualname__', cls)}: properties are described by a dataclass: write @dataclass above it")
    hints = typing.get_type_hints(cls, include_extras=True)
    return [_property_of(f, hints[f.name], f"{cls.__qualname__}.{f.name}") for f in dataclasses.fields(cls) if f.init]


def _property_of(f: dataclasses.Field[Any], annotation: Any, where: str) -> Property:
    annotation, said, optional = _stripped(annotation)
    t, one_of = _type_of(annotation, said, where)
    fields = [s for s in said if isinstance(s, Field)]
    if len(fields) > 1:
        raise _wrong(where, "only one Field says something of a property")
    s = fields[0] if fields else Field()
    name = s.name or camel(f.name)
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
        raise _wrong(where, f"the name of a property has letters, digits, and _, but one is {name!r}")
    scalar = t.kind in _scalars.values()
    if (s.min is not None or s.max is not None) and t.kind not in ("integer", "number"):
        raise _wrong(where, "only a number has bounds")
    default, make = None, None
    if f.default_factory is not dataclasses.MISSING:
        make = f.default_factory
    elif f.default is not dataclasses.MISSING:
        make = lambda: f.default
        default = f.default if scalar else None
    if f.default is None and not optional and t.kind != "any":
        raise _wrong(where, "the default is None, which its type has not: write T | None")
    if default is not None:
        if not fits_whole(t, default):
            raise _wrong(where, f"the default is a {kind_of(default)}, but the type is {t}")
        if one_of and default not in one_of:
            raise _wrong(where, "the default is not among the values of its Literal")
    return Property(
        name, t, attribute=f.name, doc=s.doc, deprecated=s.deprecated, required=not (optional or make or s.autoname), make=make, default=default,
        one_of=one_of, min=s.min, max=s.max, replace=s.replace, secret=s.secret or s.write_only, write_only=s.write_only,
        computed=s.computed or bool(s.autoname), stable=s.stable, autoname=s.autoname)


def inputs_of(cls: type | None) -> ObjectType:
    """Returns the properties of inputs, or of a configuration."""
    return ObjectType(cls=cls).fill(_properties_of(cls) if cls else [])


def outputs_of(cls: type | None) -> ObjectType:
    """Returns the properties of outputs, for which nothing counts that is said of inputs alone."""
    o = inputs_of(cls)
    return o.fill(
        Property(p.name, p.type, attribute=p.attribute, doc=p.doc, deprecated=p.deprecated, secret=p.secret, stable=p.stable, make=p.make,
                 required=p.required or p.default is not None)
        for p in o.properties)


# Properties as instances.


class Loader:
    """Makes instances of properties. What is missing or not known is None, or an error in what is whole, such as JSON."""

    def __init__(self, whole: bool = False) -> None:
        self.whole = whole
        self.path: Path = []

    def fail(self, reason: str) -> NoReturn:
        raise HuskError("invalid-argument", reason, path_text(self.path))

    def object(self, o: ObjectType, given: Properties) -> Any:
        values = {}
        for p in o.properties:
            v = given.get(p.name)
            loaded = self.at(p.name, p.type, v)
            if loaded is None and p.make and plain(v) is not unknown:
                loaded = p.make()
            elif loaded is None and p.required and self.whole:
                self.path.append(p.name)
                self.fail(f"it is missing; expected {p.type}")
            values[p.attribute] = loaded
        return o.cls(**values) if o.cls else None

    def at(self, segment: Segment, t: Type, v: Value) -> Any:
        self.path.append(segment)
        v = self.value(t, v)
        self.path.pop()
        return v

    def value(self, t: Type, v: Value) -> Any:
        if t.kind == "any":
            return self.any(v)
        v = plain(v)
        if v is unknown or v is None and not (self.whole and self.path and isinstance(self.path[-1], int)):
            return None
        if t.kind == "union":
            for u in t.one_of:
                if fits_whole(u, v):
                    return self.value(u, v)
        if not fits(t, v) or t.kind == "integer" and not is_integer(v):
            self.fail(f"expected {t}, got {kind_of(v)}")
        if t.object:
            return self.object(t.object, v)
        if t.element and isinstance(v, list):
            if t.element.kind == "string" and not t.element.output and not self.whole and not set(map(type, v)) - {str}:  # most lists are of texts
                return list(v)
            elements = []
            for i, x in enumerate(v):
                elements.append(self.at(i, t.element, x))
            return elements
        if t.element:
            entries = {}
            for k, x in v.items():
                entries[k] = self.at(k, t.element, x)
            return entries
        if t.kind == "string":
            return well_formed(v)
        return int(v) if t.kind == "integer" else float(v) if t.kind == "number" else v

    def any(self, v: Value) -> Any:
        """Returns a value as it is, with integers as such."""
        if isinstance(v, float):
            return int(v) if is_integer(v) else v
        if isinstance(v, list):
            elements = []
            for x in v:
                elements.append(self.any(x))
            return elements
        if isinstance(v, dict):
            entries = {}
            for k, x in v.items():
                entries[k] = self.any(x)
            return entries
        if isinstance(v, Secret):
            return Secret(self.any(v.value))
        return Output(self.any(v.value), v.secret, v.dependencies) if isinstance(v, Output) else v


def load(o: ObjectType, given: Properties) -> Any:
    """Returns properties as an author sees them: without secrets, and with None for what is missing or not known."""
    return Loader().object(o, given)


def recorded(o: ObjectType, given: Properties) -> Any:
    """Returns what an engine recorded. If it does not fit, it is of another version of the provider."""
    try:
        return load(o, given)
    except HuskError as e:
        raise HuskError("internal", f"the recorded value does not fit this version of the provider: {e}", e.path) from None


# Instances as properties.


class Storer:
    """Makes properties of instances, with secrets where the schema has them. what is for messages. In partial ones, required properties may be missing."""

    def __init__(self, what: str, partial: bool = False) -> None:
        self.what = what
        self.partial = partial
        self.path: Path = []

    def wrong(self, reason: str) -> HuskError:
        return HuskError("internal", f"{self.what} does not fit the schema: {reason}", path_text(self.path))

    def object(self, o: ObjectType, given: Any) -> Properties:
        if o.cls is None and given is None:
            return {}
        if o.cls is None or not isinstance(given, o.cls):
            raise self.wrong(f"expected a {o.cls.__name__ if o.cls else None}, got a {type(given).__name__}")
        return self.fields(o, {p.attribute: getattr(given, p.attribute) for p in o.properties})

    def fields(self, o: ObjectType, given: dict[str, Any]) -> Properties:
        out: Properties = {}
        for p in o.properties:
            self.path.append(p.name)
            v = self.value(p.type, given.get(p.attribute))
            if v is not None:
                out[p.name] = secret_of(v) if p.secret else v
            elif p.required and not self.partial:
                raise self.wrong(f"it is missing; expected {p.type}")
            self.path.pop()
        return out

    def value(self, t: Type, v: Any) -> Value:
        if v is None or v is unknown:
            return v
        if isinstance(v, Secret):
            return secret_of(self.value(t, v.value))
        if isinstance(v, Child):
            v = v.reference
        if isinstance(v, Output):
            return wire(output_of(v.value if t.kind == "any" else self.value(t, v.value), v.secret, v.dependencies))
        if t.kind == "any":
            return self.any(v)
        if t.object and isinstance(v, t.object.cls):
            return self.object(t.object, v)
        if t.element and t.kind == "array" and isinstance(v, (list, tuple)):
            elements = []
            for i, x in enumerate(v):
                self.path.append(i)
                elements.append(self.value(t.element, x))
                self.path.pop()
            return elements
        if t.element and t.kind == "map" and isinstance(v, dict):
            entries = {}
            for k, x in v.items():
                key = self.enter(k)
                entries[key] = self.value(t.element, x)
                self.path.pop()
            return entries
        if t.kind == "union":
            for u in t.one_of:
                try:
                    return Storer(self.what, self.partial).value(u, v)
                except HuskError:
                    continue
        if t.kind == "string" and isinstance(v, str):
            return well_formed(v)
        if t.kind == "integer" and is_number(v) and not is_integer(v):
            raise self.wrong("the integer is beyond 2^53, where numbers lose digits; use a str" if abs(v) > MAX_INTEGER else f"expected integer, got {v}")
        if t.element or t.object or not fits(t, v):
            raise self.wrong(f"expected {t}, got a {type(v).__name__}")
        return self.number(v) if is_number(v) else v

    def number(self, v: Any) -> float:
        if isinstance(v, int) and not is_integer(v):
            raise self.wrong("the integer is beyond 2^53, where numbers lose digits; use a str")
        return float(v)

    def enter(self, key: Any) -> str:
        if not isinstance(key, str):
            raise self.wrong(f"the keys of a dict are str, but one is a {type(key).__name__}")
        self.path.append(well_formed(key))
        return well_formed(key)

    def any(self, v: Any) -> Value:
        if v is None or isinstance(v, (bool, Unknown)):
            return v
        if isinstance(v, str):
            return well_formed(v)
        if is_number(v):
            return self.number(v)
        if isinstance(v, (list, tuple)):
            elements = []
            for i, x in enumerate(v):
                self.path.append(i)
                elements.append(self.any(x))
                self.path.pop()
            return elements
        if isinstance(v, dict):
            entries = {}
            for k, x in v.items():
                key = self.enter(k)
                entries[key] = self.any(x)
                self.path.pop()
            return entries
        if untagged(v) is None:
            raise self.wrong(f"expected any value, got a {type(v).__name__}")
        return v


def store(o: ObjectType, given: Any, what: str, partial: bool = False) -> Properties:
    """Returns an instance as properties."""
    return Storer(what, partial).object(o, given)


def repeated(o: ObjectType, given: Properties) -> Properties:
    """Returns properties without secrets and unknowns, as they are after an author has passed them on."""
    out = {}
    for p in o.properties:
        v = Loader().at(p.name, p.type, given.get(p.name))
        if v is None and p.make and plain(given.get(p.name)) is not unknown:
            v = p.make()
        if v is not None:
            out[p.name] = Storer("the input", partial=True).value(p.type, v)
    return out


# JSON


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number of JSON")


@typing.overload
def parse(as_type: type[T], text: str | bytes) -> T: ...
@typing.overload
def parse(as_type: Any, text: str | bytes) -> Any: ...
def parse(as_type: Any, text: str | bytes) -> Any:
    """Reads JSON, such as the answer of a service, as a value of a type: a dataclass, list[...], and so on.

    What a dataclass does not name is left out. What does not fit is a ValueError.
    """
    annotation, said, _ = _stripped(as_type)
    t, _ = _type_of(annotation, said, "parse")
    if isinstance(text, (bytes, bytearray)):
        text = text.decode("utf-8", "replace")
    try:
        found = json.loads(text, parse_constant=_no_number)
        if found is None:
            raise ValueError(f"expected {t}, got null")
        return Loader(whole=True).value(t, found)
    except HuskError as e:
        raise ValueError(f"{e.path}: {e}".removeprefix(": ")) from None
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None


def dump(given: Any) -> str:
    """Returns an instance of a dataclass, or a list and so on, as JSON: with the names of its properties, and without what is None."""
    return json.dumps(_dumped(given), ensure_ascii=False, allow_nan=False)


def _dumped(given: Any) -> Any:
    if dataclasses.is_dataclass(given) and not isinstance(given, type):
        named = [(p.name, getattr(given, p.attribute)) for p in _object_of(type(given)).properties]
        return {name: _dumped(v) for name, v in named if v is not None}
    if isinstance(given, (list, tuple)):
        return [_dumped(x) for x in given]
    return {k: _dumped(x) for k, x in given.items()} if isinstance(given, dict) else given
