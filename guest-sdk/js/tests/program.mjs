// Tests of programs with a monitor that returns what it is asked: node program.mjs.
import assert from "node:assert/strict";
import { concat, Output, program, provider, Secret, unknown } from "../index.js";
import { ProgramServer } from "../program.js";
import { answer, errorOf, Server } from "../server.js";
import { Monitor } from "./component.mjs";

const stack = "urn:pulumi:dev::demo::pulumi:pulumi:Stack::demo-dev";
const config = [{ key: "demo:name", value: "ann", secret: false }, { key: "aws:key", value: "sesame", secret: true }];
const ran = async (monitor, declare) => {
    const server = new ProgramServer(program(declare), monitor), request = { engine: "test", stack, context: { project: "demo", stack: "dev", config, dryRun: monitor.preview } };
    let done = false;
    const outputs = answer(server, "run", request).then(r => r.outputs).finally(() => { done = true; });
    outputs.catch(() => {});
    while (!done) {
        await new Promise(resolve => setImmediate(resolve));
        if (!done && server.deployment?.waits) server.deployment.next();
    }
    assert.equal(server.deployment, undefined);
    return outputs;
};

// Resources lie below the stack, and what is declared without being awaited is made all the same. Missing keys are null, which is left out.
{
    const m = new Monitor(), outputs = await ran(m, s => {
        assert.deepEqual([s.run.stack, s.preview, s.config("name"), s.config("demo:name"), s.config("none")], ["dev", false, "ann", "ann", undefined]);
        const one = s.resource("a:b:C", "one", { name: s.config("name"), key: s.secret("aws:key"), none: s.secret("none") });
        s.resource("a:b:C", "two", {}, { dependsOn: one });
        return { id: one.then(c => c.id), key: one.then(c => c.output("key")), none: s.secret("none"), text: concat(s.secret("aws:key"), "!") };
    });
    assert.deepEqual([Object.keys(m.registered), m.registered.one.parent], [["one", "two"], stack]);
    assert.deepEqual(m.registered.one.inputs, Object.assign(Object.create(null), { name: "ann", key: new Secret("sesame") }));
    assert.deepEqual([outputs.id.value, outputs.text, Object.keys(outputs).sort()], ["id of one", new Secret("sesame!"), ["id", "key", "text"]]);
    assert.ok(outputs.key instanceof Output && outputs.key.secret);
}

// A program goes on without what has failed, if the deployment does.
for (const result of ["failed", "skipped"]) {
    const m = new Monitor({ result }), outputs = await ran(m, async s => {
        const bad = await s.resource("a:b:C", "bad", { n: 1 });
        s.resource("a:b:C", "after", { of: bad.output("n") });
        return { n: bad.output("n") };
    });
    assert.ok(outputs.n.value === unknown && m.registered.after.inputs.of.value === unknown);
}
await assert.rejects(ran(new Monitor({ fail: { bad: { kind: "unavailable", message: "no luck" } } }), s => { s.resource("a:b:C", "bad"); }), /a:b:C bad: no luck/);

// What it throws fails it. The outputs are an object, or nothing.
await assert.rejects(ran(new Monitor(), () => { throw new TypeError("no such mood"); }), /no such mood/);
await assert.rejects(ran(new Monitor(), () => "text"), /the outputs of its stack as an object, and not string/);
await assert.rejects(ran(new Monitor(), () => ({ f: () => 1 })), /f: |a property cannot be a function/);
assert.deepEqual(await ran(new Monitor(), () => {}), {});
{
    let kept;
    await ran(new Monitor(), s => { kept = s; });
    await assert.rejects(kept.resource("a:b:C", "late"), /the program has ended, and declares no more resources/);
}

// One world is not the other.
assert.throws(() => program({}), /a program is a function/);
assert.match((await answer(new ProgramServer(program(() => {})), "handshake", {}).catch(errorOf)).message, /package.json needs "husk": {"world": "program"}/);
assert.match((await answer(new Server(provider({ name: "p", version: "1.0.0" })), "run", {}).catch(errorOf)).message, /the default export is a provider/);
assert.equal((await answer(new ProgramServer(program(() => {})), "create", {}).catch(errorOf)).kind, "unimplemented");
