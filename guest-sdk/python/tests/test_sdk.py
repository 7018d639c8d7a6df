"""Tests of what the provider contacts does not show."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import sys
import types
import unittest
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Annotated, Any, Callable, Literal

from husk_provider import (
    Archive, Asset, Change, CheckFailure, Created, Diff, Field, HuskError, InitFailed, InvalidArgument, NotFound, Output, Page, Provider, Read,
    Reference, Resource, Secret, Unavailable, dump, http, parse, unknown,
)
from husk_provider.schema import document
from husk_provider.server import Server, error_of
from husk_provider.values import contains_path, equal, parse_path, path_text

SEED = bytes(range(32))


def asked(server: Server, method: str, **q: Any) -> Any:
    """Asks with what a request has at least."""
    all = {
        "urn": "urn:pulumi:dev::test::" + q.get("type", "") + "::it", "name": "it", "timeout": 0, "preview": False, "olds": None, "autonaming": None,
        "randomSeed": SEED, "ignoreChanges": [], "state": None, "inputs": None, "id": "1", **q,
    }
    return server.answer(method, all)


@dataclass(kw_only=True)
class Size:
    width: int
    height_in_cm: Annotated[float, Field(min=0)] = 1.5


@dataclass(kw_only=True)
class Inputs:
    name: Annotated[str, Field(autoname=12)]
    size: Size | None = None
    sizes: dict[str, Size] = dataclasses.field(default_factory=dict)
    either: Size | str | None = None
    what: Any = None
    file: Asset | Archive | None = None
    other: Annotated[Reference | None, "things:index:Thing"] = None
    class_: Literal["a", "b"] = "a"
    pin: Annotated[int | None, Field(write_only=True)] = None
    chosen: Annotated[str | None, Field(computed=True)] = None


@dataclass(kw_only=True)
class State:
    name: str
    what: Any = None
    chosen: str
    made: Annotated[str, Field(stable=True)]
    text: str | None = None


def things(code: type[Any] | None = None, **options: Any) -> Server:
    """Returns a provider of things with more methods than create."""

    class Thing(Resource[Inputs, State]):
        """A thing."""

        def create(self, request: Any) -> Created[State]:
            return Created("1", State(name=request.inputs.name, chosen=request.inputs.chosen or "c", made="now"))

    provider = Provider("things", "1.0.0")
    provider.resource("things:index:Thing", **options)(type("Thing", (code, Thing), {}) if code else Thing)
    return Server(provider)


@dataclass(kw_only=True)
class Tree:
    name: str
    trees: list[Tree] = dataclasses.field(default_factory=list)


THING = "things:index:Thing"


class Schema(unittest.TestCase):
    def test_document(self) -> None:
        found = json.loads(document(things().p))
        thing = found["resources"][THING]
        self.assertEqual(thing["inputProperties"]["class"], {"type": "string", "default": "a", "willReplaceOnChanges": True, "language": {"husk": {"oneOf": ["a", "b"]}}})
        self.assertEqual(thing["inputProperties"]["other"]["$ref"], "#/resources/things:index:Thing")
        self.assertEqual(thing["inputProperties"]["either"]["oneOf"], [{"$ref": "#/types/things:index/size:Size"}, {"type": "string"}])
        self.assertEqual(thing["inputProperties"]["sizes"]["additionalProperties"], {"$ref": "#/types/things:index/size:Size"})
        self.assertEqual(thing["inputProperties"]["pin"]["language"]["husk"], {"writeOnly": True})
        self.assertNotIn("requiredInputs", thing)
        self.assertEqual(thing["required"], ["chosen", "made", "name"])
        self.assertEqual(found["types"]["things:index/size:Size"], {
            "type": "object", "required": ["width"],
            "properties": {"heightInCm": {"type": "number", "default": 1.5, "language": {"husk": {"minimum": 0}}}, "width": {"type": "integer"}},
        })

    def test_objects_within_themselves(self) -> None:
        tree = parse(Tree, '{"name":"a","trees":[{"name":"b"}]}')
        self.assertEqual(tree, Tree(name="a", trees=[Tree(name="b")]))
        self.assertEqual(dump(tree), '{"name": "a", "trees": [{"name": "b", "trees": []}]}')

    def test_declarations_that_are_wrong(self) -> None:
        def declared(cls: type[Any], **options: Any) -> None:
            Provider("things", "1.0.0").resource(THING, **options)(cls)

        def made(base: Any, **methods: Any) -> type[Any]:
            return types.new_class("R", (base,), exec_body=lambda body: body.update(methods))

        def inputs_with(annotation: Any, **said: Any) -> type[Any]:
            inputs: Any = dataclasses.make_dataclass("I", [("one", annotation, dataclasses.field(**said))])
            return made(Resource[inputs, State], create=nothing)

        def nothing(self: Any, request: Any) -> None:
            pass

        async def create(self: Any, request: Any) -> Any:
            return None

        wrong: dict[str, Callable[[], Any]] = {
            "there are no properties of <class 'set'>": lambda: declared(inputs_with(set)),
            "the keys of a dict are str": lambda: declared(inputs_with(dict[int, str])),
            "is never None": lambda: declared(inputs_with(list[str | None])),
            "only a number has bounds": lambda: declared(inputs_with(Annotated[str, Field(min=1)])),
            "write T | None": lambda: declared(inputs_with(str, default=None)),
            "the default is a string, but the type is integer": lambda: declared(inputs_with(int, default="1")),
            "not among the values": lambda: declared(inputs_with(Literal["a"], default="b")),
            "write @dataclass above it": lambda: declared(made(Resource[int, State], create=nothing)),
            "needs a method create": lambda: declared(made(Resource[Inputs, State])),
            "did you mean read?": lambda: declared(made(Resource[Inputs, State], create=nothing, Read=nothing)),
            "requests wait in the host": lambda: declared(made(Resource[Inputs, State], create=create)),
            "the base Resource[Inputs, State]": lambda: declared(made(Resource, create=nothing)),
            "none of its inputs": lambda: declared(inputs_with(str), identity=["two"]),
            "must begin with things:": lambda: Provider("things", "1").resource("other:index:Thing"),
            "has the form": lambda: Provider("things", "1").resource("things:Thing"),
        }
        for want, call in wrong.items():
            with self.subTest(want), self.assertRaisesRegex(TypeError, want.replace("[", r"\[").replace("|", r"\|").replace("?", r"\?")):
                call()


class Methods(unittest.TestCase):
    def test_names(self) -> None:
        s = things()
        checked = asked(s, "check", type=THING, news={})
        self.assertEqual(checked["inputs"]["name"], "it-0123456")
        for policy, want in {("proposed", "propose"): "proposed", ("much longer than that", "propose"): "it-0123456"}.items():
            got = asked(s, "check", type=THING, news={}, autonaming={"proposedName": policy[0], "mode": policy[1]})
            self.assertEqual(got["inputs"]["name"], want)
        refused = asked(s, "check", type=THING, news={}, autonaming={"proposedName": "", "mode": "disable"})
        self.assertEqual([f["path"] for f in refused["failures"]], ["name"])
        self.assertEqual(asked(s, "check", type=THING, news={}, olds={"name": "before"})["inputs"]["name"], "before")

    def test_check(self) -> None:
        class Code:
            def check(self, request: Any) -> list[CheckFailure]:
                i = request.inputs
                if request.known("what") and i.what == 3:
                    i.what = 4
                i.sizes["new"] = Size(width=2)
                return [CheckFailure("size.width", "too wide")] if i.size and i.size.width and i.size.width > 9 else []

        s = things(Code)
        got = asked(s, "check", type=THING, news={"name": Secret("a"), "what": 3.0, "size": {"width": unknown}})
        self.assertEqual(got["failures"], [])
        self.assertEqual(got["inputs"]["name"], Secret("a"))
        self.assertEqual(got["inputs"]["what"], 4)
        self.assertEqual(got["inputs"]["sizes"], {"new": {"width": 2, "heightInCm": 1.5}})
        self.assertIs(got["inputs"]["size"]["width"], unknown)
        got = asked(s, "check", type=THING, news={"name": "a", "either": {"width": unknown}})["inputs"]
        self.assertEqual(got["either"], {"width": unknown, "heightInCm": 1.5})
        got = asked(s, "check", type=THING, news={"size": {"width": 10.0}})
        self.assertEqual(got["failures"], [{"path": "size.width", "reason": "too wide"}])

    def test_diff(self) -> None:
        class Code:
            answer: Any = None

            def update(self, request: Any) -> Any:
                return request.state

            def diff(self, request: Any) -> Any:
                return Code.answer(request.changes)

        s = things(Code)
        q = {"type": THING, "olds": {"name": "a", "chosen": "c", "made": "m"}, "oldInputs": {"name": "a", "what": 1.0}, "news": {"name": "a", "what": unknown}}
        Code.answer = lambda changes: changes
        got = asked(s, "diff", **q)
        self.assertEqual((got["changes"], got["detailedDiff"]), ("some", [{"path": "what", "kind": "update", "inputDiff": True}]))
        Code.answer = lambda changes: Diff([Change(c.path, "update-replace") for c in changes], delete_before_replace=True)
        got = asked(s, "diff", **q)
        self.assertEqual((got["replaceKeys"], got["deleteBeforeReplace"], got["stableKeys"]), (["what"], True, []))
        Code.answer = lambda changes: [Change("a..b", "add")]
        with self.assertRaisesRegex(HuskError, "the provider's diff answered an invalid property path"):
            asked(s, "diff", **q)

    def test_preview(self) -> None:
        class Code:
            def preview(self, request: Any) -> dict[str, Any]:
                return {"text": "known", "chosen": unknown} if request.inputs.what != 1 else {"other": 1}

        s = things(Code)
        got = asked(s, "create", type=THING, preview=True, inputs={"name": "a", "what": Secret("x")})["state"]
        self.assertEqual((got["name"], got["what"], got["text"]), ("a", Secret("x"), "known"))
        self.assertIs(got["chosen"], unknown)
        self.assertIs(got["made"], unknown)
        got = asked(s, "update", type=THING, preview=True, news={"name": unknown}, olds={"name": "a", "chosen": "c", "made": "m"}, oldInputs={"name": "a"})["state"]
        self.assertEqual(got["made"], "m")
        with self.assertRaisesRegex(HuskError, "which is no field of State"):
            asked(s, "create", type=THING, preview=True, inputs={"name": "a", "what": 1.0})

    def test_state_that_does_not_fit(self) -> None:
        endless: list[Any] = []
        endless.append(endless)
        deep: Any = "x"
        for _ in range(128):
            deep = [deep]

        class Failing(State):
            def __getattribute__(self, name: str) -> Any:
                if name == "what":
                    raise ValueError("it is gone")
                return super().__getattribute__(name)

        for wrong, path, why in [
            (State(name="a", chosen=None, made="m"), "chosen", "it is missing; expected string"),  # type: ignore[arg-type]
            (State(name="a", what={"a": [2**53 + 1]}, chosen="c", made="m"), 'what.a[0]', "beyond 2^53"),
            (State(name="a", what={1}, chosen="c", made="m"), "what", "got a set"),
            (State(name="a", what=deep, chosen="c", made="m"), "", "nested more than 128 deep"),
            (State(name="a", what=endless, chosen="c", made="m"), "", "recursion"),
            (State(name="a", what=Output({1}), chosen="c", made="m"), "", "cannot be a set"),
            (State(name="a", what=[Secret(2**53 + 1)], chosen="c", made="m"), "", "too large for a number"),
            (State(name="a", what=Asset("", "txt", "x"), chosen="c", made="m"), "", "not in list"),
            (Failing(name="a", chosen="c", made="m"), "", "ValueError: it is gone"),
            (State(name="a", chosen="c", made=b"m"), "made", "expected string, got a bytes"),  # type: ignore[arg-type]
            ({"name": "a"}, "", "expected a State, got a dict"),
            (None, "", "expected a State, got a NoneType"),
        ]:
            with self.subTest(why):
                def update(self: Any, request: Any) -> Any:
                    return wrong

                def fail(self: Any, request: Any) -> Any:
                    try:
                        raise InitFailed(id=7, state=wrong, reasons=["it limps"])  # type: ignore[arg-type]
                    except InitFailed as e:
                        raise ValueError("while it was made") from e

                done = things(type("Code", (), {"create": lambda self, r: Created("7", wrong), "update": update}))
                half = things(type("Code", (), {"create": fail, "update": fail}))
                olds = {"name": "old", "chosen": "was", "made": "long ago", "text": "old text"}
                for s, reasons in (done, 1), (half, 2):
                    for method, q in ("create", {"inputs": {"name": Secret("a"), "what": 1.0}}), ("update", {"news": {"name": Secret("a")}, "oldInputs": {}, "olds": olds, "id": "7"}):
                        with self.assertRaises(Exception) as caught:
                            asked(s, method, type=THING, **q)
                        told = error_of(caught.exception)
                        left = told["initFailure"]
                        self.assertEqual((told["kind"], left["id"], left["refreshBeforeUpdate"]), ("init-failed", "7", True))
                        self.assertEqual(len(left["reasons"]), reasons)
                        self.assertIn(why, left["reasons"][-1])
                        self.assertTrue(left["reasons"][-1].startswith(f"{path}: " if path else ""))
                        self.assertNotIn("\n", left["reasons"][-1])
                        self.assertEqual(left["state"]["name"], Secret("a"))
                        fits = isinstance(wrong, State)
                        self.assertEqual(left["state"].get("made"), "m" if fits and path != "made" else "long ago" if method == "update" else None)
                        self.assertEqual(left["state"].get("text"), "old text" if method == "update" and not fits else None)

    def test_create_that_returns_no_id(self) -> None:
        for wrong in None, State(name="a", chosen="c", made="m"), "12", Created("", None):
            with self.assertRaisesRegex(HuskError, "returned no id") as caught:
                asked(things(type("Code", (), {"create": lambda self, r: wrong})), "create", type=THING, inputs={"name": "a"})
            self.assertEqual(caught.exception.kind, "crashed")

    def test_output_of_another_type_than_the_input(self) -> None:
        @dataclass(kw_only=True)
        class Given:
            size: int

        @dataclass(kw_only=True)
        class Found:
            size: str

        class Thing(Resource[Given, Found]):
            def create(self, request: Any) -> Created[Found]:
                return Created("1", Found(size="large"))

        provider = Provider("things", "1.0.0")
        provider.resource(THING)(Thing)
        self.assertEqual(asked(Server(provider), "create", type=THING, inputs={"size": Secret(3.0)})["state"], {"size": Secret("large")})

    def test_values_of_any_kind(self) -> None:
        seen = []

        class Code:
            def create(self, request: Any) -> Any:
                seen.append(request.inputs)
                return Created("1", State(name="a\ud800", what=request.inputs.what, chosen="long secret", made="m"))

        values = {"n": 1.0, "list": [Secret("long secret"), Output("x", False, ["urn"]), Asset("", "text", "x")], "other": Reference("urn", "id")}
        file = Archive("", "assets", {"a": Asset("", "text", "x")})
        got = asked(things(Code), "create", type=THING, inputs={"name": "a", "what": values, "file": file, "either": {"width": 1.0}, "pin": Secret(3.0)})["state"]
        self.assertEqual(got["what"], values)
        self.assertEqual((got["name"], got["chosen"]), ("a\ufffd", Secret("long secret")))
        self.assertIsInstance(seen[0].what["n"], int)
        self.assertEqual((seen[0].file, seen[0].either, seen[0].pin), (file, Size(width=1), 3))

    def test_deep_values(self) -> None:
        class Code:
            def create(self, request: Any) -> Any:
                return Created("1", State(name="a", what=request.inputs.what, chosen="c", made="m"))

            def read(self, request: Any) -> Any:
                return Read(request.inputs, request.state)

        deep: Any = Secret("long secret")
        for i in range(126):
            deep = [deep] if i % 2 else {"a": deep}
        s = things(Code)
        inputs = asked(s, "check", type=THING, news={"name": "a", "what": deep})["inputs"]
        state = asked(s, "create", type=THING, inputs=inputs)["state"]
        self.assertEqual(state["what"], deep)
        self.assertEqual(asked(s, "read", type=THING, inputs=inputs, state=state)["state"]["what"], deep)
        self.assertEqual(asked(s, "diff", type=THING, oldInputs=inputs, olds=state, news=inputs)["changes"], "none")

    def test_errors(self) -> None:
        def raising(e: BaseException) -> Any:
            def create(self: Any, request: Any) -> Any:
                raise e

            return things(type("Code", (), {"create": create}))

        class Chained(Exception):
            __cause__ = Unavailable("down")

        for e, want in {
            InvalidArgument("size", "too large"): ("invalid-argument", "too large", "size"), Unavailable("down"): ("unavailable", "down", ""),
            NotFound(): ("not-found", "the object does not exist", ""), Chained("while"): ("unavailable", "while: down", ""),
            ValueError("wrong"): ("internal", "ValueError: wrong\n    at ", ""), SystemExit(1): ("internal", "the provider called sys.exit", ""),
        }.items():
            told = {}
            try:
                asked(raising(e), "create", type=THING, inputs={"name": "a"})
            except BaseException as caught:
                told = error_of(caught)
            self.assertEqual((told["kind"], told["path"]), (want[0], want[2]))
            self.assertTrue(told["message"].startswith(want[1]), told["message"])
        for reasons, said in ([" not yet "], "not yet"), ("no", "no"), (None, "the resource exists but is not healthy"):
            e = InitFailed(id="3", state=State(name="a", chosen="c", made="m"), reasons=reasons)  # type: ignore[arg-type]
            with self.assertRaises(InitFailed) as failed:
                asked(raising(e), "create", type=THING, inputs={"name": "a"})
            self.assertEqual(error_of(failed.exception)["initFailure"]["reasons"], [said])

    def test_without_methods(self) -> None:
        s = things()
        for method, want in {"list": "not implemented", "exists": "not implemented", "update": "cannot be changed in place", "read": "cannot be imported"}.items():
            with self.assertRaisesRegex(HuskError, want):
                asked(s, method, type=THING, token=THING, news={})
        self.assertIsNone(asked(s, "delete", type=THING, state={}))
        with self.assertRaisesRegex(HuskError, "did you mean things:Thing"):
            asked(s, "check", type="things:index:Think", news={})
        with self.assertRaisesRegex(HuskError, "not implemented"):
            asked(s, "construct")

    def test_unknown_configuration(self) -> None:
        provider = Provider("things", "1.0.0")
        given = []

        @provider.configure
        def configure(config: Size) -> None:
            given.append(config)

        @provider.function("things:index:size")
        def size() -> Size:
            return Size(width=1)

        s = Server(provider)
        with self.assertRaises(HuskError) as caught:
            asked(s, "configure", inputs={})
        self.assertEqual(caught.exception.missing_keys, [{"name": "width", "description": ""}])
        self.assertEqual(asked(s, "checkConfig", news={"width": "12"})["inputs"]["width"], 12)
        asked(s, "configure", inputs={"width": unknown})
        with self.assertRaisesRegex(HuskError, "is not known in this preview"):
            asked(s, "invoke", token="things:index:size", args={})
        asked(s, "configure", inputs={"width": 1.0})
        self.assertEqual(given, [Size(width=1)])
        self.assertEqual(asked(s, "invoke", token="things:index:size", args={}), {"result": {"width": 1, "heightInCm": 1.5}})


class Values(unittest.TestCase):
    def test_paths(self) -> None:
        paths: dict[str, list[Any]] = {"": [], 'a.b[0]["c d"]': ["a", "b", 0, "c d"], r'["\*"]["\u0007\"\\"]': ["*", '\a"\\']}
        for text, path in paths.items():
            self.assertEqual(parse_path(text), path)
            self.assertEqual(path_text(path), text)
        self.assertTrue(contains_path(parse_path("a.*[*]"), ["a", "b", 1]))
        self.assertFalse(contains_path(parse_path("a.b"), ["a"]))
        for text, why in {".a": "starts with", "a.": "must follow", "a[01]": "an index", 'a["b': "closing quote", "a]": "is written", "[9223372036854775808]": "too large"}.items():
            with self.assertRaisesRegex(ValueError, why):
                parse_path(text)

    def test_equality(self) -> None:
        self.assertTrue(equal({"a": None, "b": Secret(1)}, {"b": 1.0}))
        self.assertFalse(equal(True, 1))
        self.assertTrue(equal(float("nan"), float("nan")))
        self.assertTrue(equal(Asset("h", "text", "a"), Asset("h", "path", "b")))

    def test_secrets_are_not_shown(self) -> None:
        self.assertEqual(repr([Secret("x"), Output("x")]), "[Secret(...), Output(...)]")

    def test_json(self) -> None:
        for t, text in [(int, "1.5"), (int, "true"), (str, "null"), (float, "NaN"), (float, "Infinity"), (list[str], "[null]"), (Size, "{}"), (Size, "[" * 100_000)]:
            with self.subTest(text[:20]), self.assertRaises(ValueError):
                parse(t, text)
        self.assertEqual(parse(Size, b'{"width": 1, "other": 2}'), Size(width=1))
        self.assertEqual(parse(list[str | int], '[1, "a\\ud800"]'), [1, "a\ufffd"])


class Service(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(302 if self.path == "/moved" else 200)
        self.send_header("location", "/here")
        self.end_headers()
        self.wfile.write(f"{self.command} {self.path} {self.headers.get('authorization')}".encode())

    do_POST = do_GET

    def log_message(self, *args: Any) -> None:
        pass


class Requests(unittest.TestCase):
    def test_redirects(self) -> None:
        with HTTPServer(("127.0.0.1", 0), Service) as server:
            Thread(target=server.serve_forever, daemon=True).start()
            url = f"http://127.0.0.1:{server.server_port}"
            response = http.post(url + "/moved", json=Size(width=1), headers={"Authorization": "secret"})
            self.assertEqual((response.url, response.text), (url + "/here", "GET /here secret"))
            self.assertEqual(http.get(url + "/moved", follow=False).status, 302)
            server.shutdown()
        with self.assertRaises(Unavailable):
            http.get(url, timeout=10)


class Readme(unittest.TestCase):
    def test_example(self) -> None:
        text = (pathlib.Path(__file__).parent.parent / "README.md").read_text()
        module = types.ModuleType("notes")
        sys.modules["notes"] = module
        exec(text.split("```python\n")[1].split("```")[0], module.__dict__)
        note = json.loads(document(module.provider))["resources"]["notes:index:Note"]
        self.assertEqual(note["requiredInputs"], ["book", "text"])
        self.assertEqual(module.state(module.Inputs(book="b", text="one two")).words, 2)


if __name__ == "__main__":
    unittest.main()
