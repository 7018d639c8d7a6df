// Tests of what the provider contacts does not show: node sdk.mjs.
import assert from "node:assert/strict";
import "./component.mjs";
import "./program.mjs";
import "./runtime.mjs";
import { Archive, any, InitFailed, integer, list, object, optional, Output, provider, resource, Secret, string, union, unknown } from "../index.js";
import { answer, errorOf, Server } from "../server.js";

const size = object("things:index:Size", { width: integer(), height: optional(integer()) });
const inputs = { name: string(), size: optional(size), either: optional(union([size, string()])), what: optional(any()), parts: optional(list(size)) };
const state = { name: string(), what: optional(any()), chosen: string(), made: string(), text: optional(string()), parts: optional(string()) };

const asked = (code, method, q) => answer(new Server(provider({ name: "things", version: "1.0.0", resources: [resource("things:index:Thing", { inputs, state }, code)] })), method, {
    type: "things:index:Thing", urn: "urn:pulumi:dev::test::things:index:Thing::it", name: "it", timeout: 0, preview: false, olds: null, randomSeed: new Uint8Array(32), ignoreChanges: [], ...q,
});
const made = () => ({ id: "1", state: { name: "a", chosen: "c", made: "m" } });

// What check does not know of an object within stays unknown.
const checked = async news => ({ ...(await asked({ create: made, check(r) { r.inputs.name += "!"; return []; } }, "check", { news })).inputs });
const known = await checked({ name: "a", size: { width: unknown, height: 1 }, either: { width: unknown }, parts: [{ width: unknown }] });
assert.equal(known.name, "a!");
assert.deepEqual([known.size.width, known.size.height, known.either.width, known.parts[0].width], [unknown, 1, unknown, unknown]);
await assert.rejects(asked({ create: made, check(r) { r.inputs.size.high = 1; } }, "check", { news: { name: "a", size: { width: unknown } } }), /size.high: |there is no such property in things:index:Size/);

// The object exists whatever its state is: its ID is recorded, with what fits, and else with the inputs or what was recorded.
let deep = "x";
for (let i = 0; i < 128; i++) deep = [deep];
const endless = [];
endless.push(endless);
const whole = { name: "a", chosen: "c", made: "m" };
for (const [wrong, path, why] of [
    [{ ...whole, chosen: null }, "chosen", "it is missing; expected string"],
    [{ ...whole, what: deep }, "", "nested more than 128 deep"],
    [{ ...whole, what: endless }, "", "RangeError"],
    [{ ...whole, what: new Output(1n, false, []) }, "", "cannot be a bigint"],
    [{ ...whole, what: [new Secret(() => 1)] }, "", "cannot be a function"],
    [{ ...whole, made: 1 }, "made", "expected string, got number"],
    [{ ...whole, colour: "red" }, "colour", "there is no such property"],
    ["text", "", "expected an object, got string"],
]) {
    const fail = () => { throw new Error("while it was made", { cause: new InitFailed({ id: 7, state: wrong, reasons: ["it limps"] }) }); };
    const olds = { name: "old", chosen: "was", made: "long ago", text: "old text" };
    for (const [code, reasons] of [[{ create: () => ({ id: "7", state: wrong }), update: () => ({ state: wrong }) }, 1], [{ create: fail, update: fail }, 2]]) {
        for (const [method, q] of [["create", { inputs: { name: new Secret("a"), parts: [{ width: 1 }] } }], ["update", { id: "7", news: { name: new Secret("a") }, oldInputs: {}, olds }]]) {
            const told = await asked(code, method, q).then(() => assert.fail(why), errorOf), left = told.initFailure;
            assert.deepEqual([told.kind, left.id, left.refreshBeforeUpdate, left.reasons.length], ["init-failed", "7", true, reasons], why);
            assert.ok(left.reasons.at(-1).startsWith(path && path + ": ") && left.reasons.at(-1).includes(why), left.reasons.at(-1));
            assert.ok(!left.reasons.at(-1).includes("\n"), left.reasons.at(-1));
            assert.deepEqual(left.state.name, new Secret("a"));
            const fits = typeof wrong === "object";
            assert.equal(left.state.made, fits && path !== "made" ? "m" : method === "update" ? "long ago" : undefined, why);
            assert.equal(left.state.text, method === "update" && !fits ? "old text" : undefined, why);
            assert.equal(left.state.parts, undefined, "an output of another type than the input does not repeat it");
        }
    }
}
for (const [reasons, said] of [[[" not yet "], "not yet"], ["no", "no"], [null, "the resource exists but is not healthy"]]) {
    const told = await asked({ create() { throw new InitFailed({ id: "3", state: whole, reasons }); } }, "create", { inputs: { name: "a" } }).catch(errorOf);
    assert.deepEqual(told.initFailure && told.initFailure.reasons, [said]);
}
assert.equal((await asked({ create: () => ({ state: whole }) }, "create", { inputs: { name: "a" } }).catch(errorOf)).kind, "crashed");
assert.deepEqual({ ...(await asked({ create: () => ({ id: "1", state: { ...whole, what: new Archive("h", "assets", {}) } }) }, "create", { inputs: { name: "a" } })).state }.what, new Archive("h", "assets", {}));
