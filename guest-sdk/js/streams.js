// Streams of Node.js, and modules that packages of npm use with them: http and https, over fetch, and forms. It runs after
// runtime.js.
"use strict";
(() => {
const { exchange, modules, nextTick, encodings } = globalThis.__runtime;
const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
const EventEmitter = modules.events, Buffer = globalThis.Buffer;
const coded = (e, code) => Object.assign(e, { code });

// callable lets a class be called without new, on an object that inherits from its prototype, as packages of Node.js do.
const callable = (c, init) => new Proxy(c, { apply: (_, self, args) => { init.apply(self, args); } });

class StringDecoder {
    #rest = Buffer.alloc(0);
    constructor(encoding = "utf8") { this.encoding = encodings[String(encoding).toLowerCase()] ? String(encoding).toLowerCase().replace("-", "") : "utf8"; }
    // write returns the text of whole characters.
    write(b) {
        if (typeof b === "string") return b;
        b = Buffer.concat([this.#rest, b]);
        let keep = 0;
        if (this.encoding === "utf8") {
            for (let i = 1; i <= Math.min(3, b.length); i++) {
                const x = b[b.length - i];
                if ((x & 0xc0) === 0x80) continue;
                if (x >= (i === 1 ? 0xc0 : i === 2 ? 0xe0 : 0xf0)) keep = i;
                break;
            }
        } else if (this.encoding === "base64") keep = b.length % 3;
        else if (/^(utf16le|ucs2)$/.test(this.encoding)) keep = b.length % 2;
        this.#rest = b.subarray(b.length - keep);
        return b.subarray(0, b.length - keep).toString(this.encoding);
    }
    end(b) { const s = (b ? this.write(b) : "") + this.#rest.toString(this.encoding); this.#rest = Buffer.alloc(0); return s; }
}
modules.string_decoder = { StringDecoder };

// Streams. One object holds a stream's state. The constructor makes it, or its first use if a subclass skips the constructor.

const inner = Symbol("stream");
const state = s => s[inner] ||= { list: [], length: 0, pending: [], options: {}, pipes: [] };
const sizeOf = (st, chunk) => st.options.objectMode || st.options.readableObjectMode ? 1 : chunk.length;
const started = (s, o = {}) => {
    const st = state(s);
    st.options = o || {};
    st.autoDestroy = st.options.autoDestroy;
    s.destroyed ??= false; s.readable ??= true; s.writable ??= true;
    for (const name of ["read", "write", "writev", "final", "transform", "flush", "destroy", "construct"]) if (typeof st.options[name] === "function") s["_" + name] = st.options[name];
};
const finish = s => { if (!state(s).closed) { state(s).closed = true; nextTick(() => s.emit("close")); } };
class Stream extends EventEmitter {
    constructor(o) { super(); started(this, o); }
    get readableFlowing() { return state(this).flowing ?? null; }
    get closed() { return !!state(this).closed; }
    get _readableState() { return state(this); }
    get _writableState() { return state(this); }
    get errored() { return state(this).error || null; }
    destroy(e, done) {
        if (this.destroyed) return this;
        this.destroyed = true;
        const end = failed => {
            if (failed) { state(this).error = failed; nextTick(() => this.emit("error", failed)); }
            if (done) done(failed);
            finish(this);
        };
        if (this._destroy) this._destroy(e || null, end); else end(e);
        return this;
    }
    pipe(to, o = {}) {
        this.on("data", chunk => { if (to.write(chunk) === false && this.pause) { this.pause(); to.once("drain", () => this.resume()); } });
        if (o.end !== false && to !== globalThis.process.stdout && to !== globalThis.process.stderr) this.on("end", () => to.end());
        to.emit("pipe", this);
        return to;
    }
}
class Readable extends Stream {
    get readableEnded() { return !!state(this).done; }
    get readableLength() { return state(this).length; }
    get readableObjectMode() { return !!(state(this).options.objectMode || state(this).options.readableObjectMode); }
    get readableHighWaterMark() { return state(this).options.highWaterMark ?? 65536; }
    push(chunk, encoding) {
        const st = state(this);
        st.reading = false;
        if (chunk === null) st.ended = true;
        else {
            if (!this.readableObjectMode) chunk = typeof chunk === "string" ? Buffer.from(chunk, encoding || "utf8") : Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
            if (this.readableObjectMode || chunk.length) { st.list.push(chunk); st.length += sizeOf(st, chunk); }
        }
        flow(this);
        return st.length < this.readableHighWaterMark;
    }
    unshift(chunk) { const st = state(this); st.list.unshift(chunk); st.length += sizeOf(st, chunk); flow(this); }
    read(n) {
        const st = state(this);
        if (st.list.length === 0) { pull(this); if (st.list.length === 0) { if (st.ended) flow(this); return null; } }
        let out;
        if (this.readableObjectMode) out = st.list.shift();
        else {
            const all = Buffer.concat(st.list);
            if (n === undefined || n >= all.length && st.ended) { out = all; st.list = []; } else if (n > all.length) return null; else { out = all.subarray(0, n); st.list = [all.subarray(n)]; }
        }
        st.length -= sizeOf(st, out);
        if (st.ended && !st.list.length) flow(this);
        out = text(st, out);
        if (this.listenerCount("data")) this.emit("data", out);
        return out;
    }
    on(type, f) {
        super.on(type, f);
        const st = state(this);
        if (type === "data" && st.flowing !== false) this.resume();
        if (type === "readable") { st.waiting = true; st.flowing = false; flow(this); }
        return this;
    }
    addListener(type, f) { return this.on(type, f); }
    setEncoding(e) { state(this).decoder = new StringDecoder(e); return this; }
    // resume does not start the flow if there is a listener of readable: it calls read itself.
    resume() { const st = state(this); if (!st.flowing) { st.flowing = !st.waiting; nextTick(() => this.emit("resume")); } flow(this); return this; }
    pause() { if (state(this).flowing !== false) { state(this).flowing = false; this.emit("pause"); } return this; }
    isPaused() { return state(this).flowing === false; }
    unpipe() { this.removeAllListeners("data"); return this.pause(); }
    wrap(old) { old.on("data", c => this.push(c)); old.on("end", () => this.push(null)); old.on("error", e => this.destroy(e)); return this; }
    async *[Symbol.asyncIterator]() {
        const chunks = [];
        let wake = () => {}, ended = false, failure;
        this.on("data", c => { chunks.push(c); wake(); }).on("end", () => { ended = true; wake(); }).on("error", e => { failure = e; wake(); }).on("close", () => { ended = true; wake(); });
        try {
            for (;;) {
                if (chunks.length) yield chunks.shift();
                else if (failure) throw failure;
                else if (ended) return;
                else await new Promise(done => { wake = done; });
            }
        } finally { if (!ended || state(this).autoDestroy !== false) this.destroy(); }
    }
    static from(items, o) {
        if (typeof items === "string" || ArrayBuffer.isView(items)) items = [items];
        const it = items[Symbol.asyncIterator] ? items[Symbol.asyncIterator]() : items[Symbol.iterator]();
        return new Readable({ objectMode: true, ...o, read() { Promise.resolve(it.next()).then(async ({ done, value }) => this.push(done ? null : await value)).catch(e => this.destroy(e)); } });
    }
    static fromWeb(s) { return Readable.from(s, { objectMode: false }); }
    static isDisturbed(s) { return !!state(s).done; }
}
const text = (st, chunk) => st.decoder && chunk !== null ? st.decoder.write(chunk) : chunk;
const pull = s => {
    const st = state(s);
    if (st.reading || st.ended || s.destroyed || !s._read || st.length > 0 && st.length >= s.readableHighWaterMark) return;
    st.reading = true;
    try { s._read(s.readableHighWaterMark); } catch (e) { s.destroy(e); }
};
// flow emits buffered chunks and the end to listeners, in a later job.
const flow = s => {
    const st = state(s);
    if (st.scheduled) return;
    st.scheduled = true;
    nextTick(() => {
        st.scheduled = false;
        if (s.destroyed || st.done) return;
        if (st.flowing) {
            while (st.flowing && st.list.length) { const chunk = st.list.shift(); st.length -= sizeOf(st, chunk); const t = text(st, chunk); if (t !== "" || st.options.objectMode) s.emit("data", t); }
        } else if (st.waiting && (st.list.length || st.ended)) s.emit("readable");
        if (st.ended && !st.list.length && !st.done && (st.flowing || st.waiting)) {
            const rest = st.decoder && st.flowing ? st.decoder.end() : "";
            if (rest) s.emit("data", rest);
            st.done = true; s.readable = false;
            s.emit("end");
            if (!(s instanceof Duplex) || s.writableFinished) { if (st.autoDestroy !== false) s.destroyed = true; finish(s); }
            return;
        }
        if (st.flowing || st.waiting) pull(s);
    });
};
// writes and written are the methods and getters of Writable and Duplex.
const writes = {
    write(chunk, encoding, done) {
        const st = state(this);
        if (typeof encoding === "function") { done = encoding; encoding = undefined; }
        if (st.ending || this.destroyed) { const e = coded(new Error(st.ending ? "write after end" : "Cannot call write after a stream was destroyed"), st.ending ? "ERR_STREAM_WRITE_AFTER_END" : "ERR_STREAM_DESTROYED"); nextTick(() => { if (done) done(e); }); if (!this.destroyed) this.destroy(e); return false; }
        const objects = st.options.objectMode || st.options.writableObjectMode;
        if (typeof chunk === "string" && !objects && st.options.decodeStrings !== false) { chunk = Buffer.from(chunk, encoding); encoding = "buffer"; }
        st.pending.push([chunk, encoding || "buffer", done]); st.queued = (st.queued || 0) + (objects ? 1 : chunk.length);
        advance(this);
        const more = st.queued < (st.options.highWaterMark ?? 65536);
        if (!more) st.drains = true;
        return more;
    },
    end(chunk, encoding, done) {
        const st = state(this);
        if (typeof chunk === "function") { done = chunk; chunk = undefined; } else if (typeof encoding === "function") { done = encoding; encoding = undefined; }
        if (chunk !== undefined && chunk !== null) this.write(chunk, encoding);
        if (done) { if (this.writableFinished) nextTick(done); else this.once("finish", done); }
        st.corked = 0; st.ending = true;
        advance(this);
        return this;
    },
    cork() { state(this).corked = (state(this).corked || 0) + 1; },
    uncork() { state(this).corked = Math.max(0, (state(this).corked || 0) - 1); advance(this); },
    setDefaultEncoding() { return this; },
};
const written = {
    writableEnded() { return !!state(this).ending; }, writableFinished() { return !!state(this).finished; }, writableLength() { return state(this).queued || 0; },
    writableObjectMode() { return !!(state(this).options.objectMode || state(this).options.writableObjectMode); }, writableHighWaterMark() { return state(this).options.highWaterMark ?? 65536; },
    writableNeedDrain() { return !!state(this).drains; }, writableCorked() { return state(this).corked || 0; },
};
const advance = s => {
    const st = state(s);
    if (st.writing || st.corked || s.destroyed) return;
    const settle = (chunks, e) => {
        st.writing = false;
        for (const [chunk, , done] of chunks) { st.queued -= st.options.objectMode || st.options.writableObjectMode ? 1 : chunk.length; if (done) nextTick(() => done(e || null)); }
        if (e) return void s.destroy(e);
        if (st.drains && !st.pending.length && !st.ending) { st.drains = false; nextTick(() => s.emit("drain")); }
        advance(s);
    };
    if (st.pending.length) {
        st.writing = true;
        const chunks = s._writev && st.pending.length > 1 ? st.pending.splice(0) : [st.pending.shift()], done = e => { if (st.writing) settle(chunks, e); };
        try {
            if (s._writev && (chunks.length > 1 || !s._write)) s._writev(chunks.map(([chunk, encoding]) => ({ chunk, encoding })), done);
            else s._write(chunks[0][0], chunks[0][1], done);
        } catch (e) { settle(chunks, e); }
    } else if (st.ending && !st.finishing) {
        st.finishing = true;
        const end = e => {
            if (e) return void s.destroy(e);
            nextTick(() => {
                if (st.finished || s.destroyed && st.error) return;
                st.finished = true; s.writable = false;
                s.emit("finish");
                if (!(s instanceof Duplex) || st.done) { if (st.autoDestroy !== false && !(s instanceof Duplex)) s.destroyed = true; if (st.options.emitClose !== false) finish(s); }
            });
        };
        if (s._final) try { s._final(end); } catch (e) { end(e); } else end();
    }
};
const writable = c => {
    for (const name of Object.keys(writes)) Object.defineProperty(c.prototype, name, { value: writes[name], writable: true, configurable: true });
    for (const name of Object.keys(written)) Object.defineProperty(c.prototype, name, { get: written[name], configurable: true });
};
class Writable extends Stream {
    static [Symbol.hasInstance](v) { return Function.prototype[Symbol.hasInstance].call(this, v) || this === Writable && v instanceof Duplex; }
}
writable(Writable);
class Duplex extends Readable {}
writable(Duplex);
class Transform extends Duplex {
    _read() { const next = state(this).resumed; if (next) { state(this).resumed = undefined; next(); } }
    _write(chunk, encoding, done) {
        this._transform(chunk, encoding, (e, out) => {
            if (e) return done(e);
            if (out !== undefined && out !== null) this.push(out);
            done();
        });
    }
    _final(done) {
        const end = (e, out) => { if (e) return done(e); if (out !== undefined && out !== null) this.push(out); this.push(null); done(); };
        if (this._flush) this._flush(end); else end();
    }
}
class PassThrough extends Transform { _transform(chunk, _, done) { done(null, chunk); } }

const init = function (o) { started(this, o); };
const kinds = Object.fromEntries(Object.entries({ Stream, Readable, Writable, Duplex, Transform, PassThrough }).map(([name, c]) => [name, callable(c, init)]));
for (const [name, c] of Object.entries(kinds)) Object.defineProperty({ Stream, Readable, Writable, Duplex, Transform, PassThrough }[name].prototype, "constructor", { value: c, writable: true, configurable: true });
const finished = (s, o, done) => {
    if (typeof o === "function") { done = o; o = {}; }
    let called = false;
    const once = e => { if (!called) { called = true; done.call(s, e); } };
    const both = () => { if ((o.readable === false || !(s instanceof Readable) || s.readableEnded) && (o.writable === false || !(s instanceof Writable) || s.writableFinished)) once(); };
    s.on("end", both).on("finish", both).on("error", once).on("close", () => nextTick(() => { if (s.readableEnded || s.writableFinished) once(); else once(coded(new Error("Premature close"), "ERR_STREAM_PREMATURE_CLOSE")); }));
    if (s.errored) nextTick(once, s.errored); else nextTick(() => { if (s.readableEnded || s.writableFinished) both(); });
    return () => { called = true; };
};
const pipeline = (...all) => {
    const done = typeof all.at(-1) === "function" && !(all.at(-1) instanceof EventEmitter) ? all.pop() : () => {};
    const streams = all.flat().map((s, i) => i === 0 && !(s instanceof EventEmitter) ? Readable.from(s, { objectMode: false }) : s), last = streams.at(-1);
    let called = false;
    const end = e => { if (called) return; called = true; if (e) for (const s of streams) if (s !== last || !s.destroyed) s.destroy && s.destroy(); done(e); };
    streams.forEach((s, i) => { s.on("error", end); if (i) streams[i - 1].pipe(s); });
    finished(last, { readable: false }, e => end(e));
    return last;
};
const promises = {
    pipeline: (...all) => new Promise((resolve, reject) => pipeline(...all.filter(s => s instanceof EventEmitter || !(s && s.signal)), e => e ? reject(e) : resolve())),
    finished: (s, o = {}) => new Promise((resolve, reject) => finished(s, o, e => e ? reject(e) : resolve())),
};
modules.stream = Object.assign(kinds.Stream, kinds, { pipeline, finished, promises });
modules["stream/promises"] = promises;

// Hash is a Transform over a hash of runtime.js.
class Hash extends Transform {
    #hash;
    constructor(hash) { super(); this.#hash = hash; }
    update(data, e) { this.#hash.update(data, e); return this; }
    digest(e) { return this.#hash.digest(e); }
    copy() { return new Hash(this.#hash.copy()); }
    _transform(chunk, _, done) { this.#hash.update(chunk); done(); }
    _flush(done) { done(null, this.#hash.digest()); }
}
for (const name of ["createHash", "createHmac"]) { const plain = modules.crypto[name]; modules.crypto[name] = (...args) => new Hash(plain(...args)); }

// Requests by http and https. A response's stream starts after fetch has read the whole body.

const statuses = { 200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 410: "Gone", 412: "Precondition Failed", 413: "Payload Too Large", 422: "Unprocessable Entity", 429: "Too Many Requests", 500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout" };
class Agent extends EventEmitter { constructor(o) { super(); this.options = { ...o }; this.maxSockets = Infinity; this.sockets = {}; this.requests = {}; this.freeSockets = {}; this.protocol = undefined; this.defaultPort = undefined; } destroy() {} getName() { return ""; } }
class IncomingMessage extends Readable {
    constructor(socket) { super(); this.socket = this.connection = socket; this.httpVersion = "1.1"; this.httpVersionMajor = 1; this.httpVersionMinor = 1; this.headers = {}; this.rawHeaders = []; this.trailers = {}; this.rawTrailers = []; this.complete = false; this.aborted = false; this.url = ""; this.method = null; }
    setTimeout() { return this; }
}
// ofConnection are headers that requests drop, because the host owns the connection, its compression, and its framing.
const ofConnection = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "content-length", "accept-encoding", "expect", "te", "upgrade"]);
const failures = [[/refused/i, "ECONNREFUSED"], [/no such host|lookup/i, "ENOTFOUND"], [/timeout|timed out|deadline/i, "ETIMEDOUT"], [/reset/i, "ECONNRESET"], [/x509|certificate/i, "CERT_HAS_EXPIRED"], [/grant/i, "EACCES"]];
class ClientRequest extends Writable {
    #headers = new Map(); #parts = []; #timeout = 0;
    constructor(scheme, input, o, f) {
        super();
        if (typeof input === "string" || input instanceof URL) {
            const u = new URL(input);
            input = { protocol: u.protocol, hostname: u.hostname.replace(/^\[|\]$/g, ""), port: u.port, path: u.pathname + u.search, auth: u.username ? decodeURIComponent(u.username) + ":" + decodeURIComponent(u.password) : undefined };
        } else { f = typeof o === "function" ? o : f; o = input; input = {}; }
        if (typeof o === "function") { f = o; o = {}; }
        o = { ...input, ...o };
        const agent = o.agent || {};
        this.agent = o.agent; this.protocol = o.protocol || agent.protocol || scheme; this.method = String(o.method || "GET").toUpperCase(); this.path = o.path || "/";
        const name = o.hostname || String(o.host || "localhost").replace(/:\d+$/, ""), port = o.port || /:(\d+)$/.exec(o.host || "")?.[1] || o.defaultPort;
        this.host = name;
        if (o.socketPath) throw new Error("a provider reaches other machines over HTTP only, and no socket of this one");
        this.url = new URL(this.path.replace(/^(?=[^/])/, "/"), `${this.protocol}//${name.includes(":") ? `[${name}]` : name}${port ? ":" + port : ""}`);
        if (/^https?:/.test(this.path)) this.url = new URL(this.path);
        for (const [k, v] of Array.isArray(o.headers) ? o.headers : Object.entries(o.headers || {})) if (v !== undefined) this.setHeader(k, v);
        if (o.auth && !this.hasHeader("authorization")) this.setHeader("Authorization", "Basic " + Buffer.from(o.auth).toString("base64"));
        if (o.timeout) this.setTimeout(o.timeout);
        if (f) this.once("response", f);
        this.finished = this.aborted = this.headersSent = false;
        this.socket = this.connection = Object.assign(new EventEmitter(), { setKeepAlive() {}, setNoDelay() {}, setTimeout: (ms, g) => { this.setTimeout(ms, g); }, destroy: e => { this.destroy(e); }, ref() {}, unref() {}, connecting: false, encrypted: this.protocol === "https:", authorized: true, remoteAddress: "", destroyed: false, getPeerCertificate: () => ({}) });
        nextTick(() => { if (!this.destroyed) this.emit("socket", this.socket); });
        if (o.signal) { const stop = () => this.destroy(Object.assign(new DOMException("The operation was aborted", "AbortError"), { cause: o.signal.reason })); if (o.signal.aborted) nextTick(stop); else o.signal.addEventListener("abort", stop); }
    }
    setHeader(k, v) { this.#headers.set(String(k).toLowerCase(), [String(k), v]); return this; }
    getHeader(k) { const h = this.#headers.get(String(k).toLowerCase()); return h && h[1]; }
    hasHeader(k) { return this.#headers.has(String(k).toLowerCase()); }
    removeHeader(k) { this.#headers.delete(String(k).toLowerCase()); }
    getHeaders() { return Object.fromEntries([...this.#headers].map(([k, h]) => [k, h[1]])); }
    getHeaderNames() { return [...this.#headers.keys()]; }
    getRawHeaderNames() { return [...this.#headers.values()].map(h => h[0]); }
    flushHeaders() {} setNoDelay() {} setSocketKeepAlive() {} onSocket() {}
    setTimeout(ms, f) { this.#timeout = Number(ms) || 0; if (f) this.once("timeout", f); return this; }
    abort() { if (!this.aborted) { this.aborted = true; nextTick(() => this.emit("abort")); this.destroy(coded(new Error("socket hang up"), "ECONNRESET")); } }
    _write(chunk, _, done) { this.#parts.push(chunk); done(); }
    end(...args) { this.finished = true; return super.end(...args); }
    _final(done) { done(); setImmediate(() => { if (!this.destroyed || this.writableFinished && !this.aborted) this.#send(); }); }
    #send() {
        if (state(this).error) return;
        const headers = [];
        for (const [k, [, v]] of this.#headers) {
            if (k === "host" && String(v).replace(/:(80|443)$/, "") === this.url.host.replace(/:(80|443)$/, "") || ofConnection.has(k)) continue;
            for (const one of Array.isArray(v) ? v : [v]) headers.push([k, String(one)]);
        }
        this.headersSent = true;
        const a = exchange({ url: this.url.href, method: this.method, redirect: "manual", timeout: this.#timeout, headers, body: Buffer.concat(this.#parts) });
        this.destroyed = false;
        if (a.timedOut) { this.emit("timeout"); if (state(this).error || this.destroyed) return; }
        if (a.error) return void this.destroy(coded(new Error(a.error), failures.find(f => f[0].test(a.error))?.[1] || "EPROTO"));
        const m = new IncomingMessage(this.socket);
        m.statusCode = a.status; m.statusMessage = a.statusText || statuses[a.status] || ""; m.req = this;
        for (const [name, v] of a.headers) {
            const k = name.toLowerCase();
            m.rawHeaders.push(name, v);
            if (k === "set-cookie") (m.headers[k] ||= []).push(v); else m.headers[k] = k in m.headers ? m.headers[k] + ", " + v : v;
        }
        m.complete = true;
        m.push(a.body); m.push(null);
        this.res = m;
        m.on("close", () => finish(this));
        if (!this.emit("response", m)) m.resume();
    }
}
const serves = what => () => { throw new Error(`${what} does not work in the sandbox of a provider, which serves nothing`); };
for (const scheme of ["http", "https"]) {
    const request = (...args) => new ClientRequest(scheme + ":", ...args);
    class Own extends Agent { constructor(o) { super(o); this.protocol = scheme + ":"; this.defaultPort = scheme === "http" ? 80 : 443; } }
    modules[scheme] = { request, get: (...args) => { const r = request(...args); r.end(); return r; }, Agent: callable(Own, function (o) { Object.assign(this, new Own(o)); }), globalAgent: new Own(), ClientRequest, IncomingMessage, OutgoingMessage: Writable, ServerResponse: Writable,
        METHODS: ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"], STATUS_CODES: statuses, maxHeaderSize: 16384, createServer: serves(scheme + ".createServer"), Server: serves(scheme + ".Server"), validateHeaderName() {}, validateHeaderValue() {} };
}

// Blobs and forms

class Blob {
    #bytes;
    constructor(parts = [], o = {}) { this.#bytes = Buffer.concat(parts.map(p => p instanceof Blob ? p.#bytes : typeof p === "string" ? Buffer.from(p) : p instanceof ArrayBuffer ? Buffer.from(p) : Buffer.from(p.buffer, p.byteOffset, p.byteLength))); this.type = String(o.type || "").toLowerCase(); }
    get size() { return this.#bytes.length; }
    async arrayBuffer() { return Uint8Array.from(this.#bytes).buffer; }
    async bytes() { return Uint8Array.from(this.#bytes); }
    async text() { return this.#bytes.toString(); }
    slice(from, to, type) { return new Blob([this.#bytes.subarray(from, to)], { type }); }
    stream() { return Readable.from([this.#bytes], { objectMode: false }); }
    static content(b) { return b.#bytes; }
}
class File extends Blob { constructor(parts, name, o = {}) { super(parts, o); this.name = String(name); this.lastModified = o.lastModified ?? Date.now(); } }
class FormData {
    #list = [];
    #entry(k, v, name) { return [String(k), v instanceof Blob ? name === undefined && v instanceof File ? v : new File([v], name ?? "blob", { type: v.type }) : String(v)]; }
    append(...e) { this.#list.push(this.#entry(...e)); }
    set(...e) { this.delete(e[0]); this.append(...e); }
    delete(k) { this.#list = this.#list.filter(e => e[0] !== String(k)); }
    get(k) { const e = this.#list.find(e => e[0] === String(k)); return e ? e[1] : null; }
    getAll(k) { return this.#list.filter(e => e[0] === String(k)).map(e => e[1]); }
    has(k) { return this.#list.some(e => e[0] === String(k)); }
    entries() { return this.#list.map(e => [...e]).values(); }
    keys() { return this.#list.map(e => e[0]).values(); }
    values() { return this.#list.map(e => e[1]).values(); }
    forEach(f) { for (const [k, v] of this.#list) f(v, k, this); }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "FormData"; }
}
// fetch sends a form or a blob as bytes with a content type.
globalThis.__runtime.bodies.push(b => {
    if (b instanceof Blob) return [Blob.content(b), b.type];
    if (!(b instanceof FormData)) return undefined;
    const boundary = "----husk-form-" + modules.crypto.randomUUID(), quoted = s => s.replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/"/g, "%22"), parts = [];
    for (const [k, v] of b) {
        const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(k)}"`;
        if (typeof v === "string") parts.push(Buffer.from(`${head}\r\n\r\n${v.replace(/\r?\n/g, "\r\n")}\r\n`));
        else parts.push(Buffer.from(`${head}; filename="${quoted(v.name)}"\r\nContent-Type: ${v.type || "application/octet-stream"}\r\n\r\n`), Blob.content(v), Buffer.from("\r\n"));
    }
    parts.push(Buffer.from(`--${boundary}--\r\n`));
    return [Buffer.concat(parts), "multipart/form-data; boundary=" + boundary];
});
for (const [name, v] of Object.entries({ Blob, File, FormData })) define(name, v);
Object.assign(modules.buffer, { Blob, File });
})();
