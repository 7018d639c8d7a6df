"""Serves the calls of the contract to a provider. guest-sdk/guest does the same for Go."""

from __future__ import annotations

import contextlib
import re
from types import TracebackType
from typing import Any, Callable, Sequence

from . import component, host, shapes
from .component import Context, Deployment
from .errors import HuskError, InitFailed, NotFound, refusal
from .provider import (
    Autonaming, Change, CheckFailure, CheckRequest, ConstructRequest, CreateRequest, DeclaredComponent, DeclaredFunction, DeclaredResource, DeleteRequest,
    Diff, DiffRequest, ExistsRequest, ListRequest, PreviewRequest, Provider, ReadRequest, UpdateRequest,
)
from .outputs import dependencies, lowered, output_of
from .schema import ObjectType, Property, check, diff, document, nearest
from .values import (
    Output, Properties, Secret, Value, by_key, contains_path, contains_secrets, contains_unknowns, crosses, equal, is_null, parse_path, parts, path_text,
    plain, secret_of, transform, unknown, well_formed,
)

_MIN_SECRET_TEXT = 8  # a secret that is shorter, in bytes, is not looked for elsewhere: it would be found by accident
_MAX_FRAMES = 12


def _told(e: BaseException) -> HuskError | None:
    """Returns the error of the contract among what was raised and its causes."""
    cause: BaseException | None = e
    while cause is not None and not isinstance(cause, HuskError):
        cause = cause.__cause__
    return cause


def error_of(e: BaseException) -> dict[str, Any]:
    """Returns what was raised as an error of the contract."""
    told = _told(e)
    if told:
        kind = "internal" if told.kind == "init-failed" and not told.init_failure else told.kind
        said, why = str(e), str(told)
        return {
            "kind": kind, "origin": told.origin, "message": well_formed(said if why in said else f"{said}: {why}"), "path": told.path,
            "missingKeys": told.missing_keys, "initFailure": told.init_failure,
        }
    if isinstance(e, SystemExit):
        message = "the provider called sys.exit, which would end the provider: raise an error, or return"
    else:
        message = f"{type(e).__name__}: {e}" + _frames(e.__traceback__)
    return {"kind": "internal", "origin": "guest", "message": well_formed(message), "path": "", "missingKeys": [], "initFailure": None}


def _frames(t: TracebackType | None) -> str:
    """Returns where an error was raised, the innermost place first."""
    places = []
    while t is not None:
        code = t.tb_frame.f_code
        if t.tb_frame.f_globals.get("__package__") != __package__:
            places.append(f"\n    at {code.co_qualname if hasattr(code, 'co_qualname') else code.co_name} ({code.co_filename}:{t.tb_lineno})")
        t = t.tb_next
    return "".join(reversed(places[-_MAX_FRAMES:]))


# Secrets


def _secret_texts(v: Value, found: set[str], within: bool = False) -> set[str]:
    within = within or isinstance(v, Secret) or isinstance(v, Output) and v.secret
    if within and isinstance(v, str) and len(v.encode()) >= _MIN_SECRET_TEXT:
        found.add(v)
    for part in parts(v):
        _secret_texts(part, found, within)
    return found


def _merged_secrets(m: Properties, source: Properties, repeated: Properties) -> Properties:
    for name, given in source.items():
        v = m.get(name)
        if name not in m or isinstance(v, Secret) or not contains_secrets(given):
            continue
        m[name] = _copy_marks(v, given) if equal(v, repeated.get(name)) else secret_of(v)
    texts = _secret_texts(source, set())
    if not texts:
        return m
    hidden: Properties = transform(m, lambda v: Secret(v) if isinstance(v, str) and v in texts else v)
    return hidden


def _copy_marks(v: Value, given: Value) -> Value:
    """Marks the secret parts of given in v, which has the same contents."""
    if isinstance(v, Secret) or not contains_secrets(given):
        return v
    if isinstance(v, list) and isinstance(given, list):
        elements = []
        for i, x in enumerate(v):
            elements.append(_copy_marks(x, given[i]) if i < len(given) else x)
        return elements
    if isinstance(v, dict) and isinstance(given, dict):
        entries = {}
        for k, x in v.items():
            entries[k] = _copy_marks(x, given.get(k))
        return entries
    return secret_of(v)


def _merge(inputs: Properties, before: Properties, after: Properties) -> Properties:
    """Applies the changes of the author's code, from before to after, to inputs with unknowns and secrets. Unknowns stay."""
    out = dict(inputs)
    for name in [*before, *(k for k in after if k not in before)]:
        old, now = before.get(name), after.get(name)
        if equal(old, now):
            continue
        given = out.get(name)
        inner = plain(given)
        if inner is unknown:
            continue
        if now is None:
            out.pop(name, None)
            continue
        nested = isinstance(inner, dict) and isinstance(plain(old), dict) and isinstance(plain(now), dict)
        if nested:
            now = _merge(inner, plain(old), plain(now))
        if isinstance(given, Secret) or not nested and contains_secrets(given):
            now = secret_of(plain(now))
        out[name] = now
    return out


def _answered_path(method: str, text: str) -> list[Any]:
    try:
        return parse_path(text)
    except ValueError as e:
        raise HuskError("internal", f"the provider's {method} answered an {e}") from None


def _summarize(d: dict[str, Any], ignore: Sequence[str]) -> dict[str, Any]:
    patterns = [parse_path(text) for text in ignore]
    detailed: list[dict[str, Any]] = []
    changed: list[str] = []
    replace: list[str] = []
    for c in d["detailedDiff"]:
        path = _answered_path("diff", c["path"])
        if not path:
            raise HuskError("internal", "the provider's diff answered an empty path")
        if any(contains_path(p, path) for p in patterns):
            continue
        key = path[0] if isinstance(path[0], str) else ""
        detailed.append(c)
        if key not in changed:
            changed.append(key)
        if c["kind"].endswith("-replace") and key not in replace:
            replace.append(key)
    stable = [k for k in d["stableKeys"] if not replace and k not in changed] if d["detailedDiff"] else d["stableKeys"]
    return {**d, "changes": "some" if detailed else "none", "detailedDiff": detailed, "changedKeys": changed, "replaceKeys": replace, "stableKeys": stable}


def _unimplemented() -> HuskError:
    return HuskError("unimplemented", "not implemented by the provider")


def _short(token: str) -> str:
    package, module, name = token.split(":")
    module = module.removesuffix(f"/{name[0].lower()}{name[1:]}")
    return f"{package}:{name}" if module in ("", "index") else f"{package}:{module}:{name}"


def _reason(e: dict[str, Any]) -> str:
    return f"{e['path']}: {e['message']}" if e["path"] else str(e["message"])


def _fields(o: ObjectType, given: Any, what: str) -> Properties:
    return shapes.store(o, given, what, partial=True)


class Server:
    """Serves a provider."""

    def __init__(self, provider: Provider) -> None:
        self.p = provider
        self.undecided = False
        self.text = ""

    def answer(self, method: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """Calls a method of the contract."""
        name = re.sub("[A-Z]", lambda m: "_" + m[0].lower(), method)
        code: Callable[[dict[str, Any]], dict[str, Any] | None] | None = getattr(self, "call_" + name, None)
        if code is None:
            raise _unimplemented()
        host.begin(request.get("urn") or "", request.get("timeout") or 0)
        return code(request)

    # The package

    def call_handshake(self, q: dict[str, Any]) -> dict[str, Any]:
        p = self.p
        understood = {
            "secrets": True, "resourceReferences": True, "outputs": True, "autonaming": True, "preview": True, "writeOnly": p.write_only, "readFirst": True,
        }
        return {
            "name": p.name, "version": p.version, "sdk": "husk guest-sdk/python 0.1.0",
            "features": {k: v and q["features"].get(k, False) for k, v in understood.items()}, "requests": [vars(r) for r in p.requests],
        }

    def call_get_schema(self, q: dict[str, Any]) -> dict[str, Any]:
        if q["version"] != 0:
            raise HuskError("invalid-argument", "there is only version 0 of the schema format")
        if q["subpackageName"]:
            raise HuskError("not-found", f"there is no package {q['subpackageName']} in {self.p.name}")
        self.text = self.text or document(self.p)
        return {"schema": self.text}

    def call_check_config(self, q: dict[str, Any]) -> dict[str, Any]:
        inputs, failures = check(self.p.config, q["news"], coerce=True)
        return {"inputs": inputs, "failures": failures}

    def call_diff_config(self, q: dict[str, Any]) -> dict[str, Any]:
        return diff(self.p.config, self.p.config, q)

    def call_configure(self, q: dict[str, Any]) -> None:
        p, inputs = self.p, q["inputs"]
        if not p.configuring:
            return
        missing = [c for c in p.config.properties if c.required and is_null(inputs.get(c.name))]
        if missing:
            e = HuskError("invalid-argument", f"the configuration of {p.name} is not complete")
            e.missing_keys = [{"name": c.name, "description": c.doc} for c in missing]
            raise e
        self.undecided = contains_unknowns(inputs)
        if not self.undecided:
            p.configuring(shapes.load(p.config, inputs))

    def call_cancel(self, q: dict[str, Any]) -> None:
        if self.p.closing:
            self.p.closing()

    def call_invoke(self, q: dict[str, Any]) -> dict[str, Any]:
        f = next((f for f in self.p.functions if f.token == q["token"]), None)
        if f is None:
            raise self.no_such("function", q["token"], self.p.functions)
        self.decided()
        inputs, failures = check(f.inputs, q["args"])
        if failures:
            return {"failures": failures}
        self.known("argument", inputs)
        result = shapes.store(f.result, f.call(shapes.load(f.inputs, inputs)), "the result")
        if contains_secrets(inputs):
            result = {k: secret_of(v) for k, v in result.items()}
        return {"result": result}

    # What methods of resources share

    def resource(self, q: dict[str, Any]) -> DeclaredResource:
        token = q.get("type") or q["urn"].split("::")[2:3]
        token = token if isinstance(token, str) else "".join(token).rpartition("$")[2]
        found = next((r for r in self.p.resources if r.token == token), None) or next((r for r in self.p.resources if token in r.aliases), None)
        if found is None:
            raise self.no_such("resource type", token, self.all_types())
        return found

    def all_types(self) -> list[DeclaredResource | DeclaredComponent]:
        return sorted([*self.p.resources, *self.p.components], key=lambda x: x.token)

    def no_such(self, what: str, token: str, all: Sequence[DeclaredResource | DeclaredComponent | DeclaredFunction]) -> HuskError:
        names = {x.token.rpartition(":")[2]: x.token for x in reversed(all)}
        near = nearest(token.rpartition(":")[2], [x.token.rpartition(":")[2] for x in all])
        message = f"the package {self.p.name} {self.p.version} has no {what} {token}"
        return HuskError("not-found", message + (f"; did you mean {_short(names[near])}?" if near else ""))

    def decided(self) -> None:
        if self.undecided:
            raise HuskError("unavailable", f"the configuration of {self.p.name} is not known in this preview: it depends on a resource that does not exist yet")

    def known(self, what: str, m: Properties) -> None:
        for k in sorted(m, key=by_key):
            if contains_unknowns(m[k]):
                raise HuskError("invalid-argument", f"the {what} is not known", path_text([k]))

    def as_state(self, r: DeclaredResource, inputs: Properties) -> Properties:
        """Returns inputs as a state that repeats them, without secrets."""
        repeated = [p for p in r.state.properties if p.name in r.inputs.by_name and r.inputs.by_name[p.name].type.same(p.type)]
        return shapes.repeated(ObjectType(cls=r.state.cls).fill(repeated), inputs)

    def inherit(self, r: DeclaredResource, m: Properties, inputs: Properties) -> Properties:
        return _merged_secrets(m, inputs, self.as_state(r, inputs))

    def stored(self, r: DeclaredResource, properties: Sequence[Property], state: Any, inputs: Properties) -> Properties:
        found = self.inherit(r, shapes.store(ObjectType(cls=r.state.cls).fill(properties), state, "the state"), inputs)
        crosses(found)
        return found

    def made(self, r: DeclaredResource, state: Any, inputs: Properties, olds: Properties) -> tuple[Properties, dict[str, Any] | None]:
        """Returns the state that the author's code answered, and the error if it does not fit.

        The object exists: what does not fit is as the inputs have it, or as it was recorded.
        """
        try:
            return self.stored(r, r.state.properties, state, inputs), None
        except Exception as e:
            kept = self.inherit(r, {**olds, **self.as_state(r, inputs)}, inputs)
            for p in r.state.properties:
                try:
                    found = self.stored(r, [p], state, inputs)
                except Exception:
                    if p.secret and p.name in kept:
                        kept[p.name] = secret_of(kept[p.name])
                    continue
                kept.pop(p.name, None)
                kept.update(found)
            wrong = error_of(e)
            return kept, {**wrong, "message": wrong["message"].partition("\n")[0]}  # without the places in the code

    def recorded(self, r: DeclaredResource, state: Any, inputs: Properties, id: str, olds: Properties) -> Properties:
        kept, wrong = self.made(r, state, inputs, olds)
        if wrong is None:
            return kept
        e = HuskError("init-failed", wrong["message"], wrong["path"])
        e.init_failure = {"id": id, "state": kept, "reasons": [_reason(wrong)], "refreshBeforeUpdate": True}
        raise e

    def unhealthy(self, r: DeclaredResource, raised: Exception, inputs: Properties, id: str, olds: Properties) -> None:
        """Completes what was raised if it tells of an object that exists."""
        e = _told(raised)
        if not isinstance(e, InitFailed) or not (e.id or id):
            return
        kept, wrong = self.made(r, e.state, inputs, olds)
        reasons = [well_formed(str(t).strip()) for t in e.reasons or [e.message]] + ([_reason(wrong)] if wrong else [])
        e.init_failure = {"id": well_formed(str(e.id or id)), "state": kept, "reasons": reasons, "refreshBeforeUpdate": wrong is not None}

    # Resources

    def call_check(self, q: dict[str, Any]) -> dict[str, Any]:
        r = self.resource(q)
        inputs, failures = check(r.inputs, q["news"])
        if failures or self.undecided:
            return {"inputs": inputs, "failures": failures}
        refused = self.autoname(r, q, inputs)
        if refused:
            return {"inputs": inputs, "failures": [refused]}
        if "check" not in r.can:
            return {"inputs": inputs, "failures": []}
        before = _fields(r.inputs, shapes.load(r.inputs, inputs), "the input")
        try:
            olds = None if q["olds"] is None else shapes.load(r.inputs, q["olds"])
        except HuskError:
            olds = None  # inputs of another version of the resource do not help
        named = q["autonaming"]
        request = CheckRequest(
            urn=q["urn"], name=q["name"], inputs=shapes.load(r.inputs, inputs), olds=olds, random_seed=q["randomSeed"],
            autonaming=Autonaming(named["proposedName"], named["mode"]) if named else None, known=lambda name: not contains_unknowns(inputs.get(name)))
        found = [CheckFailure(*f) for f in r.code.check(request) or ()]
        for f in found:
            _answered_path("check", f.path)
        after = _fields(r.inputs, request.inputs, "what the provider's check left")
        return {"inputs": _merge(inputs, before, after), "failures": [{"path": f.path, "reason": well_formed(f.reason)} for f in found]}

    def autoname(self, r: DeclaredResource, q: dict[str, Any], inputs: Properties) -> dict[str, str] | None:
        """Makes up the name of a resource, or returns why it must not."""
        p = next((p for p in r.inputs.properties if p.autoname), None)
        if p is None or not is_null(inputs.get(p.name)):
            return None
        old = (q["olds"] or {}).get(p.name)
        if not is_null(old):
            inputs[p.name] = old
            return None
        policy, name = q["autonaming"], ""
        longest = None if p.autoname is True else int(p.autoname)
        if policy:
            proposed = policy["proposedName"]
            if policy["mode"] == "disable":
                return {"path": p.name, "reason": "required property is missing, since pulumi:autonaming lets no name be made up; expected string"}
            if proposed and (longest is None or len(proposed) <= longest):
                name = proposed
            elif proposed and policy["mode"] == "enforce":
                return {"path": p.name, "reason": f"the name that pulumi:autonaming asks for, {proposed}, is longer than {longest} characters"}
        if not name:
            suffix = "-" + "".join(f"{b & 15:x}" for b in q["randomSeed"][:7])
            begin = q["name"] or "::".join(q["urn"].split("::")[3:])
            name = begin[:None if longest is None else max(0, longest - len(suffix))] + suffix
        inputs[p.name] = Secret(name) if p.secret else name
        return None

    def call_diff(self, q: dict[str, Any]) -> dict[str, Any]:
        r = self.resource(q)
        found = diff(r.inputs, r.state, q)
        first = r.delete_before_replace or bool(r.identity) and all(
            equal(q["olds"].get(name) if is_null(q["oldInputs"].get(name)) else q["oldInputs"].get(name), q["news"].get(name)) for name in r.identity)
        found["deleteBeforeReplace"] = first
        if self.undecided or "diff" not in r.can:
            return found
        answer = r.code.diff(DiffRequest(
            urn=q["urn"], name=q["name"], id=q["id"], inputs=shapes.load(r.inputs, q["news"]), old_inputs=shapes.recorded(r.inputs, q["oldInputs"]),
            state=shapes.recorded(r.state, q["olds"]), known=lambda name: not contains_unknowns(q["news"].get(name)),
            changes=[Change(c["path"], c["kind"], c["inputDiff"]) for c in found["detailedDiff"]], delete_before_replace=first))
        if isinstance(answer, Diff):
            found["deleteBeforeReplace"] = answer.delete_before_replace or bool(r.identity) and first
        detailed = [Change(*c) for c in (answer.changes if isinstance(answer, Diff) else answer)]
        return _summarize({**found, "detailedDiff": [{"path": c.path, "kind": c.kind, "inputDiff": c.input_diff} for c in detailed]}, q["ignoreChanges"])

    def call_create(self, q: dict[str, Any]) -> dict[str, Any]:
        r = self.resource(q)
        if q["preview"]:
            return {"state": self.preview(r, {**q, "news": q["inputs"], "id": "", "olds": {}})}
        self.decided()
        self.known("input", q["inputs"])
        try:
            answer = r.code.create(CreateRequest(urn=q["urn"], name=q["name"], timeout=q["timeout"], inputs=shapes.load(r.inputs, q["inputs"])))
        except Exception as e:
            self.unhealthy(r, e, q["inputs"], "", {})
            raise
        id, state = answer if isinstance(answer, tuple) and len(answer) == 2 else ("", None)
        if not id:
            raise HuskError("crashed", "the provider's create returned no id")
        id = well_formed(str(id))
        return {"id": id, "state": self.recorded(r, state, q["inputs"], id, {})}

    def call_update(self, q: dict[str, Any]) -> dict[str, Any]:
        r = self.resource(q)
        if q["preview"]:
            return {"state": self.preview(r, q)}
        self.decided()
        self.known("input", q["news"])
        if "update" not in r.can:
            raise HuskError("unimplemented", "resources of this type cannot be changed in place, only replaced")
        request = UpdateRequest(
            urn=q["urn"], name=q["name"], timeout=q["timeout"], id=q["id"], inputs=shapes.load(r.inputs, q["news"]),
            old_inputs=shapes.recorded(r.inputs, q["oldInputs"]), state=shapes.recorded(r.state, q["olds"]), ignore_changes=q["ignoreChanges"])
        try:
            state = r.code.update(request)
        except Exception as e:
            self.unhealthy(r, e, q["news"], q["id"], q["olds"])
            raise
        return {"state": self.recorded(r, state, q["news"], q["id"], q["olds"])}

    def call_read(self, q: dict[str, Any]) -> dict[str, Any]:
        r = self.resource(q)
        self.decided()
        if "read" not in r.can:
            if q["state"] is None:
                raise HuskError("unimplemented", "resources of this type cannot be imported")
            if "exists" in r.can and not self.there(r, q):
                return {}
            return {"id": q["id"], "state": q["state"], "inputs": q["inputs"]}
        inputs = None if q["inputs"] is None else shapes.recorded(r.inputs, q["inputs"])
        before = None if inputs is None else _fields(r.inputs, inputs, "the recorded value")
        old = None if q["state"] is None else shapes.recorded(r.state, q["state"])
        try:
            answer = r.code.read(ReadRequest(urn=q["urn"], name=q["name"], timeout=q["timeout"], id=q["id"], inputs=inputs, state=old))
        except NotFound:
            return {}
        if answer is None:
            raise HuskError("internal", "the provider's read returned nothing: raise NotFound if the object does not exist")
        now, state = _fields(r.inputs, answer[0], "what the provider's read returned"), shapes.store(r.state, answer[1], "the state")
        if before is not None:
            now = _merge(q["inputs"], before, now)
        if q["state"] is not None:
            state = _merged_secrets(state, q["state"], q["state"])
        if q["inputs"] is not None:
            state = self.inherit(r, state, q["inputs"])
        return {"id": well_formed(str(answer[2])) if answer[2:] and answer[2] else q["id"], "state": state, "inputs": now}

    def call_delete(self, q: dict[str, Any]) -> None:
        r = self.resource(q)
        self.decided()
        if "delete" not in r.can:
            return
        request = DeleteRequest(urn=q["urn"], name=q["name"], timeout=q["timeout"], id=q["id"], state=shapes.recorded(r.state, q["state"]))
        try:
            r.code.delete(request)
        except NotFound:
            pass

    def there(self, r: DeclaredResource, q: dict[str, Any]) -> bool:
        try:
            return bool(r.code.exists(ExistsRequest(urn=q["urn"], name=q["name"], timeout=q["timeout"], id=q["id"])))
        except NotFound:
            return False

    def call_exists(self, q: dict[str, Any]) -> dict[str, Any]:
        r = self.resource(q)
        if "exists" not in r.can:
            raise _unimplemented()
        self.decided()
        return {"exists": self.there(r, q)}

    def call_list(self, q: dict[str, Any]) -> dict[str, Any]:
        r = self.resource({"type": q["token"], "urn": ""})
        if "list" not in r.can:
            raise _unimplemented()
        self.decided()
        answer = r.code.list(ListRequest(query=q["query"], limit=q["limit"], page_size=q["pageSize"], continuation_token=q["continuationToken"]))
        found = [{"id": well_formed(x[0]), "name": well_formed(x[1]) if x[1:] else ""} for x in answer.resources]
        return {"resources": found, "continuationToken": answer.continuation_token}

    # Components

    def call_construct(self, q: dict[str, Any]) -> dict[str, Any]:
        if not self.p.components:
            raise _unimplemented()
        c = next((c for c in self.p.components if c.token == q["type"]), None)
        if c is None:
            raise self.no_such("component", q["type"], self.all_types())
        inputs, failures = check(c.inputs, q["inputs"])
        if failures:
            raise refusal(failures)
        for d in q["inputDependencies"]:
            if d["urns"] and d["key"] in inputs:
                inputs[d["key"]] = output_of(inputs[d["key"]], False, d["urns"])
        hidden = component.opaque(c.inputs, inputs, secret=True)
        if hidden:
            raise HuskError("invalid-argument", "the provider cannot keep this input secret: its author would have to declare it as an output", path_text(hidden))
        urn = host.call("monitorRegisterResource", {
            "type": q["type"], "name": q["name"], "parent": q["parent"], "custom": False, "remote": False, "inputs": inputs,
            "propertyDependencies": q["inputDependencies"], "options": self.own_options(q["options"]),
        })["urn"]
        host.begin(urn, 0)
        outputs: Properties = {}
        if self.undecided or component.opaque(c.inputs, inputs, secret=False):
            outputs = {p.name: unknown for p in c.outputs.properties}
            host.log.warning(f"what {q['name']} is made of is not known in this preview, for some of its inputs are not")
        else:
            outputs = self.constructed(c, ConstructRequest(urn=urn, name=q["name"], inputs=component.load(c.inputs, inputs)), Deployment(q["context"], urn))
        host.call("monitorRegisterOutputs", {"urn": urn, "outputs": outputs})
        return {"urn": urn, "state": lowered(outputs), "stateDependencies": dependencies(outputs)}

    def call_call(self, q: dict[str, Any]) -> None:
        if not self.p.components:
            raise _unimplemented()
        raise self.no_such("method", q["token"], self.p.functions)

    def constructed(self, c: DeclaredComponent, request: ConstructRequest[Any], d: Deployment) -> Properties:
        """Runs the author's code and waits for all that it declares. Outputs may declare more."""
        try:
            made = c.code.construct(request, Context(d))
            while True:
                d.finish()
                outputs = shapes.store(c.outputs, made, "what construct returned")
                if not d.running and not d.waiting:
                    crosses(outputs)
                    d.failure = HuskError("internal", "the component has ended, and declares no more children")
                    return outputs
        except BaseException as e:
            d.failure = d.failure or e
            with contextlib.suppress(BaseException):
                d.finish()
            raise d.failure

    def own_options(self, o: dict[str, Any]) -> dict[str, Any]:
        """Returns the component's own options. Children of its package inherit the provider."""
        providers = o["providers"]
        if o["provider"] and not any(p["package"] == self.p.name for p in providers):
            providers = [*providers, {"package": self.p.name, "reference": o["provider"]}]
        return {**o, "providers": providers, "provider": "", "version": "", "packageRef": ""}

    def preview(self, r: DeclaredResource, q: dict[str, Any]) -> Properties:
        """Returns the state that create or update would return.

        Outputs with the name and type of an input have its value, stable ones keep theirs, and the author's code may know others.
        """
        news: Properties = q["news"]
        repeated = self.as_state(r, news)
        state: Properties = {}
        for p in r.state.properties:
            given, declared = news.get(p.name), r.inputs.by_name.get(p.name)
            same = declared if declared and declared.type.same(p.type) else None
            v: Value = unknown
            if same and p.name in news and contains_unknowns(given):
                v = given
            elif same and not (same.computed and is_null(given)):
                v = _copy_marks(repeated[p.name], given) if p.name in repeated else None
            elif p.stable and p.name in q["olds"]:
                v = q["olds"][p.name]
            if v is not None:
                state[p.name] = secret_of(v) if p.secret else v
        if "preview" not in r.can or self.undecided or contains_unknowns(news):
            return state
        old = shapes.recorded(r.state, q["olds"]) if q["id"] else None
        foretold = r.code.preview(PreviewRequest(urn=q["urn"], name=q["name"], id=q["id"], inputs=shapes.load(r.inputs, news), state=old)) or {}
        fields = {p.attribute for p in r.state.properties}
        for name in foretold:
            if name not in fields:
                raise HuskError("internal", f"the provider's preview foretold {name}, which is no field of {r.state.cls.__name__}")
        known = self.inherit(r, shapes.Storer("what the provider foretold", partial=True).fields(r.state, foretold), news)
        for p in r.state.properties:
            if p.attribute in foretold:
                state.pop(p.name, None)
                if p.name in known:
                    state[p.name] = known[p.name]
        return state
