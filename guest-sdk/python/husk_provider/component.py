"""Components: their children are declared to the monitor, which makes them. guest-sdk/deploy does the same for Go."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Mapping, NamedTuple, NoReturn, Sequence, TypedDict, Unpack

from . import host
from .errors import HuskError, refusal
from .outputs import Child, checked, dependencies, dependencies_of, given, lowered, marked, output_of, sources
from .schema import ObjectType, Type, nearest
from .shapes import Loader
from .values import Output, Path, Properties, Secret, Segment, Value, by_key, contains_secrets, contains_unknowns, kind_of, plain, unknown


class Alias(NamedTuple):
    """An earlier name of a resource, told part by part. Those that are empty are the ones that it has now."""

    name: str = ""
    type: str = ""
    stack: str = ""
    project: str = ""
    parent_urn: str = ""
    no_parent: bool = False


class Timeouts(NamedTuple):
    """How long operations may take, in seconds; 0 is the provider's default."""

    create: float = 0
    update: float = 0
    delete: float = 0
    read: float = 0


class CallOptions(TypedDict, total=False):
    """What is said of a call of a function beside its arguments."""

    parent: Child
    """The child under which it lies; the component itself without it."""
    provider: Child
    """A child of a type pulumi:providers:<package>."""
    depends_on: Child | Sequence[Child]
    version: str
    package: str
    """What package() returned."""


class ResourceOptions(CallOptions, total=False):
    """What is said of a child beside its inputs. What is left out, it inherits from its parent."""

    providers: Child | Sequence[Child]
    """The providers that the children of a component use, one for each package."""
    deleted_with: Child
    replace_with: Child | Sequence[Child]
    protect: bool
    retain_on_delete: bool
    delete_before_replace: bool
    ignore_changes: Sequence[str]
    replace_on_changes: Sequence[str]
    hide_diffs: Sequence[str]
    additional_secret_outputs: Sequence[str]
    aliases: Sequence[str | Alias]
    """Earlier names: URNs, or parts of them."""
    custom_timeouts: Timeouts
    import_: str
    """The ID of an existing object that is adopted instead of made."""
    replacement_trigger: Any
    """A change of the value replaces the resource."""
    hooks: Mapping[str, Sequence[str]]
    """The names under which hooks were registered, by their kind, such as after-create."""


def _wrong(name: str, expected: str, v: Any) -> NoReturn:
    raise HuskError("invalid-argument", f"the option {name}: expected {expected}, got {type(v).__name__ if not isinstance(v, Child) else 'a child'}")


def _is(kind: Any, expected: str) -> Callable[[str, Any], Any]:
    def check(name: str, v: Any) -> Any:
        return v if isinstance(v, kind) else _wrong(name, expected, v)

    return check


def _list_of(check: Callable[[str, Any], Any], expected: str) -> Callable[[str, Any], Any]:
    def each(name: str, v: Any) -> Any:
        return [check(name, x) for x in v] if isinstance(v, (list, tuple)) else _wrong(name, f"a list of {expected}", v)

    return each


_text, _flag, _child = _is(str, "a str"), _is(bool, "a bool"), _is(Child, "a child")
_texts = _list_of(_text, "str")


def _children(name: str, v: Any) -> list[Child]:
    return list(_list_of(_child, "children")(name, [v] if isinstance(v, Child) else v))


def _hooks(name: str, v: Any) -> Any:
    return [{"kind": _text(name, kind), "names": _texts(name, names)} for kind, names in _is(dict, "a dict")(name, v).items()]


def _alias(name: str, v: Any) -> dict[str, Any]:
    if isinstance(v, str):
        return {"case": "urn", "value": v}
    a = _is(Alias, "a str or Alias")(name, v)
    return {"case": "spec", "value": {"name": a.name, "type": a.type, "stack": a.stack, "project": a.project, "parentUrn": a.parent_urn, "noParent": a.no_parent}}


def _timeouts(name: str, v: Any) -> dict[str, Any]:
    return dict(_is(Timeouts, "Timeouts")(name, v)._asdict())


def _trigger(name: str, v: Any) -> Any:
    checked(v)
    return v


def _urn(c: Child) -> str:
    return str(c._operation.answer["urn"])


def _reference(c: Child) -> str:
    return f"{_urn(c)}::{c._operation.answer['id']}"


def _urns(all: list[Child]) -> list[str]:
    return [_urn(c) for c in all]


def _same(v: Any) -> Any:
    return v


# For each option its name in the contract, how it is checked when it is declared, and how it is passed on when the children that it names are made.
_CALL: dict[str, tuple[str, Callable[[str, Any], Any], Callable[[Any], Any]]] = {
    "parent": ("parent", _child, _urn), "provider": ("provider", _child, _reference), "depends_on": ("dependsOn", _children, _urns),
    "version": ("version", _text, _same), "package": ("packageRef", _text, _same),
}
_RESOURCE = {
    **_CALL, "depends_on": ("dependencies", _children, _urns),
    "providers": ("providers", _children, lambda all: [{"package": c._type.rpartition(":")[2], "reference": _reference(c)} for c in all]),
    "deleted_with": ("deletedWith", _child, _urn), "replace_with": ("replaceWith", _children, _urns), "protect": ("protect", _flag, _same),
    "retain_on_delete": ("retainOnDelete", _flag, _same), "delete_before_replace": ("deleteBeforeReplace", _flag, _same),
    "ignore_changes": ("ignoreChanges", _texts, _same), "replace_on_changes": ("replaceOnChanges", _texts, _same),
    "hide_diffs": ("hideDiffs", _texts, _same), "additional_secret_outputs": ("additionalSecretOutputs", _texts, _same),
    "aliases": ("aliases", _list_of(_alias, "str or Alias"), _same), "custom_timeouts": ("customTimeouts", _timeouts, _same),
    "import_": ("importId", _text, _same), "replacement_trigger": ("replacementTrigger", _trigger, lambda v: lowered(given(v))),
    "hooks": ("hooks", _hooks, _same),
}


class Operation:
    """An operation of the monitor, or one that waits until what it needs is there."""

    def __init__(
        self, deployment: Deployment, what: str, fatal: bool, needs: Iterable[Operation], request: Callable[[], dict[str, Any]],
        done: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.deployment = deployment
        self.what = what
        self.fatal = fatal
        self.needs = list(needs)
        self.request = request
        self.done = done
        self.ended = False
        self.answer: dict[str, Any] = {}
        self.failure: BaseException | None = None

    def wait(self) -> None:
        self.deployment.wait_for(self)
        if self.failure:
            raise self.failure


def _explained(what: str, e: BaseException) -> HuskError:
    """Returns an error that says what failed. The state in a child's failure is recorded with the child, and the path is one of its properties."""
    if not isinstance(e, HuskError):
        out = HuskError("internal", f"{what}: {type(e).__name__}: {e}")
    else:
        out = HuskError("internal" if e.kind == "init-failed" else e.kind, f"{what}: " + (f"{e.path}: " if e.path else "") + e.message, origin=e.origin)
    return out


def _cancelled(e: BaseException) -> bool:
    return isinstance(e, HuskError) and e.kind == "cancelled"


class Deployment:
    """The operations of one call."""

    def __init__(self, run: dict[str, Any], parent: str) -> None:
        self.run = run
        self.parent = parent
        self.waiting: list[Operation] = []
        self.running: dict[int, Operation] = {}
        self.failure: BaseException | None = None

    def begin(self, o: Operation) -> Operation:
        if self.failure:
            raise self.failure
        self.waiting.append(o)
        self.start()
        return o

    def start(self) -> None:
        """Starts the operations that need nothing that is still to be made."""
        again = True
        while again:
            again = False
            for o in list(self.waiting):
                if o not in self.waiting or not self.failure and any(not n.ended for n in o.needs):
                    continue
                self.waiting.remove(o)
                again = True
                try:
                    for n in o.needs:
                        if n.failure:
                            raise n.failure
                    if self.failure:
                        raise self.failure
                    self.running[int(host.call("monitorStart", o.request()))] = o
                except BaseException as e:  # the author's code may have asked to exit
                    self.fail(o, e)

    def wait(self) -> None:
        """Waits in the host for one operation."""
        try:
            done = host.call("monitorWait")
        except HuskError as e:
            left = list(self.running.values())
            self.running.clear()
            for o in left:
                self.fail(o, e)
            return
        o = self.running.pop(int(done["handle"]), None)
        if o is None:
            raise HuskError("internal", "the monitor answers an operation that was not started")
        outcome = done["outcome"]
        try:
            if outcome["case"] == "failed":
                told = outcome["value"]
                raise HuskError(told["kind"], told["message"], told["path"], told["origin"])
            o.answer = outcome["value"]
            if o.done:
                o.done(o.answer)
            o.ended = True
        except Exception as e:
            self.fail(o, e)
        self.start()

    def fail(self, o: Operation, e: BaseException) -> None:
        told = e if e is self.failure else _explained(o.what, e)
        o.failure, o.ended = told, True
        if o.fatal:
            self.failed(told)

    def failed(self, e: BaseException) -> None:
        """Records a failure. The first counts, but not that of a child that was cancelled because of another."""
        if not self.failure or _cancelled(self.failure) and not _cancelled(e):
            self.failure = e

    def wait_for(self, o: Operation) -> None:
        while not o.ended:
            self.start()
            if o.ended:
                return
            if not self.running:
                raise HuskError("internal", f"{o.what}: it uses a value that never comes: of another component, or of itself")
            self.wait()

    def finish(self) -> None:
        """Waits for all, also after a failure, so that it is recorded."""
        self.start()
        while self.running:
            self.wait()
        if self.failure:
            raise self.failure
        if self.waiting:
            self.wait_for(self.waiting[0])


class Context:
    """Declares the children of a component.

    A declaration returns at once. The child is made when what it refers to exists: independent children are made in parallel. Outputs that the
    author's code looks at wait for their child. The component ends when all are made. After a failure no more are begun, and the component
    fails with the first.
    """

    def __init__(self, deployment: Deployment) -> None:
        self._d = deployment

    @property
    def preview(self) -> bool:
        """Nothing is made: outputs of new children are unknown."""
        return bool(self._d.run["dryRun"])

    @property
    def run(self) -> dict[str, Any]:
        """The deployment: project, stack, organization, config, dryRun, and parallel."""
        return self._d.run

    def resource(self, type: str, name: str, inputs: Mapping[str, Any] | None = None, **options: Unpack[ResourceOptions]) -> Child:
        """Declares a resource of any package, by its token. Inputs have the names of properties."""
        return self._declare(True, False, type, name, inputs, options)

    def component(self, type: str, name: str, inputs: Mapping[str, Any] | None = None, **options: Unpack[ResourceOptions]) -> Child:
        """Declares a component that a provider makes."""
        return self._declare(False, True, type, name, inputs, options)

    def group(self, type: str, name: str, inputs: Mapping[str, Any] | None = None, **options: Unpack[ResourceOptions]) -> Child:
        """Declares a component without a provider, to be the parent of others."""
        return self._declare(False, False, type, name, inputs, options)

    def _declare(self, custom: bool, remote: bool, type: str, name: str, inputs: Mapping[str, Any] | None, options: Mapping[str, Any]) -> Child:
        what = f"{type} {name}"
        found, needs = self._taken(what, True, _RESOURCE, options, inputs, type=type, name=name)
        taken = dict(inputs or {})

        def request() -> dict[str, Any]:
            properties = given(taken)
            passed, parent = self._passed(_RESOURCE, found)
            return {"case": "registerResource", "value": {
                "type": type, "name": name, "parent": parent, "custom": custom, "remote": remote, "inputs": properties,
                "propertyDependencies": dependencies(properties), "options": passed,
            }}

        def done(answer: dict[str, Any]) -> None:
            if answer["result"] == "failed":
                raise HuskError("internal", "it failed")
            if answer["result"] == "skipped":
                raise HuskError("internal", "it was left out, because something that it depends on failed")

        return Child(self._d.begin(Operation(self._d, what, True, needs, request, done)), type, name, custom, self.preview)

    def read(self, type: str, name: str, id: str | Output[str], inputs: Mapping[str, Any] | None = None,
             **options: Unpack[ResourceOptions]) -> Child:
        """Reads a resource that exists and is not managed here. Inputs help to find it if its ID is not enough."""
        what = f"{type} {name}"
        found, needs = self._taken(what, True, _RESOURCE, options, inputs, id, type=type, name=name)
        taken, known = dict(inputs or {}), [""]

        def request() -> dict[str, Any]:
            passed, parent = self._passed(_RESOURCE, found)
            v = given(id)
            if isinstance(plain(v), str):
                known[0] = plain(v)
            elif plain(v) is not unknown:
                raise HuskError("invalid-argument", f"an ID is a str, and not {kind_of(v)}")
            passed["dependencies"] = [*passed.get("dependencies", ()), *dependencies_of(v)]
            return {"case": "readResource", "value": {
                "id": known[0], "type": type, "name": name, "parent": parent, "properties": given(taken), "options": passed,
            }}

        def done(answer: dict[str, Any]) -> None:
            answer["id"] = known[0]

        return Child(self._d.begin(Operation(self._d, what, True, needs, request, done)), type, name, True, self.preview)

    def invoke(self, token: str, args: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]) -> Output[Any]:
        """Calls a function of a package. Its failure is raised where the result is used."""
        return self._ask("invoke", token, dict(args or {}), options)

    def call(self, of: Child, token: str, args: Mapping[str, Any] | None = None, **options: Unpack[CallOptions]) -> Output[Any]:
        """Calls a method of a child that is a component, such as site:index:Site/check."""
        return self._ask("call", token, {**(args or {}), "__self__": of}, options)

    def _ask(self, kind: str, token: str, args: dict[str, Any], options: Mapping[str, Any]) -> Output[Any]:
        found, needs = self._taken(token, False, _CALL, options, args)
        sent: Properties = {}

        def request() -> dict[str, Any]:
            sent.update(given(args))
            passed, parent = self._passed(_CALL, found)
            more = {"argDependencies": dependencies(sent)} if kind == "call" else {}
            return {"case": kind, "value": {"token": token, "args": sent, **more, "options": {**passed, "parent": parent}}}

        def done(answer: dict[str, Any]) -> None:
            if answer["failures"]:
                raise refusal(answer["failures"])
            for d in answer.get("resultDependencies") or ():
                if d["key"] in answer["result"]:
                    answer["result"][d["key"]] = output_of(answer["result"][d["key"]], False, d["urns"])

        operation = self._d.begin(Operation(self._d, token, False, needs, request, done))

        def result() -> Output[Any]:
            if operation.failure:
                raise operation.failure
            return marked(unknown if operation.answer.get("unknown") else operation.answer["result"], sent)

        return Output.later((operation,), result)

    def package(self, name: str, version: str, *, parameters: dict[str, Any] | None = None, extension: dict[str, Any] | None = None) -> str:
        """Makes a parameterized package known. The result is for the option package."""
        request = {"name": name, "version": version, "parameters": parameters, "extension": extension}
        return str(host.call("monitorRegisterPackage", request)["packageRef"])

    def _passed(self, known: dict[str, Any], found: dict[str, Any]) -> tuple[dict[str, Any], str]:
        passed = {known[k][0]: known[k][2](v) for k, v in found.items()}
        return passed, passed.pop("parent", self._d.parent)

    def _taken(
        self, what: str, fatal: bool, known: dict[str, Any], options: Mapping[str, Any], inputs: Any, *more: Any, **texts: Any
    ) -> tuple[dict[str, Any], list[Operation]]:
        """Returns the options, checked, and the operations that they and the inputs wait for. An error of a child fails the component, also if it is caught."""
        found = {}
        try:
            for k, v in texts.items():
                if not isinstance(v, str) or not v:
                    raise HuskError("invalid-argument", f"a resource needs a {k}, which is a str")
            if inputs is not None and not isinstance(inputs, dict):
                raise HuskError("invalid-argument", f"inputs are a dict, and not {kind_of(inputs)}")
            checked(inputs)
            for v in more:
                checked(v)
            for k, v in options.items():
                if k not in known:
                    near = nearest(k, known)
                    raise HuskError("invalid-argument", f"there is no option {k}" + (f"; did you mean {near}?" if near else f", but {', '.join(known)}"))
                if v is not None:
                    found[k] = known[k][1](k, v)
        except HuskError as e:
            told = _explained(what, e)
            if fatal:
                self._d.failed(told)
            raise told from None
        return found, list(sources([inputs, *more, *found.values()], {}).values())


class _Loader(Loader):
    """Makes inputs of a component: those of Output as outputs, with the dependencies around them."""

    around: Sequence[str] = ()

    def value(self, t: Type, v: Value) -> Any:
        if t.output:
            return None if v is None else output_of(self.any(v), False, self.around)
        if not isinstance(v, Output) or t.kind == "any":
            return super().value(t, v)
        outer = self.around
        self.around = [*outer, *v.dependencies]
        loaded = super().value(t, v)
        self.around = outer
        return loaded


def load(o: ObjectType, inputs: Properties) -> Any:
    return _Loader().object(o, inputs)


def opaque(o: ObjectType, m: Properties, secret: bool) -> Path | None:
    """Returns the path of a part that is secret, or else of one that is unknown, where the author's code has a plain value."""
    path: Path = []

    def is_one(v: Value) -> bool:
        return isinstance(v, Secret) or isinstance(v, Output) and v.secret if secret else plain(v) is unknown

    def at(segment: Segment, t: Type, v: Value) -> bool:
        path.append(segment)
        if within(t, v):
            return True
        path.pop()
        return False

    def within(t: Type, v: Value) -> bool:
        if t.output or t.kind == "any":
            return False
        if is_one(v):
            return True
        inner = plain(v)
        if t.object and isinstance(inner, dict):
            return any(at(p.name, p.type, inner.get(p.name)) for p in t.object.properties)
        if t.element and isinstance(inner, dict):
            return any(at(k, t.element, inner[k]) for k in sorted(inner, key=by_key))
        if t.element and isinstance(inner, list):
            return any(at(i, t.element, x) for i, x in enumerate(inner))
        return contains_secrets(v) if secret else contains_unknowns(v)

    return path if any(at(p.name, p.type, m.get(p.name)) for p in o.properties) else None
