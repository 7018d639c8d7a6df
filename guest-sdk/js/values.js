// Property values that JavaScript has no form of, and what is done with values of any kind. Objects and arrays are as in JSON.
import { HuskError } from "./errors.js";

/** A sensitive value. */
export class Secret { constructor(value) { this.value = value; } }
/** A value with the resources that it comes from. */
export class Output {
    constructor(value, secret, dependencies) { this.value = value; this.secret = secret; this.dependencies = dependencies; }
    /** Reports whether all of the value is known. */
    get known() { return !containsUnknowns(this.value); }
    /** Returns what f makes of the value without secrets, or a promise of it. Of an unknown, f makes nothing. */
    apply(f) {
        if (!this.known) return outputOf(unknown).marked(this);
        const v = given(f(unwrapped(this.value)));
        return thenable(v) ? v.then(x => outputOf(x).marked(this)) : outputOf(v).marked(this);
    }
    /** Returns the part at a path: subjects[0].name. */
    get(path) { return outputOf(part(this, parsePath(path))); }
    /** Returns the same as a value that is computed from others: with their dependencies, and secret if a part of them is. */
    marked(from) { return outputOf(this, containsSecrets(from), dependenciesOf(from)); }
}
/** A value that is known after the deployment only. */
export class Unknown {}
export const unknown = new Unknown();
/** A blob: its hash, and where it comes from. */
export class Asset { constructor(hash, source, from) { this.hash = hash; this.source = source; this.from = from; } }
/** A tree of blobs. */
export class Archive { constructor(hash, source, from) { this.hash = hash; this.source = source; this.from = from; } }
/** A resource: `id` is null for a component, and empty while it is not known. */
export class Reference { constructor(urn, id, packageVersion) { this.urn = urn; this.id = id; this.packageVersion = packageVersion; } }

// Levels of a value, as the engine counts them.
const maxDepth = 128;

const assetSources = ["none", "text", "path", "uri"], archiveSources = ["none", "", "path", "uri", "assets"];

/** Makes a value of a tag of CBOR and what it holds. */
export const tagged = (tag, v) => {
    switch (tag) {
    case 48500: return unknown;
    case 48501: return new Secret(v);
    case 48502: return new Output(...v);
    case 48503: return new Asset(v[0], assetSources[v[1]], v[2]);
    case 48504: return new Archive(v[0], archiveSources[v[1]], v[2]);
    case 48505: return new Reference(...v);
    }
    throw new TypeError(`the host sent a value with the tag ${tag}, which this version of the SDK does not know`);
};

/** Is the opposite: undefined for a plain object. */
export const untagged = v => {
    if (v === unknown) return [48500, null];
    if (v instanceof Secret) return [48501, v.value];
    if (v instanceof Output) return [48502, [v.value, v.secret, v.dependencies]];
    if (v instanceof Asset) return [48503, [v.hash, assetSources.indexOf(v.source), v.from]];
    if (v instanceof Archive) return [48504, [v.hash, archiveSources.indexOf(v.source), v.from]];
    if (v instanceof Reference) return [48505, [v.urn, v.id, v.packageVersion]];
};

/** Returns a value without secrets and outputs around it. */
export const plain = v => { while (v instanceof Secret || v instanceof Output) v = v.value; return v; };
export const isNull = v => { v = plain(v); return v === undefined || v === null; };
export const isObject = v => typeof v === "object" && v !== null && !Array.isArray(v) && !(v instanceof Unknown) && untagged(v) === undefined;
/** Is a secret around a value, unless there is one. */
export const secretOf = v => v instanceof Secret ? v : v instanceof Output ? new Output(v.value, true, v.dependencies) : new Secret(v);
/** Sets a property whatever its name is. */
export const set = (o, k, v) => { if (k === "__proto__") Object.defineProperty(o, k, { value: v, writable: true, configurable: true, enumerable: true }); else o[k] = v; return o; };
export const has = (o, k) => Object.prototype.hasOwnProperty.call(o, k);
export const get = (o, k) => o && has(o, k) ? o[k] : undefined;

export const utf8Length = s => {
    let n = s.length; // of which each byte beyond the first of a character is counted below
    for (let i = 0; i < s.length; i++) {
        const c = s.charCodeAt(i);
        if (c >= 0xd800 && c < 0xdc00 && s.charCodeAt(i + 1) >> 10 === 0x37) { n += 2; i++; } else if (c >= 0x80) n += c < 0x800 ? 1 : 2;
    }
    return n;
};
const byPoints = (a, b) => {
    for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) {
        const x = a.charCodeAt(i), y = b.charCodeAt(i), high = c => c >= 0xd800 && c < 0xe000;
        return high(x) !== high(y) ? (high(x) ? 1 : -1) : x - y; // a surrogate is of a point above all others
    }
    return a.length - b.length;
};
/** Orders keys as deterministic CBOR does. */
export const byKey = (a, b) => utf8Length(a) - utf8Length(b) || byPoints(a, b);
/** Returns the keys of an object in that order. */
export const keysOf = o => Object.keys(o || {}).sort(byKey);
/** Returns texts in the order of their bytes. */
export const sorted = list => [...list].sort(byPoints);

/** Returns what a value consists of. */
export const parts = v => Array.isArray(v) ? v : v instanceof Secret || v instanceof Output ? [v.value] : isObject(v) ? Object.values(v) : [];
export const containsUnknowns = v => v === unknown || v instanceof Reference && v.id === "" || parts(v).some(containsUnknowns);
export const containsSecrets = v => v instanceof Secret || v instanceof Output && v.secret || parts(v).some(containsSecrets);

/** Throws an error for a value that the engine does not encode. */
export const crosses = (v, levels = maxDepth) => {
    if (levels < 0) throw new RangeError(`a value is nested more than ${maxDepth} deep`);
    if (!["object", "string", "number", "boolean", "undefined"].includes(typeof v)) throw new TypeError(`a property cannot be a ${typeof v}`);
    if (typeof v !== "object" || v === null) return;
    const pair = Array.isArray(v) ? undefined : untagged(v);
    for (const x of pair ? [pair[1]] : Object.values(v)) crosses(x, levels - 1);
};

/** Returns the kind of a value as messages have it. */
export const kindOf = v => {
    if (v === undefined || v === null) return "null";
    if (typeof v === "boolean") return "bool";
    if (typeof v !== "object") return typeof v;
    if (Array.isArray(v)) return "array";
    if (v === unknown) return "unknown";
    return v instanceof Secret ? "secret" : v instanceof Output ? "output" : v instanceof Asset ? "asset" : v instanceof Archive ? "archive" : v instanceof Reference ? "resource reference" : "object";
};

/** Compares contents, through secrets and outputs, as states are compared: a null property equals a missing one. */
export const equal = (a, b) => {
    a = plain(a); b = plain(b);
    const kind = kindOf(a);
    if (kind !== kindOf(b)) return false;
    switch (kind) {
    case "null": case "unknown": return true;
    case "array": return a.length === b.length && a.every((x, i) => equal(x, b[i]));
    case "object": return [...new Set([...Object.keys(a), ...Object.keys(b)])].every(k => equal(get(a, k), get(b, k)));
    case "asset": case "archive":
        if (a.hash && b.hash || a.hash !== b.hash || a.source !== b.source) return !!a.hash && a.hash === b.hash;
        return a.source === "assets" ? equal(a.from, b.from) : a.from === b.from;
    case "resource reference": return a.urn === b.urn && a.id === b.id;
    }
    return a === b || a !== a && b !== b;
};

/** Applies f to each part of a value, and then to the value. */
export const transform = (v, f) => {
    if (Array.isArray(v)) v = v.map(x => transform(x, f));
    else if (v instanceof Secret) v = secretOf(transform(v.value, f));
    else if (v instanceof Output) { const inner = transform(v.value, f); v = inner instanceof Secret ? new Output(inner.value, true, v.dependencies) : new Output(inner, v.secret, v.dependencies); }
    else if (isObject(v)) { const o = Object.create(null); for (const k of Object.keys(v)) o[k] = transform(v[k], f); v = o; }
    return f(v);
};

// Outputs: values of a component, which may be unknown, secret, and of other resources.

/** Returns a value as an output. Wrappers never nest. */
export const outputOf = (value, secret = false, dependencies = []) => {
    const from = new Set(dependencies);
    for (; value instanceof Secret || value instanceof Output; value = value.value) {
        secret ||= value instanceof Secret || value.secret;
        for (const urn of value.dependencies || []) from.add(urn);
    }
    return new Output(value, secret, sorted(from));
};
/** Returns the URNs of the resources that a value and its parts come from. */
export const dependenciesOf = v => {
    const found = new Set(), within = v => { if (v instanceof Output) v.dependencies.forEach(urn => found.add(urn)); parts(v).forEach(within); };
    within(v);
    return sorted(found);
};
/** Returns a value without secrets and outputs in all its parts. */
export const unwrapped = v => transform(v, plain);
export const thenable = v => typeof v === "object" && v !== null && typeof v.then === "function";
const literal = v => isObject(v) && [null, Object.prototype].includes(Object.getPrototypeOf(v));

/** A resource that a component or program declared or read. */
export class Child {
    #made; #preview;
    constructor(made, preview) { this.#made = made; this.#preview = preview; }
    /** What options and references have of it. */
    static madeOf(child) { return child.#made; }
    #depending(v, name) { return outputOf(v, false, [this.#made.urn, ...(this.#made.stateDependencies || []).flatMap(d => name === undefined || d.key === name ? d.urns : [])]); }
    get urn() { return this.#depending(this.#made.urn, "urn"); }
    get id() { return this.#depending(this.#made.custom ? this.#made.id || unknown : null, "id"); }
    get outputs() { return this.#depending(this.#made.missing ? unknown : this.#made.state); }
    output(path) {
        const [name, ...rest] = parsePath(path);
        if (name === "urn" && !rest.length) return this.urn;
        if (name === "id" && !rest.length) return this.id;
        const found = get(this.#made.state, name);
        return this.#depending(this.#made.missing || found === undefined && this.#preview ? unknown : part(found, rest), name);
    }
    get reference() { return this.#depending(new Reference(this.#made.urn, this.#made.custom ? this.#made.id : null, "")); }
}

// part returns the part of a value at a path, null where there is none. Within an unknown, all is unknown; within a secret, secret.
const part = (v, path) => {
    for (const segment of path) {
        const inner = plain(v);
        if (inner === unknown) return v;
        const next = typeof segment === "number" ? Array.isArray(inner) ? inner[segment] : undefined : isObject(inner) ? get(inner, segment) : undefined;
        v = v instanceof Secret ? outputOf(next ?? null, true) : v instanceof Output ? outputOf(next ?? null, v.secret, v.dependencies) : next ?? null;
    }
    return v;
};

/** Returns an author's value as properties have it, or a promise of that if a part is a promise. */
export const given = (v, path = []) => {
    const wrong = what => new HuskError("invalid-argument", `a property cannot be ${what}`, pathText(path));
    if (path.length > 128) throw wrong("nested more than 128 deep");
    switch (typeof v) {
    case "undefined": return null;
    case "boolean": case "number": return v;
    case "string": return v.toWellFormed();
    case "object": break;
    default: throw wrong(`a ${typeof v}`);
    }
    if (v === null) return null;
    if (v instanceof Child) return wire(v.reference);
    if (thenable(v)) return v.then(x => given(x, path));
    if (v instanceof Output || v instanceof Secret) {
        const inner = given(v.value, path), around = x => wire(v instanceof Secret ? outputOf(x, true) : outputOf(x, v.secret, v.dependencies));
        return thenable(inner) ? inner.then(around) : around(inner);
    }
    if (v === unknown || untagged(v)) return v;
    if (!Array.isArray(v) && !literal(v)) throw wrong(`a ${v.constructor.name}`);
    const keys = Array.isArray(v) ? v.keys() : Object.keys(v), out = Array.isArray(v) ? [] : Object.create(null), waiting = [];
    const put = (k, x) => { if (Array.isArray(v)) out[k] = x; else if (!isNull(x)) set(out, k, x); };
    for (const k of keys) {
        const x = given(v[k], [...path, k]);
        if (thenable(x)) waiting.push(x.then(found => put(k, found))); else put(k, x);
    }
    return waiting.length ? Promise.all(waiting).then(() => out) : out;
};
/** Returns an output as it crosses: without dependencies it is a plain value, or a secret. */
export const wire = o => o.dependencies.length ? o : o.secret ? new Secret(o.value) : o.value;
/** Returns properties without outputs, as a state has them. */
export const lowered = v => {
    if (v instanceof Output) { const inner = lowered(v.value); return v.secret ? new Secret(inner) : inner; }
    if (v instanceof Secret) return new Secret(lowered(v.value));
    if (Array.isArray(v)) return v.map(lowered);
    return isObject(v) ? Object.keys(v).reduce((out, k) => set(out, k, lowered(v[k])), Object.create(null)) : v;
};
/** Lists the resources that each property comes from. */
export const dependencies = m => keysOf(m).map(key => ({ key, urns: dependenciesOf(m[key]) })).filter(d => d.urns.length);

/** Returns one output of several: a list or object with outputs in it. */
export const all = values => {
    const v = given(values);
    if (thenable(v)) throw new TypeError("all() takes outputs, and no promises: await Promise.all first");
    return outputOf(v);
};
/** Returns one text of several parts. */
export const concat = (...parts) => all(parts).apply(list => list.map(x => x === null ? "" : typeof x === "object" ? (() => { throw new HuskError("invalid-argument", `text cannot be made of a value of kind ${kindOf(x)}`); })() : String(x)).join(""));

// Paths: lists of keys, indexes, and the wildcard.

export const wildcard = Symbol("*");
const control = c => c < " " || c >= "\x7f" && c < "\xa0" || c === "\u200e" || c === "\u200f" || c >= "\u2028" && c <= "\u202e" || c >= "\u2066" && c <= "\u2069";
const quotedKey = key => key === "*" ? "\\*" : Array.from(key, c => c === '"' || c === "\\" ? "\\" + c : control(c) ? "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0") : c).join("");

/** Returns the text of a path: root.nested["a key"][0]. */
export const pathText = path => path.map((s, i) => typeof s === "number" ? `[${s}]` : s === wildcard ? (i ? ".*" : "*") : /^[A-Za-z_$][\w$]*$/.test(s) ? (i ? "." : "") + s : `["${quotedKey(s)}"]`).join("");

class PathReader {
    at = 0; path = [];
    constructor(text) { this.text = text; }
    fail(at, reason) { throw new SyntaxError(`invalid property path "${quotedKey(this.text)}": character ${[...this.text.slice(0, at)].length + 1}: ${reason}`); }
    read() { while (this.at < this.text.length) this.segment(); return this.path; }
    segment() {
        const c = this.text[this.at], first = this.path.length === 0;
        if (c === "[") return this.text[this.at + 1] === '"' ? this.quoted(this.at + 2) : this.bracket(this.at + 1);
        if (c === "." && first) this.fail(this.at, "a path starts with a name or a bracket");
        if (c !== "." && !first) this.fail(this.at, '"." or "[" must follow "]"');
        const start = first ? this.at : this.at + 1, name = /^[^.[]*/.exec(this.text.slice(start))[0], wrong = Array.from(name).findIndex(c => c === "]" || c === '"' || c === "\\" || control(c));
        if (wrong >= 0) this.fail(start + Array.from(name).slice(0, wrong).join("").length, 'a name with this character is written ["..."]');
        if (!name) this.fail(start, 'a name must follow "."');
        this.add(name === "*" ? wildcard : name, start + name.length);
    }
    add(segment, end) { this.path.push(segment); this.at = end; }
    bracket(start) {
        const length = this.text.slice(start).indexOf("]"), inner = this.text.slice(start, start + length);
        if (length < 0) this.fail(this.text.length, '"]" is missing');
        if (inner === "*") return this.add(wildcard, start + 2);
        if (!/^(0|[1-9]\d*)$/.test(inner)) this.fail(start, 'an index (0, 1, ...), a name in quotes, or * must follow "["');
        if (BigInt(inner) >= 2n ** 63n) this.fail(start, "the index is too large");
        this.add(Number(inner), start + length + 1);
    }
    quoted(start) {
        const m = /^(?:[^"\\]|\\(?:["\\*]|u(?!d[89a-f])[0-9a-f]{4}))*/i.exec(this.text.slice(start)), end = start + m[0].length;
        if (end === this.text.length) this.fail(end, 'the closing quote (") is missing');
        if (this.text[end] === "\\") this.fail(end, "a backslash in quotes is written \\\\");
        if (this.text[end + 1] !== "]") this.fail(end + 1, '"]" must follow the closing quote');
        this.add(m[0] === "*" ? wildcard : m[0].replace(/\\(?:u(....)|(.))/g, (_, code, c) => code ? String.fromCharCode(parseInt(code, 16)) : c), end + 2);
    }
}

/** Reads the text of a path; a SyntaxError says what is wrong. */
export const parsePath = text => new PathReader(text).read();

/** Reports whether a pattern contains a path. */
export const containsPath = (pattern, path) => pattern.length <= path.length && pattern.every((s, i) => s === wildcard || s === path[i]);
