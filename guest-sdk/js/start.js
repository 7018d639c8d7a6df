// Begins a provider or a program in a module: the file "main" has it as its default export.
import { about, call as ask, engine, log } from "./host.js";
import "./runtime.js";
import "./streams.js";
import "./intl.js";
import { __use, HuskError } from "@husk/provider";
import { answer, errorOf, Server } from "./server.js";
import { Program, ProgramServer } from "./program.js";
import { tagged, untagged } from "./values.js";

const runtime = globalThis.__runtime;
delete globalThis.__runtime;

const advice = {
    child_process: "a sandbox starts no processes", http2: "a provider has fetch, with the grant http",
    net: "a provider has fetch, with the grant http", tls: "a provider has fetch, with the grant http", fs: "import the text into the bundle, or take it as an asset", "fs/promises": "import the text into the bundle, or take it as an asset",
};
const builtin = name => { const m = runtime.modules[name.replace(/^node:/, "")]; return m && { module: m, names: Object.keys(m).filter(k => /^[A-Za-z_$][\w$]*$/.test(k) && k !== "default") }; };
const refusal = name => `the module ${name} does not work in a module: ${advice[name.replace(/^node:/, "")] || "nothing in the sandbox offers it"}`;
Object.defineProperty(globalThis, "require", { configurable: true, value: name => { const m = builtin(String(name)); if (m) return m.module; throw new Error(refusal(String(name))); } });
Object.defineProperty(globalThis, "__modules", { configurable: true, value: name => builtin(name).module });
// source returns the text of a module of Node.js.
const source = name => {
    const m = builtin(name);
    if (!m) return /^(node:|[a-z][a-z_\d/]*$)/.test(name) ? `throw new Error(${JSON.stringify(refusal(name))});` : undefined;
    return `const m = globalThis.__modules(${JSON.stringify(name)}); export default m;` + m.names.map(n => `const v_${n} = m[${JSON.stringify(n)}]; export { v_${n} as ${n} };`).join("");
};

__use({
    log, kvPut: (key, value, revision = 0) => ask("kvPut", { key, value, revision }), kvGet: key => ask("kvGet", key), kvKeys: (prefix = "", after = "", limit = 1000) => ask("kvKeys", { prefix, after, limit }),
    readAsset(a, form = "blob") {
        if (a.source === "none") throw new HuskError("invalid-argument", "the contents of an asset that is no input of the call are not known, only their hash");
        if (a.source === "text") return engine.encode(a.from);
        const contents = ask("assetsOpen", { hash: a.hash, form }), parts = [];
        try {
            for (let part; (part = ask("assetsRead", { contents, max: 1 << 20 })).length;) parts.push(part);
        } finally { ask("assetsClose", contents); }
        return new Uint8Array(Buffer.concat(parts));
    },
});

let server, calls = 0, pending = 0; // the number of the call that is served, 0 for none
const settle = (call, ok, value) => { if (call === pending && call) { pending = 0; engine.settle(ok, value); } };
runtime.uncaught = e => {
    if (pending && server && server.deployment) server.deployment.fail(e);
    else if (pending) settle(pending, false, { ...errorOf(e), message: "an error that nothing in the module catches: " + errorOf(e).message });
    else log("warning", "an error that nothing in the module catches, after the call had its answer: " + errorOf(e).message);
};
const serve = (method, request) => {
    const call = pending = ++calls;
    about(typeof request.urn === "string" ? request.urn : "");
    runtime.begin(engine.env());
    answer(server, method, request).then(v => settle(call, true, v === undefined ? {} : v), e => settle(call, false, errorOf(e)));
};
// idle returns how long to wait for the next timer in milliseconds, -1 if there is none.
const idle = () => {
    if (!pending) { runtime.end(); return 0; }
    const wait = runtime.idle();
    if (wait && pending && server.deployment?.waits) { server.deployment.next(); return 0; } // timers wait meanwhile
    if (wait > 0 && pending && ask("controlCancelled")) settle(pending, false, { kind: "cancelled", origin: "guest", message: "the call was cancelled" });
    return wait;
};
engine.main(serve, idle, tagged, untagged, source);

const { default: main } = await import("main");
if (!main || !main.types && !(main instanceof Program)) throw new TypeError("the main file has no default export that provider({...}) or program(...) made");
const monitor = {
    start: operation => ask("monitorStart", operation), wait: () => ask("monitorWait"), registerResource: request => ask("monitorRegisterResource", request),
    registerOutputs: request => { ask("monitorRegisterOutputs", request); }, registerPackage: request => ask("monitorRegisterPackage", request),
};
server = main instanceof Program ? new ProgramServer(main, monitor) : new Server(main, monitor, { about, warn: message => log("warning", message) });
