"""What authors declare: a provider, its resources, and its functions."""

from __future__ import annotations

import typing
from typing import Any, Callable, Generic, Iterable, Literal, NamedTuple, Sequence, TypeVar

from .component import Context
from .schema import ObjectType, Type, nearest
from .shapes import doc_of, inputs_of, named, outputs_of

I = TypeVar("I")
S = TypeVar("S")
C = TypeVar("C", bound=type)
F = TypeVar("F", bound=Callable[..., Any])


# What methods get and return.


@typing.dataclass_transform(kw_only_default=True)
class _Given:
    """Has what is given by name, as dataclasses have, which take longer to make."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


class Request(_Given):
    """What every request about a resource has."""

    urn: str
    name: str
    """The name of the resource in the program."""


class Timed(Request):
    timeout: float
    """The user's timeout in seconds, 0 for none. husk_provider.http keeps to it."""


class CreateRequest(Timed, Generic[I]):
    inputs: I


class ReadRequest(Timed, Generic[I, S]):
    id: str
    inputs: I | None
    """The recorded ones; None in an import."""
    state: S | None


class UpdateRequest(Timed, Generic[I, S]):
    id: str
    inputs: I
    old_inputs: I
    """Those that the state was made from."""
    state: S
    ignore_changes: list[str]
    """Paths of properties that keep their old values in inputs."""


class DeleteRequest(Timed, Generic[S]):
    id: str
    state: S


class ExistsRequest(Timed):
    id: str


class Autonaming(NamedTuple):
    """A name that the user's policy proposes."""

    proposed_name: str
    mode: Literal["propose", "enforce", "disable"]


class CheckRequest(Request, Generic[I]):
    inputs: I
    """With the schema's defaults; what check changes in them becomes the resource's. What is not known is None."""
    olds: I | None
    """As last checked."""
    random_seed: bytes
    """32 bytes for random defaults, which a saved plan repeats."""
    autonaming: Autonaming | None
    known: Callable[[str], bool]
    """Reports whether the input of that name is known as a whole."""


class CheckFailure(NamedTuple):
    """Why an input is refused."""

    path: str
    reason: str


class Change(NamedTuple):
    """A property that differs."""

    path: str
    kind: Literal["add", "add-replace", "delete", "delete-replace", "update", "update-replace"]
    input_diff: bool = True
    """The old value is in the old inputs, and not in the state."""


class Diff(NamedTuple):
    """What differs."""

    changes: Sequence[Change]
    delete_before_replace: bool = False


class DiffRequest(Request, Generic[I, S]):
    id: str
    inputs: I
    """What is not known is None."""
    old_inputs: I
    state: S
    known: Callable[[str], bool]
    changes: list[Change]
    """What the schema finds. Answer it, with some removed or turned into replacements."""
    delete_before_replace: bool


class PreviewRequest(Request, Generic[I, S]):
    id: str
    inputs: I
    state: S | None


class ListRequest(_Given):
    query: dict[str, Any]
    limit: int
    page_size: int
    continuation_token: str


class Listed(NamedTuple):
    """An existing object."""

    id: str
    name: str = ""


class Page(NamedTuple):
    """Some of the existing objects. A continuation token asks for more."""

    resources: Sequence[Listed]
    continuation_token: str = ""


class Created(NamedTuple, Generic[S]):
    """The object that create has made."""

    id: str
    state: S


class Read(NamedTuple, Generic[I, S]):
    """An object as it is."""

    inputs: I
    state: S
    id: str = ""
    """The one of the request if empty."""


class Resource(Generic[I, S]):
    """The base of what implements a type of resource, with the dataclasses of its inputs and state: class Note(Resource[Inputs, State]).

    Only create is needed.
    """

    def create(self, request: CreateRequest[I]) -> Created[S]:
        """Makes the object. An error says that nothing was made, but for InitFailed with an id."""
        raise NotImplementedError

    def read(self, request: ReadRequest[I, S]) -> Read[I, S]:
        """Reads the object, and raises NotFound if it does not exist. Without it, nothing can be imported."""
        raise NotImplementedError

    def update(self, request: UpdateRequest[I, S]) -> S:
        """Changes the object. Without it, every change replaces the resource."""
        raise NotImplementedError

    def delete(self, request: DeleteRequest[S]) -> None:
        """Removes the object. One that is gone is no error: raise NotFound."""
        raise NotImplementedError

    def check(self, request: CheckRequest[I]) -> Iterable[CheckFailure]:
        """Checks what the schema cannot express."""
        raise NotImplementedError

    def diff(self, request: DiffRequest[I, S]) -> Diff | Sequence[Change]:
        """Finds what differs, and what of it replaces the resource."""
        raise NotImplementedError

    def preview(self, request: PreviewRequest[I, S]) -> dict[str, Any]:
        """Foretells outputs by the names of their fields, and changes nothing. Those with the name of an input have its value without it."""
        raise NotImplementedError

    def list(self, request: ListRequest) -> Page:
        """Finds existing objects."""
        raise NotImplementedError

    def exists(self, request: ExistsRequest) -> bool:
        """Tells whether the object exists with less than a read."""
        raise NotImplementedError


class ConstructRequest(Request, Generic[I]):
    inputs: I


class Component(Generic[I, S]):
    """The base of what declares the children of a component, with the dataclasses of its inputs and outputs: class Team(Component[Inputs, Outputs]).

    Fields of a type Output[T] are passed on as they are. The others decide which children there are: they must be known and not secret, and if one is
    unknown in a preview, the preview has no children.
    """

    def construct(self, request: ConstructRequest[I], context: Context) -> S:
        raise NotImplementedError


METHODS = ("create", "read", "update", "delete", "check", "diff", "preview", "list", "exists")


class CapabilityRequest(_Given):
    """A capability that the provider needs: fs, env, http, tcp, or kv. It grants nothing, but advises the operator."""

    capability: str
    scope: str = ""
    reason: str = ""
    optional: bool = False


# What is declared, as the server has it.


class DeclaredResource(_Given):
    token: str
    code: Resource[Any, Any]
    can: set[str]
    inputs: ObjectType
    state: ObjectType
    doc: str
    deprecated: str
    aliases: list[str]
    delete_before_replace: bool
    identity: list[str]

    @property
    def autoname(self) -> bool:
        return any(p.autoname for p in self.inputs.properties)


class DeclaredComponent(_Given):
    token: str
    code: Component[Any, Any]
    inputs: ObjectType
    outputs: ObjectType
    doc: str
    deprecated: str
    aliases: list[str]


class DeclaredFunction(_Given):
    token: str
    call: Callable[[Any], Any]
    inputs: ObjectType
    result: ObjectType
    doc: str
    deprecated: str


def _synchronous(code: Any, where: str) -> None:
    if getattr(getattr(code, "__code__", None), "co_flags", 0) & 0x2a0:  # a coroutine, a generator, or both
        raise TypeError(f"{where}: it is a coroutine or generator: write def, without yield; requests wait in the host")


def _hints(code: Any, where: str) -> tuple[Any, Any]:
    """Returns the annotations of the only parameter of a function, and of its result."""
    _synchronous(code, where)
    hints = typing.get_type_hints(code)
    result = hints.pop("return", None)
    if len(hints) > 1 or code.__code__.co_argcount != len(hints):
        raise TypeError(f"{where}: it takes one argument, a dataclass that its annotation names")
    return next(iter(hints.values()), None), None if result is type(None) else result


class Provider:
    """A provider: def and class statements below its decorators add functions and resources.

    It must not depend on time, place, or grants.
    """

    def __init__(
        self, name: str, version: str, *, description: str = "", display_name: str = "", keywords: Sequence[str] = (), homepage: str = "",
        license: str = "", repository: str = "", publisher: str = "", requests: Sequence[CapabilityRequest] = (), deferred: bool = False,
    ) -> None:
        if not name or not version:
            raise TypeError("a provider has a name and a version")
        self.name = name
        self.version = version
        self.display_name = display_name
        self.about = {
            "description": description, "keywords": list(keywords), "homepage": homepage, "license": license,
            "repository": repository, "publisher": publisher,
        }
        self.requests = requests
        self.deferred = deferred
        self.config = ObjectType()
        self.configuring: Callable[[Any], None] | None = None
        self.closing: Callable[[], None] | None = None
        self.resources: list[DeclaredResource] = []
        self.components: list[DeclaredComponent] = []
        self.functions: list[DeclaredFunction] = []
        self.types: list[ObjectType] = []
        self.write_only = False

    def resource(
        self, token: str, *, doc: str = "", deprecated: str = "", aliases: Sequence[str] = (), delete_before_replace: bool = False,
        identity: Sequence[str] = (),
    ) -> Callable[[type[R]], type[R]]:
        """Declares a type of resource: @provider.resource("greet:index:Greeting") above a class with the base Resource.

        Without a doc, the docstring of the class is that. aliases are earlier tokens, under which states may hold it. delete_before_replace says that
        two cannot exist at the same time. identity has the inputs that the object is known by: a replacement that leaves them as they are deletes
        first.
        """
        self._token(token)

        def declare(cls: type[R]) -> type[R]:
            can = {m for m in METHODS if getattr(cls, m, None) is not getattr(Resource, m)}
            if "create" not in can:
                raise TypeError(f"{token}: a resource needs a method create")
            for name, code in vars(cls).items():
                near = nearest(name, METHODS)
                if callable(code) and near != name and name.lower() == near:
                    raise TypeError(f"{token}: the method {name} is never called; did you mean {near}?")
            for m in can:
                _synchronous(getattr(cls, m), f"{token}: {m}")
            inputs, state = _arguments(cls, token)
            r = DeclaredResource(
                token=token, code=cls(), can=can, inputs=inputs_of(inputs), state=outputs_of(state), doc=doc or doc_of(cls), deprecated=deprecated,
                aliases=list(aliases), delete_before_replace=delete_before_replace, identity=sorted(identity))
            for name in ("id", "urn"):
                if name in r.state.by_name:
                    raise TypeError(f"{token}: its state must not have a property {name}: every resource has one already")
            for name in identity:
                if name not in r.inputs.by_name:
                    raise TypeError(f"{token}: its identity {name} is none of its inputs")
            if "update" not in can:
                for p in r.inputs.properties:
                    p.replace = True
            _without_outputs(token, r.inputs, r.state)
            if any(c.token == token for c in self.components):
                raise TypeError(f"{token}: it is declared twice")
            self._declare(self.resources, r, r.inputs, r.state)
            return cls

        return declare

    def component(self, token: str, *, doc: str = "", deprecated: str = "", aliases: Sequence[str] = ()) -> Callable[[type[K]], type[K]]:
        """Declares a type of component: @provider.component("greet:index:Hall") above a class with the base Component."""
        self._token(token)

        def declare(cls: type[K]) -> type[K]:
            if getattr(cls, "construct", None) is Component.construct:
                raise TypeError(f"{token}: a component needs a method construct")
            _synchronous(cls.construct, f"{token}: construct")
            inputs, outputs = _arguments(cls, token, Component)
            c = DeclaredComponent(
                token=token, code=cls(), inputs=inputs_of(inputs), outputs=outputs_of(outputs), doc=doc or doc_of(cls), deprecated=deprecated, aliases=list(aliases))
            for name in ("id", "urn"):
                if name in c.outputs.by_name:
                    raise TypeError(f"{token}: its outputs must not have a property {name}: every resource has one already")
            if any(r.token == token for r in self.resources):
                raise TypeError(f"{token}: it is declared twice")
            self._declare(self.components, c, c.inputs, c.outputs)
            return cls

        return declare

    def function(self, token: str, *, doc: str = "", deprecated: str = "") -> Callable[[F], F]:
        """Declares a function of the package, from a dataclass to another. All results of a call with a secret argument are secret."""
        self._token(token)

        def declare(call: F) -> F:
            args, result = _hints(call, token)
            f = DeclaredFunction(
                token=token, call=call if args else lambda _: call(), inputs=inputs_of(args), result=outputs_of(result), doc=doc or doc_of(call),
                deprecated=deprecated)
            _without_outputs(token, f.inputs, f.result)
            self._declare(self.functions, f, f.inputs, f.result)
            return call

        return declare

    def configure(self, call: F) -> F:
        """Declares the function that is called with the checked configuration, a dataclass, before any method of resources."""
        if self.configuring:
            raise TypeError(f"{self.name}: configure is declared twice")
        config, _ = _hints(call, f"{self.name}: configure")
        self.config = inputs_of(config)
        _without_outputs(self.name, self.config)
        self.configuring = call if config else lambda _: call()
        self._collect(self.config)
        return call

    def close(self, call: F) -> F:
        """Declares the function that releases what the provider holds."""
        self.closing = call
        return call

    def type(self, token: str) -> Callable[[C], C]:
        """Gives a dataclass within others a token. Without it, that is <package>:index/<name>:<Name>."""
        self._token(token)

        def declare(cls: C) -> C:
            named(cls, token)
            return cls

        return declare

    def _token(self, token: str) -> None:
        package, *rest = token.split(":")
        if len(rest) != 2 or not all(rest):
            raise TypeError(f"{token}: a token has the form <package>:<module>:<name>")
        if package != self.name:
            raise TypeError(f"{token}: its token must begin with {self.name}:")

    def _declare(self, all: list[Any], one: Any, *objects: ObjectType) -> None:
        if any(x.token == one.token for x in all):
            raise TypeError(f"{one.token}: it is declared twice")
        all.append(one)
        all.sort(key=lambda x: x.token)
        for o in objects:
            self._collect(o)

    def _collect(self, o: ObjectType) -> None:
        """Adds the objects within one to the types of the package."""
        for p in o.properties:
            self.write_only = self.write_only or p.write_only
            self._collect_type(p.type)

    def _collect_type(self, t: Type) -> None:
        for u in [t.element] if t.element else t.one_of:
            self._collect_type(u)
        o = t.object
        if not o or o in self.types:
            return
        name = o.cls.__name__
        o.token = o.token or f"{self.name}:index/{name[0].lower()}{name[1:]}:{name}"
        self._token(o.token)
        if any(x.token == o.token for x in self.types):
            raise TypeError(f"{o.token}: two dataclasses have this token: give one of them another with @provider.type")
        self.types.append(o)
        self.types.sort(key=lambda x: x.token)
        self._collect(o)


R = TypeVar("R", bound=Resource[Any, Any])
K = TypeVar("K", bound=Component[Any, Any])


def _without_outputs(token: str, *objects: ObjectType) -> None:
    for p in (p for o in objects for p in o.properties):
        if p.type.has_outputs():
            raise TypeError(f"{token}: {p.name}: only fields of a component are an Output")


def _arguments(cls: type, token: str, of: Any = Resource) -> tuple[type, type]:
    """Returns the dataclasses that the base of a resource or component names."""
    for one in cls.__mro__:
        for base in getattr(one, "__orig_bases__", ()):
            if typing.get_origin(base) is of:
                inputs, outputs = typing.get_args(base)
                return inputs, outputs
    names = "Resource[Inputs, State]" if of is Resource else "Component[Inputs, Outputs]"
    raise TypeError(f"{token}: its class has the base {names}, with the dataclasses of its inputs and {'state' if of is Resource else 'outputs'}")
