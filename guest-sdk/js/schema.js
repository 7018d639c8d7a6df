// What a schema says of inputs, and of changes. The host and the SDK for Go go by the same rules (abi/schema), and a test compares
// the answers.
import { containsPath, equal, get, has, isNull, isObject, keysOf, kindOf, parsePath, pathText, plain, Archive, Asset, Output, Reference, Secret, secretOf, set, sorted, Unknown, unknown, untagged } from "./values.js";
import { HuskError } from "./errors.js";

const maxFailures = 100, maxListedNames = 12, maxPaths = 16 << 20, maxNearestLength = 64;

const kindNames = { any: "any value", boolean: "bool" };

/** Returns a type as messages show it. */
export const typeText = t => {
    switch (t.kind) {
    case "array": case "map": return t.element.kind === "any" ? t.kind : `${t.kind} of ${typeText(t.element)}`;
    case "object": return "object " + t.object.token;
    case "resource": return t.token ? "resource " + t.token.replace(/^.*#\/resources\//, "") : "resource";
    case "union": return t.oneOf.map(typeText).join(" or ");
    }
    return kindNames[t.kind] || t.kind;
};

/** Reports whether two types have the same values. */
export const sameType = (t, u) => t === u || t.kind === u.kind && (t.element ? sameType(t.element, u.element) : t.object ? t.object === u.object : t.oneOf ? t.oneOf.length === u.oneOf.length && t.oneOf.every((x, i) => sameType(x, u.oneOf[i])) : t.token === u.token);

const hasDefault = p => p.default !== undefined;
const texts = list => list.map(v => JSON.stringify(v)).join(", ");
// numberText is a number as Go writes it.
const numberText = f => {
    if (!Number.isFinite(f)) return String(f).replace(/^Infinity/, "+Infinity").replace("Infinity", "Inf");
    const [digits, exponent] = f.toExponential().split("e");
    return exponent < -4 || exponent >= 6 ? `${digits}e${exponent.replace(/^(.)(\d)$/, "$10$2")}` : String(f);
};

/** Returns the name that was most likely meant. */
export const nearest = (name, known) => {
    let best = "", least = 0;
    if (name.length > maxNearestLength) return "";
    for (const candidate of known) {
        const d = distance(name.toLowerCase(), candidate.toLowerCase()), longer = Math.max(name.length, candidate.length);
        if (candidate.length > maxNearestLength || d > Math.floor((longer + 2) / 3) || d === longer) continue;
        if (!best || d < least) { best = candidate; least = d; }
    }
    return best;
};
const distance = (a, b) => {
    let before = [], last = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
        const row = [i];
        for (let j = 1; j <= b.length; j++) {
            row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
            if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
        }
        before = last; last = row;
    }
    return last[b.length];
};

const isInteger = v => Number.isInteger(v) && Math.abs(v) <= 2 ** 53;

class Checker {
    failures = [];
    constructor(coerce, path = [], partial = false) { this.coerce = coerce; this.path = path; this.partial = partial; }
    fail(reason) { if (this.failures.length < maxFailures) this.failures.push({ path: pathText(this.path), reason }); }
    at(segment, f) { this.path.push(segment); try { return f(); } finally { this.path.pop(); } }

    object(o, given) {
        const out = Object.create(null);
        for (const name of keysOf(given)) this.at(name, () => {
            const p = o.byName.get(name);
            if (!p) this.fail(this.noSuchProperty(o, name));
            else if (!isNull(given[name])) out[name] = this.property(p, given[name]);
        });
        for (const p of o.properties) {
            if (!hasDefault(p) && !p.required || !isNull(get(given, p.name))) continue;
            if (hasDefault(p)) out[p.name] = p.secret ? new Secret(p.default) : p.default;
            else if (!this.partial) this.at(p.name, () => this.fail("required property is missing; expected " + typeText(p.type)));
        }
        return out;
    }
    noSuchProperty(o, name) {
        const names = o.properties.map(p => p.name), near = nearest(name, names);
        const reason = (this.coerce && this.path.length === 1 ? "no such configuration key" : "no such property") + (o.token ? " in " + o.token : "");
        if (near) return `${reason}; did you mean "${near}"?`;
        return names.length === 0 ? reason + "; there are none" : names.length <= maxListedNames ? `${reason}; there are ${names.join(", ")}` : reason;
    }
    property(p, value) {
        value = this.value(p.type, value);
        const v = plain(value);
        if (v !== unknown) {
            if (p.oneOf && !p.oneOf.includes(v)) this.fail("must be one of " + texts(p.oneOf));
            if (typeof v === "number" && p.min !== undefined && !(v >= p.min)) this.fail("must be at least " + p.min);
            if (typeof v === "number" && p.max !== undefined && !(v <= p.max)) this.fail("must be at most " + p.max);
        }
        return p.secret ? secretOf(value) : value;
    }
    value(t, v) {
        if (v === unknown) return v;
        if (v instanceof Secret) return new Secret(this.value(t, v.value));
        if (v instanceof Output) return new Output(this.value(t, v.value), v.secret, v.dependencies);
        switch (t.kind) {
        case "boolean": case "number": case "integer":
            if (this.coerce && typeof v === "string") v = coerced(t, v);
            break;
        case "string":
            if (v instanceof Reference) return v.id === null ? v.urn : v.id === "" ? unknown : v.id;
            break;
        case "array":
            if (t.element.kind === "any" || !Array.isArray(v)) break;
            if (v.every(x => typeof x === t.element.kind)) return v; // most lists are of texts
            return v.map((x, i) => this.at(i, () => this.value(t.element, x)));
        case "map":
            if (t.element.kind === "any" || !isObject(v)) break;
            return keysOf(v).reduce((out, k) => { out[k] = this.at(k, () => this.value(t.element, v[k])); return out; }, Object.create(null));
        case "object":
            if (isObject(v)) return this.object(t.object, v);
            break;
        case "union": {
            if (v instanceof Reference && t.oneOf.some(u => u.kind === "resource" || u.kind === "any")) return v;
            for (const alternative of t.oneOf) {
                const trial = new Checker(this.coerce, [...this.path], this.partial), checked = trial.value(alternative, v);
                if (trial.failures.length === 0) return checked;
            }
            const objects = t.oneOf.filter(u => u.kind === "object");
            if (isObject(v) && objects.length === 1) return this.value(objects[0], v);
        }
        }
        if (t.kind === "integer" && typeof v === "number" && !isInteger(v)) this.fail("expected integer, got " + numberText(v));
        else if (!fits(t, v)) this.fail(`expected ${typeText(t)}, got ${kindOf(v)}`);
        return v;
    }
}
const coerced = (t, s) => {
    if (t.kind === "boolean") return s === "true" ? true : s === "false" ? false : s;
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(s) && Number.isFinite(Number(s)) ? Number(s) : s;
};
const fits = (t, v) => {
    switch (t.kind) {
    case "any": return true;
    case "boolean": case "string": return typeof v === t.kind;
    case "number": case "integer": return typeof v === "number";
    case "array": return Array.isArray(v);
    case "map": case "object": return isObject(v);
    case "asset": return v instanceof Asset || v instanceof Archive;
    case "archive": return v instanceof Archive;
    case "resource": return v instanceof Reference;
    }
    return false;
};

/** Validates inputs and applies defaults; coerce lets text stand for a boolean or number, as in a configuration. */
export const check = (o, inputs, coerce = false) => {
    const c = new Checker(coerce), checked = c.object(o, inputs);
    return { inputs: checked, failures: c.failures };
};

class Differ {
    path = []; changes = []; paths = 0; replaces = false;
    constructor(ignore) { this.ignore = ignore; }
    at(segment, f) { this.path.push(segment); f(); this.path.pop(); }
    record(kind, replace, inputDiff) {
        if (this.ignore.some(pattern => containsPath(pattern, this.path))) return;
        if (replace) this.replaces = true;
        if (this.paths > maxPaths) return;
        const path = pathText(this.path);
        this.paths += path.length;
        this.changes.push({ path, kind: replace ? kind + "-replace" : kind, inputDiff });
    }
    property(p, old, oldInput, input, replace, inputDiff) {
        if (isNull(old) && hasDefault(p) && plain(input) === p.default) return;
        this.at(p.name, () => this.value(p.type, old, oldInput, input, replace || !!p.replace, inputDiff));
    }
    value(t, old, oldInput, input, replace, inputDiff) {
        old = plain(old); oldInput = plain(oldInput); input = plain(input);
        if (isNull(input)) { if (!isNull(oldInput)) this.record("delete", replace, true); return; }
        if (isNull(old)) { this.record("add", replace, true); return; }
        if (Array.isArray(input) && Array.isArray(old)) {
            for (let i = 0; i < Math.max(old.length, input.length); i++) this.at(i, () => {
                if (i >= input.length) this.record("delete", replace, inputDiff);
                else if (i >= old.length) this.record("add", replace, true);
                else this.value(t && t.element, old[i], Array.isArray(oldInput) ? oldInput[i] : undefined, input[i], replace, inputDiff);
            });
        } else if (isObject(input) && isObject(old)) {
            const oldInputs = isObject(oldInput) ? oldInput : {};
            for (const k of sorted(new Set([...Object.keys(input), ...Object.keys(oldInputs)]))) {
                const p = t && t.kind === "object" ? t.object.byName.get(k) : undefined;
                if (p && p.writeOnly || t && t.kind === "union" && t.oneOf.some(u => u.object && (u.object.byName.get(k) || {}).writeOnly)) continue;
                if (p) this.property(p, get(old, k), get(oldInputs, k), get(input, k), replace, inputDiff);
                else this.at(k, () => this.value(t && t.element, get(old, k), get(oldInputs, k), get(input, k), replace, inputDiff));
            }
        } else if (!equal(old, input)) this.record("update", replace, inputDiff);
    }
}

/** Compares checked inputs with the recorded state and the old inputs. */
export const diff = (inputs, outputs, r) => {
    const d = new Differ(r.ignoreChanges.map(text => {
        try { return parsePath(text); } catch (e) { throw new HuskError("invalid-argument", "ignoreChanges: " + e.message); }
    }));
    const out = { hasDetailedDiff: true, changes: "none", replaceKeys: [], changedKeys: [], stableKeys: [] };
    for (const p of inputs.properties) {
        const oldInput = get(r.oldInputs, p.name), input = get(r.news, p.name), repeated = outputs.byName.get(p.name);
        let old = oldInput, inputDiff = true;
        if (repeated && sameType(repeated.type, p.type) && !isNull(get(r.olds, p.name))) { old = r.olds[p.name]; inputDiff = false; }
        const before = d.changes.length;
        d.replaces = false;
        if (!p.writeOnly && !(equal(old, input) && (isNull(oldInput) || equal(oldInput, input)))) d.property(p, old, oldInput, input, false, inputDiff);
        if (d.changes.length === before) { if (has(r.news, p.name)) out.stableKeys.push(p.name); continue; }
        if (d.replaces) out.replaceKeys.push(p.name);
        out.changedKeys.push(p.name);
    }
    if (d.paths > maxPaths) throw new HuskError("invalid-argument", `there are too many changes: their paths take more than ${maxPaths} bytes`);
    for (const p of outputs.properties) if (p.stable && !inputs.byName.has(p.name)) out.stableKeys.push(p.name);
    if (out.replaceKeys.length) out.stableKeys = [];
    out.detailedDiff = d.changes;
    if (d.changes.length) out.changes = "some";
    return out;
};

/** Reports whether a replacement must delete first. */
export const deletesFirst = (r, request) => r.deleteBeforeReplace || r.identity.length > 0 && r.identity.every(name => equal(isNull(get(request.oldInputs, name)) ? get(request.olds, name) : get(request.oldInputs, name), get(request.news, name)));

/** Returns properties as an author sees them: without secrets, and without what is not known. */
export const load = (o, given) => {
    const out = {};
    for (const p of o.properties) {
        const v = loadValue(p.type, get(given, p.name));
        if (v !== undefined) set(out, p.name, v);
    }
    return out;
};
const loadValue = (t, v) => {
    if (t.kind === "any") return v === undefined || v === null ? undefined : v;
    v = plain(v);
    if (v === undefined || v === null || v === unknown) return undefined;
    if (Array.isArray(v) && t.element) return v.map(x => loadValue(t.element, x));
    if (isObject(v) && t.kind === "object") return load(t.object, v);
    if (isObject(v) && t.kind === "map") return Object.keys(v).reduce((out, k) => set(out, k, loadValue(t.element, v[k])), {});
    if (t.kind === "union") { const found = t.oneOf.find(u => new Checker(false).value(u, v) !== undefined && fitsWhole(u, v)); return found ? loadValue(found, v) : v; }
    return v;
};
/** Reports whether a value is one of a type. In a partial one, required properties may be missing. */
export const fitsWhole = (t, v, partial = false) => { const c = new Checker(false, [], partial); c.value(t, v); return c.failures.length === 0; };

/** Returns what an author's code answers as properties, with secrets where the schema has them; what is for messages. In partial ones, required properties may be missing. */
export const store = (o, given, what, partial = false) => {
    const wrong = (path, reason) => { const e = new HuskError("internal", `${what} does not fit the schema: ${reason}`); e.path = pathText(path); throw e; };
    const object = (o, given, path) => {
        const out = Object.create(null);
        for (const k of Object.keys(given)) if (given[k] !== undefined && given[k] !== null && !o.byName.has(k)) wrong([...path, k], "there is no such property" + (o.token ? " in " + o.token : ""));
        for (const p of o.properties) {
            const v = value(p.type, get(given, p.name), [...path, p.name]);
            if (v === undefined || v === null) { if (p.required && !partial) wrong([...path, p.name], "it is missing; expected " + typeText(p.type)); continue; }
            out[p.name] = p.secret ? secretOf(v) : v;
        }
        return out;
    };
    const value = (t, v, path) => {
        if (v === undefined || v === null) return v;
        if (typeof v === "string") v = v.toWellFormed();
        if (v instanceof Secret) return secretOf(value(t, v.value, path));
        if (v instanceof Output && t.kind !== "any") return new Output(value(t, v.value, path), v.secret, v.dependencies);
        if (v instanceof Output || v === unknown) return v;
        switch (t.kind) {
        case "array": if (Array.isArray(v)) return v.map((x, i) => orNull(value(t.element, x, [...path, i]))); break;
        case "map": if (plainObject(v)) return Object.keys(v).reduce((out, k) => { const x = value(t.element, v[k], [...path, k]); if (x !== undefined) out[k] = x; return out; }, Object.create(null)); break;
        case "object": if (plainObject(v)) return object(t.object, v, path); break;
        case "any": return anyValue(v, path);
        case "union": return value(t.oneOf.find(u => fitsWhole(u, v)) || partial && t.oneOf.find(u => fitsWhole(u, v, true)) || wrong(path, `expected ${typeText(t)}, got ${kindOf(v)}`), v, path);
        case "integer": if (typeof v === "number" && !isInteger(v)) wrong(path, `expected integer, got ${v}`);
        }
        if (!fits(t, v) || isObject(v)) wrong(path, `expected ${typeText(t)}, got ${isObject(v) && !plainObject(v) ? "a " + v.constructor.name : kindOf(v)}`);
        return v;
    };
    const anyValue = (v, path) => {
        if (v === undefined || v === null || typeof v === "boolean" || typeof v === "number") return v;
        if (typeof v === "string") return v.toWellFormed();
        if (Array.isArray(v)) return v.map((x, i) => orNull(anyValue(x, [...path, i])));
        if (typeof v === "object" && (v instanceof Unknown || untagged(v))) return v;
        if (!plainObject(v)) wrong(path, `expected any value, got ${typeof v === "object" ? "a " + v.constructor.name : typeof v}`);
        return Object.keys(v).reduce((out, k) => { const x = anyValue(v[k], [...path, k]); if (x !== undefined) out[k] = x; return out; }, Object.create(null));
    };
    if (!plainObject(given)) wrong([], `expected an object, got ${kindOf(given)}`);
    return object(o, given, []);
};
const orNull = v => v === undefined ? null : v;
const plainObject = v => { if (!isObject(v)) return false; const p = Object.getPrototypeOf(v); return p === null || p === Object.prototype; };

// The document: Pulumi's package schema.

const typeJSON = t => {
    switch (t.kind) {
    case "array": return { type: "array", items: typeJSON(t.element) };
    case "map": return { type: "object", additionalProperties: typeJSON(t.element) };
    case "object": return { $ref: "#/types/" + t.object.token };
    case "asset": return { $ref: "pulumi.json#/Asset" };
    case "archive": return { $ref: "pulumi.json#/Archive" };
    case "resource": return { $ref: !t.token ? "pulumi.json#/Any" : t.token.includes("#") ? t.token : "#/resources/" + t.token };
    case "union": return { oneOf: t.oneOf.map(typeJSON) };
    case "any": return { $ref: "pulumi.json#/Any" };
    }
    return { type: t.kind };
};
// extension returns what Husk has beside Pulumi's schema, without what is false or absent.
const extension = members => { const husk = present(members); return Object.keys(husk).length ? { husk } : undefined; };
const present = o => { for (const k of Object.keys(o)) if (o[k] === undefined || o[k] === false || o[k] === "" || Array.isArray(o[k]) && !o[k].length) delete o[k]; return o; };
const propertyJSON = p => ({
    ...typeJSON(p.type), ...present({ description: p.doc, deprecationMessage: p.deprecated }), ...(hasDefault(p) ? { default: p.default } : {}),
    ...present({
        secret: !!p.secret, willReplaceOnChanges: !!p.replace,
        language: extension({ computed: !!p.computed, stable: !!p.stable, writeOnly: !!p.writeOnly, minimum: p.min, maximum: p.max, oneOf: p.oneOf }),
    }),
});
const propertiesJSON = o => o.properties.length ? Object.fromEntries(o.properties.map(p => [p.name, propertyJSON(p)])) : undefined;
const required = o => o.properties.filter(p => p.required).map(p => p.name);
const objectJSON = o => present({ description: o.doc, type: "object", properties: propertiesJSON(o), required: required(o) });

const aboutJSON = (r, outputs) => present({
    description: r.doc, deprecationMessage: r.deprecated, properties: propertiesJSON(outputs), required: required(outputs),
    inputProperties: propertiesJSON(r.inputs), requiredInputs: required(r.inputs), aliases: r.aliases.map(type => ({ type })),
});

/** Returns the package schema of a provider. */
export const document = p => JSON.stringify(present({
    name: p.name, displayName: p.displayName, version: p.version, description: p.description, keywords: p.keywords, homepage: p.homepage,
    license: p.license, repository: p.repository, publisher: p.publisher,
    config: present({ variables: propertiesJSON(p.config), defaults: required(p.config) }),
    types: p.types.length ? Object.fromEntries(p.types.map(o => [o.token, objectJSON(o)])) : undefined,
    provider: present({
        description: p.config.doc, inputProperties: propertiesJSON(p.config), requiredInputs: required(p.config),
        language: extension({ schemaCheck: true, schemaDiff: true, schemaConfigure: !p.configure, deferred: !p.configure || !!p.deferred }),
    }),
    resources: Object.fromEntries([...p.resources.map(r => [r.token, present({
        ...aboutJSON(r, r.state), language: extension({ deleteBeforeReplace: !!r.deleteBeforeReplace, identity: r.identity, schemaCheck: r.schemaCheck, schemaDiff: r.schemaDiff }),
    })]), ...p.components.map(c => [c.token, { ...aboutJSON(c, c.outputs), isComponent: true }])].sort(([a], [b]) => a < b ? -1 : 1)),
    functions: Object.fromEntries(p.functions.map(f => [f.token, present({
        description: f.doc, deprecationMessage: f.deprecated, inputs: objectJSON(f.inputs), outputs: objectJSON(f.result),
    })])),
}));
