"""What a schema says of inputs, and of changes. The host and the SDK for Go go by the same rules (abi/schema), and a test compares the answers."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Callable, Iterable, Sequence

from .errors import HuskError
from .values import (
    Archive, Asset, Output, Path, Properties, Reference, Secret, Segment, Value, by_bytes, by_key, contains_path, equal, is_null, is_number,
    kind_of, parse_path, path_text, plain, secret_of, unknown,
)

MAX_FAILURES = 100
MAX_LISTED_NAMES = 12
MAX_PATHS = 16 << 20  # bytes of all paths of a diff
MAX_NEAREST_LENGTH = 64
MAX_INTEGER = 1 << 53  # the largest up to which a double holds every integer


class Type:
    """A type of values. Its kind is string, boolean, number, integer, any, asset, archive, resource, array, map, object, or union."""

    def __init__(self, kind: str, element: Type | None = None, object: ObjectType | None = None, one_of: Sequence[Type] = (), token: str = "",
        output: bool = False) -> None:
        self.kind = kind
        self.element = element
        self.object = object
        self.one_of = one_of
        self.token = token
        self.output = output  # it is one of a component, which may be unknown or secret

    def as_output(self) -> Type:
        return Type(self.kind, self.element, self.object, self.one_of, self.token, True)

    def has_outputs(self) -> bool:
        """Reports whether a value has outputs in it."""
        if self.object:
            return self.output or any(p.type.has_outputs() for p in self.object.properties)
        return self.output or self.element is not None and self.element.has_outputs() or any(u.has_outputs() for u in self.one_of)

    def __str__(self) -> str:
        """The type as messages show it."""
        if self.element:
            return self.kind if self.element.kind == "any" else f"{self.kind} of {self.element}"
        if self.object:
            return "object " + self.object.token
        if self.kind == "resource":
            return "resource " + self.token.rpartition("#/resources/")[2] if self.token else "resource"
        if self.kind == "union":
            return " or ".join(str(u) for u in self.one_of)
        return {"any": "any value", "boolean": "bool"}.get(self.kind, self.kind)

    def same(self, other: Type) -> bool:
        """Reports whether two types have the same values."""
        if self is other:
            return True
        if self.kind != other.kind or self.object is not other.object or self.token != other.token or len(self.one_of) != len(other.one_of):
            return False
        if self.element and other.element:
            return self.element.same(other.element)
        return all(t.same(u) for t, u in zip(self.one_of, other.one_of))


class Property:
    """A property of an object. attribute is the name of the field of its dataclass."""

    name = attribute = doc = deprecated = ""
    required = False
    default: Value = None
    secret = replace = stable = computed = write_only = False
    one_of: Sequence[Value] = ()
    min: float | None = None
    max: float | None = None
    autoname: bool | int = False
    make: Callable[[], Any] | None = None  # makes the value that the dataclass has for a missing one

    def __init__(self, name: str, type: Type, **said: Any) -> None:
        self.name = name
        self.type = type
        self.__dict__.update(said)

    def but(self, **said: Any) -> Property:
        return Property(**{**self.__dict__, **said})


class ObjectType:
    """Properties, sorted by name, and the dataclass that has them as fields."""

    def __init__(self, token: str = "", doc: str = "", cls: Any = None) -> None:
        self.token = token
        self.doc = doc
        self.cls = cls
        self.properties: list[Property] = []
        self.by_name: dict[str, Property] = {}

    def fill(self, properties: Iterable[Property]) -> ObjectType:
        self.properties = sorted(properties, key=lambda p: p.name)
        self.by_name = {p.name: p for p in self.properties}
        return self


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the name that was most likely meant."""
    best, least = "", 0
    if len(name) > MAX_NEAREST_LENGTH:
        return ""
    for candidate in known:
        d, longer = _distance(name.lower(), candidate.lower()), max(len(name), len(candidate))
        if len(candidate) > MAX_NEAREST_LENGTH or d > (longer + 2) // 3 or d == longer:
            continue
        if not best or d < least:
            best, least = candidate, d
    return best


def _distance(a: str, b: str) -> int:
    before: list[int] = []
    last = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        row = [i]
        for j in range(1, len(b) + 1):
            row.append(min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])))
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                row[j] = min(row[j], before[j - 2] + 1)
        before, last = last, row
    return last[len(b)]


def number_text(f: float) -> str:
    """Returns a number as Go writes it."""
    if not math.isfinite(f):
        return "NaN" if f != f else "+Inf" if f > 0 else "-Inf"
    mantissa, _, exponent = repr(abs(float(f))).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits)) - 1 if digits.strip("0") else 0
    if -4 <= power < 6:
        return repr(float(f)).removesuffix(".0")
    digits = digits.rstrip("0")
    return f"{'-' if f < 0 else ''}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{power:+03d}"


def is_integer(v: Value) -> bool:
    return is_number(v) and v == v and abs(v) <= MAX_INTEGER and v == int(v)


def fits(t: Type, v: Value) -> bool:
    """Reports whether a value is of the kind of a type."""
    kind = t.kind
    if kind == "any":
        return True
    if kind == "string":
        return isinstance(v, str)
    if kind == "boolean":
        return isinstance(v, bool)
    if kind == "number" or kind == "integer":
        return is_number(v)
    if kind == "array":
        return isinstance(v, list)
    if kind == "map" or kind == "object":
        return isinstance(v, dict)
    if kind == "asset":
        return isinstance(v, (Asset, Archive))
    if kind == "archive":
        return isinstance(v, Archive)
    return kind == "resource" and isinstance(v, Reference)


_number = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


def _coerced(t: Type, s: str) -> Value:
    if t.kind == "boolean":
        return {"true": True, "false": False}.get(s, s)
    return float(s) if _number.fullmatch(s) and math.isfinite(float(s)) else s


class Checker:
    """Validates inputs and applies defaults. With coerce, text may stand for a boolean or number, as in a configuration."""

    def __init__(self, coerce: bool = False, path: Path | None = None) -> None:
        self.coerce = coerce
        self.path: Path = path or []
        self.failures: list[dict[str, str]] = []

    def fail(self, reason: str) -> None:
        if len(self.failures) < MAX_FAILURES:
            self.failures.append({"path": path_text(self.path), "reason": reason})

    def object(self, o: ObjectType, given: Properties) -> Properties:
        out: Properties = {}
        for name in sorted(given, key=by_key):
            self.path.append(name)
            p = o.by_name.get(name)
            if not p:
                self.fail(self.no_such_property(o, name))
            elif not is_null(given[name]):
                out[name] = self.property(p, given[name])
            self.path.pop()
        for p in o.properties:
            if p.default is None and not p.required or not is_null(given.get(p.name)):
                continue
            if p.default is not None:
                out[p.name] = Secret(p.default) if p.secret else p.default
            else:
                self.path.append(p.name)
                self.fail(f"required property is missing; expected {p.type}")
                self.path.pop()
        return out

    def no_such_property(self, o: ObjectType, name: str) -> str:
        names = [p.name for p in o.properties]
        near = nearest(name, names)
        reason = "no such configuration key" if self.coerce and len(self.path) == 1 else "no such property"
        if o.token:
            reason += " in " + o.token
        if near:
            return f'{reason}; did you mean "{near}"?'
        if not names:
            return reason + "; there are none"
        return f"{reason}; there are {', '.join(names)}" if len(names) <= MAX_LISTED_NAMES else reason

    def property(self, p: Property, value: Value) -> Value:
        value = self.value(p.type, value)
        v = plain(value)
        if v is not unknown:
            if p.one_of and not any(equal(v, x) for x in p.one_of):
                self.fail("must be one of " + ", ".join(json.dumps(x, ensure_ascii=False) for x in p.one_of))
            if is_number(v) and p.min is not None and not v >= p.min:
                self.fail(f"must be at least {number_text(p.min)}")
            if is_number(v) and p.max is not None and not v <= p.max:
                self.fail(f"must be at most {number_text(p.max)}")
        return secret_of(value) if p.secret else value

    def value(self, t: Type, v: Value) -> Value:
        if v is unknown:
            return v
        if isinstance(v, Secret):
            return Secret(self.value(t, v.value))
        if isinstance(v, Output):
            return Output(self.value(t, v.value), v.secret, v.dependencies)
        kind = t.kind
        if kind == "string":
            if isinstance(v, Reference):
                return v.urn if v.id is None else v.id or unknown
        elif kind == "array" or kind == "map":
            assert t.element
            if t.element.kind == "any":
                pass
            elif isinstance(v, list) and kind == "array":
                if t.element.kind == "string" and not set(map(type, v)) - {str}:  # most lists are of texts
                    return v
                elements = []
                for i, x in enumerate(v):
                    elements.append(self.at(i, t.element, x))
                return elements
            elif isinstance(v, dict) and kind == "map":
                out = {}
                for k in sorted(v, key=by_key):
                    out[k] = self.at(k, t.element, v[k])
                return out
        elif kind == "object":
            assert t.object
            if isinstance(v, dict):
                return self.object(t.object, v)
        elif kind == "union":
            if isinstance(v, Reference) and any(u.kind in ("resource", "any") for u in t.one_of):
                return v
            for alternative in t.one_of:
                trial = Checker(self.coerce, [*self.path])
                checked = trial.value(alternative, v)
                if not trial.failures:
                    return checked
            objects = [u for u in t.one_of if u.object]
            if isinstance(v, dict) and len(objects) == 1:
                return self.value(objects[0], v)
        elif self.coerce and isinstance(v, str) and kind in ("boolean", "number", "integer"):
            v = _coerced(t, v)
        if kind == "integer" and is_number(v) and not is_integer(v):
            self.fail("expected integer, got " + number_text(v))
        elif not fits(t, v):
            self.fail(f"expected {t}, got {kind_of(v)}")
        return v

    def at(self, segment: Segment, t: Type, v: Value) -> Value:
        self.path.append(segment)
        v = self.value(t, v)
        self.path.pop()
        return v


def fits_whole(t: Type, v: Value) -> bool:
    c = Checker()
    c.value(t, v)
    return not c.failures


def check(o: ObjectType, inputs: Properties, coerce: bool = False) -> tuple[Properties, list[dict[str, str]]]:
    c = Checker(coerce)
    return c.object(o, inputs), c.failures


class _Differ:
    def __init__(self, ignore: list[Path]) -> None:
        self.ignore = ignore
        self.path: Path = []
        self.changes: list[dict[str, Any]] = []
        self.paths = 0
        self.replaces = False

    def record(self, kind: str, replace: bool, input_diff: bool) -> None:
        if any(contains_path(pattern, self.path) for pattern in self.ignore):
            return
        if replace:
            self.replaces = True
        if self.paths > MAX_PATHS:
            return
        path = path_text(self.path)
        self.paths += len(path)
        self.changes.append({"path": path, "kind": kind + "-replace" if replace else kind, "inputDiff": input_diff})

    def property(self, p: Property, old: Value, old_input: Value, new: Value, replace: bool, input_diff: bool) -> None:
        if is_null(old) and p.default is not None and equal(new, p.default):
            return
        self.path.append(p.name)
        self.value(p.type, old, old_input, new, replace or p.replace, input_diff)
        self.path.pop()

    def value(self, t: Type | None, old: Value, old_input: Value, new: Value, replace: bool, input_diff: bool) -> None:
        old, old_input, new = plain(old), plain(old_input), plain(new)
        if new is None:
            if old_input is not None:
                self.record("delete", replace, True)
        elif old is None:
            self.record("add", replace, True)
        elif isinstance(new, list) and isinstance(old, list):
            for i in range(max(len(old), len(new))):
                self.path.append(i)
                if i >= len(new):
                    self.record("delete", replace, input_diff)
                elif i >= len(old):
                    self.record("add", replace, True)
                else:
                    given = old_input[i] if isinstance(old_input, list) and i < len(old_input) else None
                    self.value(t.element if t else None, old[i], given, new[i], replace, input_diff)
                self.path.pop()
        elif isinstance(new, dict) and isinstance(old, dict):
            inputs = old_input if isinstance(old_input, dict) else {}
            for k in sorted(new.keys() | inputs.keys(), key=by_bytes):
                p = t.object.by_name.get(k) if t and t.object else None
                if p and p.write_only or t and any(u.object and k in u.object.by_name and u.object.by_name[k].write_only for u in t.one_of):
                    continue
                if p:
                    self.property(p, old.get(k), inputs.get(k), new.get(k), replace, input_diff)
                else:
                    self.path.append(k)
                    self.value(t.element if t else None, old.get(k), inputs.get(k), new.get(k), replace, input_diff)
                    self.path.pop()
        elif not equal(old, new):
            self.record("update", replace, input_diff)


def diff(inputs: ObjectType, outputs: ObjectType, r: dict[str, Any]) -> dict[str, Any]:
    """Compares checked inputs with the recorded state and the old inputs."""
    try:
        d = _Differ([parse_path(text) for text in r["ignoreChanges"]])
    except ValueError as e:
        raise HuskError("invalid-argument", f"ignoreChanges: {e}") from None
    replace_keys: list[str] = []
    changed_keys: list[str] = []
    stable_keys: list[str] = []
    for p in inputs.properties:
        old_input, new, repeated = r["oldInputs"].get(p.name), r["news"].get(p.name), outputs.by_name.get(p.name)
        old, input_diff = old_input, True
        if repeated and repeated.type.same(p.type) and not is_null(r["olds"].get(p.name)):
            old, input_diff = r["olds"][p.name], False
        before = len(d.changes)
        d.replaces = False
        if not p.write_only and not (equal(old, new) and (is_null(old_input) or equal(old_input, new))):
            d.property(p, old, old_input, new, False, input_diff)
        if len(d.changes) == before:
            if p.name in r["news"]:
                stable_keys.append(p.name)
            continue
        if d.replaces:
            replace_keys.append(p.name)
        changed_keys.append(p.name)
    if d.paths > MAX_PATHS:
        raise HuskError("invalid-argument", f"there are too many changes: their paths take more than {MAX_PATHS} bytes")
    stable_keys += [p.name for p in outputs.properties if p.stable and p.name not in inputs.by_name]
    return {
        "hasDetailedDiff": True, "changes": "some" if d.changes else "none", "replaceKeys": replace_keys, "changedKeys": changed_keys,
        "stableKeys": [] if replace_keys else stable_keys, "detailedDiff": d.changes,
    }


# The document: Pulumi's package schema.


def _type_json(t: Type) -> dict[str, Any]:
    if t.element:
        return {"type": "array", "items": _type_json(t.element)} if t.kind == "array" else {"type": "object", "additionalProperties": _type_json(t.element)}
    if t.object:
        return {"$ref": "#/types/" + t.object.token}
    if t.kind == "union":
        return {"oneOf": [_type_json(u) for u in t.one_of]}
    if t.token:
        return {"$ref": t.token if "#" in t.token else "#/resources/" + t.token}
    named = {"asset": "Asset", "archive": "Archive", "resource": "Any", "any": "Any"}.get(t.kind)
    return {"$ref": "pulumi.json#/" + named} if named else {"type": t.kind}


def present(o: dict[str, Any]) -> dict[str, Any]:
    """Returns what is neither false nor absent."""
    return {k: v for k, v in o.items() if v is not None and v is not False and v != "" and v != [] and v != {}}


def _extension(**members: Any) -> dict[str, Any]:
    """Returns what Husk has beside Pulumi's schema."""
    return present({"husk": present(members)})


def _number_json(f: float | None) -> float | None:
    return int(f) if f is not None and is_integer(f) else f


def _property_json(p: Property) -> dict[str, Any]:
    said = present({"description": p.doc, "deprecationMessage": p.deprecated})
    if p.default is not None:
        said["default"] = p.default
    return {**_type_json(p.type), **said, **present({
        "secret": p.secret, "willReplaceOnChanges": p.replace,
        "language": _extension(
            computed=p.computed, stable=p.stable, writeOnly=p.write_only, minimum=_number_json(p.min), maximum=_number_json(p.max), oneOf=list(p.one_of)),
    })}


def _properties_json(o: ObjectType) -> dict[str, Any]:
    return {p.name: _property_json(p) for p in o.properties}


def _required(o: ObjectType) -> list[str]:
    return [p.name for p in o.properties if p.required]


def _object_json(o: ObjectType) -> dict[str, Any]:
    return present({"description": o.doc, "type": "object", "properties": _properties_json(o), "required": _required(o)})


def _about_json(r: Any, outputs: ObjectType) -> dict[str, Any]:
    return present({
        "description": r.doc, "deprecationMessage": r.deprecated, "properties": _properties_json(outputs), "required": _required(outputs),
        "inputProperties": _properties_json(r.inputs), "requiredInputs": _required(r.inputs), "aliases": [{"type": a} for a in r.aliases],
    })


def document(p: Any) -> str:
    """Returns the package schema of a provider, as the SDK for Go writes it."""
    return json.dumps(present({
        "name": p.name, "displayName": p.display_name, "version": p.version, **p.about,
        "config": present({"variables": _properties_json(p.config), "defaults": _required(p.config)}),
        "types": {o.token: _object_json(o) for o in p.types},
        "provider": present({
            "inputProperties": _properties_json(p.config), "requiredInputs": _required(p.config),
            "language": _extension(
                schemaCheck=True, schemaDiff=True, schemaConfigure=p.configuring is None, deferred=p.configuring is None or p.deferred),
        }),
        "resources": dict(sorted([*((r.token, present({
            **_about_json(r, r.state), "language": _extension(
                deleteBeforeReplace=r.delete_before_replace, identity=r.identity, schemaCheck="check" not in r.can and not r.autoname,
                schemaDiff="diff" not in r.can),
        })) for r in p.resources), *((c.token, {**_about_json(c, c.outputs), "isComponent": True}) for c in p.components)])),
        "functions": {f.token: present({
            "description": f.doc, "deprecationMessage": f.deprecated, "inputs": _object_json(f.inputs), "outputs": _object_json(f.result),
        }) for f in p.functions},
    }), ensure_ascii=False, separators=(",", ":"))
