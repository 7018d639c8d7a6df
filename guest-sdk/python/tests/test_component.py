"""Tests of components, with a monitor that returns what it is asked, the last operation first."""

from __future__ import annotations

import dataclasses
import sys
import unittest
from dataclasses import dataclass
from typing import Annotated, Any, Callable

from husk_provider import (
    Alias, Child, Component, ConstructRequest, Context, Created, Field, HuskError, Output, Provider, Reference, Resource, Secret, Timeouts, all_of, concat,
    host, unknown,
)
from husk_provider.outputs import lowered
from husk_provider.server import Server, error_of
from husk_provider.values import plain


@dataclass(kw_only=True)
class Nested:
    host: Output[str] | None = None
    port: int | None = None


@dataclass(kw_only=True)
class Inputs:
    text: Output[str] | None = None
    token: Annotated[Output[str] | None, Field(secret=True)] = None
    what: Any = None
    size: int = 3
    nested: Nested | None = None
    items: list[Output[str]] | None = None
    labels: dict[str, str] | None = None
    table: Output[dict[str, str]] | None = None


@dataclass(kw_only=True)
class Outputs:
    result: Any = None
    hidden: Annotated[str | None, Field(secret=True)] = None
    items: list[Any] | None = None


@dataclass(kw_only=True)
class Texts:
    items: list[str] | None = None


TOKEN, OWN = "p:index:Box", "urn:pulumi:dev::proj::p:index:Box::b"


def urn(name: str) -> str:
    return f"urn:pulumi:dev::proj::p:index:Box$q:index:Thing::{name}"


class Monitor:
    def __init__(self, *, preview: bool = False, fail: dict[str, HuskError] | None = None, result: str = "success", wait_fails: HuskError | None = None) -> None:
        self.preview, self.failing, self.result, self.wait_fails = preview, fail or {}, result, wait_fails
        self.started: list[str] = []
        self.registered: dict[str, Any] = {}
        self.running: list[dict[str, Any]] = []
        self.outputs: Any = None
        self.warned: list[str] = []
        self.most = 0

    def register(self, r: dict[str, Any]) -> dict[str, Any]:
        self.registered[r["name"]] = r
        own = r["name"] == "b" and not r["parent"]
        return {
            "urn": OWN if own else urn(r["name"]), "id": "id of " + r["name"] if r["custom"] and not self.preview else "", "state": lowered(r["inputs"]),
            "stateDependencies": [], "result": "success" if own else self.result,
        }

    def call(self, name: str, params: Any = None) -> Any:
        if name == "monitorRegisterResource":
            return self.register(params)
        if name == "monitorRegisterOutputs":
            self.outputs = params["outputs"]
        elif name == "monitorRegisterPackage":
            return {"packageRef": "ref of " + params["name"]}
        elif name == "monitorStart":
            return self.start(params["case"], params["value"])
        elif name == "monitorWait":
            if self.wait_fails:
                raise self.wait_fails
            return self.running.pop()
        return None

    def start(self, kind: str, q: dict[str, Any]) -> int:
        name = q.get("name") or q["token"]
        self.started.append(name)
        if name in self.failing:
            e = self.failing[name]
            outcome = {"case": "failed", "value": {"kind": e.kind, "message": e.message, "path": e.path, "origin": "remote"}}
        elif kind == "registerResource":
            outcome = {"case": "registered", "value": self.register(q)}
        elif kind == "readResource":
            outcome = {"case": "resourceRead", "value": {"urn": urn(name), "state": lowered(q["properties"])}}
        else:
            failures = [{"path": "bad", "reason": "is bad"}] if "bad" in q["args"] else []
            result = {"urn": plain(q["args"]["__self__"]).urn} if kind == "call" else {k: plain(v) for k, v in q["args"].items()}
            outcome = {"case": kind, "value": {"result": result, "failures": failures, "unknown": False, "resultDependencies": [{"key": "urn", "urns": [urn("other")]}]}}
        self.running.append({"handle": len(self.started), "outcome": outcome})
        self.most = max(self.most, len(self.running))
        return len(self.started)


Construct = Callable[[Inputs, Context], Any]


class Case(unittest.TestCase):
    def boxed(self, m: Monitor, code: Construct, outputs: type = Outputs, **q: Any) -> Any:
        provider = Provider("p", "1.0.0")

        @provider.component(TOKEN)
        class Box(Component[Inputs, outputs]):  # type: ignore[valid-type]
            def construct(self, request: ConstructRequest[Inputs], context: Context) -> Any:
                made = code(request.inputs, context)
                return made if dataclasses.is_dataclass(made) else outputs() if made is None else outputs(result=made)

        call, warning = host.call, host.Log.warning
        host.call = m.call
        host.Log.warning = lambda self, message: m.warned.append(str(message))  # type: ignore[method-assign]
        try:
            options = {"provider": "", "providers": [], **q.pop("options", {})}
            return Server(provider).answer("construct", {
                "type": TOKEN, "name": "b", "parent": "", "inputs": {}, "inputDependencies": [], "context": {"dryRun": m.preview}, "options": options, **q})
        finally:
            host.call, host.Log.warning = call, warning  # type: ignore[method-assign]


def thing(c: Context, name: str, inputs: Any = None, **options: Any) -> Child:
    return c.resource("q:index:Thing", name, inputs, **options)


class OfOutputs(Case):
    def test_values(self) -> None:
        given = {"n": 1, "list": ["x", "y"], "password": Secret("p")}
        other = [{"key": "text", "urns": [urn("other")]}]
        cases: list[tuple[str, Construct, Any, list[str], dict[str, Any], dict[str, Any]]] = [
            ("a constant", lambda i, c: {"a": [1, 2.5, "x", True, None], "none": None}, {"a": [1, 2.5, "x", True, None], "none": None}, [], {}, {}),
            ("an input", lambda i, c: i.text, Secret("s"), [urn("other")], {"inputs": {"text": Secret("s")}, "inputDependencies": other}, {}),
            ("an input inside of one", lambda i, c: i.nested and i.nested.host, "h", [urn("other")],
             {"inputs": {"nested": {"host": "h"}}, "inputDependencies": [{"key": "nested", "urns": [urn("other")]}]}, {}),
            ("a default", lambda i, c: i.size, 3, [], {}, {}),
            ("an output", lambda i, c: thing(c, "a", given).output("list[1]"), "y", [urn("a")], {}, {}),
            ("a secret output", lambda i, c: concat("<", thing(c, "a", given).output("password"), ">"), Secret("<p>"), [urn("a")], {}, {}),
            ("all outputs", lambda i, c: thing(c, "a", {"n": 1}).outputs, {"n": 1}, [urn("a")], {}, {}),
            ("a reference", lambda i, c: Outputs(result=thing(c, "a").reference), Reference(urn("a"), "id of a"), [urn("a")], {}, {}),
            ("ID and URN", lambda i, c: concat(thing(c, "a").id, " ", thing(c, "a2").urn), "id of a " + urn("a2"), [urn("a"), urn("a2")], {}, {}),
            ("an output that is not there", lambda i, c: concat("-", thing(c, "a").output("none")), "-", [urn("a")], {}, {}),
            ("an output that is not there yet", lambda i, c: concat("-", thing(c, "a").output("none.of.it")), unknown, [urn("a")], {}, {"preview": True}),
            ("an ID that is not there yet", lambda i, c: thing(c, "a").id, unknown, [urn("a")], {}, {"preview": True}),
            ("what a function makes", lambda i, c: thing(c, "a", {"n": 20}).output("n").apply(lambda n: {"double": 2 * n}), {"double": 40}, [urn("a")], {}, {}),
            ("children that depend on a value", lambda i, c: thing(c, "a", {"n": 2}).output("n").apply(lambda n: [thing(c, "xy"[k]).id for k in range(int(n))]),
             ["id of x", "id of y"], [urn("a"), urn("x"), urn("y")], {}, {}),
            ("what a function of a package answers", lambda i, c: c.invoke("q:index:echo", {"v": thing(c, "a", given).output("password")}).get("v"),
             Secret("p"), [urn("a")], {}, {}),
            ("what a method answers", lambda i, c: c.call(c.component("q:index:Thing", "a"), "q:index:Thing/of", {"v": 1}).get("urn"),
             urn("a"), [urn("a"), urn("other")], {}, {}),
            ("a resource that is read", lambda i, c: c.read("q:index:Thing", "a", "known", {"n": 1}).id, "known", [urn("a")], {}, {}),
            ("a value that is looked at", lambda i, c: thing(c, "a", given).output("list").value[0], "x", [], {}, {}),
            ("several", lambda i, c: all_of({"a": thing(c, "a", given).output("n"), "b": [Secret("p")]}).apply(lambda v: f"{v['b'][0]}{v['a']:g}"),
             Secret("p1"), [urn("a")], {}, {}),
        ]
        for what, code, want, depends, q, how in cases:
            with self.subTest(what):
                m = Monitor(**how)
                got = self.boxed(m, code, **q)
                self.assertEqual(got["urn"], OWN)
                self.assertEqual(got["state"]["result"], want)
                self.assertEqual([u for d in got["stateDependencies"] for u in d["urns"]], depends)
                self.assertEqual(lowered(m.outputs["result"]), want)

    def test_order(self) -> None:
        m = Monitor()

        def code(i: Inputs, c: Context) -> None:
            a, b = thing(c, "a"), thing(c, "b2")
            later = thing(c, "c", {"of": a})
            thing(c, "d", depends_on=[b, later])
            thing(c, "e")
            self.assertEqual(m.started, ["a", "b2", "e"], "nothing waits that need not")

        self.boxed(m, code)
        self.assertEqual(m.started, ["a", "b2", "e", "c", "d"])
        self.assertEqual(m.most, 3)
        self.assertEqual(m.registered["c"]["propertyDependencies"], [{"key": "of", "urns": [urn("a")]}])
        self.assertEqual(m.registered["d"]["options"]["dependencies"], [urn("b2"), urn("c")])

    def test_options(self) -> None:
        m, mine = Monitor(), "urn:pulumi:dev::proj::pulumi:providers:p::mine::1"

        def code(i: Inputs, c: Context) -> None:
            provider, group, a = c.resource("pulumi:providers:q", "prov"), c.group("p:index:Group", "group"), thing(c, "a")
            c.component(
                "q:index:Thing", "all", parent=group, provider=provider, providers=[provider], depends_on=a, deleted_with=a, replace_with=[a], protect=True,
                retain_on_delete=False, delete_before_replace=True, ignore_changes=["i"], replace_on_changes=["r"], hide_diffs=["h"],
                additional_secret_outputs=["s"], aliases=["u", Alias("n", no_parent=True)], custom_timeouts=Timeouts(create=1), import_="im", version="2.0.0",
                package=c.package("x", "1.0.0"), replacement_trigger=a.id, hooks={"after-create": ["x"]})

        own = {"provider": mine, "version": "1.0.0", "packageRef": "", "providers": [{"package": "q", "reference": "r"}], "protect": True}
        self.boxed(m, code, options=own)
        refs = urn("prov") + "::id of prov"
        alias = {"name": "n", "type": "", "stack": "", "project": "", "parentUrn": "", "noParent": True}
        self.assertEqual(m.registered["all"]["options"], {
            "provider": refs, "providers": [{"package": "q", "reference": refs}], "dependencies": [urn("a")], "deletedWith": urn("a"), "replaceWith": [urn("a")],
            "protect": True, "retainOnDelete": False, "deleteBeforeReplace": True, "ignoreChanges": ["i"], "replaceOnChanges": ["r"], "hideDiffs": ["h"],
            "additionalSecretOutputs": ["s"], "aliases": [{"case": "urn", "value": "u"}, {"case": "spec", "value": alias}],
            "customTimeouts": {"create": 1, "update": 0, "delete": 0, "read": 0}, "importId": "im", "version": "2.0.0", "packageRef": "ref of x",
            "replacementTrigger": "id of a", "hooks": [{"kind": "after-create", "names": ["x"]}],
        })
        all, a = m.registered["all"], m.registered["a"]
        self.assertEqual([all["parent"], all["remote"], all["custom"], a["parent"]], [urn("group"), True, False, OWN])
        self.assertEqual(m.registered["b"]["options"], {
            "protect": True, "provider": "", "version": "", "packageRef": "",
            "providers": [{"package": "q", "reference": "r"}, {"package": "p", "reference": mine}]}, "the component hands down its own provider")


class Failures(Case):
    def test_failures(self) -> None:
        no_luck, stopped = HuskError("unavailable", "no luck", "size"), HuskError("cancelled", "stopped")

        def three(i: Inputs, c: Context) -> None:
            a = thing(c, "a")
            thing(c, "b2")
            thing(c, "c", {"a": a})

        def caught(i: Inputs, c: Context) -> None:
            try:
                thing(c, "a").output("x").value
            except HuskError:
                thing(c, "c")

        def forgiven(i: Inputs, c: Context) -> None:
            thing(c, "a")
            try:
                thing(c, "", {})
            except HuskError:
                pass

        def mind(i: Inputs, c: Context) -> None:
            thing(c, "a")
            raise ValueError("changed my mind")

        def odd(n: Any) -> Any:
            raise ValueError(f"odd {n}")

        cases: list[tuple[dict[str, Any], Construct, str, str, list[str]]] = [
            ({"fail": {"a": no_luck}}, three, "q:index:Thing a: size: no luck", "unavailable", ["a", "b2"]),
            ({"fail": {"a": no_luck}}, caught, "q:index:Thing a: size: no luck", "unavailable", ["a"]),
            ({"fail": {"b2": no_luck}}, three, "q:index:Thing b2: size: no luck", "unavailable", ["a", "b2"]),
            ({"fail": {"a": no_luck, "b2": stopped}}, three, "q:index:Thing a: size: no luck", "unavailable", ["a", "b2"]),
            ({}, forgiven, "q:index:Thing : a resource needs a name, which is a str", "invalid-argument", ["a"]),
            ({}, mind, "changed my mind", "internal", ["a"]),
            ({"fail": {"q:index:f": no_luck}}, lambda i, c: thing(c, "a", {"v": c.invoke("q:index:f")}) and None, "q:index:Thing a: q:index:f: size: no luck",
             "unavailable", ["q:index:f"]),
            ({"fail": {"q:index:f": no_luck}}, lambda i, c: c.invoke("q:index:f"), "q:index:f: size: no luck", "unavailable", ["q:index:f"]),
            ({}, lambda i, c: c.invoke("q:index:f", {"bad": True}), "q:index:f: bad: is bad", "invalid-argument", ["q:index:f"]),
            ({}, lambda i, c: thing(c, "a", {"v": {"w": [len]}}), "q:index:Thing a: v.w[0]: a property cannot be a builtin_function_or_method", "invalid-argument", []),
            ({}, lambda i, c: thing(c, "a", dependson=[]), "q:index:Thing a: there is no option dependson; did you mean depends_on?", "invalid-argument", []),
            ({}, lambda i, c: thing(c, "a", ignore_changes="x"), "q:index:Thing a: the option ignore_changes: expected a list of str, got str", "invalid-argument", []),
            ({}, lambda i, c: thing(c, "a", parent=urn("x")), "q:index:Thing a: the option parent: expected a child, got str", "invalid-argument", []),
            ({}, lambda i, c: c.invoke("q:index:f", protect=True), "q:index:f: there is no option protect", "invalid-argument", []),  # type: ignore[call-arg]
            ({}, lambda i, c: thing(c, "a", {"n": "x"}).output("n").apply(odd), "odd x", "internal", ["a"]),
            ({}, lambda i, c: Texts(items=[thing(c, "a", {"n": 1}).output("n")]), "items[0]: what construct returned does not fit the schema: expected string, got a float",  # type: ignore[list-item]
             "internal", ["a"]),
            ({"wait_fails": stopped}, lambda i, c: thing(c, "a") and None, "q:index:Thing a: stopped", "cancelled", ["a"]),
            ({"result": "skipped"}, lambda i, c: thing(c, "a") and None, "q:index:Thing a: it was left out", "internal", ["a"]),
        ]
        for how, code, want, kind, started in cases:
            with self.subTest(want):
                m = Monitor(**how)
                with self.assertRaises(Exception) as raised:
                    self.boxed(m, code, Texts if "fit the schema" in want else Outputs)
                told = error_of(raised.exception)
                said = f"{told['path']}: {told['message']}" if told["path"] else told["message"]
                self.assertIn(want, said)
                self.assertEqual([told["kind"], m.started, m.outputs], [kind, started, None])
                self.assertTrue(not m.running or m.wait_fails)

    def test_an_exit(self) -> None:
        m = Monitor()

        def code(i: Inputs, c: Context) -> None:
            thing(c, "b2", {"a": thing(c, "a")})
            sys.exit(1)

        with self.assertRaises(SystemExit):
            self.boxed(m, code)
        self.assertEqual([m.started, m.running], [["a"], []])

    def test_an_answer_of_another(self) -> None:
        class Odd(Monitor):
            def start(self, kind: str, q: dict[str, Any]) -> int:
                return super().start(kind, q) + 7

        with self.assertRaisesRegex(HuskError, "the monitor answers an operation that was not started"):
            self.boxed(Odd(), lambda i, c: thing(c, "a") and None)

    def test_a_function_may_fail(self) -> None:
        def code(i: Inputs, c: Context) -> str:
            try:
                return str(c.invoke("q:index:f").value)
            except HuskError as e:
                return e.kind

        got = self.boxed(Monitor(fail={"q:index:f": HuskError("not-found", "none")}), code)
        self.assertEqual(got["state"]["result"], "not-found")

    def test_a_stray_output(self) -> None:
        kept: list[Child] = []
        with self.assertRaises(HuskError):
            self.boxed(Monitor(wait_fails=HuskError("unavailable", "away")), lambda i, c: kept.append(thing(c, "stray")))
        with self.assertRaisesRegex(HuskError, "away"):
            self.boxed(Monitor(), lambda i, c: thing(c, "a", {"v": kept[0].id}) and None)


    def test_the_end(self) -> None:
        kept: list[Context] = []
        self.boxed(Monitor(), lambda i, c: kept.append(c))
        with self.assertRaisesRegex(HuskError, "the component has ended"):
            thing(kept[0], "late")


class OfInputs(Case):
    def test_inputs(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"size": Secret(1)}, "size: the provider cannot keep this input secret"), ({"nested": {"port": Secret(1)}}, "nested.port: the provider cannot keep"),
            ({"nested": Secret({"port": 1})}, "nested: the provider cannot keep"), ({"labels": {"a b": Secret("x")}}, 'labels["a b"]: the provider cannot keep'),
            ({"size": "x", "siez": 1}, 'siez: no such property; did you mean "size"?\nsize: expected integer, got string'),
            ({"size": unknown}, ""), ({"nested": {"port": unknown}}, ""), ({"nested": unknown}, ""), ({"labels": {"a": unknown}}, ""), ({"items": unknown}, ""),
        ]
        for given, want in cases:
            with self.subTest(str(given)):
                m = Monitor(preview=True)
                if want:
                    with self.assertRaises(HuskError) as raised:
                        self.boxed(m, lambda i, c: self.fail("the author's code runs"), inputs=given)
                    told = error_of(raised.exception)
                    self.assertIn(want, f"{told['path']}: {told['message']}" if told["path"] else told["message"])
                    self.assertEqual([told["kind"], m.registered], ["invalid-argument", {}])
                    continue
                got = self.boxed(m, lambda i, c: self.fail("the author's code runs"), inputs=given)
                self.assertEqual(got["state"], {"hidden": unknown, "items": unknown, "result": unknown})
                self.assertIn("what b is made of is not known", m.warned[0])

    def test_passed_on(self) -> None:
        m = Monitor(preview=True)
        given = {
            "text": unknown, "token": "t", "what": [Secret(1), unknown], "items": [unknown, Secret("x")], "nested": {"host": unknown}, "table": {"k": unknown},
        }

        def code(i: Inputs, c: Context) -> Outputs:
            assert i.text and i.nested
            self.assertTrue(c.preview and not i.text.known)
            self.assertIs(i.text.apply(lambda _: self.fail("it is not known")).value, unknown)
            thing(c, "a", {"text": i.text, "token": i.token, "what": i.what, "items": i.items, "nested": {"host": i.nested.host}, "table": i.table})
            return Outputs(items=i.items)

        got = self.boxed(m, code, inputs=given)
        self.assertEqual(m.registered["a"]["inputs"], {**given, "token": Secret("t")})
        self.assertEqual(got["state"], {"items": [unknown, Secret("x")]})

    def test_refused(self) -> None:
        provider = Provider("p", "1.0.0")

        class Box(Component[Inputs, Outputs]):
            def construct(self, request: Any, context: Any) -> Any: ...

        provider.component(TOKEN)(Box)
        with self.assertRaisesRegex(TypeError, "p:index:Box: it is declared twice"):
            provider.component(TOKEN)(Box)
        with self.assertRaisesRegex(TypeError, "its token must begin with p:"):
            provider.component("q:index:Box")
        with self.assertRaisesRegex(TypeError, "needs a method construct"):
            provider.component("p:index:None")(type("Nothing", (Component,), {}))

        class Thing(Resource[Nested, Texts]):
            def create(self, request: Any) -> Created[Texts]: ...  # type: ignore[empty-body]

        with self.assertRaisesRegex(TypeError, "p:index:Thing: host: only fields of a component are an Output"):
            provider.resource("p:index:Thing")(Thing)
        with self.assertRaisesRegex(HuskError, "the package p 1.0.0 has no component p:index:Bxo; did you mean p:Box?"):
            Server(provider).answer("construct", {"type": "p:index:Bxo"})


if __name__ == "__main__":
    unittest.main()
