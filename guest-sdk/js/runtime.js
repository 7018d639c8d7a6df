// What programs of Node.js find around them, for QuickJS: the globals, and the modules of Node.js that work in
// a sandbox. A provider runs this script once. __host(name, argument) asks the provider. It may have two functions for UTF-8,
// encode and decode, and then takes bytes as a third argument and answers with [text, bytes]; otherwise bytes are base64 and hex in
// the text. What this script shares with the script that serves calls is in __runtime.
"use strict";
(() => {
const ask = globalThis.__host;
delete globalThis.__host;
const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
define("global", globalThis);

// Text and bytes

const toHex = b => { let s = ""; for (const x of b) s += (x < 16 ? "0" : "") + x.toString(16); return s; };
const fromHex = s => { const b = new Uint8Array(s.length >> 1); for (let i = 0; i < b.length; i++) b[i] = parseInt(s.substr(2 * i, 2), 16); return b; };
const encodeUTF8 = text => {
    if (ask.encode) return ask.encode(String(text).toWellFormed());
    const out = [];
    for (const c of String(text)) {
        let p = c.codePointAt(0);
        if (p >= 0xd800 && p <= 0xdfff) p = 0xfffd;
        if (p < 0x80) out.push(p);
        else if (p < 0x800) out.push(0xc0 | p >> 6, 0x80 | p & 63);
        else if (p < 0x10000) out.push(0xe0 | p >> 12, 0x80 | p >> 6 & 63, 0x80 | p & 63);
        else out.push(0xf0 | p >> 18, 0x80 | p >> 12 & 63, 0x80 | p >> 6 & 63, 0x80 | p & 63);
    }
    return Uint8Array.from(out);
};
const decodeUTF8 = (b, fatal) => {
    let s = ask.decode ? ask.decode(b) : "";
    // The engine takes surrogates, each in three bytes, which UTF-8 has not: two of them come back as a character of four bytes.
    if (s && s.isWellFormed() && !s.includes("\ufffd") && ask.encode(s).length === b.length) return s;
    s = "";
    for (let i = 0; i < b.length;) {
        const first = b[i++];
        let n = 0, low = 0x80, high = 0xbf, p = first;
        if (first >= 0x80) {
            if (first >= 0xc2 && first <= 0xdf) { n = 1; p = first & 31; }
            else if (first >= 0xe0 && first <= 0xef) { n = 2; p = first & 15; if (first === 0xe0) low = 0xa0; if (first === 0xed) high = 0x9f; }
            else if (first >= 0xf0 && first <= 0xf4) { n = 3; p = first & 7; if (first === 0xf0) low = 0x90; if (first === 0xf4) high = 0x8f; }
            else p = -1;
            for (; n > 0 && p >= 0; n--) {
                if (i >= b.length || b[i] < low || b[i] > high) { p = -1; break; }
                p = p << 6 | b[i++] & 63; low = 0x80; high = 0xbf;
            }
        }
        if (p < 0) {
            if (fatal) throw new TypeError("The encoded data was not valid for encoding utf-8");
            p = 0xfffd;
        }
        s += String.fromCodePoint(p);
    }
    return s;
};
const bytesOf = v => v instanceof ArrayBuffer ? new Uint8Array(v) : ArrayBuffer.isView(v) ? new Uint8Array(v.buffer, v.byteOffset, v.byteLength) : encodeUTF8(v);
class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return encodeUTF8(text); }
}
class TextDecoder {
    constructor(label = "utf-8", options = {}) {
        if (!/^(utf-?8)$/i.test(label)) throw new RangeError(`TextDecoder decodes only utf-8 here, and not ${label}`);
        this.encoding = "utf-8"; this.fatal = !!options.fatal; this.ignoreBOM = !!options.ignoreBOM;
    }
    decode(b = new Uint8Array(0), options = {}) {
        if (options.stream) throw new TypeError("TextDecoder has no streams here: decode the whole text at once");
        const s = decodeUTF8(bytesOf(b), this.fatal);
        return !this.ignoreBOM && s.charCodeAt(0) === 0xfeff ? s.slice(1) : s;
    }
}
const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const toBase64 = b => {
    let s = "", part = [];
    const digit = n => part.push(base64.charCodeAt(n & 63));
    for (let i = 0; i < b.length; i += 3) {
        const n = b[i] << 16 | (b[i + 1] || 0) << 8 | (b[i + 2] || 0);
        digit(n >> 18); digit(n >> 12);
        if (i + 1 < b.length) digit(n >> 6); else part.push(61);
        if (i + 2 < b.length) digit(n); else part.push(61);
        if (part.length >= 4096) { s += String.fromCharCode(...part); part = []; }
    }
    return s + String.fromCharCode(...part);
};
const digits = Object.fromEntries([...base64 + "-_"].map((c, i) => [c.charCodeAt(0), i < 64 ? i : i - 2]));
const fromBase64 = s => {
    const out = new Uint8Array(Math.ceil(s.length * 3 / 4));
    let n = 0, bits = 0, size = 0;
    for (let i = 0; i < s.length; i++) {
        const at = digits[s.charCodeAt(i)];
        if (at === undefined) { if (s[i] === "=") break; continue; }
        n = (n << 6 | at) & 0xffffff; bits += 6;
        if (bits >= 8) { bits -= 8; out[size++] = n >> bits & 255; }
    }
    return out.slice(0, size);
};
const encodings = {
    "utf8": [encodeUTF8, b => decodeUTF8(b)],
    "hex": [s => fromHex(/^([0-9a-f]{2})*/i.exec(s)[0]), toHex],
    "base64": [fromBase64, toBase64],
    "base64url": [fromBase64, b => toBase64(b).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "")],
    "latin1": [s => Uint8Array.from(s, c => c.charCodeAt(0)), b => { let s = ""; for (const x of b) s += String.fromCharCode(x); return s; }],
    "ascii": [s => Uint8Array.from(s, c => c.charCodeAt(0)), b => { let s = ""; for (const x of b) s += String.fromCharCode(x & 127); return s; }],
    "utf16le": [s => { const b = new Uint8Array(2 * s.length); for (let i = 0; i < s.length; i++) { b[2 * i] = s.charCodeAt(i); b[2 * i + 1] = s.charCodeAt(i) >> 8; } return b; },
        b => { let s = ""; for (let i = 0; i + 1 < b.length; i += 2) s += String.fromCharCode(b[i] | b[i + 1] << 8); return s; }],
};
Object.assign(encodings, { "utf-8": encodings.utf8, "binary": encodings.latin1, "ucs2": encodings.utf16le, "utf-16le": encodings.utf16le });
const encoding = name => {
    const e = encodings[String(name || "utf8").toLowerCase()];
    if (!e) throw new TypeError(`Unknown encoding: ${name}`);
    return e;
};
class Buffer extends Uint8Array {
    static from(v, a, n) {
        if (typeof v === "string") return Buffer.of8(encoding(a)[0](v));
        if (v instanceof ArrayBuffer) return new Buffer(v, a, n);
        if (v && v.type === "Buffer" && Array.isArray(v.data)) v = v.data;
        if (ArrayBuffer.isView(v) || Array.isArray(v)) return Buffer.of8(Uint8Array.from(v));
        throw new TypeError("Buffer.from takes a string, an array, a buffer, or bytes");
    }
    static of8(b) { return new Buffer(b.buffer, b.byteOffset, b.byteLength); }
    static alloc(n, fill) { const b = new Buffer(n); return fill === undefined ? b : b.fill(fill); }
    static allocUnsafe(n) { return new Buffer(n); }
    static allocUnsafeSlow(n) { return new Buffer(n); }
    static isBuffer(v) { return v instanceof Buffer; }
    static isEncoding(name) { return String(name).toLowerCase() in encodings; }
    static byteLength(v, e) { return typeof v === "string" ? encoding(e)[0](v).length : v.byteLength; }
    static concat(list, total = list.reduce((n, b) => n + b.length, 0)) {
        const out = new Buffer(total);
        let at = 0;
        for (const b of list) { if (at >= total) break; out.set(b.subarray(0, total - at), at); at += b.length; }
        return out;
    }
    static compare(a, b) { return Buffer.prototype.compare.call(a, b); }
    toString(e, from = 0, to = this.length) { return encoding(e)[1](new Uint8Array(this.buffer, this.byteOffset, this.byteLength).subarray(from, to)); }
    toJSON() { return { type: "Buffer", data: Array.from(this) }; }
    equals(b) { return this.compare(b) === 0; }
    compare(b) {
        for (let i = 0; i < this.length && i < b.length; i++) if (this[i] !== b[i]) return this[i] < b[i] ? -1 : 1;
        return Math.sign(this.length - b.length);
    }
    fill(v, from = 0, to = this.length) {
        if (typeof v !== "string") return super.fill(v, from, to);
        const b = encodeUTF8(v);
        for (let i = from; i < to; i++) this[i] = b.length ? b[(i - from) % b.length] : 0;
        return this;
    }
    slice(from, to) { return this.subarray(from, to); }
    copy(target, at = 0, from = 0, to = this.length) { const part = this.subarray(from, Math.min(to, from + target.length - at)); target.set(part, at); return part.length; }
    write(text, at = 0, n, e) {
        if (typeof at === "string") { e = at; at = 0; } else if (typeof n === "string") { e = n; n = undefined; }
        const b = encoding(e)[0](text).subarray(0, Math.min(n === undefined ? Infinity : n, this.length - at));
        this.set(b, at);
        return b.length;
    }
    indexOf(v, from = 0) {
        if (typeof v === "number") return super.indexOf(v, from);
        const b = bytesOf(v);
        outer: for (let i = from; i + b.length <= this.length; i++) {
            for (let j = 0; j < b.length; j++) if (this[i + j] !== b[j]) continue outer;
            return i;
        }
        return -1;
    }
    includes(v, from) { return this.indexOf(v, from) >= 0; }
}
for (const [name, kind, size] of [["UInt8", "Uint8", 1], ["Int8", "Int8", 1], ["UInt16", "Uint16", 2], ["Int16", "Int16", 2], ["UInt32", "Uint32", 4], ["Int32", "Int32", 4],
    ["Float", "Float32", 4], ["Double", "Float64", 8], ["BigInt64", "BigInt64", 8], ["BigUInt64", "BigUint64", 8]]) {
    for (const end of size === 1 ? [""] : ["LE", "BE"]) {
        const view = b => new DataView(b.buffer, b.byteOffset, b.byteLength);
        Buffer.prototype["read" + name + end] = function (at = 0) { return view(this)["get" + kind](at, end === "LE"); };
        Buffer.prototype["write" + name + end] = function (v, at = 0) { view(this)["set" + kind](at, v, end === "LE"); return at + size; };
    }
}
// As in Node.js, Buffer can be called without new, and makes of text what Buffer.from makes of it.
const madeBuffer = args => typeof args[0] === "number" ? Buffer.alloc(args[0]) : Buffer.from(...args);
const callableBuffer = new Proxy(Buffer, { apply: (_, self, args) => madeBuffer(args), construct: (c, args, by) => by === callableBuffer ? madeBuffer(args) : Reflect.construct(c, args, by) });
Buffer.prototype.constructor = callableBuffer;
define("TextEncoder", TextEncoder); define("TextDecoder", TextDecoder); define("Buffer", callableBuffer);
define("btoa", s => { s = String(s); if (/[^\0-\xff]/.test(s)) throw new TypeError("Invalid character"); return toBase64(encodings.latin1[0](s)); });
define("atob", s => encodings.latin1[1](fromBase64(String(s))));

// Objects as text

const inspect = (v, depth = 2, seen = []) => {
    switch (typeof v) {
    case "string": return seen.length ? `'${v.replace(/\\/g, "\\\\").replace(/'/g, "\\'").replace(/\n/g, "\\n")}'` : v;
    case "bigint": return v + "n";
    case "symbol": return v.toString();
    case "function": return /^class\b/.test(Function.prototype.toString.call(v)) ? `[class ${v.name}]` : `[Function: ${v.name || "(anonymous)"}]`;
    case "object": break;
    default: return Object.is(v, -0) ? "-0" : String(v);
    }
    if (v === null) return "null";
    if (seen.includes(v)) return "[Circular]";
    if (v instanceof Error) return errorText(v);
    if (v instanceof Date) return isNaN(v) ? "Invalid Date" : v.toISOString();
    if (v instanceof RegExp) return String(v);
    if (v instanceof Promise) return "Promise {}";
    if (v instanceof Buffer) return `<Buffer ${toHex(v).replace(/..(?=.)/g, "$& ")}>`;
    const name = v.constructor && v.constructor !== Object && v.constructor !== Array ? v.constructor.name + " " : "";
    if (seen.length > depth) return Array.isArray(v) ? "[Array]" : `[${name.trim() || "Object"}]`;
    const inner = x => inspect(x, depth, [...seen, v]);
    const list = (open, items, close) => {
        if (!items.length) return open + close;
        const line = `${open} ${items.join(", ")} ${close}`;
        return line.length <= 76 && !line.includes("\n") ? line : `${open}\n${items.map(i => "  " + i.replace(/\n/g, "\n  ")).join(",\n")}\n${close}`;
    };
    if (Array.isArray(v) || ArrayBuffer.isView(v) && !(v instanceof DataView)) {
        const items = Array.from(v).slice(0, 100).map(inner);
        if (v.length > 100) items.push(`... ${v.length - 100} more items`);
        return name + list("[", items, "]");
    }
    if (v instanceof Map) return `Map(${v.size}) ` + list("{", [...v].map(([k, x]) => `${inner(k)} => ${inner(x)}`), "}");
    if (v instanceof Set) return `Set(${v.size}) ` + list("{", [...v].map(inner), "}");
    return name + list("{", Object.keys(v).map(k => `${/^[A-Za-z_$][\w$]*$/.test(k) ? k : `'${k}'`}: ${inner(v[k])}`), "}");
};
const errorText = e => {
    const head = `${e.name}: ${e.message}`, stack = typeof e.stack === "string" ? e.stack.trimEnd() : "";
    return (stack.startsWith(head) || !stack ? stack || head : head + "\n" + stack) + (e.cause !== undefined ? `\n  [cause]: ${inspect(e.cause, 2, [e])}` : "");
};
const format = (...args) => {
    let text = "";
    if (typeof args[0] === "string") {
        const pattern = args.shift();
        text = args.length ? pattern.replace(/%[sdifjoOc%]/g, m => {
            if (m === "%%") return "%";
            if (!args.length) return m;
            const v = args.shift();
            switch (m) {
            case "%s": return typeof v === "string" ? v : inspect(v, 0, [{}]);
            case "%d": return typeof v === "bigint" ? v + "n" : String(Number(v));
            case "%i": return String(parseInt(v));
            case "%f": return String(parseFloat(v));
            case "%j": return JSON.stringify(v);
            case "%c": return "";
            default: return inspect(v, 4, [{}]);
            }
        }) : pattern;
        if (args.length) text += " ";
    }
    return text + args.map(v => inspect(v)).join(" ");
};
const console = {};
for (const [name, level] of [["debug", "debug"], ["trace", "debug"], ["log", "info"], ["info", "info"], ["warn", "warning"], ["error", "error"]])
    console[name] = (...args) => { ask(level, format(...args)); };
console.dir = v => console.log(inspect(v));
console.table = console.dir;
console.assert = (ok, ...args) => { if (!ok) console.error("Assertion failed" + (args.length ? ": " + format(...args) : "")); };
for (const name of ["group", "groupCollapsed", "groupEnd", "time", "timeEnd", "timeLog", "count"]) console[name] = (...args) => { if (args.length && /^group/.test(name)) console.log(...args); };
define("console", console);

// Timers

const timers = new Map();
let lastTimer = 0;
class Timeout {
    constructor(id) { this.id = id; }
    ref() { const t = timers.get(this.id); if (t) t.weak = false; return this; }
    unref() { const t = timers.get(this.id); if (t) t.weak = true; return this; }
    hasRef() { const t = timers.get(this.id); return !!t && !t.weak; }
    refresh() { const t = timers.get(this.id); if (t) t.at = Date.now() + t.delay; return this; }
    [Symbol.toPrimitive]() { return this.id; }
}
const timer = (call, delay, args, repeat) => {
    if (typeof call !== "function") throw new TypeError('The "callback" argument must be of type function');
    delay = Number(delay); if (!(delay >= 1 && delay <= 0x7fffffff)) delay = 1;
    const id = ++lastTimer;
    timers.set(id, { call, args, delay, repeat, at: Date.now() + delay });
    return new Timeout(id);
};
const clear = t => { if (t !== undefined && t !== null) timers.delete(Number(t)); };
define("setTimeout", (f, d, ...args) => timer(f, d, args, false));
define("setInterval", (f, d, ...args) => timer(f, d, args, true));
define("setImmediate", (f, ...args) => timer(f, 0, args, false));
define("clearTimeout", clear); define("clearInterval", clear); define("clearImmediate", clear);
define("queueMicrotask", f => { Promise.resolve().then(f).catch(uncaught); });
// next returns when the next timer is due, in milliseconds, and calls those that are. It returns -1 if there is none, or none
// that keeps a process of Node.js alive.
const next = () => {
    if (![...timers.values()].some(t => !t.weak)) return -1;
    const now = Date.now();
    for (const [id, t] of [...timers].sort((a, b) => a[1].at - b[1].at || a[0] - b[0])) {
        if (t.at > now || !timers.has(id)) continue;
        if (t.repeat) t.at = now + t.delay; else timers.delete(id);
        try { t.call(...t.args); } catch (e) { uncaught(e); }
        return 0;
    }
    let wait = -1;
    for (const t of timers.values()) if (wait < 0 || t.at - now < wait) wait = t.at - now;
    return wait;
};

// URLs: the provider parses them as Go does, which WHATWG's standard differs from in corner cases.

class URLSearchParams {
    #list = []; #changed;
    constructor(init = "", changed) {
        this.#changed = changed;
        if (typeof init === "string") {
            for (const part of init.replace(/^\?/, "").split("&")) {
                if (!part) continue;
                const at = part.indexOf("="), un = s => { s = s.replace(/\+/g, " "); try { return decodeURIComponent(s); } catch { return s; } };
                this.#list.push(at < 0 ? [un(part), ""] : [un(part.slice(0, at)), un(part.slice(at + 1))]);
            }
        } else for (const [k, v] of init[Symbol.iterator] ? init : Object.entries(init)) this.#list.push([String(k), String(v)]);
    }
    #touch() { if (this.#changed) this.#changed(this.toString()); }
    get size() { return this.#list.length; }
    append(k, v) { this.#list.push([String(k), String(v)]); this.#touch(); }
    delete(k) { this.#list = this.#list.filter(e => e[0] !== String(k)); this.#touch(); }
    get(k) { const e = this.#list.find(e => e[0] === String(k)); return e ? e[1] : null; }
    getAll(k) { return this.#list.filter(e => e[0] === String(k)).map(e => e[1]); }
    has(k) { return this.#list.some(e => e[0] === String(k)); }
    set(k, v) {
        const at = this.#list.findIndex(e => e[0] === String(k));
        if (at < 0) this.#list.push([String(k), String(v)]);
        else { this.#list[at][1] = String(v); this.#list = this.#list.filter((e, i) => i <= at || e[0] !== String(k)); }
        this.#touch();
    }
    sort() { this.#list.sort((a, b) => a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0); this.#touch(); }
    forEach(f) { for (const [k, v] of this.#list) f(v, k, this); }
    keys() { return this.#list.map(e => e[0]).values(); }
    values() { return this.#list.map(e => e[1]).values(); }
    entries() { return this.#list.map(e => [...e]).values(); }
    [Symbol.iterator]() { return this.entries(); }
    toString() { const en = s => encodeURIComponent(s).replace(/%20/g, "+").replace(/[!'()~]/g, c => "%" + c.charCodeAt(0).toString(16).toUpperCase()); return this.#list.map(([k, v]) => en(k) + "=" + en(v)).join("&"); }
}
const ports = { "http:": "80", "https:": "443", "ftp:": "21", "ws:": "80", "wss:": "443" };
const partsOf = Symbol("parts");
class URL {
    #params;
    constructor(text, base) {
        const answer = JSON.parse(ask("url", JSON.stringify([String(text).trim(), base === undefined ? "" : String(base)])));
        if (answer.error) { const e = new TypeError("Invalid URL: " + text); e.code = "ERR_INVALID_URL"; e.input = String(text); throw e; }
        Object.defineProperty(this, partsOf, { value: answer, writable: true });
        if (ports[this[partsOf].protocol] === this[partsOf].port) this[partsOf].port = "";
        if (ports[this[partsOf].protocol] && !this[partsOf].pathname) this[partsOf].pathname = "/";
        this.#params = new URLSearchParams(this[partsOf].search, s => { this[partsOf].search = s && "?" + s; });
    }
    static canParse(text, base) { try { new URL(text, base); return true; } catch { return false; } }
    get searchParams() { return this.#params; }
    get host() { return this.hostname + (this.port && ":" + this.port); }
    set host(v) { const m = /^(.*?)(?::(\d*))?$/.exec(v); this[partsOf].hostname = m[1]; if (m[2] !== undefined) this.port = m[2]; }
    get search() { return this[partsOf].search; }
    set search(v) { v = String(v); this[partsOf].search = v && (v[0] === "?" ? v : "?" + v); this.#params = new URLSearchParams(this[partsOf].search, s => { this[partsOf].search = s && "?" + s; }); }
    get hash() { return this[partsOf].hash; }
    set hash(v) { v = String(v); this[partsOf].hash = v && (v[0] === "#" ? v : "#" + v); }
    get port() { return this[partsOf].port; }
    set port(v) { v = String(v); this[partsOf].port = v === ports[this.protocol] ? "" : v; }
    get origin() { return ports[this.protocol] ? this.protocol + "//" + this.host : "null"; }
    get href() {
        const user = this.username || this.password ? this.username + (this.password && ":" + this.password) + "@" : "";
        const opaque = !ports[this.protocol] && !this.hostname && this.protocol !== "file:";
        return this.protocol + (opaque ? "" : "//" + user + this.host) + this.pathname + this.search + this.hash;
    }
    set href(v) { const u = new URL(v); this[partsOf] = u[partsOf]; this.#params = new URLSearchParams(this[partsOf].search, s => { this[partsOf].search = s && "?" + s; }); }
    toString() { return this.href; }
    toJSON() { return this.href; }
}
for (const [key, change] of [["protocol", v => v.endsWith(":") ? v : v + ":"], ["username", encodeURIComponent], ["password", encodeURIComponent], ["hostname", v => v], ["pathname", v => v[0] === "/" ? v : "/" + v]])
    Object.defineProperty(URL.prototype, key, { get() { return this[partsOf][key]; }, set(v) { this[partsOf][key] = change(String(v)); }, configurable: true, enumerable: true });
define("URL", URL); define("URLSearchParams", URLSearchParams);

// Events, and requests over HTTP

class Event { constructor(type, init = {}) { this.type = type; Object.assign(this, init); } }
class EventTarget {
    #on = new Map();
    addEventListener(type, f, options) { const l = this.#on.get(type) || []; l.push([f, !!(options && options.once)]); this.#on.set(type, l); }
    removeEventListener(type, f) { this.#on.set(type, (this.#on.get(type) || []).filter(e => e[0] !== f)); }
    dispatchEvent(event) {
        event.target = this;
        for (const [f, once] of [...this.#on.get(event.type) || []]) { if (once) this.removeEventListener(event.type, f); typeof f === "function" ? f.call(this, event) : f.handleEvent(event); }
        return true;
    }
}
class DOMException extends Error { constructor(message = "", name = "Error") { super(message); Object.defineProperty(this, "name", { value: name, configurable: true }); } }
class AbortSignal extends EventTarget {
    aborted = false; reason = undefined; onabort = null;
    throwIfAborted() { if (this.aborted) throw this.reason; }
    static abort(reason) { const c = new AbortController(); c.abort(reason); return c.signal; }
    static timeout(ms) { const c = new AbortController(); setTimeout(() => c.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), ms).unref(); c.signal[deadline] = Date.now() + ms; return c.signal; }
}
const deadline = Symbol("deadline");
class AbortController {
    signal = new AbortSignal();
    abort(reason = new DOMException("This operation was aborted", "AbortError")) {
        const s = this.signal;
        if (s.aborted) return;
        s.aborted = true; s.reason = reason;
        const event = new Event("abort");
        if (s.onabort) s.onabort(event);
        s.dispatchEvent(event);
    }
}
class Headers {
    #list = new Map();
    constructor(init) { if (init) for (const [k, v] of typeof init[Symbol.iterator] === "function" ? init : Object.entries(init)) this.append(k, v); }
    #key(k) { k = String(k).toLowerCase(); if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(k)) throw new TypeError(`Headers: ${k} is an invalid header name.`); return k; }
    append(k, v) { k = this.#key(k); v = String(v).trim(); this.#list.set(k, this.#list.has(k) ? this.#list.get(k) + ", " + v : v); }
    set(k, v) { this.#list.set(this.#key(k), String(v).trim()); }
    get(k) { const v = this.#list.get(this.#key(k)); return v === undefined ? null : v; }
    has(k) { return this.#list.has(this.#key(k)); }
    delete(k) { this.#list.delete(this.#key(k)); }
    forEach(f) { for (const [k, v] of this) f(v, k, this); }
    keys() { return [...this].map(e => e[0]).values(); }
    values() { return [...this].map(e => e[1]).values(); }
    entries() { return [...this.#list].sort((a, b) => a[0] < b[0] ? -1 : 1).values(); }
    [Symbol.iterator]() { return this.entries(); }
}
// bodies are what makes the bytes and the type of a body of another class, undefined if it does not know the class.
const bodies = [];
const body = (b, headers) => {
    if (b === undefined || b === null) return new Uint8Array(0);
    const type = t => { if (!headers.has("content-type")) headers.set("content-type", t); };
    if (b instanceof URLSearchParams) { type("application/x-www-form-urlencoded;charset=UTF-8"); return encodeUTF8(b.toString()); }
    if (b instanceof ArrayBuffer || ArrayBuffer.isView(b)) return bytesOf(b).slice();
    for (const known of bodies) { const found = known(b); if (found) { if (found[1]) type(found[1]); return found[0]; } }
    if (typeof b === "object" && Object.prototype.toString.call(b) !== "[object String]" && b.toString === Object.prototype.toString) throw new TypeError("the body of a request is a string, bytes, URLSearchParams, FormData, or a Blob in the sandbox of a provider");
    type("text/plain;charset=UTF-8");
    return encodeUTF8(b);
};
class Body {
    #bytes; bodyUsed = false;
    constructor(bytes) { this.#bytes = bytes; }
    #take() { if (this.bodyUsed) throw new TypeError("Body is unusable: Body has already been read"); this.bodyUsed = true; return this.#bytes; }
    async bytes() { return this.#take(); }
    async arrayBuffer() { const b = this.#take(); return b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength); }
    async text() { return new TextDecoder().decode(this.#take()); }
    async json() { return JSON.parse(await this.text()); }
    static content(b) { if (b.bodyUsed) throw new TypeError("Body has already been used"); return b.#bytes; }
}
class Request extends Body {
    constructor(input, init = {}) {
        const from = input instanceof Request ? input : undefined;
        const headers = new Headers(init.headers || from && from.headers);
        const method = String(init.method || from && from.method || "GET");
        if (init.body !== undefined && init.body !== null && /^(get|head)$/i.test(method)) throw new TypeError("Request with GET/HEAD method cannot have body.");
        super(init.body !== undefined ? body(init.body, headers) : from ? Body.content(from) : new Uint8Array(0));
        this.url = from ? from.url : new URL(input).href;
        this.method = /^(get|head|post|put|delete|options|patch)$/i.test(method) ? method.toUpperCase() : method;
        this.headers = headers; this.redirect = init.redirect || from && from.redirect || "follow"; this.signal = init.signal || from && from.signal || new AbortSignal();
    }
    clone() { return new Request(this); }
}
class Response extends Body {
    constructor(b, init = {}) {
        const headers = new Headers(init.headers);
        super(body(b, headers));
        this.headers = headers; this.status = init.status === undefined ? 200 : init.status; this.statusText = init.statusText || "";
        this.url = init.url || ""; this.redirected = !!init.redirected; this.type = "basic";
    }
    get ok() { return this.status >= 200 && this.status < 300; }
    get body() { throw new TypeError("a response has no stream in the sandbox of a provider: read it with text(), json(), or arrayBuffer()"); }
    clone() { return new Response(Body.content(this), this); }
    static json(v, init = {}) { const r = new Response(JSON.stringify(v), init); r.headers.set("content-type", "application/json"); return r; }
}
// exchange sends a request whose body is bytes, and returns the answer, with its body as bytes, or the error.
const exchange = ({ body, ...r }) => {
    const [text, found] = ask.encode ? ask("fetch", JSON.stringify(r), body) : [ask("fetch", JSON.stringify({ ...r, body: toBase64(body) }))];
    const a = JSON.parse(text);
    return a.error || a.timedOut ? a : { ...a, body: found || fromBase64(a.body) };
};
define("fetch", async (input, init) => {
    const r = new Request(input, init);
    await undefined;
    r.signal.throwIfAborted();
    const left = r.signal[deadline] === undefined ? 0 : Math.max(1, r.signal[deadline] - Date.now());
    const a = exchange({ url: r.url, method: r.method, redirect: r.redirect, timeout: left, headers: [...r.headers], body: Body.content(r) });
    if (a.timedOut) throw new DOMException("The operation was aborted due to timeout", "TimeoutError");
    if (a.error) { const e = new TypeError("fetch failed: " + a.error); e.cause = Object.assign(new Error(a.error), a.details); throw e; }
    return new Response(a.body, a);
});
for (const [name, v] of Object.entries({ Event, EventTarget, DOMException, AbortSignal, AbortController, Headers, Request, Response })) define(name, v);

// Copies, and randomness

define("structuredClone", value => {
    const seen = new Map();
    const copy = v => {
        if (typeof v === "function" || typeof v === "symbol") throw new DOMException(`${typeof v === "function" ? v.name || "a function" : String(v)} could not be cloned.`, "DataCloneError");
        if (typeof v !== "object" || v === null) return v;
        if (seen.has(v)) return seen.get(v);
        const keep = c => { seen.set(v, c); return c; };
        if (v instanceof Date) return keep(new Date(v));
        if (v instanceof RegExp) return keep(new RegExp(v.source, v.flags));
        if (v instanceof ArrayBuffer) return keep(v.slice(0));
        if (ArrayBuffer.isView(v)) { const b = copy(v.buffer); return keep(v instanceof DataView ? new DataView(b, v.byteOffset, v.byteLength) : new (v instanceof Buffer ? Uint8Array : v.constructor)(b, v.byteOffset, v.length)); }
        if (v instanceof Map) { const m = keep(new Map()); for (const [k, x] of v) m.set(copy(k), copy(x)); return m; }
        if (v instanceof Set) { const s = keep(new Set()); for (const x of v) s.add(copy(x)); return s; }
        if (v instanceof Error) { const e = keep(new (globalThis[v.name] && globalThis[v.name].prototype instanceof Error ? globalThis[v.name] : Error)(v.message)); e.stack = v.stack; if ("cause" in v) e.cause = copy(v.cause); return e; }
        if (v instanceof Promise || v instanceof WeakMap || v instanceof WeakSet || v instanceof WeakRef) throw new DOMException("#<" + v.constructor.name + "> could not be cloned.", "DataCloneError");
        const c = keep(Array.isArray(v) ? new Array(v.length) : {});
        for (const k of Object.keys(v)) c[k] = copy(v[k]);
        return c;
    };
    return copy(value);
});
const randomBytes = n => Buffer.of8(fromHex(ask("random", String(n))));
const getRandomValues = a => {
    if (!ArrayBuffer.isView(a) || a instanceof DataView || a instanceof Float32Array || a instanceof Float64Array) throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
    if (a.byteLength > 65536) throw new DOMException(`The requested length exceeds 65,536 bytes`, "QuotaExceededError");
    bytesOf(a).set(randomBytes(a.byteLength));
    return a;
};
const randomUUID = () => {
    const b = randomBytes(16);
    b[6] = b[6] & 15 | 64; b[8] = b[8] & 63 | 128;
    return toHex(b).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
};
const digest = (algorithm, data, key) => {
    const r = { algorithm: String(algorithm).toLowerCase().replace(/^sha-/, "sha"), key: key && toHex(key), keyed: key !== undefined };
    const [text] = ask.encode ? ask("hash", JSON.stringify(r), data) : [ask("hash", JSON.stringify({ ...r, data: toHex(data) }))];
    const a = JSON.parse(text);
    if (a.error) throw new Error(a.error);
    return Buffer.of8(fromHex(a.sum));
};
const subtle = { async digest(algorithm, data) { return digest(algorithm.name || algorithm, bytesOf(data)).buffer; } };
define("crypto", { getRandomValues, randomUUID, subtle });

// The modules of Node.js

// EventEmitter can be called without new, on an object that inherits from its prototype.
function EventEmitter() {}
Object.assign(EventEmitter.prototype, {
    on(type, f) { ((this._events ||= {})[type] ||= []).push(f); return this; },
    addListener(type, f) { return this.on(type, f); },
    prependListener(type, f) { ((this._events ||= {})[type] ||= []).unshift(f); return this; },
    once(type, f) { const g = (...args) => { this.off(type, g); return f.apply(this, args); }; g.listener = f; return this.on(type, g); },
    prependOnceListener(type, f) { this.once(type, f); this._events[type].unshift(this._events[type].pop()); return this; },
    off(type, f) { const l = this._events && this._events[type], at = l ? l.findLastIndex(g => g === f || g.listener === f) : -1; if (at >= 0) this._events[type] = l.toSpliced(at, 1); return this; },
    removeListener(type, f) { return this.off(type, f); },
    removeAllListeners(type) { if (type === undefined) this._events = {}; else if (this._events) delete this._events[type]; return this; },
    listeners(type) { return this.rawListeners(type).map(f => f.listener || f); },
    rawListeners(type) { return [...this._events && this._events[type] || []]; },
    listenerCount(type) { return this.rawListeners(type).length; },
    eventNames() { return Reflect.ownKeys(this._events || {}).filter(type => this._events[type].length); },
    setMaxListeners() { return this; },
    getMaxListeners() { return 10; },
    emit(type, ...args) {
        const l = this.rawListeners(type);
        if (!l.length && type === "error") throw args[0] instanceof Error ? args[0] : new Error("Unhandled error. (" + inspect(args[0]) + ")");
        for (const f of l) f.apply(this, args);
        return l.length > 0;
    },
});
for (const name of Object.keys(EventEmitter.prototype)) Object.defineProperty(EventEmitter.prototype, name, { enumerable: false });
Object.assign(EventEmitter, {
    EventEmitter, defaultMaxListeners: 10, setMaxListeners() {}, errorMonitor: Symbol("events.errorMonitor"), captureRejectionSymbol: Symbol.for("nodejs.rejection"),
    once: (from, type) => new Promise((resolve, reject) => {
        const failed = e => { from.off(type, done); reject(e); }, done = (...args) => { from.off("error", failed); resolve(args); };
        from.once(type, done);
        if (type !== "error") from.once("error", failed);
    }),
});

const equal = (a, b, strict, seen = []) => {
    if (strict ? Object.is(a, b) : a == b || a !== a && b !== b) return true;
    if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
    if (strict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (seen.some(e => e[0] === a && e[1] === b)) return true;
    seen = [...seen, [a, b]];
    if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime();
    if (a instanceof RegExp && b instanceof RegExp) return String(a) === String(b);
    if (a instanceof Error && (a.message !== b.message || a.name !== b.name)) return false;
    if (a instanceof Map) return b instanceof Map && a.size === b.size && [...a].every(([k, v]) => b.has(k) && equal(v, b.get(k), strict, seen));
    if (a instanceof Set) return b instanceof Set && a.size === b.size && [...a].every(v => b.has(v) || [...b].some(w => equal(v, w, strict, seen)));
    if (Array.isArray(a) !== Array.isArray(b)) return false;
    const k = Object.keys(a);
    return k.length === Object.keys(b).length && k.every(key => Object.prototype.hasOwnProperty.call(b, key) && equal(a[key], b[key], strict, seen));
};
class AssertionError extends Error {
    constructor({ message, actual, expected, operator }) { super(message); this.name = "AssertionError"; this.code = "ERR_ASSERTION"; Object.assign(this, { actual, expected, operator, generatedMessage: false }); }
}
const fail = (message, actual, expected, operator, text) => {
    if (message instanceof Error) throw message;
    throw new AssertionError({ message: message === undefined ? text : message, actual, expected, operator });
};
const assert = (v, message) => { if (!v) fail(message, v, true, "==", "The expression evaluated to a falsy value: " + inspect(v)); };
const compare = (operator, ok, words) => (a, b, message) => { if (!ok(a, b)) fail(message, a, b, operator, `Expected values to be ${words}: ${inspect(a, 4, [{}])} and ${inspect(b, 4, [{}])}`); };
const fits = (e, expected) => expected === undefined ||
    (expected instanceof RegExp ? expected.test(String(e)) : typeof expected === "function" ? expected.prototype !== undefined && e instanceof expected || !(expected.prototype instanceof Error) && expected !== Error && expected(e) === true
        : Object.keys(expected).every(k => expected[k] instanceof RegExp && typeof e[k] === "string" ? expected[k].test(e[k]) : equal(e[k], expected[k], true)));
Object.assign(assert, {
    AssertionError, ok: (v, message) => assert(v, message), fail: message => fail(message, undefined, undefined, "fail", "Failed"),
    equal: compare("==", (a, b) => a == b, "loosely equal"), notEqual: compare("!=", (a, b) => a != b, "loosely unequal"),
    strictEqual: compare("strictEqual", Object.is, "strictly equal"), notStrictEqual: compare("notStrictEqual", (a, b) => !Object.is(a, b), "strictly unequal"),
    deepEqual: compare("deepEqual", (a, b) => equal(a, b, false), "loosely deep-equal"), notDeepEqual: compare("notDeepEqual", (a, b) => !equal(a, b, false), "loosely not deep-equal"),
    deepStrictEqual: compare("deepStrictEqual", (a, b) => equal(a, b, true), "strictly deep-equal"), notDeepStrictEqual: compare("notDeepStrictEqual", (a, b) => !equal(a, b, true), "strictly not deep-equal"),
    match: compare("match", (a, b) => b.test(a), "a text and an expression that matches it"), doesNotMatch: compare("doesNotMatch", (a, b) => !b.test(a), "a text and an expression that does not match it"),
    ifError(e) { if (e !== null && e !== undefined) throw e; },
    throws(f, expected, message) { let thrown = false, e; try { f(); } catch (x) { thrown = true; e = x; } if (!thrown) fail(typeof expected === "string" ? expected : message, undefined, expected, "throws", "Missing expected exception."); if (typeof expected !== "string" && !fits(e, expected)) throw e; },
    async rejects(f, expected, message) { let thrown = false, e; try { await (typeof f === "function" ? f() : f); } catch (x) { thrown = true; e = x; } if (!thrown) fail(message, undefined, expected, "rejects", "Missing expected rejection."); if (typeof expected !== "string" && !fits(e, expected)) throw e; },
    doesNotThrow(f) { f(); },
});
assert.strict = Object.assign((...args) => assert(...args), assert, { equal: assert.strictEqual, notEqual: assert.notStrictEqual, deepEqual: assert.deepStrictEqual, notDeepEqual: assert.notDeepStrictEqual });
assert.strict.strict = assert.strict;

const normalize = p => {
    const absolute = p[0] === "/", out = [];
    for (const part of p.split("/")) {
        if (!part || part === ".") continue;
        if (part !== "..") out.push(part); else if (out.length && out[out.length - 1] !== "..") out.pop(); else if (!absolute) out.push("..");
    }
    return (absolute ? "/" : "") + (out.join("/") || (absolute ? "" : ".")) + (out.length && p.endsWith("/") ? "/" : "");
};
const path = {
    sep: "/", delimiter: ":", normalize, isAbsolute: p => p[0] === "/",
    join: (...parts) => normalize(parts.filter(Boolean).join("/") || "."),
    resolve: (...parts) => { let p = ""; for (const part of parts.reverse()) { if (!part) continue; p = p ? part + "/" + p : part; if (p[0] === "/") break; } p = normalize(p[0] === "/" ? p : "/" + p); return p.length > 1 ? p.replace(/\/$/, "") : p; },
    dirname: p => { p = p.replace(/(.)\/+$/, "$1"); const at = p.lastIndexOf("/"); return at < 0 ? "." : at === 0 ? "/" : p.slice(0, at); },
    basename: (p, ext = "") => { p = p.replace(/\/+$/, ""); p = p.slice(p.lastIndexOf("/") + 1); return ext && p !== ext && p.endsWith(ext) ? p.slice(0, -ext.length) : p; },
    extname: p => { p = path.basename(p); const at = p.lastIndexOf("."); return at > 0 ? p.slice(at) : ""; },
    relative: (a, b) => { a = path.resolve(a).split("/").filter(Boolean); b = path.resolve(b).split("/").filter(Boolean); let i = 0; while (i < a.length && i < b.length && a[i] === b[i]) i++; return [...a.slice(i).map(() => ".."), ...b.slice(i)].join("/"); },
    parse: p => { const base = path.basename(p), ext = path.extname(p), dir = p.includes("/") ? path.dirname(p) : ""; return { root: p[0] === "/" ? "/" : "", dir, base, ext, name: ext ? base.slice(0, -ext.length) : base }; },
    format: o => { const base = o.base || (o.name || "") + (o.ext || ""), dir = o.dir || o.root; return !dir ? base : dir === o.root ? dir + base : dir + "/" + base; },
};
path.posix = path;

class Hash {
    #algorithm; #key; #parts = []; #done = false;
    constructor(algorithm, key) { this.#algorithm = algorithm; this.#key = key; digest(algorithm, new Uint8Array(0), key); }
    copy() { const h = new Hash(this.#algorithm, this.#key); h.#parts = [...this.#parts]; h.#done = this.#done; return h; }
    update(data, e) { if (this.#done) throw new Error("Digest already called"); this.#parts.push(typeof data === "string" ? encoding(e)[0](data) : bytesOf(data).slice()); return this; }
    digest(e) { if (this.#done) throw new Error("Digest already called"); this.#done = true; const sum = digest(this.#algorithm, Buffer.concat(this.#parts), this.#key); return e && e !== "buffer" ? sum.toString(e) : sum; }
}
const promisify = f => f[promisify.custom] || function (...args) { return new Promise((resolve, reject) => f.call(this, ...args, (e, v) => e ? reject(e) : resolve(v))); };
promisify.custom = Symbol.for("nodejs.util.promisify.custom");
const types = Object.fromEntries([["Promise", Promise], ["Date", Date], ["RegExp", RegExp], ["NativeError", Error], ["Map", Map], ["Set", Set], ["WeakMap", WeakMap], ["WeakSet", WeakSet], ["ArrayBuffer", ArrayBuffer], ["AnyArrayBuffer", ArrayBuffer], ["DataView", DataView], ["Uint8Array", Uint8Array]].map(([name, c]) => ["is" + name, v => v instanceof c]));
Object.assign(types, { isTypedArray: v => ArrayBuffer.isView(v) && !(v instanceof DataView), isArrayBufferView: ArrayBuffer.isView, isProxy: () => false, isSharedArrayBuffer: () => false, isBoxedPrimitive: v => v instanceof Number || v instanceof String || v instanceof Boolean,
    isAsyncFunction: f => Object.prototype.toString.call(f) === "[object AsyncFunction]", isGeneratorFunction: f => Object.prototype.toString.call(f) === "[object GeneratorFunction]" });
const missing = (module, names) => Object.fromEntries(names.map(name => [name, () => { throw new Error(`${module}.${name} does not work in the sandbox of a provider`); }]));
const modules = {
    assert, "assert/strict": assert.strict, path, "path/posix": path, events: EventEmitter,
    buffer: { Buffer: callableBuffer, atob: globalThis.atob, btoa: globalThis.btoa, kMaxLength: 2 ** 31 - 1, constants: { MAX_LENGTH: 2 ** 31 - 1, MAX_STRING_LENGTH: 2 ** 29 - 24 } },
    console, process: undefined,
    crypto: {
        ...missing("crypto", ["createCipheriv", "createDecipheriv", "createSign", "createVerify", "generateKeyPair", "generateKeyPairSync", "pbkdf2", "pbkdf2Sync", "scrypt", "scryptSync", "createPrivateKey", "createPublicKey"]),
        createHash: a => new Hash(a), createHmac: (a, key) => new Hash(a, bytesOf(key)), getHashes: () => ["md5", "sha1", "sha224", "sha256", "sha384", "sha512"],
        randomBytes: (n, f) => { const b = randomBytes(n); if (!f) return b; setImmediate(f, null, b); }, randomUUID, getRandomValues, webcrypto: globalThis.crypto, subtle,
        randomInt: (from, to, f) => {
            if (typeof to !== "number") { f = to; to = from; from = 0; }
            const range = to - from, bound = 2 ** 48 - 2 ** 48 % range; let n;
            if (!(range > 0 && range < 2 ** 48)) throw new RangeError("the bounds of randomInt are wrong");
            do { n = randomBytes(6).reduce((a, x) => a * 256 + x, 0); } while (n >= bound);
            n = from + n % range;
            if (!f) return n; setImmediate(f, null, n);
        },
        timingSafeEqual: (a, b) => { a = bytesOf(a); b = bytesOf(b); if (a.length !== b.length) throw new RangeError("Input buffers must have the same byte length"); let d = 0; for (let i = 0; i < a.length; i++) d |= a[i] ^ b[i]; return d === 0; },
    },
    timers: { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate },
    "timers/promises": { setTimeout: (ms, v) => new Promise(r => setTimeout(r, ms, v)), setImmediate: v => new Promise(r => setImmediate(r, v)) },
    url: { URL, URLSearchParams, fileURLToPath: u => decodeURIComponent(new URL(u).pathname), pathToFileURL: p => new URL("file://" + encodeURI(path.resolve(p))), resolve: (from, to) => new URL(to, from).href, domainToASCII: s => s, domainToUnicode: s => s,
        urlToHttpOptions: u => ({ protocol: u.protocol, hostname: u.hostname.replace(/^\[|\]$/g, ""), port: u.port, path: u.pathname + u.search, pathname: u.pathname, search: u.search, hash: u.hash, href: u.href, ...(u.username && { auth: decodeURIComponent(u.username) + ":" + decodeURIComponent(u.password) }) }),
        format: u => {
            if (typeof u === "string" || u instanceof URL) return String(u);
            const search = u.search || (u.query && Object.keys(u.query).length ? "?" + (typeof u.query === "string" ? u.query : modules.querystring.stringify(u.query)) : ""), host = u.host || (u.hostname ? u.hostname + (u.port ? ":" + u.port : "") : "");
            return (u.protocol ? u.protocol.replace(/:?$/, ":") : "") + (u.slashes || host ? "//" : "") + (u.auth ? u.auth + "@" : "") + host + (u.pathname || "") + search.replace(/^(?=[^?])/, "?") + (u.hash || "");
        },
        parse: (text, query) => {
            if (!/^[a-z][a-z\d+.-]*:/i.test(text)) {
                const [, pathname, search, hash] = /^([^?#]*)(\?[^#]*)?(#.*)?$/.exec(text);
                return { protocol: null, slashes: null, auth: null, host: null, port: null, hostname: null, pathname: pathname || null, search: search || null, query: query ? modules.querystring.parse((search || "").slice(1)) : search ? search.slice(1) : null, hash: hash || null, path: pathname + (search || "") || null, href: text };
            }
            const u = new URL(text), search = u.search || null; return { href: u.href, protocol: u.protocol, slashes: true, auth: u.username ? u.username + (u.password && ":" + u.password) : null, host: u.host, port: u.port || null, hostname: u.hostname, pathname: u.pathname, path: u.pathname + (search || ""), search, query: query ? Object.fromEntries(u.searchParams) : search && search.slice(1), hash: u.hash || null }; } },
    querystring: { parse: s => { const o = {}; for (const [k, v] of new URLSearchParams(s)) o[k] = k in o ? [].concat(o[k], v) : v; return o; }, stringify: o => { const p = new URLSearchParams(); for (const [k, v] of Object.entries(o)) for (const x of [].concat(v)) p.append(k, x); return p.toString(); }, escape: encodeURIComponent, unescape: decodeURIComponent },
    util: {
        inspect: (v, o = {}) => inspect(v, o && o.depth === null ? Infinity : o && o.depth !== undefined ? o.depth : 2, typeof v === "string" ? [{}] : []), format, TextEncoder, TextDecoder, isDeepStrictEqual: (a, b) => equal(a, b, true),
        promisify,
        callbackify: f => (...args) => { const done = args.pop(); f(...args).then(v => setImmediate(done, null, v), e => setImmediate(done, e)); },
        inherits: (c, s) => { Object.defineProperty(c, "super_", { value: s, writable: true, configurable: true }); Object.setPrototypeOf(c.prototype, s.prototype); }, deprecate: f => f, debuglog: () => () => {},
        types, isArray: Array.isArray, stripVTControlCharacters: s => s.replace(/\x1b\[[\d;]*[A-Za-z]/g, ""),
    },
    "util/types": types,
    os: { EOL: "\n", release: () => "", totalmem: () => 0, freemem: () => 0, loadavg: () => [0, 0, 0], networkInterfaces: () => ({}), userInfo: () => ({ username: "", uid: -1, gid: -1, shell: null, homedir: "/" }), endianness: () => "LE", uptime: () => 0, constants: { signals: {}, errno: {} }, platform: () => "linux", type: () => "Linux", arch: () => "wasm32", hostname: () => "sandbox", tmpdir: () => "/tmp", homedir: () => "/", cpus: () => [] },
};
modules.util.inspect.custom = Symbol.for("nodejs.util.inspect.custom");
const process = Object.assign(new EventEmitter(), {
    [Symbol.toStringTag]: "process", release: { name: "node" }, features: {}, config: { variables: {} }, execPath: "node", title: "node", umask: () => 0o22,
    env: {}, argv: ["node"], argv0: "node", execArgv: [], pid: 1, platform: "linux", arch: "wasm32", version: "v20.0.0", versions: { node: "20.0.0" }, exitCode: undefined,
    cwd: () => "/", nextTick: (f, ...args) => { Promise.resolve().then(() => f(...args)).catch(uncaught); }, uptime: () => Date.now() / 1000,
    hrtime: Object.assign(last => { const ms = Date.now(), t = [Math.floor(ms / 1000), ms % 1000 * 1e6]; return last ? [t[0] - last[0] - (t[1] < last[1] ? 1 : 0), (t[1] - last[1] + 1e9) % 1e9] : t; }, { bigint: () => BigInt(Date.now()) * 1000000n }),
    stdout: { write: s => { ask("info", String(s).replace(/\n$/, "")); return true; } }, stderr: { write: s => { ask("error", String(s).replace(/\n$/, "")); return true; } },
    exit: code => { throw new Error(`the provider called process.exit(${code === undefined ? "" : code}), which would end the provider: throw an error, or return`); },
    emitWarning: w => { ask("warning", String(w)); }, memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0 }),
});
modules.process = process;
define("process", process);


// Calls

const unhandled = new Map();
define("__unhandled", (promise, reason, handled) => { if (handled) unhandled.delete(promise); else unhandled.set(promise, reason); });
const runtime = {
    ask, inspect, modules, exchange, bodies, encodings, nextTick: process.nextTick, encode: { toBase64, fromBase64, toHex, fromHex, bytesOf },
    // uncaught is called with errors that nothing catches.
    uncaught: e => { throw e; },
    begin(env) { timers.clear(); unhandled.clear(); process.env = env; },
    // idle is called when no job is left. It reports promises that nobody handles, as Node.js does, and calls timers.
    idle() {
        for (const reason of unhandled.values()) { unhandled.clear(); uncaught(reason); return 0; }
        return next();
    },
    // end is called when a call has its answer. What it has left behind must not reach the next call.
    end() {
        for (const reason of unhandled.values()) uncaught(reason);
        timers.clear(); unhandled.clear();
    },
};
const uncaught = e => { runtime.uncaught(e); };
define("__runtime", runtime);
})();
