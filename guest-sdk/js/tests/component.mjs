// Tests of components with a monitor that returns what it is asked, the last operation first: node component.mjs.
import assert from "node:assert/strict";
import { all, any, Child, component, concat, integer, list, map, object, optional, output, Output, provider, Reference, resource, secret, Secret, string, union, unknown } from "../index.js";
import { answer, errorOf, Server } from "../server.js";

const nested = object("p:index:Nested", { host: optional(output(string())), port: optional(integer()) });
const inputs = {
    text: optional(output(string())), token: optional(secret(output(string()))), any: optional(any()), size: integer({ default: 3 }), nested: optional(nested),
    list: optional(list(output(string()))), labels: optional(map(string())), table: optional(output(map(string()))),
    either: optional(union([integer(), output(string())])),
};
const outputs = { result: optional(any()), hidden: optional(secret(string())), list: optional(list(string())) };
const token = "p:index:Box", own = "urn:pulumi:dev::proj::p:index:Box::b", urn = name => `urn:pulumi:dev::proj::p:index:Box$q:index:Thing::${name}`, other = urn("other");

const folded = v => v instanceof Output ? (v.secret ? new Secret(folded(v.value)) : folded(v.value)) : Array.isArray(v) ? v.map(folded) : v && Object.getPrototypeOf(v) === null ? Object.assign(Object.create(null), Object.fromEntries(Object.entries(v).map(([k, x]) => [k, folded(x)]))) : v;
const bare = v => v instanceof Secret || v instanceof Output ? bare(v.value) : v;
export class Monitor {
    started = []; registered = {}; outputs; running = []; most = 0; warned = [];
    constructor(o = {}) { Object.assign(this, { preview: false, fail: {}, result: "success", ...o }); }
    registerResource(r) {
        this.registered[r.name] = r;
        return { urn: r.name === "b" && !r.parent ? own : urn(r.name), id: r.custom && !this.preview ? "id of " + r.name : "", state: folded(r.inputs), stateDependencies: [], result: r.name === "b" ? "success" : this.result };
    }
    registerOutputs(r) { assert.equal(r.urn, own); this.outputs = r.outputs; }
    registerPackage(r) { return { packageRef: "ref of " + r.name }; }
    start({ case: kind, value: q }) {
        const name = q.name || q.token;
        const outcome = () => {
            switch (kind) {
            case "registerResource": return { case: "registered", value: this.registerResource(q) };
            case "readResource": this.registered[name] = q; return { case: "resourceRead", value: { urn: urn(name), state: folded(q.properties) } };
            case "invoke": return { case: "invoked", value: { result: bareAll(q.args), failures: q.args.bad ? [{ path: "bad", reason: "is bad" }] : [], unknown: !!this.unknown } };
            case "call": this.asked = q.args; return { case: "called", value: { result: Object.assign(Object.create(null), { urn: bare(q.args.__self__).urn }), failures: [], resultDependencies: [{ key: "urn", urns: [other] }] } };
            }
        };
        this.started.push(name);
        this.running.push({ handle: this.started.length, outcome: this.fail[name] ? { case: "failed", value: this.fail[name] } : outcome() });
        this.most = Math.max(this.most, this.running.length);
        return this.started.length;
    }
    wait() { if (this.waitFails) throw this.waitFails; return this.running.pop(); }
}
const bareAll = m => Object.assign(Object.create(null), Object.fromEntries(Object.entries(m).map(([k, v]) => [k, bare(v)])));

const serverOf = (construct, monitor) => new Server(provider({ name: "p", version: "1.0.0", components: [component(token, { inputs, outputs }, construct)] }), monitor, { about: u => { monitor.about = u; }, warn: m => monitor.warned.push(m) });
const box = { type: token, name: "b", parent: "", inputs: {}, inputDependencies: [], options: { providers: [], provider: "" }, context: { dryRun: false } };
// boxed constructs a component, and waits for an operation whenever nothing else is left to do, as the engine does.
const boxed = async (monitor, request, construct) => {
    const server = serverOf(construct, monitor);
    let done = false;
    const made = answer(server, "construct", { ...box, context: { dryRun: monitor.preview }, ...request }).finally(() => { done = true; });
    made.catch(() => {});
    while (!done) {
        await new Promise(resolve => setImmediate(resolve));
        if (!done && server.deployment?.waits) server.deployment.next();
    }
    return made;
};
const thing = (ctx, name, inputs, options) => ctx.resource("q:index:Thing", name, inputs, options);

// Outputs have their secrets, and the resources that they come from.
const password = new Secret("p"), parts = { n: 1, list: ["x", "y"], password };
for (const [what, of, want, depends = [urn("a")], request = {}, monitor = {}] of [
    ["a constant", () => ({ a: [1, 2.5, "x", true, null], none: null }), { a: [1, 2.5, "x", true, null] }, []],
    ["an input", ({ inputs }) => inputs.text, new Secret("s"), [other], { inputs: { text: new Secret("s") }, inputDependencies: [{ key: "text", urns: [other] }] }],
    ["an input inside of one", ({ inputs }) => inputs.nested.host, "h", [other], { inputs: { nested: { host: "h" } }, inputDependencies: [{ key: "nested", urns: [other] }] }],
    ["an output of a union", ({ inputs }) => inputs.either.apply(v => v + "!"), "u!", [other], { inputs: { either: "u" }, inputDependencies: [{ key: "either", urns: [other] }] }],
    ["another value of a union", ({ inputs }) => inputs.either + 1, 3, [], { inputs: { either: 2 } }],
    ["a default", ({ inputs }) => inputs.size, 3, []],
    ["an output", async (_, ctx) => (await thing(ctx, "a", parts)).output("list[1]"), "y"],
    ["a secret output", async (_, ctx) => concat("<", (await thing(ctx, "a", parts)).output("password"), ">"), new Secret("<p>")],
    ["all outputs", async (_, ctx) => (await thing(ctx, "a", { n: 1 })).outputs, { n: 1 }],
    ["a reference", async (_, ctx) => thing(ctx, "a"), new Reference(urn("a"), "id of a", "")],
    ["ID and URN", async (_, ctx) => { const a = await thing(ctx, "a"); return concat(a.id, " ", a.urn); }, "id of a " + urn("a")],
    ["an output that is not there", async (_, ctx) => concat("-", (await thing(ctx, "a")).output("none")), "-"],
    ["an output that is not there yet", async (_, ctx) => concat("-", (await thing(ctx, "a")).output("none.of.it")), unknown, [urn("a")], {}, { preview: true }],
    ["an ID that is not there yet", async (_, ctx) => (await thing(ctx, "a")).id, unknown, [urn("a")], {}, { preview: true }],
    ["what a function makes", async (_, ctx) => (await thing(ctx, "a", { n: 20 })).output("n").apply(n => ({ double: 2 * n })), { double: 40 }],
    ["children that depend on a value", async (_, ctx) => (await thing(ctx, "a", { n: 2 })).output("n").apply(async n => { for (let i = 0; i < n; i++) thing(ctx, "xy"[i]); return (await thing(ctx, "y!")).id; }), "id of y!", [urn("a"), urn("y!")]],
    ["what a function of a package answers", async (_, ctx) => (await ctx.invoke("q:index:echo", { v: (await thing(ctx, "a", parts)).output("password") })).get("v"), password],
    ["what a method answers", async (_, ctx) => (await ctx.call(ctx.component("q:index:Thing", "a"), "q:index:Thing/of", { v: 1 })).get("urn"), urn("a"), [urn("a"), other]],
    ["a resource that is read", async (_, ctx) => (await ctx.read("q:index:Thing", "a", "known", { n: 1 })).id, "known"],
    ["a promise within", (_, ctx) => [thing(ctx, "a").then(a => a.id), 1], ["id of a", 1]],
    ["several", async (_, ctx) => all({ a: (await thing(ctx, "a", parts)).output("n"), b: [password] }).apply(v => v.b[0] + v.a), new Secret("p1")],
    ["an unknown of a function", async (_, ctx) => (await ctx.invoke("q:index:echo", { v: (await thing(ctx, "a")).id })).get("v"), unknown, [urn("a")], {}, { preview: true, unknown: true }],
]) {
    const m = new Monitor(monitor), got = await boxed(m, request, async (...a) => ({ result: await of(...a) }));
    assert.deepEqual([got.urn, m.about], [own, own], what);
    assert.deepEqual(JSON.parse(JSON.stringify([got.state.result instanceof Secret, got.state.result])), JSON.parse(JSON.stringify([want instanceof Secret, want])), what);
    assert.equal(bare(got.state.result) === unknown, want === unknown, what);
    assert.deepEqual(got.stateDependencies.flatMap(d => d.urns), depends, what);
    assert.deepEqual(JSON.stringify(folded(m.outputs.result)), JSON.stringify(got.state.result), what);
}

// Operations begin as soon as what they need is there, whatever the order in which they end.
{
    const m = new Monitor();
    await boxed(m, {}, (_, ctx) => {
        const a = thing(ctx, "a"), b = thing(ctx, "b2"), c = thing(ctx, "c", { of: a });
        thing(ctx, "d", {}, { dependsOn: [b, c] });
        thing(ctx, "e");
        assert.deepEqual(m.started, ["a", "b2", "e"], "nothing waits that need not");
        return {};
    });
    assert.deepEqual(m.started, ["a", "b2", "e", "c", "d"]);
    assert.equal(m.most, 3);
    assert.deepEqual(m.registered.c.propertyDependencies, [{ key: "of", urns: [urn("a")] }]);
    assert.deepEqual(m.registered.d.options.dependencies, [urn("b2"), urn("c")]);
}

// Options are passed on, each under its name in the contract.
{
    const m = new Monitor(), mine = "urn:pulumi:dev::proj::pulumi:providers:p::mine::1", refs = urn("prov") + "::id of prov";
    await boxed(m, { options: { provider: mine, version: "1.0.0", packageRef: "", providers: [{ package: "q", reference: "r" }], protect: true } }, async (_, ctx) => {
        const prov = ctx.resource("pulumi:providers:q", "prov"), group = ctx.group("p:index:Group", "group"), a = await thing(ctx, "a");
        ctx.component("q:index:Thing", "all", {}, {
            parent: group, provider: prov, providers: [prov], dependsOn: a, deletedWith: a, replaceWith: [a], protect: true, retainOnDelete: false, deleteBeforeReplace: true,
            ignoreChanges: ["i"], replaceOnChanges: ["r"], hideDiffs: ["h"], additionalSecretOutputs: ["s"], aliases: ["u", { name: "n", noParent: true }], customTimeouts: { create: 1 },
            import: "im", version: "2.0.0", package: ctx.package({ name: "x", version: "1.0.0" }), replacementTrigger: a.id, hooks: [{ kind: "after-create", names: ["x"] }],
        });
        return {};
    });
    assert.deepEqual(m.registered.all.options, {
        provider: refs, providers: [{ package: "q", reference: refs }], dependencies: [urn("a")], deletedWith: urn("a"), replaceWith: [urn("a")], protect: true, retainOnDelete: false,
        deleteBeforeReplace: true, ignoreChanges: ["i"], replaceOnChanges: ["r"], hideDiffs: ["h"], additionalSecretOutputs: ["s"],
        aliases: [{ case: "urn", value: "u" }, { case: "spec", value: { name: "n", noParent: true } }], customTimeouts: { create: 1 }, importId: "im", version: "2.0.0", packageRef: "ref of x",
        replacementTrigger: "id of a", hooks: [{ kind: "after-create", names: ["x"] }],
    });
    assert.deepEqual([m.registered.all.parent, m.registered.all.remote, m.registered.all.custom, m.registered.a.parent], [urn("group"), true, false, own]);
    assert.deepEqual(m.registered.b.options, { protect: true, providers: [{ package: "q", reference: "r" }, { package: "p", reference: mine }] }, "the component hands down its own provider");
}

// What is wrong is said where it is, and a component that failed has no outputs.
const noLuck = { kind: "unavailable", origin: "remote", message: "no luck", path: "size" };
for (const [monitor, of, want, kind, started] of [
    [{ fail: { a: noLuck } }, (_, ctx) => { const a = thing(ctx, "a"); thing(ctx, "b2"); thing(ctx, "c", { a }); return {}; }, "q:index:Thing a: size: no luck", "unavailable", ["a", "b2"]],
    [{ fail: { a: noLuck } }, async (_, ctx) => { try { await thing(ctx, "a"); } catch { thing(ctx, "c"); } return {}; }, "q:index:Thing a: size: no luck", "unavailable", ["a"]],
    [{ fail: { b2: noLuck } }, (_, ctx) => { const a = thing(ctx, "a"); thing(ctx, "b2"); thing(ctx, "c", { a }); return {}; }, "q:index:Thing b2: size: no luck", "unavailable", ["a", "b2"]],
    [{ fail: { a: noLuck, b2: { kind: "cancelled", message: "stopped" } } }, (_, ctx) => { thing(ctx, "a"); thing(ctx, "b2"); return {}; }, "q:index:Thing a: size: no luck", "unavailable", ["a", "b2"]],
    [{ fail: { a: { kind: "init-failed", message: "it limps", initFailure: { id: "1" } } } }, (_, ctx) => { thing(ctx, "a"); return {}; }, "q:index:Thing a: it limps", "internal", ["a"]],
    [{}, (_, ctx) => { thing(ctx, "a"); throw new Error("changed my mind"); }, "changed my mind", "internal", ["a"]],
    [{}, (_, ctx) => { thing(ctx, "a"); throw undefined; }, "something that is no error was thrown: undefined", "internal", ["a"]],
    [{}, (_, ctx) => { thing(ctx, "a", { v: Promise.reject() }); return {}; }, "q:index:Thing a: undefined", "internal", []],
    [{}, (_, ctx) => { thing(ctx, "a", Promise.resolve("x")); return {}; }, "q:index:Thing a: inputs are an object, and not string", "invalid-argument", []],
    [{ fail: { "q:index:f": noLuck } }, (_, ctx) => { thing(ctx, "a", { v: ctx.invoke("q:index:f") }); return {}; }, "q:index:Thing a: q:index:f: size: no luck", "unavailable", ["q:index:f"]],
    [{ fail: { "q:index:f": noLuck } }, (_, ctx) => ({ result: ctx.invoke("q:index:f") }), "q:index:f: size: no luck", "unavailable", ["q:index:f"]],
    [{}, (_, ctx) => ({ result: ctx.invoke("q:index:f", { bad: true }) }), "q:index:f: bad: is bad", "invalid-argument", ["q:index:f"]],
    [{}, (_, ctx) => { thing(ctx, "a", { v: { w: [() => 1] } }); return {}; }, "q:index:Thing a: v.w[0]: a property cannot be a function", "invalid-argument", []],
    [{}, (_, ctx) => { thing(ctx, "a", { when: new Date() }); return {}; }, "q:index:Thing a: when: a property cannot be a Date", "invalid-argument", []],
    [{}, (_, ctx) => { thing(ctx, "a", {}, { dependOn: [] }); return {}; }, "q:index:Thing a: there is no option dependOn; did you mean dependsOn?", "invalid-argument", []],
    [{}, (_, ctx) => { thing(ctx, "a", {}, { ignoreChanges: "x" }); return {}; }, "q:index:Thing a: the option ignoreChanges: expected array, got string", "invalid-argument", []],
    [{}, (_, ctx) => { thing(ctx, "a", {}, { aliases: [{ nam: "x" }] }); return {}; }, "q:index:Thing a: the option aliases: an alias has no nam, but name,", "invalid-argument", []],
    [{}, (_, ctx) => { thing(ctx, "a", {}, { parent: urn("x") }); return {}; }, "q:index:Thing a: the option parent: expected what ctx.resource() returns, got string", "invalid-argument", []],
    [{}, (_, ctx) => { ctx.invoke("q:index:f", {}, { protect: true }).catch(e => thing(ctx, "a", { e: Promise.reject(e) })).catch(() => {}); return {}; }, "q:index:Thing a: q:index:f: there is no option protect", "invalid-argument", []],
    [{}, async (_, ctx) => ({ result: (await thing(ctx, "a", { n: "x" })).output("n").apply(n => { throw new Error("odd " + n); }) }), "odd x", "internal", ["a"]],
    [{}, () => ({ list: "x" }), "what construct returned does not fit the schema: expected array of string, got string", "internal", []],
    [{}, (_, ctx) => ({ list: [1] }), "what construct returned does not fit the schema: expected string, got number", "internal", []],
    [{}, async (_, ctx) => ({ list: (await thing(ctx, "a", { n: 1 })).output("n") }), "what construct returned does not fit the schema: expected array of string, got number", "internal", ["a"]],
    [{}, () => ({ lst: [] }), "there is no such property", "internal", []],
    [{ waitFails: { kind: "cancelled", message: "stopped" } }, (_, ctx) => { thing(ctx, "a"); return {}; }, "q:index:Thing a: stopped", "cancelled", ["a"]],
    [{ result: "skipped" }, (_, ctx) => { thing(ctx, "a"); return {}; }, "q:index:Thing a: it was left out", "internal", ["a"]],
]) {
    const m = new Monitor(monitor), told = await boxed(m, {}, of).then(() => assert.fail(want), errorOf);
    assert.ok(told.message.includes(want), `${told.message}, not ${want}`);
    assert.deepEqual([told.kind, m.started, m.outputs, monitor.waitFails ? 0 : m.running.length], [kind, started, undefined, 0], want);
}

// Arguments of a method may be a promise.
{
    const m = new Monitor();
    await boxed(m, {}, async (_, ctx) => { await ctx.call(ctx.component("q:index:Thing", "a"), "q:index:Thing/of", thing(ctx, "b2").then(b => ({ v: b.id }))); return {}; });
    assert.deepEqual([bare(m.asked.v), bare(m.asked.__self__).urn], ["id of b2", urn("a")]);
}

// A component whose call was given up declares nothing in the next one.
{
    let go;
    const m = new Monitor(), gate = new Promise(resolve => { go = resolve; }), server = serverOf(async (_, ctx) => { await gate; await thing(ctx, "late"); }, m);
    const lost = assert.rejects(answer(server, "construct", box), /the call of the component was given up/);
    await new Promise(resolve => setImmediate(resolve));
    await answer(server, "getSchema", { version: 0 });
    assert.equal(server.deployment, undefined);
    go();
    await lost;
    assert.deepEqual(m.started, []);
}

// A component that has ended declares no more.
{
    let kept;
    await boxed(new Monitor(), {}, (_, ctx) => { kept = ctx; return {}; });
    await assert.rejects(thing(kept, "late"), /the component has ended/);
}

// A function that fails is no failure where it is caught.
assert.equal((await boxed(new Monitor({ fail: { "q:index:f": noLuck } }), {}, async (_, ctx) => ({ result: await ctx.invoke("q:index:f").catch(e => e.kind) }))).state.result, "unavailable");

// Inputs that decide which children there are must be known and no secrets.
for (const [given, want] of [
    [{ size: new Secret(1) }, "size: the provider cannot keep this input secret"], [{ nested: { port: new Secret(1) } }, "nested.port: the provider cannot keep"],
    [{ nested: new Secret({ port: 1 }) }, "nested: the provider cannot keep"], [{ labels: { "a b": new Secret("x") } }, 'labels["a b"]: the provider cannot keep'],
    [{ size: "x", siez: 1 }, 'siez: no such property; did you mean "size"?\nsize: expected integer, got string'],
    [{ size: unknown }], [{ nested: { port: unknown } }], [{ nested: unknown }], [{ labels: { a: unknown } }], [{ list: unknown }],
]) {
    const m = new Monitor({ preview: true }), made = boxed(m, { inputs: given }, () => assert.fail("the author's code runs"));
    if (want) {
        const told = await made.then(() => assert.fail(want), errorOf);
        assert.ok(((told.path ? told.path + ": " : "") + told.message).includes(want), told.message);
        assert.deepEqual([told.kind, m.registered], ["invalid-argument", {}]);
    } else {
        assert.deepEqual({ ...(await made).state }, { hidden: unknown, list: unknown, result: unknown });
        assert.ok(m.about === own && m.warned[0].startsWith("what b is made of is not known"));
    }
}
// Others are passed on as they are, unknown or secret.
{
    const m = new Monitor({ preview: true }), given = { text: unknown, any: [new Secret(1), unknown], list: [unknown, new Secret("x")], nested: { host: unknown }, table: { k: unknown } };
    const got = await boxed(m, { inputs: { ...given, token: "t" } }, ({ inputs: i }, ctx) => {
        assert.ok(ctx.preview && !i.text.known && i.text.apply(() => assert.fail("it is not known")).value === unknown);
        thing(ctx, "a", { text: i.text, token: i.token, any: i.any, list: i.list, nested: { host: i.nested.host }, table: i.table });
        return { list: i.list };
    });
    const { token: t, ...rest } = m.registered.a.inputs;
    assert.deepEqual(JSON.parse(JSON.stringify(rest)), JSON.parse(JSON.stringify(given)));
    assert.ok(t instanceof Secret && rest.text === unknown && rest.list[1] instanceof Secret);
    assert.ok(got.state.list[0] === unknown && got.state.list[1] instanceof Secret);
}

// The schema has it, and what it cannot have is refused.
const schema = JSON.parse(serverOf(() => ({})).getSchema({ version: 0 }).schema).resources[token];
assert.ok(schema.isComponent && schema.inputProperties.table.additionalProperties.type === "string" && schema.properties.hidden.secret);
const none = () => ({});
for (const [what, p] of [
    [/p:index:Box: it is declared twice/, { components: [component(token, {}, none), component(token, {}, none)] }],
    [/p:index:Box: it is declared twice/, { resources: [resource(token, {}, { create: none })], components: [component(token, {}, none)] }],
    [/q:index:Box: its token must begin with p:/, { components: [component("q:index:Box", {}, none)] }],
    [/its outputs must not have a property urn/, { components: [component(token, { outputs: { urn: string() } }, none)] }],
    [/p:index:Box: n: only a number has bounds/, { components: [component(token, { inputs: { n: string({ min: 1 }) } }, none)] }],
    [/a component needs a function/, { components: [component(token, {})] }],
    [/there is no option identity/, { components: [component(token, { identity: [] }, none)] }],
    [/p:index:R: of: only inputs of a component are described by output\(\)/, { resources: [resource("p:index:R", { inputs: { of: optional(list(nested)) } }, { create: none })] }],
]) assert.throws(() => provider({ name: "p", version: "1.0.0", ...p }), what);
const missing = await answer(serverOf(none), "construct", { type: "p:index:Bxo" }).catch(errorOf);
assert.equal(missing.message, "the package p 1.0.0 has no component p:index:Bxo; did you mean p:Box?");
assert.ok(Child);
