// The functions of dynamic providers, as Pulumi's SDK serialized them, on the runtime.
"use strict";
(() => {
const runtime = globalThis.__runtime;
delete globalThis.__runtime;
const { ask, inspect, modules } = runtime;
const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });

// What functions may use of Pulumi's SDK: the log, the configuration, and outputs, which are known here.
const current = { config: {}, project: "" };
class Output {
    #value;
    constructor(value) { this.#value = value; this.#value.catch(() => {}); }
    apply(f) { return new Output(this.#value.then(f).then(settled)); }
    promise() { return this.#value; }
    get() { throw new Error("the value of an output is given to the function of apply, and get works after the deployment alone"); }
}
const settled = async v => {
    v = await v;
    if (v instanceof Output) return v.promise();
    if (Array.isArray(v)) return Promise.all(v.map(settled));
    if (typeof v !== "object" || v === null || Object.getPrototypeOf(v) !== Object.prototype) return v;
    return Object.fromEntries(await Promise.all(Object.entries(v).map(async ([k, x]) => [k, await settled(x)])));
};
const output = v => new Output(settled(v));
const concat = (...parts) => output(parts).apply(values => values.join(""));
class Config {
    constructor(name = current.project) { this.name = name; }
    get(key) { return current.config[`${this.name}:${key}`]; }
    require(key) { const v = this.get(key); if (v === undefined) throw new Error(`Missing required configuration variable '${this.name}:${key}'\n\tplease set a value using the command \`husk config set ${this.name}:${key} <value>\``); return v; }
}
const readAs = {
    Boolean: v => { if (v === true || v === "true") return true; if (v === false || v === "false") return false; throw new Error(`the configuration value ${JSON.stringify(v)} is no boolean`); },
    Number: v => { const n = Number(v); if (v === "" || Number.isNaN(n)) throw new Error(`the configuration value ${JSON.stringify(v)} is no number`); return n; },
    Object: v => typeof v === "string" ? JSON.parse(v) : v,
};
for (const method of ["get", "require"]) {
    Config.prototype[method + "Secret"] = function (key) { const v = this[method](key); return v === undefined ? undefined : output(v); };
    for (const [kind, read] of Object.entries(readAs)) {
        Config.prototype[method + kind] = function (key) { const v = this[method](key); return v === undefined ? undefined : read(v); };
        Config.prototype[method + "Secret" + kind] = function (key) { const v = this[method + kind](key); return v === undefined ? undefined : output(v); };
    }
}
const log = Object.fromEntries([["debug", "debug"], ["info", "info"], ["warn", "warning"], ["error", "error"]].map(([name, severity]) => [name, async message => { ask(severity, String(message)); }]));
const inProgram = { get(o, name) {
    if (name in o || typeof name === "symbol" || name === "then" || name === "__esModule") return o[name];
    throw new Error(`the closure of the dynamic provider uses ${String(name)} of @pulumi/pulumi, which works in the program alone; functions may use ${Object.keys(sdk).join(", ")}`);
} };
const sdk = new Proxy({
    log, Config, Output, output, concat, all: output, secret: output, unsecret: output, interpolate: (texts, ...values) => concat(...texts.flatMap((t, i) => i < values.length ? [t, values[i]] : [t])),
    getProject: () => current.project,
}, inProgram);
Object.assign(modules, { "@pulumi/pulumi": sdk, "@pulumi/pulumi/index.js": sdk, "@pulumi/pulumi/log": log, "@pulumi/pulumi/log/index.js": log, "@pulumi/pulumi/config": { Config }, "@pulumi/pulumi/output": { Output, output, concat, all: output } });

const { find, load: loadFile, withImports } = runtime.packages;
// requireFor returns the function require of the files in a directory.
const requireFor = dir => {
    const require = name => {
        const plain = String(name).replace(/^node:/, "");
        if (Object.prototype.hasOwnProperty.call(modules, plain)) return modules[plain];
        // A function of the SDK that is a part of the closure needs other files of it. It may never be called.
        if (plain.startsWith("@pulumi/pulumi/")) return new Proxy({}, inProgram);
        const file = find(plain, dir);
        if (file) return loadFile(file, requireFor);
        let why;
        if (/\.node$/.test(plain)) why = `the closure of the dynamic provider needs the native module ${name}, which cannot run in the sandbox: use one in JavaScript, or a provider made for it`;
        else if (/^[./]/.test(plain)) why = `the closure of the dynamic provider needs the file ${name} at run time, which the sandbox does not have: import it at the top of the program, so that its functions become part of the closure`;
        else why = `the closure of the dynamic provider needs the package ${name}, whose files are not in the sandbox: grant the provider pulumi-nodejs the directory that npm install has made, fs: [node_modules], or copy what is needed of the package into a module of the program (functions of the program's own files become part of the closure)`;
        throw Object.assign(new Error(why), { code: "MODULE_NOT_FOUND" });
    };
    require.resolve = name => find(String(name), dir) || String(name);
    require.cache = {};
    return require;
};
runtime.requireFor = requireFor;
const require = requireFor(".");

// Calls

const failureOf = e => {
    const isError = typeof e === "object" && e !== null;
    const f = { message: isError && e.message !== undefined ? String(e.message) : inspect(e), stack: isError && typeof e.stack === "string" ? e.stack : "" };
    if (isError && e.name && e.name !== "Error") f.name = String(e.name);
    if (isError && e.id) { f.id = String(e.id); f.properties = plain(e.properties || {}, "properties"); f.reasons = Array.from(e.reasons || [], String); }
    return f;
};
// plain returns what a function of the provider returned as JSON can hold it.
const plain = (v, at, seen = []) => {
    const refuse = what => { throw new TypeError(`the dynamic provider returned ${what} as ${at}: return text, numbers, booleans, lists, and objects of them`); };
    switch (typeof v) {
    case "function": return refuse("a function");
    case "symbol": return refuse("a symbol");
    case "bigint": return refuse("a bigint");
    case "number": return Number.isFinite(v) ? v : refuse("the number " + v);
    case "undefined": return null;
    case "object": break;
    default: return v;
    }
    if (v === null) return null;
    if (seen.includes(v)) return refuse("an object that contains itself");
    if (seen.length > 200) return refuse("objects nested more than 200 deep");
    if (v instanceof Promise) return refuse("a promise, which it did not await,");
    if (typeof v.toJSON === "function") return plain(v.toJSON(), at, [...seen, v]);
    if (v instanceof Map || v instanceof Set) return refuse("a " + v.constructor.name);
    if (Array.isArray(v)) return Array.from(v, (x, i) => plain(x, `${at}[${i}]`, [...seen, v]));
    if (ArrayBuffer.isView(v)) return Array.from(v);
    const out = {};
    for (const k of Object.keys(v)) if (v[k] !== undefined) Object.defineProperty(out, k, { value: plain(v[k], `${at}.${k}`, [...seen, v]), enumerable: true });
    return out;
};
const unknown = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
const providers = new Map();
const configOf = (config, project) => {
    const get = key => config[key.includes(":") ? key : `${project}:${key}`];
    return { get, require(key) { const v = get(key); if (v === undefined) throw new Error(`Missing required configuration key: ${key.includes(":") ? key : `${project}:${key}`}`); return v; } };
};
const load = async (props, request) => {
    const code = props.__provider;
    if (typeof code !== "string") throw new Error("the resource has no dynamic provider: its property __provider is not a text. Resources of this type are made by pulumi.dynamic.Resource");
    let p = providers.get(code);
    if (!p) {
        const module = { exports: {} };
        new Function("exports", "require", "module", "__filename", "__dirname", withImports(code) + "\n//# sourceURL=provider.js")(module.exports, require, module, "/provider.js", "/");
        if (typeof module.exports.handler !== "function") throw new Error("the property __provider is not a function that Pulumi's SDK for Node.js serialized: it exports no handler");
        p = module.exports.handler();
        if (typeof p !== "object" || p === null) throw new Error("the serialized dynamic provider is no object");
        if (p.configure) await p.configure({ config: configOf(request.config, request.project) });
        providers.set(code, p);
    }
    return p;
};
const outs = (result, props) => ({ ...plain(result || {}, "outs"), __provider: props.__provider });
const methods = {
    async check(r) {
        const p = await load(r.news.__provider === unknown ? r.olds : r.news, r);
        let inputs = r.news, failures = [];
        const code = r.news.__provider;
        if (p.check) {
            const result = await p.check(r.olds, r.news);
            if (result.inputs) inputs = result.inputs;
            if (result.failures) failures = result.failures;
        }
        return { inputs: { ...plain(inputs, "inputs"), __provider: code }, failures: Array.from(failures, f => ({ property: f.property === undefined ? "" : String(f.property), reason: String(f.reason) })) };
    },
    async diff(r) {
        const p = await load(r.news.__provider === unknown ? r.olds : r.news, r);
        if (!p.diff) return {};
        const d = await p.diff(r.id, r.olds, r.news);
        return { changes: typeof d.changes === "boolean" ? d.changes : null, replaces: Array.from(d.replaces || [], String), stables: Array.from(d.stables || [], String), deleteBeforeReplace: !!d.deleteBeforeReplace };
    },
    async create(r) {
        const p = await load(r.news, r);
        if (!p.create) throw new Error("the dynamic provider has no create");
        const result = await p.create(r.news);
        if (!result || result.id === undefined || result.id === null || result.id === "") throw new Error("create of the dynamic provider returned no id");
        return { id: String(result.id), outs: outs(result.outs, r.news) };
    },
    async read(r) {
        const p = await load(r.olds, r);
        if (!p.read) return { id: r.id, same: true };
        const result = await p.read(r.id, r.olds) || {};
        return { id: result.id === undefined || result.id === null ? "" : String(result.id), outs: outs(result.props, r.olds), inputs: result.inputs ? outs(result.inputs, r.olds) : null };
    },
    async update(r) {
        const p = await load(r.news, r);
        const result = p.update ? await p.update(r.id, r.olds, r.news) || {} : {};
        return { outs: outs(result.outs, r.news) };
    },
    async delete(r) {
        const p = await load(r.olds, r);
        if (p.delete) await p.delete(r.id, r.olds);
        return {};
    },
};
runtime.uncaught = e => { ask("uncaught", JSON.stringify(failureOf(e))); };
const begin = text => {
    const r = JSON.parse(text);
    current.config = r.config; current.project = r.project;
    // As in Pulumi, a variable has what the configuration says of the package itself.
    const own = Object.entries(r.config).filter(([key]) => key.startsWith("pulumi-nodejs:")).map(([key, v]) => [key.slice("pulumi-nodejs:".length), v]);
    runtime.begin({ ...r.env, PULUMI_CONFIG: JSON.stringify(Object.fromEntries(own)) });
    methods[r.method](r).then(v => ask("done", JSON.stringify(v))).catch(e => ask("failed", JSON.stringify(failureOf(e))));
};
define("__begin", begin); define("__idle", runtime.idle); define("__end", runtime.end);
})();
