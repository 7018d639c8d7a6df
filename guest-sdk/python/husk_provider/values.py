"""Property values that Python has no form of, and what is done with values of any kind.

Objects are dicts, arrays are lists, and numbers are floats or ints.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Generic, Iterable, Sequence, TypeVar, Union

MAX_DEPTH = 128  # levels of a value, as the engine counts them

T = TypeVar("T")
U = TypeVar("U")
Value = Any
Properties = dict[str, Value]


class _Record:
    """Is equal to another with equal attributes."""

    __slots__: tuple[str, ...] = ()

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._parts() == other._parts()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(p) for p in self._parts())})"


class Secret(_Record):
    """A sensitive value."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Secret(...)"


class Output(_Record, Generic[T]):
    """A value with the resources that it comes from. In a component it may be unknown or secret, or exist only when a child is made, which
    value, secret, dependencies, and known wait for.
    """

    __slots__ = ("_now", "_make", "_of")

    def __init__(self, value: Any, secret: bool = False, dependencies: Sequence[str] = ()) -> None:
        self._now: tuple[Any, bool, list[str]] | None = (value, secret, list(dependencies))
        self._make: Callable[[], Output[Any]] | None = None
        self._of: tuple[Any, ...] = ()

    @staticmethod
    def later(of: Sequence[Any], make: Callable[[], Output[Any]]) -> Output[Any]:
        """Returns an output that exists once operations have ended."""
        if all(o.ended for o in of):
            return make()
        out: Output[Any] = Output(None)
        out._now, out._make, out._of = None, make, tuple(of)
        return out

    def _parts(self) -> tuple[Any, bool, list[str]]:
        if self._now is None:
            assert self._make
            for operation in self._of:
                operation.wait()
            self._now = self._make()._parts()
        return self._now

    @property
    def pending(self) -> tuple[Any, ...]:
        """The operations that the value waits for."""
        return self._of if self._now is None else ()

    @property
    def value(self) -> Any:
        """The value as it is: perhaps unknown, with secrets in its parts."""
        return self._parts()[0]

    @property
    def secret(self) -> bool:
        return self._parts()[1]

    @property
    def dependencies(self) -> list[str]:
        """The URNs of the resources that the value comes from."""
        return self._parts()[2]

    @property
    def known(self) -> bool:
        """Reports whether all of the value is known."""
        return not contains_unknowns(self.value)

    def apply(self, f: Callable[[T], U | Output[U]]) -> Output[U]:
        """Returns what f makes of the value: unknown, without a call of f, if that is unknown, and secret if a part of it is."""
        from .outputs import applied

        return Output.later(self.pending, lambda: applied(self, f))

    def get(self, path: str) -> Output[Any]:
        """Returns the part at a path, such as subjects[0].name."""
        from .outputs import output_of, part

        parsed = parse_path(path)
        return Output.later(self.pending, lambda: output_of(part(self, parsed)))

    def __repr__(self) -> str:
        return "Output(...)"


class Unknown:
    """A value that is known after the deployment only."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "unknown"


unknown = Unknown()


class Asset(_Record):
    """A blob: its hash, and where it comes from. The source is none, text, path, or uri."""

    __slots__ = ("hash", "source", "origin")

    def __init__(self, hash: str = "", source: str = "none", origin: str = "") -> None:
        self.hash = hash
        self.source = source
        self.origin = origin


class Archive(_Record):
    """A tree of blobs. The source is none, path, uri, or assets, whose origin is a dict."""

    __slots__ = ("hash", "source", "origin")

    def __init__(self, hash: str = "", source: str = "none", origin: Union[str, dict[str, Any]] = "") -> None:
        self.hash = hash
        self.source = source
        self.origin = origin


class Reference(_Record):
    """A resource: its id is None for a component, and empty while it is not known."""

    __slots__ = ("urn", "id", "package_version")

    def __init__(self, urn: str, id: str | None = None, package_version: str = "") -> None:
        self.urn = urn
        self.id = id
        self.package_version = package_version


_asset_sources = ["none", "text", "path", "uri"]
_archive_sources = ["none", "", "path", "uri", "assets"]


def tagged(tag: int, v: Any) -> Value:
    """Makes a value of a tag of CBOR and what it holds."""
    if tag == 48500:
        return unknown
    if tag == 48501:
        return Secret(v)
    if tag == 48502:
        return Output(*v)
    if tag == 48503:
        return Asset(v[0], _asset_sources[v[1]], v[2])
    if tag == 48504:
        return Archive(v[0], _archive_sources[v[1]], v[2])
    if tag == 48505:
        return Reference(*v)
    raise TypeError(f"the host sent a value with the tag {tag}, which this version of the SDK does not know")


def untagged(v: Value) -> tuple[int, Any] | None:
    """Is the opposite; None for a value without a tag."""
    if v is unknown:
        return 48500, None
    if isinstance(v, Secret):
        return 48501, v.value
    if isinstance(v, Output):
        return 48502, [v.value, v.secret, v.dependencies]
    if isinstance(v, Asset):
        return 48503, [v.hash, _asset_sources.index(v.source), v.origin]
    if isinstance(v, Archive):
        return 48504, [v.hash, _archive_sources.index(v.source), v.origin]
    if isinstance(v, Reference):
        return 48505, [v.urn, v.id, v.package_version]
    return None


def plain(v: Value) -> Value:
    """Returns a value without secrets and outputs around it."""
    while isinstance(v, (Secret, Output)):
        v = v.value
    return v


def is_null(v: Value) -> bool:
    return plain(v) is None


def is_number(v: Value) -> bool:
    return isinstance(v, (float, int)) and not isinstance(v, bool)


def secret_of(v: Value) -> Value:
    """Is a secret around a value, unless there is one."""
    if isinstance(v, Secret):
        return v
    return Output(v.value, True, v.dependencies) if isinstance(v, Output) else Secret(v)


def well_formed(s: str) -> str:
    """Returns a text with U+FFFD for each surrogate without the other one."""
    try:
        s.encode()
        return s if type(s) is str else str.__str__(s)
    except UnicodeEncodeError:
        return s.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def by_bytes(s: str) -> bytes:
    """Orders texts by their bytes."""
    return s.encode("utf-8", "surrogatepass")


def by_key(s: str) -> tuple[int, bytes]:
    """Orders keys as deterministic CBOR does."""
    b = by_bytes(s)
    return len(b), b


def parts(v: Value) -> Iterable[Value]:
    """Returns what a value consists of."""
    if isinstance(v, list):
        return v
    if isinstance(v, dict):
        return v.values()
    return (v.value,) if isinstance(v, (Secret, Output)) else ()


# The functions below call themselves once for each level of a value, and without a generator between, because the stack of a module is small.


def contains_unknowns(v: Value) -> bool:
    if v is unknown or isinstance(v, Reference) and v.id == "":
        return True
    for part in parts(v):
        if contains_unknowns(part):
            return True
    return False


def contains_secrets(v: Value) -> bool:
    if isinstance(v, Secret) or isinstance(v, Output) and v.secret:
        return True
    for part in parts(v):
        if contains_secrets(part):
            return True
    return False


def crosses(v: Value, levels: int = MAX_DEPTH) -> None:
    """Raises an error for a value that the engine does not encode."""
    if levels < 0:
        raise ValueError(f"a value is nested more than {MAX_DEPTH} deep")
    if v is None or isinstance(v, float):
        return
    if isinstance(v, str):
        v.encode()
    elif isinstance(v, int):
        if float(v) != v:
            raise OverflowError("an integer is too large for a number, which is a double: pass it as a str")
    elif isinstance(v, (list, tuple)):
        for x in v:
            crosses(x, levels - 1)
    elif isinstance(v, dict):
        for k, x in v.items():
            crosses(k, levels)
            crosses(x, levels - 1)
    else:
        pair = untagged(v)
        if pair is None:
            raise TypeError(f"a property cannot be a {type(v).__name__}")
        crosses(pair[1], levels - 1)


def kind_of(v: Value) -> str:
    """Returns the kind of a value as messages have it."""
    if v is None:
        return "null"
    if isinstance(v, bool):
        return "bool"
    for types, name in _kinds:
        if isinstance(v, types):
            return name
    return type(v).__name__


_kinds: list[tuple[Any, str]] = [
    (str, "string"), ((float, int), "number"), (list, "array"), (dict, "object"), (Unknown, "unknown"), (Secret, "secret"), (Output, "output"),
    (Asset, "asset"), (Archive, "archive"), (Reference, "resource reference"),
]


def equal(a: Value, b: Value) -> bool:
    """Compares contents, through secrets and outputs, as states are compared: a null property equals a missing one."""
    a, b = plain(a), plain(b)
    kind = kind_of(a)
    if kind != kind_of(b):
        return False
    if kind == "array":
        if len(a) != len(b):
            return False
        for i, x in enumerate(a):
            if not equal(x, b[i]):
                return False
        return True
    if kind == "object":
        for k in a.keys() | b.keys():
            if not equal(a.get(k), b.get(k)):
                return False
        return True
    if kind == "asset" or kind == "archive":
        if a.hash and b.hash or a.hash != b.hash or a.source != b.source:
            return bool(a.hash) and a.hash == b.hash
        return equal(a.origin, b.origin)
    if kind == "resource reference":
        return bool(a.urn == b.urn and a.id == b.id)
    return bool(a == b) or a != a and b != b


def transform(v: Value, f: Callable[[Value], Value]) -> Value:
    """Applies f to each part of a value, and then to the value."""
    if isinstance(v, list):
        elements = []
        for x in v:
            elements.append(transform(x, f))
        v = elements
    elif isinstance(v, dict):
        properties = {}
        for k, x in v.items():
            properties[k] = transform(x, f)
        v = properties
    elif isinstance(v, Secret):
        v = secret_of(transform(v.value, f))
    elif isinstance(v, Output):
        inner = transform(v.value, f)
        v = Output(inner.value, True, v.dependencies) if isinstance(inner, Secret) else Output(inner, v.secret, v.dependencies)
    return f(v)


# Paths: lists of keys, indexes, and the wildcard.


class Wildcard:
    """Stands for every key and index."""


wildcard = Wildcard()
Segment = Union[str, int, Wildcard]
Path = list[Segment]

_name = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_control = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_quoted = re.compile(r'(?:[^"\\]|\\(?:["\\*]|u(?!d[89a-f])[0-9a-f]{4}))*', re.IGNORECASE | re.ASCII)
_escape = re.compile(r"\\(?:u(....)|(.))")
_special = re.compile('["\\\\]|' + _control.pattern)


def _quoted_key(key: str) -> str:
    return "\\*" if key == "*" else _special.sub(lambda m: "\\" + m[0] if m[0] in '"\\' else f"\\u{ord(m[0]):04x}", key)


def path_text(path: Sequence[Segment]) -> str:
    """Returns the text of a path: root.nested["a key"][0]."""
    text = ""
    for s in path:
        dot = "." if text else ""
        if isinstance(s, int):
            text += f"[{s}]"
        elif isinstance(s, Wildcard):
            text += dot + "*"
        else:
            text += dot + s if _name.fullmatch(s) else f'["{_quoted_key(s)}"]'
    return text


def parse_path(text: str) -> Path:
    """Reads the text of a path; a ValueError says what is wrong."""
    path: Path = []
    at = 0

    def fail(at: int, reason: str) -> None:
        raise ValueError(f'invalid property path "{_quoted_key(text)}": character {at + 1}: {reason}')

    while at < len(text):
        c = text[at]
        if text.startswith('["', at):
            m = _quoted.match(text, at + 2)
            assert m is not None  # it matches nothing, too
            end = m.end()
            if end == len(text):
                fail(end, 'the closing quote (") is missing')
            if text[end] == "\\":
                fail(end, "a backslash in quotes is written \\\\")
            if text[end + 1:end + 2] != "]":
                fail(end + 1, '"]" must follow the closing quote')
            path.append(wildcard if m[0] == "*" else _escape.sub(lambda e: chr(int(e[1], 16)) if e[1] else e[2], m[0]))
            at = end + 2
            continue
        if c == "[":
            end = text.find("]", at)
            inner = text[at + 1:end]
            if end < 0:
                fail(len(text), '"]" is missing')
            if inner == "*":
                path.append(wildcard)
            elif not re.fullmatch("0|[1-9][0-9]*", inner):
                fail(at + 1, 'an index (0, 1, ...), a name in quotes, or * must follow "["')
            elif len(inner) > 19 or int(inner) >= 1 << 63:
                fail(at + 1, "the index is too large")
            else:
                path.append(int(inner))
            at = end + 1
            continue
        if c == "." and not path:
            fail(at, "a path starts with a name or a bracket")
        if c != "." and path:
            fail(at, '"." or "[" must follow "]"')
        start = at + 1 if path else at
        end = start
        while end < len(text) and text[end] not in ".[":
            if text[end] in ']"\\' or _control.match(text[end]):
                fail(end, 'a name with this character is written ["..."]')
            end += 1
        if end == start:
            fail(start, 'a name must follow "."')
        name = text[start:end]
        path.append(wildcard if name == "*" else name)
        at = end
    return path


def contains_path(pattern: Path, path: Path) -> bool:
    """Reports whether a pattern contains a path."""
    return len(pattern) <= len(path) and all(s is wildcard or s == path[i] for i, s in enumerate(pattern))
