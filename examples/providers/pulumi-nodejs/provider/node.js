// The modules of Node.js that the provider's Go program serves: files, compression, ciphers, and keys. It also loads packages from a
// granted node_modules, and defines the modules that throw when they are called. It runs after runtime.js and streams.js.
"use strict";
(() => {
const runtime = globalThis.__runtime; // dynamic.js deletes the global
const { ask, modules, encode, encodings } = runtime;
const { toBase64, fromBase64, bytesOf } = encode;
const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
const Buffer = globalThis.Buffer, path = modules.path;
const bytes = (v, e) => typeof v === "string" ? encodings[e && String(e).toLowerCase() || "utf8"][0](v) : bytesOf(v);
const shown = (b, e) => e && e !== "buffer" ? b.toString(e) : b;
const back = s => Buffer.of8(fromBase64(s));
// request asks the provider. Bytes cross as base64.
const request = (name, q) => {
    const a = JSON.parse(ask(name, JSON.stringify(q)));
    if (a.error !== undefined) throw Object.assign(new Error(a.error), a.code && { code: a.code }, q.syscall && { syscall: q.syscall, path: q.path });
    return a;
};
// later calls a function, and gives its result to the callback, the last argument, in a later job.
const later = f => (...args) => {
    const done = args.pop();
    if (typeof done !== "function") throw new TypeError('The "callback" argument must be of type function');
    let e = null, v;
    try { v = f(...args); } catch (x) { e = x; }
    setImmediate(() => { if (e) done(e); else done(null, ...Array.isArray(v) && f.several ? v : [v]); });
};

// Files in the granted directories

const nameOf = p => p instanceof URL ? modules.url.fileURLToPath(p) : Buffer.isBuffer(p) ? p.toString() : String(p);
const file = (syscall, p, more) => request("fs", { syscall, path: nameOf(p), ...more });
const encodingOf = o => typeof o === "string" ? o : o && o.encoding;
class Stats {
    constructor(s) { Object.assign(this, { dev: 0, ino: 0, nlink: 1, uid: 0, gid: 0, rdev: 0, blksize: 4096, blocks: Math.ceil(s.size / 512), mode: s.mode, size: s.size, kind: undefined }); Object.defineProperty(this, "kind", { value: s.kind }); for (const k of ["atime", "mtime", "ctime", "birthtime"]) { this[k + "Ms"] = s.time; this[k] = new Date(s.time); } }
}
class Dirent { constructor(name, parentPath, kind) { Object.assign(this, { name, parentPath, path: parentPath }); Object.defineProperty(this, "kind", { value: kind }); } }
for (const c of [Stats, Dirent]) for (const [name, kind] of [["File", "file"], ["Directory", "dir"], ["SymbolicLink", "link"], ["FIFO", "fifo"], ["Socket", "socket"], ["BlockDevice", "block"], ["CharacterDevice", "char"]]) c.prototype["is" + name] = function () { return this.kind === kind; };
const stat = syscall => (p, o) => { try { return new Stats(file(syscall, p)); } catch (e) { if (o && o.throwIfNoEntry === false && e.code === "ENOENT") return undefined; throw e; } };
const files = {
    readFile: (p, o) => shown(back(file("open", p).data), encodingOf(o)),
    writeFile: (p, data, o) => { file("write", p, { data: toBase64(bytes(data, encodingOf(o))), mode: o && o.mode, append: o && o.flag === "a", exclusive: /x/.test(o && o.flag || "") }); },
    appendFile: (p, data, o) => { file("write", p, { data: toBase64(bytes(data, encodingOf(o))), append: true }); },
    stat: stat("stat"), lstat: stat("lstat"),
    readdir: (p, o) => {
        const all = [], dir = nameOf(p), read = at => { for (const [name, kind] of file("scandir", path.join(dir, at)).names) { all.push(o && o.withFileTypes ? new Dirent(name, path.join(dir, at), kind) : path.join(at, name)); if (o && o.recursive && kind === "dir") read(path.join(at, name)); } };
        read("");
        return all;
    },
    mkdir: (p, o) => { file("mkdir", p, { recursive: !!(o && o.recursive) }); }, mkdtemp: p => file("mkdtemp", p).path,
    rm: (p, o) => { file("rm", p, { recursive: !!(o && o.recursive), force: !!(o && o.force) }); }, rmdir: (p, o) => { file("rmdir", p, { recursive: !!(o && o.recursive) }); }, unlink: p => { file("unlink", p); },
    rename: (p, to) => { file("rename", p, { to: nameOf(to) }); }, copyFile: (p, to, mode) => { file("write", to, { data: file("open", p).data, exclusive: !!(mode & fs.constants.COPYFILE_EXCL) }); },
    access: p => { file("access", p); }, realpath: p => file("realpath", p).path, readlink: p => file("readlink", p).path,
    chmod: () => {}, chown: () => {}, utimes: () => {},
};
const fs = { constants: { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, COPYFILE_EXCL: 1 }, promises: {}, Stats, Dirent, existsSync: p => { try { file("access", p); return true; } catch { return false; } } };
for (const [name, f] of Object.entries(files)) {
    fs[name + "Sync"] = f;
    fs[name] = later(f);
    fs.promises[name] = async (...args) => f(...args);
}
fs.exists = (p, done) => setImmediate(done, fs.existsSync(p));
fs.realpathSync.native = fs.realpathSync;
fs.promises.constants = fs.constants;
class ReadStream extends modules.stream.Readable {
    constructor(p, o = {}) { super({ highWaterMark: o && o.highWaterMark }); this.path = p; this.options = typeof o === "string" ? { encoding: o } : o || {}; if (this.options.encoding) this.setEncoding(this.options.encoding); }
    _read() { const { start = 0, end } = this.options; try { this.push(files.readFile(this.path).subarray(start, end === undefined ? undefined : end + 1)); this.push(null); } catch (e) { this.destroy(e); } }
}
class WriteStream extends modules.stream.Writable {
    #parts = [];
    constructor(p, o = {}) { super(); this.path = p; this.options = o || {}; }
    _write(chunk, _, done) { this.#parts.push(chunk); done(); }
    _final(done) { try { files.writeFile(this.path, Buffer.concat(this.#parts), { flag: this.options.flags, mode: this.options.mode }); done(); } catch (e) { done(e); } }
}
Object.assign(fs, { ReadStream, WriteStream, createReadStream: (p, o) => new ReadStream(p, o), createWriteStream: (p, o) => new WriteStream(p, o) });
for (const name of ["open", "openSync", "watch", "watchFile", "symlink", "symlinkSync", "opendir"]) fs[name] = () => { throw new Error(`fs.${name} does not work in the sandbox of a provider: use readFile and writeFile`); };
modules.fs = fs;
modules["fs/promises"] = fs.promises;

// Compression

const zlib = { constants: { Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_NO_FLUSH: 0, Z_SYNC_FLUSH: 2, Z_FINISH: 4, BROTLI_OPERATION_FLUSH: 1 } };
Object.assign(zlib, zlib.constants);
for (const [name, form, opens] of [["gzip", "gzip", false], ["gunzip", "gzip", true], ["deflate", "zlib", false], ["inflate", "zlib", true], ["deflateRaw", "flate", false], ["inflateRaw", "flate", true], ["unzip", "any", true]]) {
    const run = (data, o) => back(request("zlib", { form, opens, level: o && o.level !== undefined ? o.level : -1, data: toBase64(bytes(data)) }).data);
    zlib[name + "Sync"] = run;
    zlib[name] = later(run);
    const kind = name[0].toUpperCase() + name.slice(1);
    const make = o => { const parts = []; return new modules.stream.Transform({ transform(c, e, done) { parts.push(bytes(c, e)); done(); }, flush(done) { try { const all = Buffer.concat(parts); done(null, opens && !all.length ? undefined : run(all, o)); } catch (e) { done(e); } } }); };
    zlib["create" + kind] = make;
    zlib[kind] = make;
}
zlib.crc32 = (data, from = 0) => { let c = ~from; for (const x of bytes(data)) { c ^= x; for (let i = 0; i < 8; i++) c = c >>> 1 ^ (c & 1 ? 0xedb88320 : 0); } return ~c >>> 0; };
for (const name of ["brotliCompress", "brotliDecompress", "brotliCompressSync", "brotliDecompressSync", "createBrotliCompress", "createBrotliDecompress"]) zlib[name] = () => { throw new Error("the sandbox of a dynamic provider has no Brotli: use gzip"); };
modules.zlib = zlib;

// Ciphers, keys, and signatures

const crypto = modules.crypto;
const keyed = q => request("crypto", q);
const b64 = (v, e) => toBase64(bytes(v, e));
const derive = (name, f) => { crypto[name + "Sync"] = f; crypto[name] = later(f); };
derive("pbkdf2", (password, salt, iterations, size, digest) => back(keyed({ op: "pbkdf2", data: b64(password), salt: b64(salt), iterations, size, digest: digest || "sha1" }).data));
derive("hkdf", (digest, key, salt, info, size) => { const b = back(keyed({ op: "hkdf", data: b64(key instanceof KeyObject ? key.export() : key), salt: b64(salt), info: b64(info), size, digest }).data); return b.buffer; });
for (const name of ["scrypt", "scryptSync", "createDiffieHellman", "createECDH", "getDiffieHellman"]) crypto[name] = () => { throw new Error(`crypto.${name} does not work in the sandbox of a dynamic provider: use pbkdf2, or compute it in the program`); };
// Cipher collects its input: update returns an empty buffer, and final returns the whole result.
class Cipher extends modules.stream.Transform {
    #q; #parts = []; #tag; #aad = []; #text;
    constructor(name, key, iv, o, open) { super(); if (o && o.authTagLength !== undefined && o.authTagLength !== 16) throw new Error("the sandbox of a dynamic provider has GCM with an authTagLength of 16 alone"); this.#q = { op: "cipher", name: String(name).toLowerCase(), key: b64(key instanceof KeyObject ? key.export() : key), iv: iv === null ? "" : b64(iv), open, pad: true }; keyed({ ...this.#q, data: "", check: true }); }
    update(data, from, to) { this.#parts.push(Buffer.from(bytes(data, from))); return shown(Buffer.alloc(0), to); }
    final(to) { const a = keyed({ ...this.#q, data: toBase64(Buffer.concat(this.#parts)), aad: toBase64(Buffer.concat(this.#aad)), tag: this.#tag && toBase64(this.#tag) }); if (a.tag) this.#tag = back(a.tag); return shown(back(a.data), to); }
    setAutoPadding(on = true) { this.#q.pad = on; return this; }
    setAAD(b) { this.#aad.push(Buffer.from(bytes(b))); return this; }
    getAuthTag() { if (!this.#tag) throw new Error("Invalid state for operation getAuthTag"); return this.#tag; }
    setAuthTag(b, e) { this.#tag = Buffer.from(bytes(b, e)); return this; }
    _transform(c, e, done) { this.update(c, e); done(); }
    _flush(done) { try { done(null, this.final()); } catch (e) { done(e); } }
}
crypto.createCipheriv = (name, key, iv, o) => new Cipher(name, key, iv, o, false);
crypto.createDecipheriv = (name, key, iv, o) => new Cipher(name, key, iv, o, true);
crypto.getCiphers = () => ["aes-128-cbc", "aes-192-cbc", "aes-256-cbc", "aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "aes-128-gcm", "aes-192-gcm", "aes-256-gcm", "aes-128-ecb", "aes-256-ecb"];
// The provider holds no keys: a key is its encoding, PKCS #8 or SPKI, which crosses with each call.
const made = Symbol("key");
class KeyObject {
    constructor(token, type, der, kind) { if (token !== made) throw new TypeError("KeyObject cannot be constructed: use createPrivateKey, createPublicKey, or createSecretKey"); this.type = type; Object.defineProperty(this, "der", { value: der }); if (kind) this.asymmetricKeyType = kind; else this.symmetricKeySize = der.length; }
    get asymmetricKeyDetails() { return this.asymmetricKeyType && keyed({ op: "details", key: toBase64(this.der) }).details; }
    export(o = {}) {
        if (this.type === "secret") return o.format === "jwk" ? { kty: "oct", k: this.der.toString("base64url") } : Buffer.from(this.der);
        const a = keyed({ op: "export", key: toBase64(this.der), type: o.type || (this.type === "private" ? "pkcs8" : "spki"), format: o.format || "pem", cipher: o.cipher, passphrase: o.passphrase === undefined ? undefined : b64(o.passphrase) });
        return a.jwk || (a.text !== undefined ? a.text : back(a.data));
    }
    equals(k) { return k.type === this.type && this.der.equals(k.der); }
}
const key = (k, wanted) => {
    if (k instanceof KeyObject) { if (wanted !== "public" || k.type === "public") return k; return key({ key: k.der, format: "der", type: "pkcs8" }, wanted); }
    const o = typeof k === "string" || ArrayBuffer.isView(k) ? { key: k } : k;
    if (o.key instanceof KeyObject) return key(o.key, wanted);
    const a = keyed({ op: "parse", wanted, ...(o.format === "jwk" ? { jwk: Object.fromEntries(Object.entries(o.key).filter(e => typeof e[1] === "string")) } : { data: b64(o.key, o.encoding) }), type: o.type, passphrase: o.passphrase === undefined ? undefined : b64(o.passphrase) });
    return new KeyObject(made, a.type, back(a.data), a.kind);
};
crypto.KeyObject = KeyObject;
crypto.createPrivateKey = k => key(k, "private");
crypto.createPublicKey = k => key(k, "public");
crypto.createSecretKey = (k, e) => new KeyObject(made, "secret", Buffer.from(bytes(k, e)));
const hmac = crypto.createHmac;
crypto.createHmac = (algorithm, k) => hmac(algorithm, k instanceof KeyObject ? k.export() : bytes(k));
const signature = (op, digest, data, k, extra) => keyed({ op, digest: digest ? String(digest).replace(/^(RSA|ECDSA)-/i, "").toLowerCase().replace(/^sha-/, "sha") : "", key: toBase64(key(k, op === "sign" ? "private" : "public").der), data: b64(data), padding: k && k.padding, saltLength: k && k.saltLength, ieee: k && k.dsaEncoding === "ieee-p1363", ...extra });
crypto.sign = (digest, data, k, done) => { const run = () => back(signature("sign", digest, data, k).data); return done ? later(run)(done) : run(); };
crypto.verify = (digest, data, k, sum, done) => { const run = () => signature("verify", digest, data, k, { signature: b64(sum) }).ok; return done ? later(run)(done) : run(); };
class Signer extends modules.stream.Writable {
    #digest; #parts = [];
    constructor(digest) { super(); this.#digest = digest; }
    update(data, e) { this.#parts.push(Buffer.from(bytes(data, e))); return this; }
    _write(c, e, done) { this.update(c, e); done(); }
    sign(k, e) { return shown(crypto.sign(this.#digest, Buffer.concat(this.#parts), k), e); }
    verify(k, sum, e) { return crypto.verify(this.#digest, Buffer.concat(this.#parts), k, bytes(sum, e)); }
}
crypto.createSign = crypto.createVerify = digest => new Signer(digest);
Object.assign(crypto, { constants: { RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6, RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2 } });
for (const [name, wanted] of [["publicEncrypt", "public"], ["privateDecrypt", "private"]])
    crypto[name] = (k, data) => back(keyed({ op: name, key: toBase64(key(k, wanted).der), data: b64(data), padding: k.padding || crypto.constants.RSA_PKCS1_OAEP_PADDING, digest: k.oaepHash || "sha1", label: k.oaepLabel && b64(k.oaepLabel) }).data);
const pair = (kind, o = {}) => {
    const a = keyed({ op: "generate", name: kind, size: o.modulusLength || 0, curve: o.namedCurve }), priv = new KeyObject(made, "private", back(a.data), a.kind);
    const pub = key(priv, "public"), out = (k, e) => e ? k.export(e) : k;
    return { publicKey: out(pub, o.publicKeyEncoding), privateKey: out(priv, o.privateKeyEncoding) };
};
const several = Object.assign((...args) => { const p = pair(...args); return [p.publicKey, p.privateKey]; }, { several: true });
crypto.generateKeyPairSync = pair;
crypto.generateKeyPair = later(several);
crypto.generateKeyPair[modules.util.promisify.custom] = async (...args) => pair(...args);
crypto.generateKeySync = (kind, o) => crypto.createSecretKey(crypto.randomBytes(o.length / 8));
crypto.getCurves = () => ["prime256v1", "secp384r1", "secp521r1"];
crypto.hash = (algorithm, data, e = "hex") => crypto.createHash(algorithm).update(data).digest(e);
crypto.randomFillSync = b => crypto.getRandomValues(b);
modules.constants = {};

// Modules for one thread, without connections and without a terminal

class AsyncLocalStorage {
    #value;
    run(v, f, ...args) { const was = this.#value; this.#value = v; try { return f(...args); } finally { this.#value = was; } }
    exit(f, ...args) { return this.run(undefined, f, ...args); }
    getStore() { return this.#value; }
    enterWith(v) { this.#value = v; }
    disable() { this.#value = undefined; }
}
class AsyncResource { runInAsyncScope(f, self, ...args) { return f.apply(self, args); } emitDestroy() { return this; } bind(f) { return f; } static bind(f) { return f; } }
const channel = () => ({ hasSubscribers: false, publish() {}, subscribe() {}, unsubscribe() {} });
const performance = { now: () => Date.now() - performance.timeOrigin, timeOrigin: Date.now(), mark() {}, measure() {}, toJSON: () => ({}) };
define("performance", performance);
Object.assign(modules, { async_hooks: { AsyncLocalStorage, AsyncResource, executionAsyncId: () => 1 }, diagnostics_channel: { channel, tracingChannel: channel, hasSubscribers: () => false }, perf_hooks: { performance }, tty: { isatty: () => false } });

const advice = {
    child_process: "a sandboxed provider starts no processes; do this outside the program, or use a provider made for it",
    http2: "use fetch, and grant the provider http",
    net: "a provider reaches other machines over HTTP only: use fetch, or a provider made for it", tls: "a provider reaches other machines over HTTP only: use fetch, or a provider made for it",
    dgram: "a provider reaches other machines over HTTP only", dns: "a provider reaches other machines over HTTP only, and the host looks their names up",
    worker_threads: "a sandboxed provider has one thread", cluster: "a sandboxed provider has one thread",
};
// refusing returns a module or a part of one: packages may load it and read its properties. A call of it throws an error with advice.
const refusing = name => new Proxy(class {}, {
    get: (target, k) => k === "prototype" ? target.prototype : typeof k === "symbol" || k === "then" || k === "__esModule" ? undefined : k === "isMainThread" ? true : k === "constants" ? {} : refusing(name),
    apply: () => { throw refusal(name); }, construct: () => { throw refusal(name); },
});
const refusal = name => new Error(`the closure of the dynamic provider needs the module ${name} of Node.js, which does not work in the sandbox: ${advice[name] || "do this in the program, outside the functions of the dynamic provider"}`);
for (const name of ["child_process", "cluster", "dgram", "dns", "dns/promises", "domain", "http2", "inspector", "net", "punycode", "readline", "readline/promises", "repl", "sys", "test", "tls", "v8", "vm", "wasi", "worker_threads", "stream/web", "stream/consumers", "trace_events"]) modules[name] ||= refusing(name);

// Packages of npm: the closure has their names, and their files are in a directory node_modules that the provider was granted.

const there = p => { try { return file("stat", p).kind; } catch (e) { if (e.code === "ENOENT" || e.code === "ENOTDIR" || e.code === "EACCES") return ""; throw e; } };
const cache = new Map(), manifests = new Map();
const manifest = dir => {
    if (!manifests.has(dir)) { const p = path.join(dir, "package.json"); manifests.set(dir, there(p) === "file" ? JSON.parse(files.readFile(p, "utf8")) : null); }
    return manifests.get(dir);
};
const fileAt = p => [p, p + ".js", p + ".json", p + ".cjs", p + ".node"].find(f => there(f) === "file");
const inDirectory = dir => { const m = manifest(dir), main = m && typeof m.main === "string" && path.join(dir, m.main); return main && (fileAt(main) || fileAt(path.join(main, "index"))) || fileAt(path.join(dir, "index")); };
const fileOrDirectory = p => fileAt(p) || (there(p) === "dir" ? inDirectory(p) : undefined);
// target returns the file of a target in exports or imports, by the conditions of require in Node.js.
const target = (t, star) => {
    if (typeof t === "string") return t.replace(/\*/g, star);
    if (Array.isArray(t)) { for (const x of t) { const found = target(x, star); if (found) return found; } return undefined; }
    if (typeof t === "object" && t !== null) for (const k of Object.keys(t)) if (["node", "require", "default"].includes(k)) { const found = target(t[k], star); if (found) return found; }
    return undefined;
};
const exported = (table, name) => {
    if (Object.hasOwn(table, name) && !name.includes("*")) return target(table[name], "");
    for (const k of Object.keys(table).filter(k => k.includes("*")).sort((a, b) => b.length - a.length)) {
        const [head, tail] = k.split("*");
        if (name.startsWith(head) && name.endsWith(tail) && name.length > head.length + tail.length) return target(table[k], name.slice(head.length, name.length - tail.length));
    }
    return undefined;
};
const inPackage = (dir, name) => {
    const m = manifest(dir);
    if (!m || m.exports === undefined || m.exports === null) return name === "." ? inDirectory(dir) : fileOrDirectory(path.join(dir, name));
    const table = typeof m.exports === "object" && !Array.isArray(m.exports) && Object.keys(m.exports).every(k => k[0] === ".") ? m.exports : { ".": m.exports };
    const found = exported(table, name), file = found ? path.join(dir, found) : name === "." ? undefined : fileOrDirectory(path.join(dir, name)); // as the SDK names files of packages
    if (file) return file;
    throw new Error(`the package ${m.name} exports no ${name} for require: it may be for import alone, which the sandbox of a dynamic provider does not have. Use a version of the package for CommonJS, or bundle the program to CommonJS, for example with esbuild --format=cjs --platform=node`);
};
const owner = dir => { for (let d = dir; ; d = path.dirname(d)) { if (manifest(d)) return d; if (d === path.dirname(d) || path.basename(d) === "node_modules") return undefined; } };
const find = (name, from) => {
    if (/^\.{0,2}(\/|$)/.test(name)) return fileOrDirectory(path.isAbsolute(name) ? name : path.join(from, name));
    if (name[0] === "#") { const dir = owner(from), found = dir && manifest(dir).imports && exported(manifest(dir).imports, name); return found && (found[0] === "." ? path.join(dir, found) : find(found, from)); }
    const [, scoped, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) || [];
    const roots = [];
    for (let d = from; ; d = path.dirname(d)) {
        if (path.basename(d) !== "node_modules") roots.push(path.join(d, "node_modules"));
        if (d === path.dirname(d)) break;
    }
    roots.push(...(globalThis.process.env.NODE_PATH || "").split(":").filter(Boolean));
    for (const root of roots) if (there(path.join(root, scoped)) === "dir") return inPackage(path.join(root, scoped), "." + (rest || ""));
    return undefined;
};
const withImports = code => code.replace(/\/\*[^]*?\*\/|\/\/.*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?<![\w$.])import(?=\s*\()/g, m => m === "import" ? "__import(require)" : m);
const load = (p, requireFor) => {
    if (cache.has(p)) return cache.get(p).exports;
    const module = { exports: {}, id: p, filename: p, loaded: false, children: [], paths: [] };
    const dir = path.dirname(p), own = owner(dir);
    if (p.endsWith(".node")) throw new Error(`the closure of the dynamic provider needs the native module ${p}, which cannot run in the sandbox: use one in JavaScript, or a provider made for it`);
    if (p.endsWith(".mjs") || p.endsWith(".js") && own && manifest(own).type === "module") throw new Error(`the closure of the dynamic provider needs ${p}, an ES module, which the sandbox does not load: use a version of the package ${own ? manifest(own).name : ""} for CommonJS, or bundle the program to CommonJS, for example with esbuild --format=cjs --platform=node`);
    cache.set(p, module);
    try {
        const text = files.readFile(p, "utf8").replace(/^\ufeff/, "");
        if (p.endsWith(".json")) module.exports = JSON.parse(text);
        else {
            module.require = requireFor(dir);
            new Function("exports", "require", "module", "__filename", "__dirname", withImports(text.replace(/^#!.*/, "")) + "\n//# sourceURL=" + p).call(module.exports, module.exports, module.require, module, p, dir);
        }
    } catch (e) { cache.delete(p); throw e; }
    module.loaded = true;
    return module.exports;
};
// namespace returns the value of import(): the exports of a CommonJS module, which are the default export, too.
const namespace = m => m && m.__esModule ? m : Object.assign(Object.create(null), typeof m === "object" || typeof m === "function" ? m : {}, { default: m });
define("__import", require => async name => namespace(require(String(name))));
modules.module = { createRequire: p => runtime.requireFor(path.dirname(nameOf(p))), builtinModules: Object.keys(modules), Module: class {} };
runtime.packages = { find, load, withImports };
})();
