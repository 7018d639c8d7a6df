// Serves the calls of the contract to a provider that index.js has completed. guest-sdk/guest does the same for Go.
import { HuskError, InitFailed, NotFound, refusal } from "./errors.js";
import { Deployment, loadComponent, opaque } from "./component.js";
import { check, deletesFirst, diff, document, load, nearest, sameType, store } from "./schema.js";
import { byKey, containsPath, containsSecrets, containsUnknowns, crosses, dependencies, equal, get, has, isNull, isObject, lowered, Output, outputOf, parsePath, parts, pathText, plain, Secret, secretOf, set, transform, unknown, utf8Length } from "./values.js";

const kinds = ["invalid-argument", "not-found", "unimplemented", "unavailable", "cancelled", "init-failed", "denied", "internal", "crashed"];

// told returns the error of the contract among what was thrown and its causes.
const told = e => {
    for (; typeof e === "object" && e !== null; e = e.cause) if (kinds.includes(e.kind)) return e;
};

/** Returns what was thrown as an error of the contract. */
export const errorOf = e => {
    const cause = told(e);
    if (cause) {
        const kind = cause.kind === "init-failed" && !cause.initFailure ? "internal" : cause.kind;
        const said = String((e instanceof Error ? e : cause).message), why = String(cause.message);
        return { kind, origin: cause.origin || "guest", message: said.includes(why) ? said : `${said}: ${why}`, path: cause.path || "", missingKeys: cause.missingKeys, initFailure: cause.initFailure };
    }
    const isError = e instanceof Error, name = isError && e.name !== "Error" ? e.name + ": " : "";
    const at = isError && e.name !== "AbortError" && e.name !== "TimeoutError" ? String(e.stack).split("\n").map(l => l.trim()).filter(l => l.startsWith("at ")).map(l => "\n    " + l).join("") : "";
    const timedOut = isError && (e.name === "TimeoutError" || e.name === "AbortError");
    return { kind: timedOut ? "cancelled" : "internal", origin: "guest", message: name + (isError ? e.message : `something that is no error was thrown: ${typeof e === "object" ? JSON.stringify(e) : e}`) + at };
};

const mergedSecrets = (m, source, repeated) => {
    for (const name of Object.keys(source)) {
        const from = source[name], v = get(m, name);
        if (v === undefined || v instanceof Secret || !containsSecrets(from)) continue;
        m[name] = equal(v, get(repeated, name)) ? copyMarks(v, from) : secretOf(v);
    }
    const texts = secretTexts(source, new Set());
    return texts.size ? transform(m, v => typeof v === "string" && texts.has(v) ? new Secret(v) : v) : m;
};
// A secret that is shorter, in bytes, is not looked for elsewhere: it would be found by accident.
const minSecretText = 8;
const secretTexts = (v, found, within = false) => {
    within ||= v instanceof Secret || v instanceof Output && v.secret;
    if (within && typeof v === "string" && utf8Length(v) >= minSecretText) found.add(v);
    for (const part of parts(v)) secretTexts(part, found, within);
    return found;
};
// copyMarks marks the secret parts of from in v, which has the same contents.
const copyMarks = (v, from) => {
    if (v instanceof Secret || !containsSecrets(from)) return v;
    if (Array.isArray(v) && Array.isArray(from)) return v.map((x, i) => i < from.length ? copyMarks(x, from[i]) : x);
    if (isObject(v) && isObject(from)) return Object.keys(v).reduce((out, k) => { out[k] = copyMarks(v[k], get(from, k)); return out; }, Object.create(null));
    return secretOf(v);
};
// merge applies the changes of the author's code, from before to after, to inputs with unknowns and secrets. Unknowns stay.
const merge = (inputs, before, after) => {
    const out = Object.assign(Object.create(null), inputs);
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
        const old = get(before, name);
        let now = get(after, name);
        if (equal(old, now)) continue;
        const given = get(out, name), inner = plain(given);
        if (inner === unknown) continue;
        if (now === undefined) { delete out[name]; continue; }
        const nested = isObject(inner) && isObject(plain(old)) && isObject(plain(now));
        if (nested) now = merge(inner, plain(old), plain(now));
        if (given instanceof Secret || !nested && given !== undefined && containsSecrets(given)) now = secretOf(plain(now));
        out[name] = now;
    }
    return out;
};

const reasonOf = e => (e.path ? e.path + ": " : "") + e.message;
const wellFormed = v => typeof v === "string" ? v.toWellFormed() : v;

const never = new AbortController().signal;
// signalOf ends after the user's timeout in seconds, 0 for none.
const signalOf = timeout => timeout > 0 ? AbortSignal.timeout(Math.min(timeout, 2 ** 31 / 1000 - 1) * 1000) : never;

export class Server {
    undecided = false;
    /** For components, monitor has the functions of the host, and log its log: about(urn), warn(message). */
    constructor(p, monitor, log) { this.p = p; this.monitor = monitor; this.log = log; }

    handshake({ features }) {
        const understood = { secrets: true, resourceReferences: true, outputs: true, autonaming: true, preview: true, writeOnly: this.p.writeOnly, readFirst: true };
        const both = Object.fromEntries(Object.entries(understood).map(([k, v]) => [k, v && features[k]]));
        return { name: this.p.name, version: this.p.version, sdk: "husk guest-sdk/js 0.1.0", features: both, requests: this.p.requests.map(r => ({ scope: "", reason: "", optional: false, ...r })) };
    }
    getSchema({ version, subpackageName }) {
        if (version !== 0) throw new HuskError("invalid-argument", "there is only version 0 of the schema format");
        if (subpackageName) throw new HuskError("not-found", `there is no package ${subpackageName} in ${this.p.name}`);
        return { schema: this.text ||= document(this.p) };
    }
    checkConfig({ news }) { return check(this.p.config, news, true); }
    diffConfig(r) { return diff(this.p.config, this.p.config, r); }
    async configure({ inputs }) {
        if (!this.p.configure) return;
        const missing = this.p.config.properties.filter(q => q.required && isNull(get(inputs, q.name)));
        if (missing.length) throw Object.assign(new HuskError("invalid-argument", `the configuration of ${this.p.name} is not complete`), { missingKeys: missing.map(q => ({ name: q.name, description: q.doc || "" })) });
        this.undecided = containsUnknowns(inputs);
        if (!this.undecided) await this.p.configure(load(this.p.config, inputs));
    }
    async cancel() { if (this.p.close) await this.p.close(); }

    resource(r) {
        const token = r.type || ((r.urn || "").split("::")[2] || "").split("$").pop();
        const found = this.p.resources.find(x => x.token === token) || this.p.resources.find(x => x.aliases.includes(token));
        if (!found) throw this.noSuch("resource type", token, this.types());
        return found;
    }
    types() { return [...this.p.resources, ...this.p.components].sort((a, b) => a.token < b.token ? -1 : 1); }
    noSuch(what, token, list) {
        const nameOf = t => t.slice(t.lastIndexOf(":") + 1), near = nearest(nameOf(token), list.map(x => nameOf(x.token))), found = near && list.find(x => nameOf(x.token) === near);
        const short = t => { const [pkg, module, name] = t.split(":"), m = module.replace(new RegExp(`/${name[0].toLowerCase()}${name.slice(1)}$`), ""); return m === "index" || !m ? `${pkg}:${name}` : `${pkg}:${m}:${name}`; };
        return new HuskError("not-found", `the package ${this.p.name} ${this.p.version} has no ${what} ${token}` + (found ? `; did you mean ${short(found.token)}?` : ""));
    }
    decided() { if (this.undecided) throw new HuskError("unavailable", `the configuration of ${this.p.name} is not known in this preview: it depends on a resource that does not exist yet`); }
    known(what, m) { for (const k of Object.keys(m).sort(byKey)) if (containsUnknowns(m[k])) throw new HuskError("invalid-argument", `the ${what} is not known`, k); }
    // asState returns inputs as a state that repeats them, without secrets.
    asState(r, inputs) { return load({ properties: r.state.properties.filter(p => r.inputs.byName.has(p.name) && sameType(r.inputs.byName.get(p.name).type, p.type)) }, inputs); }
    inherit(r, m, inputs) { return mergedSecrets(m, inputs, this.asState(r, inputs)); }

    async check(q) {
        const r = this.resource(q);
        let { inputs, failures } = check(r.inputs, q.news);
        if (failures.length || this.undecided) return { inputs, failures };
        const refused = this.autoname(r, q, inputs);
        if (refused) return { inputs, failures: [refused] };
        if (!r.can.check) return { inputs, failures };
        const given = load(r.inputs, inputs), before = load(r.inputs, inputs);
        const request = { urn: q.urn, name: q.name, inputs: given, olds: q.olds && load(r.inputs, q.olds), randomSeed: q.randomSeed, autonaming: q.autonaming, known: name => !containsUnknowns(get(inputs, name)) };
        failures = await r.code.check(request) || [];
        for (const f of failures) answeredPath("check", f.path);
        return { inputs: merge(inputs, partial(r.inputs, before), partial(r.inputs, request.inputs)), failures };
    }
    autoname(r, q, inputs) {
        const p = r.autoname;
        if (!p || !isNull(get(inputs, p.name))) return;
        const set = v => { inputs[p.name] = p.secret ? secretOf(v) : v; };
        if (!isNull(get(q.olds, p.name))) { inputs[p.name] = q.olds[p.name]; return; }
        const longest = p.autoname === true ? Infinity : p.autoname, policy = q.autonaming, length = s => [...s].length;
        if (policy) {
            if (policy.mode === "disable") return { path: p.name, reason: "required property is missing, since pulumi:autonaming lets no name be made up; expected string" };
            if (policy.proposedName && length(policy.proposedName) <= longest) return set(policy.proposedName);
            if (policy.proposedName && policy.mode === "enforce") return { path: p.name, reason: `the name that pulumi:autonaming asks for, ${policy.proposedName}, is longer than ${longest} characters` };
        }
        const suffix = "-" + Array.from(q.randomSeed.subarray(0, 7), b => (b & 15).toString(16)).join("");
        set([...(q.name || q.urn.split("::").slice(3).join("::"))].slice(0, longest - suffix.length).join("") + suffix);
    }
    async diff(q) {
        const r = this.resource(q), found = { ...diff(r.inputs, r.state, q), deleteBeforeReplace: deletesFirst(r, q) };
        if (this.undecided || !r.can.diff) return found;
        const answer = await r.code.diff({ urn: q.urn, name: q.name, id: q.id, inputs: load(r.inputs, q.news), oldInputs: load(r.inputs, q.oldInputs), state: load(r.state, q.olds), known: name => !containsUnknowns(get(q.news, name)), changes: found.detailedDiff.map(c => ({ ...c })), deleteBeforeReplace: found.deleteBeforeReplace });
        return summarize({ ...found, ...(Array.isArray(answer) ? { detailedDiff: answer } : { detailedDiff: answer.changes, deleteBeforeReplace: !!answer.deleteBeforeReplace || r.identity.length > 0 && found.deleteBeforeReplace }) }, q.ignoreChanges);
    }
    async create(q) {
        const r = this.resource(q);
        if (q.preview) return { state: await this.preview(r, { ...q, news: q.inputs, id: "", olds: {} }) };
        this.decided();
        this.known("input", q.inputs);
        let answer;
        try { answer = await r.code.create({ urn: q.urn, name: q.name, inputs: load(r.inputs, q.inputs), timeout: q.timeout, signal: signalOf(q.timeout) }); } catch (e) { throw this.unhealthy(r, e, q.inputs, "", {}); }
        if (!answer || !answer.id) throw new HuskError("crashed", "the provider's create returned no id");
        const id = String(answer.id).toWellFormed();
        return { id, state: this.recorded(r, answer, q.inputs, id, {}) };
    }
    stored(r, properties, state, inputs) {
        const found = this.inherit(r, store({ ...r.state, properties }, state, "the state"), inputs);
        crosses(found);
        return found;
    }
    // made returns the state that the author's code answered, and the error if it does not fit. The object exists: what does not fit is as
    // the inputs have it, or as it was recorded.
    made(r, state, inputs, olds) {
        try { return [this.stored(r, r.state.properties, state, inputs)]; } catch (e) {
            const kept = this.inherit(r, Object.assign(Object.create(null), olds, this.asState(r, inputs)), inputs);
            for (const p of r.state.properties) {
                try {
                    const found = this.stored(r, [p], isObject(state) ? { [p.name]: get(state, p.name) } : state, inputs);
                    delete kept[p.name];
                    Object.assign(kept, found);
                } catch { if (p.secret && has(kept, p.name)) kept[p.name] = secretOf(kept[p.name]); }
            }
            const { path, message } = errorOf(e);
            return [kept, { path, message: message.split("\n")[0] }]; // without the places in the SDK
        }
    }
    recorded(r, answer, inputs, id, olds) {
        const [state, wrong] = this.made(r, answer.state || {}, inputs, olds);
        if (wrong) throw Object.assign(new HuskError("init-failed", wrong.message, wrong.path), { initFailure: { id, state, reasons: [reasonOf(wrong)], refreshBeforeUpdate: true } });
        return state;
    }
    // unhealthy returns what was thrown, completed if it tells of an object that exists.
    unhealthy(r, thrown, inputs, id, olds) {
        const e = told(thrown);
        if (!(e instanceof InitFailed) || !(e.id || id)) return thrown;
        const [state, wrong] = this.made(r, e.state || {}, inputs, olds);
        const reasons = [...(e.reasons.length ? e.reasons : [e.message]).map(t => String(t).trim()), ...(wrong ? [reasonOf(wrong)] : [])];
        e.initFailure = { id: String(e.id || id).toWellFormed(), state, reasons, refreshBeforeUpdate: !!wrong };
        return thrown;
    }
    async update(q) {
        const r = this.resource(q);
        if (q.preview) return { state: await this.preview(r, q) };
        this.decided();
        this.known("input", q.news);
        if (!r.can.update) throw new HuskError("unimplemented", "resources of this type cannot be changed in place, only replaced");
        let answer;
        try { answer = await r.code.update({ urn: q.urn, name: q.name, id: q.id, inputs: load(r.inputs, q.news), oldInputs: load(r.inputs, q.oldInputs), state: load(r.state, q.olds), ignoreChanges: q.ignoreChanges, timeout: q.timeout, signal: signalOf(q.timeout) }); } catch (e) { throw this.unhealthy(r, e, q.news, q.id, q.olds); }
        return { state: this.recorded(r, answer || {}, q.news, q.id, q.olds) };
    }
    async read(q) {
        const r = this.resource(q);
        this.decided();
        if (!r.can.read) {
            if (!q.state) throw new HuskError("unimplemented", "resources of this type cannot be imported");
            if (r.can.exists && !await this.there(r, q)) return {};
            return { id: q.id, state: q.state, inputs: q.inputs };
        }
        const before = q.inputs && load(r.inputs, q.inputs);
        let answer;
        try { answer = await r.code.read({ urn: q.urn, name: q.name, id: q.id, inputs: q.inputs && load(r.inputs, q.inputs), state: q.state && load(r.state, q.state), timeout: q.timeout, signal: signalOf(q.timeout) }); } catch (e) { if (e instanceof NotFound) return {}; throw e; }
        if (!answer) throw new HuskError("internal", "the provider's read returned nothing: throw NotFound if the object does not exist");
        let inputs = partial(r.inputs, answer.inputs || {}), state = store(r.state, answer.state || {}, "the state");
        if (q.inputs) inputs = merge(q.inputs, partial(r.inputs, before, "the recorded value"), inputs);
        if (q.state) state = mergedSecrets(state, q.state, q.state);
        if (q.inputs) state = this.inherit(r, state, q.inputs);
        return { id: answer.id ? String(answer.id) : q.id, state, inputs };
    }
    async delete(q) {
        const r = this.resource(q);
        this.decided();
        if (!r.can.delete) return;
        try { await r.code.delete({ urn: q.urn, name: q.name, id: q.id, state: load(r.state, q.state), timeout: q.timeout, signal: signalOf(q.timeout) }); } catch (e) { if (!(e instanceof NotFound)) throw e; }
    }
    async there(r, q) { try { return !!await r.code.exists({ urn: q.urn, name: q.name, id: q.id, timeout: q.timeout, signal: signalOf(q.timeout) }); } catch (e) { if (e instanceof NotFound) return false; throw e; } }
    async exists(q) {
        const r = this.resource(q);
        if (!r.can.exists) throw unimplemented();
        this.decided();
        return { exists: await this.there(r, q) };
    }
    async list(q) {
        const r = this.resource({ type: q.token });
        if (!r.can.list) throw unimplemented();
        this.decided();
        const answer = await r.code.list({ query: q.query, limit: q.limit, pageSize: q.pageSize, continuationToken: q.continuationToken });
        return { resources: (answer.resources || []).map(x => ({ name: "", ...x })).map(x => ({ ...x, id: wellFormed(x.id), name: wellFormed(x.name) })), continuationToken: answer.continuationToken || "" };
    }
    async invoke(q) {
        const f = this.p.functions.find(x => x.token === q.token);
        if (!f) throw this.noSuch("function", q.token, this.p.functions);
        this.decided();
        const { inputs, failures } = check(f.inputs, q.args);
        if (failures.length) return { failures };
        this.known("argument", inputs);
        const result = store(f.result, await f.call(load(f.inputs, inputs)) || {}, "the result");
        if (containsSecrets(inputs)) for (const k of Object.keys(result)) result[k] = secretOf(result[k]);
        return { result };
    }

    async construct(q) {
        if (!this.p.components.length) throw unimplemented();
        const c = this.p.components.find(x => x.token === q.type);
        if (!c) throw this.noSuch("component", q.type, this.types());
        const { inputs, failures } = check(c.inputs, q.inputs);
        if (failures.length) throw refusal(failures);
        for (const { key, urns } of q.inputDependencies) if (urns.length && has(inputs, key)) set(inputs, key, outputOf(inputs[key], false, urns));
        const secret = opaque(c.inputs, inputs, v => v instanceof Secret || v instanceof Output && v.secret, containsSecrets);
        if (secret) throw new HuskError("invalid-argument", "the provider cannot keep this input secret: its author would have to declare it as an output", pathText(secret));
        const { urn } = this.monitor.registerResource({ type: q.type, name: q.name, parent: q.parent, custom: false, remote: false, inputs, propertyDependencies: q.inputDependencies, options: this.ownOptions(q.options) });
        this.log.about(urn);
        let outputs = Object.create(null);
        if (this.undecided || opaque(c.inputs, inputs, v => plain(v) === unknown, containsUnknowns)) {
            for (const p of c.outputs.properties) outputs[p.name] = unknown;
            this.log.warn(`what ${q.name} is made of is not known in this preview, for some of its inputs are not`);
        } else {
            const deployment = this.deployment = new Deployment(this.monitor, q.context, urn);
            try {
                const made = await deployment.do(context => c.construct({ urn, name: q.name, inputs: loadComponent(c.inputs, inputs) }, context));
                outputs = store(c.outputs, made ?? {}, "what construct returned");
                crosses(outputs);
            } finally { if (this.deployment === deployment) this.deployment = undefined; }
        }
        this.monitor.registerOutputs({ urn, outputs });
        return { urn, state: lowered(outputs), stateDependencies: dependencies(outputs) };
    }
    run() { throw new HuskError("internal", 'the default export is a provider, and the world of package.json is "program"'); }
    call(q) {
        if (!this.p.components.length) throw unimplemented();
        throw this.noSuch("method", q.token, this.p.functions);
    }
    // ownOptions returns the component's own options. Children of its package inherit the provider.
    ownOptions({ provider, version, packageRef, ...o }) {
        const named = o.providers.some(p => p.package === this.p.name);
        return provider && !named ? { ...o, providers: [...o.providers, { package: this.p.name, reference: provider }] } : o;
    }

    // preview returns the state that create or update would return: outputs with the name and type of an input have its value,
    // stable ones keep theirs, and the author's code may know others.
    async preview(r, q) {
        const repeated = this.asState(r, q.news), state = Object.create(null);
        for (const p of r.state.properties) {
            const given = get(q.news, p.name), declared = r.inputs.byName.get(p.name), input = declared && sameType(declared.type, p.type) ? declared : undefined;
            let v = unknown;
            if (input && given !== undefined && containsUnknowns(given)) v = given;
            else if (input && !(input.computed && isNull(given))) v = get(repeated, p.name) === undefined ? undefined : copyMarks(store({ properties: [{ ...p, required: false, secret: false }], byName: new Map([[p.name, p]]) }, { [p.name]: repeated[p.name] }, "the input")[p.name], given);
            else if (p.stable && has(q.olds, p.name)) v = q.olds[p.name];
            if (v !== undefined) state[p.name] = p.secret ? secretOf(v) : v;
        }
        if (!r.can.preview || this.undecided || containsUnknowns(q.news)) return state;
        const foretold = await r.code.preview({ urn: q.urn, name: q.name, id: q.id, inputs: load(r.inputs, q.news), state: q.id ? load(r.state, q.olds) : undefined }) || {};
        const known = this.inherit(r, partial(r.state, foretold), q.news);
        for (const k of Object.keys(foretold)) if (foretold[k] !== undefined) state[k] = get(known, k);
        return state;
    }
}

// partial stores properties of which some may be missing.
const partial = (o, given, what = "what the provider answered") => store(o, given, what, true);

const answeredPath = (method, text) => {
    try { return parsePath(text); } catch (e) { throw new HuskError("internal", `the provider's ${method} answered an ${e.message}`); }
};

const summarize = (d, ignore) => {
    const patterns = ignore.map(parsePath), out = { ...d, changes: "none", changedKeys: [], replaceKeys: [], detailedDiff: [] };
    for (const c of d.detailedDiff) {
        const path = answeredPath("diff", c.path);
        if (!path.length) throw new HuskError("internal", "the provider's diff answered an empty path");
        if (patterns.some(p => containsPath(p, path))) continue;
        const key = typeof path[0] === "string" ? path[0] : "";
        out.detailedDiff.push({ inputDiff: true, ...c });
        out.changes = "some";
        if (!out.changedKeys.includes(key)) out.changedKeys.push(key);
        if (c.kind.endsWith("-replace") && !out.replaceKeys.includes(key)) out.replaceKeys.push(key);
    }
    if (d.detailedDiff.length) out.stableKeys = d.stableKeys.filter(k => !out.replaceKeys.length && !out.changedKeys.includes(k));
    return out;
};

const unimplemented = () => new HuskError("unimplemented", "not implemented by the provider");

/** Calls a method of the contract, of a provider or a program. There is one call at a time: a component whose call was given up declares nothing in this one. */
export const answer = async (server, method, request) => {
    if (!Object.getOwnPropertyNames(Object.getPrototypeOf(server)).includes(method)) throw unimplemented();
    server.deployment?.fail(new HuskError("cancelled", `the call of the ${server.deployment.kind} was given up`));
    server.deployment = undefined;
    return server[method](request);
};
