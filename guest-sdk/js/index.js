// The SDK for providers and programs in JavaScript and TypeScript: what authors import. index.d.ts documents it.
import { HuskError } from "./errors.js";
import { Program } from "./program.js";
import { load, nearest, store } from "./schema.js";

export { HuskError, InitFailed, InvalidArgument, NotFound, Unavailable } from "./errors.js";
export { all, Archive, Asset, Child, concat, Output, Reference, Secret, unknown } from "./values.js";

// Schemas: a field is its type with what is said of it.

const options = new Set(["default", "oneOf", "min", "max", "replace", "stable", "secret", "optional", "computed", "writeOnly", "autoname", "doc", "deprecated"]);
const field = (type, given = {}) => {
    for (const k of Object.keys(given)) if (!options.has(k)) {
        const near = nearest(k, [...options]);
        throw new TypeError(`a field has no option ${k}` + (near ? `; did you mean ${near}?` : `, but ${[...options].join(", ")}`));
    }
    return Object.freeze({ type, ...given });
};
export const string = o => field({ kind: "string" }, o);
export const boolean = o => field({ kind: "boolean" }, o);
export const number = o => field({ kind: "number" }, o);
export const integer = o => field({ kind: "integer" }, o);
export const any = o => field({ kind: "any" }, o);
export const asset = o => field({ kind: "asset" }, o);
export const archive = o => field({ kind: "archive" }, o);
export const reference = (token = "", o) => field({ kind: "resource", token }, o);
export const list = (element, o) => field({ kind: "array", element: element.type }, o);
export const map = (element, o) => field({ kind: "map", element: element.type }, o);
export const union = (fields, o) => field({ kind: "union", oneOf: fields.map(f => f.type) }, o);
export const object = (token, fields, o) => field({ kind: "object", object: propertiesOf(fields, token, o && o.doc) }, o);
export const optional = f => Object.freeze({ ...f, optional: true });
export const computed = f => Object.freeze({ ...f, optional: true, computed: true });
export const secret = f => Object.freeze({ ...f, secret: true });
export const output = f => Object.freeze({ ...f, type: { ...f.type, output: true } });
export const writeOnly = f => Object.freeze({ ...f, secret: true, writeOnly: true });

const scalars = { string: "string", boolean: "boolean", number: "number", integer: "number" };
// propertiesOf returns what fields describe, sorted by name.
const propertiesOf = (fields, token = "", doc = "") => {
    const properties = Object.entries(fields).map(([name, f]) => {
        if (!/^[A-Za-z_]\w*$/.test(name)) throw new TypeError(`the name of a property has letters, digits, and "_", but one is ${JSON.stringify(name)}`);
        if (!f || !f.type) throw new TypeError(`${name}: a property is described by string(), list(string()), and so on, but is ${f}`);
        const { optional, autoname, ...p } = f, scalar = scalars[p.type.kind];
        const wrong = what => { throw new TypeError(`${name}: ${what}`); };
        if ((p.min !== undefined || p.max !== undefined) && scalar !== "number") wrong("only a number has bounds");
        for (const v of [...(p.oneOf || []), ...("default" in p ? [p.default] : [])]) if (typeof v !== scalar) wrong(`only a boolean, number, or string has a default and values, of its type`);
        if (p.oneOf && p.default !== undefined && !p.oneOf.includes(p.default)) wrong("the default is not among the values of oneOf");
        if (autoname) Object.assign(p, { computed: true, autoname });
        return { ...p, name, required: !(optional || autoname || p.default !== undefined) };
    }).sort((a, b) => a.name < b.name ? -1 : 1);
    return { token, doc, properties, byName: new Map(properties.map(p => [p.name, p])) };
};

/** Reads JSON as a value of a field, without the properties that it does not name. */
export const parse = (f, text) => {
    const o = propertiesOf({ answer: { type: f.type } });
    return load(o, store(o, load(o, { answer: JSON.parse(text) }), "the JSON")).answer;
};

// stateOf returns the properties of outputs, for which nothing counts that is said of inputs alone.
const stateOf = fields => propertiesOf(Object.fromEntries(Object.entries(fields).map(([name, f]) => {
    if (!f || !f.type) return [name, f];
    const { type, secret, stable, optional, doc, deprecated } = f;
    return [name, { type, secret, stable, optional, doc, deprecated }];
})));

// Packages

export const resource = (token, { inputs = {}, state = {}, ...about }, implementation) => ({ token, inputs, state, about, implementation });
export const component = (token, { inputs = {}, outputs = {}, ...about }, construct) => ({ token, inputs, outputs, about, construct });
export const func = (token, { inputs = {}, result = {}, ...about }, call) => ({ token, inputs, result, about, call });

const methods = ["create", "read", "update", "delete", "check", "diff", "preview", "list", "exists"];
const checkToken = (pkg, token) => {
    const parts = String(token).split(":");
    if (parts.length !== 3 || parts.includes("")) throw new TypeError(`${token}: a token has the form <package>:<module>:<name>`);
    if (parts[0] !== pkg) throw new TypeError(`${token}: its token must begin with ${pkg}:`);
};
const checkOptions = (token, given, known) => { for (const k of Object.keys(given)) if (!known.includes(k)) throw new TypeError(`${token}: there is no option ${k}, but ${known.join(", ")}`); };

// at has errors say whose properties they are about.
const at = (token, f) => {
    try { return f(); } catch (e) { e.message = `${token}: ${e.message}`; throw e; }
};
const completeResource = (pkg, r) => {
    checkToken(pkg, r.token);
    checkOptions(r.token, r.about, ["doc", "deprecated", "aliases", "deleteBeforeReplace", "identity"]);
    const code = r.implementation, can = Object.fromEntries(methods.map(m => [m, typeof code[m] === "function"]));
    if (!can.create) throw new TypeError(`${r.token}: a resource needs a method create`);
    for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(code)).concat(Object.keys(code))) {
        const near = nearest(name, methods);
        if (typeof code[name] === "function" && near && near !== name && name.toLowerCase() === near) throw new TypeError(`${r.token}: the method ${name} is never called; did you mean ${near}?`);
    }
    const inputs = at(r.token, () => propertiesOf(r.inputs)), state = at(r.token, () => stateOf(r.state));
    for (const name of ["id", "urn"]) if (state.byName.has(name)) throw new TypeError(`${r.token}: its state must not have a property ${name}: every resource has one already`);
    const identity = [...(r.about.identity || [])].sort();
    for (const name of identity) if (!inputs.byName.has(name)) throw new TypeError(`${r.token}: its identity ${name} is none of its inputs`);
    const named = inputs.properties.find(p => p.autoname);
    if (!can.update) for (const p of inputs.properties) p.replace = true;
    return { aliases: [], deleteBeforeReplace: false, ...r.about, identity, token: r.token, code, can, inputs, state, autoname: named, schemaCheck: !can.check && !named, schemaDiff: !can.diff };
};
const completeComponent = (pkg, c) => {
    checkToken(pkg, c.token);
    checkOptions(c.token, c.about, ["doc", "deprecated", "aliases"]);
    if (typeof c.construct !== "function") throw new TypeError(`${c.token}: a component needs a function that declares its children`);
    const inputs = at(c.token, () => propertiesOf(c.inputs)), outputs = at(c.token, () => stateOf(c.outputs));
    for (const name of ["id", "urn"]) if (outputs.byName.has(name)) throw new TypeError(`${c.token}: its outputs must not have a property ${name}: every resource has one already`);
    return { aliases: [], ...c.about, token: c.token, construct: c.construct, inputs, outputs };
};
// eventual reports whether a value of a type has outputs in it.
const eventual = t => !!t.output || t.kind === "object" && t.object.properties.some(p => eventual(p.type)) || !!t.element && eventual(t.element) || (t.oneOf || []).some(eventual);
const completeFunction = (pkg, f) => {
    checkToken(pkg, f.token);
    checkOptions(f.token, f.about, ["doc", "deprecated"]);
    return { ...f.about, token: f.token, call: f.call, inputs: at(f.token, () => propertiesOf(f.inputs)), result: at(f.token, () => stateOf(f.result)) };
};
const byToken = list => {
    const out = [...list].sort((a, b) => a.token < b.token ? -1 : 1);
    out.forEach((x, i) => { if (i && out[i - 1].token === x.token) throw new TypeError(`${x.token}: it is declared twice`); });
    return out;
};

export const provider = p => {
    if (!p.name || !p.version) throw new TypeError("a provider has a name and a version");
    checkOptions(p.name, p, ["name", "version", "displayName", "description", "keywords", "homepage", "license", "repository", "publisher", "requests", "config", "configure", "deferred", "resources", "components", "functions", "close"]);
    const resources = byToken((p.resources || []).map(r => completeResource(p.name, r))), functions = byToken((p.functions || []).map(f => completeFunction(p.name, f)));
    const components = byToken((p.components || []).map(c => completeComponent(p.name, c)));
    byToken([...resources, ...components]);
    const config = propertiesOf(p.config || {}), types = new Map();
    const collect = t => {
        if (t.element) collect(t.element);
        for (const u of t.oneOf || []) collect(u);
        if (!t.object) return;
        checkToken(p.name, t.object.token);
        const known = types.get(t.object.token);
        if (known && known !== t.object) throw new TypeError(`${t.object.token}: it is declared twice: declare the object once, and use it in both places`);
        if (known) return;
        types.set(t.object.token, t.object);
        t.object.properties.forEach(q => collect(q.type));
    };
    for (const [token, o] of [[p.name, config], ...resources.flatMap(r => [[r.token, r.inputs], [r.token, r.state]]), ...functions.flatMap(f => [[f.token, f.inputs], [f.token, f.result]])]) {
        const found = o.properties.find(q => eventual(q.type));
        if (found) throw new TypeError(`${token}: ${found.name}: only inputs of a component are described by output()`);
    }
    for (const o of [config, ...components.flatMap(c => [c.inputs, c.outputs]), ...resources.flatMap(r => [r.inputs, r.state]), ...functions.flatMap(f => [f.inputs, f.result])]) o.properties.forEach(q => collect(q.type));
    const writeOnly = resources.some(r => r.inputs.properties.some(q => q.writeOnly)) || [...types.values()].some(o => o.properties.some(q => q.writeOnly));
    return { ...p, requests: p.requests || [], config, resources, components, functions, types: byToken(types.values()), writeOnly };
};

export const program = declare => {
    if (typeof declare !== "function") throw new TypeError("a program is a function that declares resources");
    return new Program(declare);
};

// What the host offers; engine.js sets it in a module, and a program of Node.js has its console.

const host = {};
/** Is called by the engine. */
export const __use = functions => { Object.assign(host, functions); };
const write = (severity, message, ephemeral) => host.log ? host.log(severity, String(message), ephemeral) : console[severity === "warning" ? "warn" : severity](String(message));
export const log = {
    debug: message => write("debug", message, false), info: message => write("info", message, false), warning: message => write("warning", message, false),
    error: message => write("error", message, false), status: message => write("info", message, true),
};
const needed = name => (...args) => { if (!host[name]) throw new HuskError("unavailable", `${name} works in a module only`); return host[name](...args); };
export const kv = { get: needed("kvGet"), put: needed("kvPut"), keys: needed("kvKeys") };
export const assets = { read: needed("readAsset") };

