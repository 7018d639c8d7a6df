// The life of stacks, as the published Automation API for Node.js has it.
const assert = require("node:assert/strict");
const fs = require("node:fs");
const pulumi = require("@pulumi/pulumi");
const auto = require("@pulumi/pulumi/automation");

class Thing extends pulumi.CustomResource {
    constructor(name, properties, options) {
        super("lab:index:Thing", name, properties, options);
    }
}

const program = async () => {
    const config = new pulumi.Config();
    const box = new Thing("box", { name: "box", size: config.getNumber("size") ?? 1 });
    return { id: box.id, list: [1, { a: "b" }], token: config.requireSecret("token") };
};

const of = (events, kind) => events.filter(e => e[kind]).map(e => e[kind]);

// inline has no directory: the project file beside the program has the providers and the stacks.
async function inline() {
    const stack = await auto.LocalWorkspace.createOrSelectStack({ stackName: "dev", projectName: "inline", program });
    const workspace = stack.workspace;
    await assert.rejects(auto.LocalWorkspace.createStack({ stackName: "dev", projectName: "inline", program }), auto.StackAlreadyExistsError);
    await assert.rejects(auto.LocalWorkspace.selectStack({ stackName: "other", projectName: "inline", program }), auto.StackNotFoundError);

    await stack.setAllConfig({ size: { value: "1" }, token: { value: "hunter22", secret: true }, more: { value: "-x" } });
    await stack.setAllConfigJson(JSON.stringify({ "inline:more": { value: "y", secret: false } }));
    await stack.setConfig("tags.owner", { value: "-me" }, true);
    assert.equal((await stack.getConfig("tags.owner", true)).value, "-me");
    await stack.removeConfig("tags.owner", true);
    await stack.removeAllConfig(["more", "tags"]);
    assert.deepEqual(await stack.getAllConfig(), {
        "inline:size": { value: "1", secret: false }, "inline:token": { value: "hunter22", secret: true },
    });

    assert.deepEqual((await stack.preview()).changeSummary, { create: 2 });
    let events = [], out = "";
    const made = await stack.up({ message: "the first", onOutput: text => out += text, onEvent: e => events.push(e) });
    assert.match(out, /lab:Thing box +created/);
    assert.deepEqual(made.outputs, {
        id: { value: "thing-box", secret: false }, list: { value: [1, { a: "b" }], secret: false }, token: { value: "hunter22", secret: true },
    });
    assert.deepEqual({ ...made.summary, startTime: 0, endTime: 0 }, {
        version: 1, kind: "update", startTime: 0, endTime: 0, message: "the first", environment: {}, config: {}, result: "succeeded",
        resourceChanges: { create: 2 },
    });
    assert.ok(made.summary.endTime >= made.summary.startTime);
    assert.deepEqual(of(events, "preludeEvent"), [{ config: { "inline:size": "1", "inline:token": "[secret]" } }]);
    const box = of(events, "resOutputsEvent").map(e => e.metadata).find(m => m.type === "lab:index:Thing");
    assert.equal(box.op, "create");
    assert.equal(box.old, null);
    assert.equal(box.new.id, "thing-box");
    assert.equal(box.new.inputs.size, 1);
    const outputs = of(events, "resOutputsEvent").map(e => e.metadata).find(m => m.type === "pulumi:pulumi:Stack").new.outputs;
    assert.deepEqual(outputs, { id: "thing-box", list: [1, { a: "b" }], token: "[secret]" });
    assert.equal(of(events, "resourcePreEvent").length, 2);
    assert.deepEqual(of(events, "summaryEvent").map(s => [s.result, s.isPreview, s.resourceChanges]), [["succeeded", false, { create: 2 }]]);
    assert.ok(events.at(-1).cancelEvent, "the last event says that there are no more");
    assert.deepEqual(events.map(e => e.sequence), events.map((_, i) => i));
    assert.doesNotMatch(JSON.stringify(events), /hunter22/);

    await stack.setConfig("size", { value: "2" });
    events = [];
    assert.deepEqual((await stack.preview({ onEvent: e => events.push(e) })).changeSummary, { same: 1, update: 1 });
    const update = of(events, "resourcePreEvent").map(e => e.metadata).find(m => m.op === "update");
    assert.deepEqual([update.old.inputs.size, update.new.inputs.size, update.diffs, update.detailedDiff],
        [1, 2, ["size"], { size: { diffKind: "update", inputDiff: false } }]);
    await assert.rejects(stack.up({ expectNoChanges: true }), auto.CommandError);
    assert.deepEqual((await stack.up()).summary.resourceChanges, { same: 2 });
    assert.deepEqual((await stack.previewRefresh()).changeSummary, { same: 1 });
    assert.equal((await stack.refresh({ onEvent: () => {} })).summary.kind, "refresh");

    const state = await stack.exportStack();
    assert.ok(state.deployment.resources.some(r => r.id === "thing-box"));
    await stack.importStack(state);

    const imported = await stack.import({ resources: [{ type: "lab:index:Thing", name: "found", id: "thing-found" }], protect: false });
    assert.equal(imported.summary.kind, "resource-import");
    assert.match(imported.generatedCode, /type: lab:index:Thing/);

    const history = await stack.history(2, 2);
    assert.equal(history.length, 2);
    assert.ok(history[0].version > history[1].version);

    await stack.setTag("team", "storage");
    assert.equal(await stack.getTag("team"), "storage");
    assert.deepEqual(await stack.listTags(), { "pulumi:project": "inline", "pulumi:runtime": "nodejs", team: "storage" });
    await stack.removeTag("team");
    await assert.rejects(stack.getTag("team"), auto.CommandError);

    assert.ok((await workspace.whoAmI()).user);
    assert.deepEqual((await workspace.listStacks()).map(s => [s.name, s.current, typeof s.lastUpdate]), [["dev", true, "string"]]);
    const own = await auto.LocalWorkspace.create({ projectSettings: { name: "inline", runtime: "nodejs" } });
    assert.deepEqual((await own.listStacks()).map(s => s.name), ["dev"], "settings need not say where the program is");
    assert.deepEqual((await workspace.listPlugins()).map(p => [p.name, p.kind, p.size > 0]), [["lab", "resource", true]]);
    await workspace.installPlugin("lab", "v1.0.0");
    await stack.rename({ stackName: "production" });
    await stack.rename({ stackName: "dev" });
    await stack.cancel();

    const failing = () => stack.up({ program: async () => { throw new Error("this went wrong"); } });
    await assert.rejects(failing, e => e instanceof auto.CommandError && /this went wrong/.test(e.message));

    await stopped(stack);
    assert.deepEqual((await stack.previewDestroy()).changeSummary, { delete: 2 });
    events = [];
    const gone = await stack.destroy({ onEvent: e => events.push(e) });
    assert.equal(gone.summary.kind, "destroy");
    assert.deepEqual(of(events, "summaryEvent")[0].resourceChanges, { delete: 2 });
    await workspace.removeStack("dev");
    assert.deepEqual(await workspace.listStacks(), []);
}

// stopped stops an update that waits for a resource, and has another one refused meanwhile.
async function stopped(stack) {
    const stop = new AbortController();
    const waiting = async () => {
        await program();
        new pulumi.CustomResource("lab:index:Wait", "wait", { begun: "out/begun", until: "out/go" });
    };
    let running;
    const begun = new Promise(resolve => {
        const onEvent = e => e.resourcePreEvent?.metadata.type === "lab:index:Wait" && resolve();
        running = assert.rejects(stack.up({ program: waiting, signal: stop.signal, onEvent, onError: text => {
            if (/Stopping/.test(text)) fs.writeFileSync("out/go", "");
        }, onOutput: text => {
            if (/Stopping/.test(text)) fs.writeFileSync("out/go", "");
        } }), auto.CommandError);
    });
    await begun;
    await assert.rejects(stack.refresh(), auto.ConcurrentUpdateError);
    stop.abort();
    await running;
    assert.ok((await stack.exportStack()).deployment.resources.some(r => r.type === "lab:index:Wait"), "what had begun is recorded");
    assert.equal((await stack.up()).summary.resourceChanges.delete, 2);
}

// local has a directory with a program in YAML, and stack settings that the API writes.
async function local() {
    const stack = await auto.LocalWorkspace.createStack({ stackName: "organization/local/test", workDir: "local" });
    await stack.setConfig("size", { value: "3" });
    assert.match(fs.readFileSync("local/Pulumi.test.yaml", "utf8"), /local:size: "3"/);
    assert.equal((await stack.workspace.stackSettings("test")).config["local:size"], "3");
    assert.deepEqual((await stack.up()).outputs, { size: { value: 3, secret: false } });
    await stack.setConfig("name", { value: "chest" });
    const events = [];
    await stack.up({ onEvent: e => events.push(e) });
    assert.deepEqual(of(events, "summaryEvent")[0].resourceChanges, { same: 1, replace: 1 });
    assert.deepEqual(of(events, "resOutputsEvent").map(e => e.metadata.op), ["create-replacement", "replace", "delete-replaced", "same"]);
    await stack.destroy({ remove: true });
    assert.ok(!fs.existsSync("local/Pulumi.test.yaml"), "the configuration goes with the stack");
}

inline().then(local).then(() => console.log("lived"), e => { console.error(e); process.exit(1); });
