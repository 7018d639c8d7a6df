// What runtime.js asks for, by the functions of the host and of the engine.
const engine = globalThis.__engine;
delete globalThis.__engine;

const index = new Map(Array.from(engine.functions, (name, i) => [name, i]));
/** Calls a function of the host by its name in the contract, such as kvGet. What it fails with is an error of the contract. */
export const call = (name, params = {}) => engine.call(index.get(name), params);
export { engine };

const current = { urn: "" };
/** Has messages be about a resource. */
export const about = urn => { current.urn = urn; };
export const log = (severity, message, ephemeral = false) => { call("logWrite", { severity, message, urn: current.urn, ephemeral }); };

const hex = b => { let s = ""; for (const x of b) s += (x < 16 ? "0" : "") + x.toString(16); return s; };
const bytes = s => { const b = new Uint8Array(s.length >> 1); for (let i = 0; i < b.length; i++) b[i] = parseInt(s.substr(2 * i, 2), 16); return b; };
const join = (a, b) => { const out = new Uint8Array(a.length + b.length); out.set(a); out.set(b, a.length); return out; };

const hashes = { md5: 5, sha1: 1, sha224: 224, sha256: 256, sha384: 384, sha512: 512 };
const hash = ({ algorithm, key, keyed }, data) => {
    const kind = Object.hasOwn(hashes, algorithm) ? hashes[algorithm] : undefined;
    if (!kind) throw new Error(`there is no hash ${JSON.stringify(algorithm)} here, but ${Object.keys(hashes).join(", ")}`);
    const sum = b => engine.hash(kind, b);
    if (!keyed) return { sum: hex(sum(data)) };
    const block = kind >= 384 ? 128 : 64, pad = new Uint8Array(block);
    let k = bytes(key || "");
    if (k.length > block) k = sum(k);
    pad.set(k);
    return { sum: hex(sum(join(pad.map(x => x ^ 0x5c), sum(join(pad.map(x => x ^ 0x36), data))))) };
};

// URLs, as RFC 3986 has them, with what browsers do beside that for the schemes of the web.
const web = { "http:": "80", "https:": "443", "ws:": "80", "wss:": "443" };
const escaped = (s, allowed) => s.replace(/%(?![0-9a-f]{2})|[^%]/gi, c => allowed.test(c) ? c : c === "%" ? "%25" : encodeURIComponent(c)).replace(/[\ud800-\udfff]/g, "%EF%BF%BD");
const dots = path => {
    const out = [], segments = path.split("/");
    segments.forEach((s, i) => {
        const last = i === segments.length - 1;
        if (/^(\.|%2e){2}$/i.test(s)) { if (out.length > 1) out.pop(); if (last) out.push(""); } else if (/^(\.|%2e)$/i.test(s)) { if (last) out.push(""); } else out.push(s);
    });
    return out.join("/");
};
const split = text => {
    const m = /^(?:([a-z][a-z\d+.-]*:))?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#[^]*)?$/i.exec(text.replace(/[\t\r\n]/g, ""));
    if (!m) throw new Error("it is no URL");
    return { protocol: (m[1] || "").toLowerCase(), authority: m[2], path: m[3], query: m[4], hash: m[5] || "" };
};
export const parseURL = (text, base) => {
    let u = split(web[(/^[a-z][a-z\d+.-]*:/i.exec(text) || [""])[0].toLowerCase()] ? text.replace(/\\/g, "/") : text);
    if (!u.protocol) {
        if (!base) throw new Error("it is not absolute");
        const b = split(base);
        if (!b.protocol) throw new Error("its base is not absolute");
        const merged = u.path[0] === "/" ? u.path : b.authority !== undefined && !b.path ? "/" + u.path : b.path.replace(/[^/]*$/, "") + u.path;
        u = u.authority !== undefined ? { ...u, protocol: b.protocol } : u.path ? { ...b, path: merged, query: u.query, hash: u.hash } : { ...b, query: u.query === undefined ? b.query : u.query, hash: u.hash };
    }
    const at = /^(?:(.*)@)?(\[[^\]]*\]|[^:]*)(?::(\d*))?$/.exec(u.authority || "");
    if (!at || Number(at[3]) > 65535 || web[u.protocol] && !at[2] || /[\s<>^|%]/.test(at[2])) throw new Error("its host is wrong");
    const [, user = "", hostname, port = ""] = at, colon = user.indexOf(":"), name = colon < 0 ? user : user.slice(0, colon), allowed = /[\w!$&'()*+,;=:@/.~-]/;
    return {
        protocol: u.protocol, hostname: hostname.toLowerCase(), port: port && String(Number(port)), username: escaped(name, /[\w.~-]/), password: colon < 0 ? "" : escaped(user.slice(colon + 1), /[\w.~-]/),
        pathname: web[u.protocol] || u.path[0] === "/" ? dots(escaped(u.path, allowed)) : escaped(u.path, allowed),
        search: u.query === "?" || !u.query ? "" : escaped(u.query, /[\w!$&()*+,;=:@/?.~%[\]{}|^`\\-]/), hash: u.hash === "#" ? "" : escaped(u.hash, /[\w!$&'()*+,;=:@/?.~#%[\]{}|^\\-]/),
    };
};

const longestBody = 8 << 20, redirects = new Set([301, 302, 303, 307, 308]);
const text = b => engine.decode(b);
const fetch = ({ url, method, redirect, timeout, headers }, body) => {
    if (headers.some(h => h[0] === "host")) throw new Error("the header host cannot be set: it follows from the URL");
    const until = timeout > 0 ? Date.now() + timeout : 0;
    let at = new URL(url), content = body;
    at.hash = "";
    for (let turns = 0; ; turns++) {
        const answer = call("httpSend", {
            method, url: at.href, body: content, timeoutMs: until ? Math.max(1, until - Date.now()) : 0,
            headers: headers.map(([name, value]) => ({ name, value: engine.encode(value) })),
        });
        const found = answer.headers.map(h => [h.name, text(h.value)]), location = found.find(h => h[0].toLowerCase() === "location");
        if (!redirects.has(answer.status) || !location || redirect === "manual") {
            if (answer.body.length > longestBody) throw new Error(`the response is longer than ${longestBody >> 20} MiB, which is all that a provider takes`);
            return [{ status: answer.status, statusText: "", url: at.href, redirected: turns > 0, headers: found }, answer.body];
        }
        if (redirect === "error") throw new Error("unexpected redirect");
        if (turns === 20) throw new Error("redirect count exceeded");
        const to = new URL(location[1], at.href);
        if (answer.status === 303 && method !== "HEAD" || answer.status < 303 && method === "POST") {
            method = "GET"; content = new Uint8Array(0);
            headers = headers.filter(h => !h[0].startsWith("content-"));
        }
        if (to.origin !== at.origin) headers = headers.filter(h => !["authorization", "cookie", "proxy-authorization"].includes(h[0]));
        at = to;
    }
};

const json = f => {
    try { return JSON.stringify(f()); } catch (e) { return failed(e); }
};
const failed = e => JSON.stringify({ error: String(e.message), details: e.kind && { kind: e.kind, origin: e.origin, path: e.path }, timedOut: e.kind === "cancelled" });
const ask = (name, argument, data) => {
    switch (name) {
    case "debug": case "info": case "warning": case "error": log(name, argument); return "";
    case "random": return hex(engine.random(new Uint8Array(Number(argument))));
    case "hash": return [json(() => hash(JSON.parse(argument), data))];
    case "url": return json(() => parseURL(...JSON.parse(argument)));
    case "fetch":
        try {
            const [answer, body] = fetch(JSON.parse(argument), data);
            return [JSON.stringify(answer), body];
        } catch (e) { return [failed(e)]; }
    }
    return "";
};
Object.defineProperty(globalThis, "__host", { configurable: true, value: Object.assign(ask, { encode: engine.encode, decode: engine.decode }) });
