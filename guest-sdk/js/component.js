// Components and programs: their resources are declared to the monitor, which makes them. guest-sdk/deploy does the same for Go.
import { HuskError, refusal } from "./errors.js";
import { fitsWhole, nearest } from "./schema.js";
import { Child, dependencies, dependenciesOf, get, given, isObject, keysOf, kindOf, lowered, Output, outputOf, plain, set, thenable, unknown } from "./values.js";

// Options: how a value of each is checked and what the contract calls it. Children may be promises.
const is = (kind, test) => (v, wrong) => test(v) ? v : wrong(`expected ${kind}, got ${kindOf(v)}`);
const text = is("string", v => typeof v === "string"), flag = is("bool", v => typeof v === "boolean");
const listOf = of => (v, wrong) => Array.isArray(v) ? v.map((x, i) => of(x, wrong, i)) : wrong(`expected array, got ${kindOf(v)}`);
const child = (v, wrong) => v instanceof Child ? Child.madeOf(v) : wrong(`expected what ctx.resource() returns, got ${kindOf(v)}`);
const children = (v, wrong) => listOf(child)(Array.isArray(v) ? v : [v], wrong);
const urn = made => made.urn, reference = made => `${made.urn}::${made.id}`, packageOf = made => made.type.slice(made.type.lastIndexOf(":") + 1);
const members = (what, names, of) => (v, wrong) => {
    if (!isObject(v)) wrong(`expected object, got ${kindOf(v)}`);
    return Object.fromEntries(Object.keys(v).map(k => [k, names.includes(k) ? of(v[k], reason => wrong(`${k}: ${reason}`), k) : wrong(`${what} has no ${k}, but ${names.join(", ")}`)]));
};
const seconds = members("it", ["create", "update", "delete", "read"], is("number of seconds", v => typeof v === "number" && v >= 0));
const spec = members("an alias", ["name", "type", "stack", "project", "parentUrn", "noParent"], (v, wrong, k) => (k === "noParent" ? flag : text)(v, wrong));
const alias = (v, wrong) => typeof v === "string" ? { case: "urn", value: v } : { case: "spec", value: spec(v, wrong) };
const hook = members("a hook", ["kind", "names"], (v, wrong, k) => (k === "kind" ? text : listOf(text))(v, wrong));
const resourceOptions = {
    parent: ["", child], provider: ["provider", (v, wrong) => reference(child(v, wrong))], dependsOn: ["dependencies", (v, wrong) => children(v, wrong).map(urn)],
    providers: ["providers", (v, wrong) => children(v, wrong).map(made => ({ package: packageOf(made), reference: reference(made) }))],
    deletedWith: ["deletedWith", (v, wrong) => urn(child(v, wrong))], replaceWith: ["replaceWith", (v, wrong) => children(v, wrong).map(urn)],
    protect: ["protect", flag], retainOnDelete: ["retainOnDelete", flag], deleteBeforeReplace: ["deleteBeforeReplace", flag],
    ignoreChanges: ["ignoreChanges", listOf(text)], replaceOnChanges: ["replaceOnChanges", listOf(text)], hideDiffs: ["hideDiffs", listOf(text)],
    additionalSecretOutputs: ["additionalSecretOutputs", listOf(text)], aliases: ["aliases", listOf(alias)], customTimeouts: ["customTimeouts", seconds],
    import: ["importId", text], version: ["version", text], package: ["packageRef", text], hooks: ["hooks", listOf(hook)],
    replacementTrigger: ["replacementTrigger", lowered],
};
const callOptions = { ...Object.fromEntries(["parent", "provider", "version", "package"].map(k => [k, resourceOptions[k]])), dependsOn: ["dependsOn", resourceOptions.dependsOn[1]] };

// settled waits for the children among options, and for the parts of a trigger.
const settled = (known, options) => {
    const out = {}, waiting = [];
    for (const k of Object.keys(options)) {
        if (!Object.hasOwn(known, k)) {
            const near = nearest(k, Object.keys(known));
            throw new HuskError("invalid-argument", `there is no option ${k}` + (near ? `; did you mean ${near}?` : `, but ${Object.keys(known).join(", ")}`));
        }
        const v = options[k];
        if (v === undefined || v === null) continue;
        const found = k === "replacementTrigger" ? given(v) : Array.isArray(v) ? v.some(thenable) ? Promise.all(v) : v : v;
        if (thenable(found)) waiting.push(found.then(x => { out[k] = x; })); else out[k] = found;
    }
    return waiting.length ? Promise.all(waiting).then(() => out) : out;
};
const optionsOf = (known, options, parent) => {
    const out = {};
    let under = parent;
    for (const k of Object.keys(options)) {
        const [name, of] = known[k], v = of(options[k], reason => { throw new HuskError("invalid-argument", `the option ${k}: ${reason}`); });
        if (name) out[name] = v; else under = v.urn;
    }
    return [out, under];
};

// explained returns an error that says what failed. The state in a child's failure is recorded with the child, and the path is one of its properties.
const explained = (what, e) => {
    const kind = typeof e?.kind === "string" && e.kind !== "init-failed" ? e.kind : "internal", message = e?.message ?? String(e);
    const out = new HuskError(kind, `${what}: ${e?.path ? e.path + ": " : ""}${message}`);
    return Object.assign(out, { origin: e?.origin || "guest", cause: e?.kind ? undefined : e });
};

const tokenOf = type => typeof type === "string" ? type : type?.token;

/** What a component or a program declares its resources with, for one call. */
export class Deployment {
    #running = new Map(); #declared = []; #stop;
    #failure; // { thrown }, as the author's code may throw anything, even undefined
    stopped = new Promise((_, reject) => { this.#stop = reject; });
    /** parent is the component, or the stack. A program goes on without a resource that failed or was left out, if the deployment does. */
    constructor(monitor, run, parent, kind = "component") {
        this.monitor = monitor; this.run = run; this.parent = parent; this.kind = kind;
        this.stopped.catch(() => {});
    }
    /** Reports whether an operation runs, which next waits for. */
    get waits() { return this.#running.size > 0; }
    /** Waits in the host for one operation. */
    next() {
        let done;
        try { done = this.monitor.wait(); } catch (e) {
            const left = [...this.#running.values()];
            this.#running.clear();
            for (const o of left) o.reject(e);
            return;
        }
        const o = this.#running.get(done.handle);
        this.#running.delete(done.handle);
        if (!o) this.fail(new HuskError("internal", "the monitor answers an operation that was not started"));
        else if (done.outcome.case === "failed") o.reject(done.outcome.value);
        else o.resolve(done.outcome.value);
    }
    /** Ends the component or program with an error that nothing catches. */
    fail(e) { this.#failed(e); this.#stop(e); }
    // The first failure counts, but not that of a child that was cancelled because of another.
    #failed(e) { if (!this.#failure || this.#failure.thrown?.kind === "cancelled" && e?.kind !== "cancelled") this.#failure = { thrown: e }; }
    #check() { if (this.#failure) throw this.#failure.thrown; }

    /** Runs the author's code and waits for all that it declares, also after a failure, so that it is recorded. */
    async do(declare) {
        let answer;
        try { answer = await Promise.race([declare(this.context()), this.stopped]); } catch (e) { this.#failure ||= { thrown: e }; }
        const made = await this.#finish(answer);
        this.#check();
        this.#failed(new HuskError("internal", `the ${this.kind} has ended, and declares no more resources`));
        return made;
    }
    async #finish(answer) {
        await this.#ended();
        if (this.#failure) return;
        try {
            const made = await given(answer);
            await this.#ended();
            return made;
        } catch (e) { this.#failed(e); }
    }
    // ended waits for all that is declared, also while it waits, and until nothing runs: the runtime has told of failures that nobody handles then.
    async #ended() {
        for (let n = -1; n !== this.#declared.length;) {
            n = this.#declared.length;
            await Promise.allSettled(this.#declared);
            await new Promise(turn => setTimeout(turn));
        }
    }

    // begin starts an operation as soon as its values are there, at once if they are.
    #begin(what, fatal, values, request, done) {
        const start = found => {
            this.#check();
            const operation = request(...found);
            return new Promise((resolve, reject) => { this.#running.set(this.monitor.start(operation), { resolve, reject }); }).then(done);
        };
        const begun = async () => {
            try {
                this.#check();
                const found = values();
                return await start(found.some(thenable) ? await Promise.all(found) : found);
            } catch (e) {
                if (this.#failure && e === this.#failure.thrown) throw e;
                const told = explained(what, e);
                if (fatal) this.#failed(told);
                throw told;
            }
        };
        const promise = begun();
        promise.catch(() => {}); // a child's failure is the component's, whether the author's code awaits it or not
        this.#declared.push(promise);
        return promise;
    }
    #declare(custom, remote, type, name, inputs = {}, options = {}) {
        const token = tokenOf(type);
        return this.#begin(`${token} ${name}`, true, () => [objectOf(inputs), settled(resourceOptions, options)], (inputs, options) => {
            const [o, parent] = optionsOf(resourceOptions, options, this.parent);
            for (const [what, v] of [["type", token], ["name", name]]) if (typeof v !== "string" || !v) throw new HuskError("invalid-argument", `a resource needs a ${what}, which is a string`);
            return { case: "registerResource", value: { type: token, name, parent, custom, remote, inputs, propertyDependencies: dependencies(inputs), options: o } };
        }, answer => {
            if (this.kind === "component") {
                if (answer.result === "failed") throw new HuskError("internal", "it failed");
                if (answer.result === "skipped") throw new HuskError("internal", "it was left out, because something that it depends on failed");
            }
            return new Child({ ...answer, type: token, custom, missing: answer.result !== "success" }, this.run.dryRun);
        });
    }
    #read(type, name, id, inputs = {}, options = {}) {
        const token = tokenOf(type);
        let found = "";
        return this.#begin(`${token} ${name}`, true, () => [objectOf(inputs), settled(resourceOptions, options), given(id)], (properties, options, given) => {
            const [o, parent] = optionsOf(resourceOptions, options, this.parent), known = plain(given);
            if (typeof known === "string") found = known;
            else if (known !== unknown) throw new HuskError("invalid-argument", `an ID is a string, and not ${kindOf(given)}`);
            return { case: "readResource", value: { id: found, type: token, name, parent, properties, options: { ...o, dependencies: [...(o.dependencies || []), ...dependenciesOf(given)] } } };
        }, answer => new Child({ ...answer, id: found, type: token, custom: true }, this.run.dryRun));
    }
    #ask(kind, token, self, args, options, answered) {
        let from;
        return this.#begin(token, false, () => [objectOf(args), settled(callOptions, options), given(self)], (args, options, self) => {
            const [o, parent] = optionsOf(callOptions, options, this.parent);
            if (kind === "call") args.__self__ = self;
            from = args;
            return { case: kind, value: { token, args, ...(kind === "call" ? { argDependencies: dependencies(args) } : {}), options: { ...o, parent } } };
        }, answer => {
            if (answer.failures.length) throw refusal(answer.failures);
            return outputOf(answered(answer)).marked(from);
        });
    }
    /** What the author's code has. */
    context() {
        return {
            preview: this.run.dryRun, run: this.run,
            resource: (...a) => this.#declare(true, false, ...a), component: (...a) => this.#declare(false, true, ...a), group: (...a) => this.#declare(false, false, ...a),
            read: (...a) => this.#read(...a),
            invoke: (token, args = {}, options = {}) => this.#ask("invoke", token, undefined, args, options, r => r.unknown ? unknown : r.result),
            call: (of, token, args = {}, options = {}) => this.#ask("call", token, of, args, options, r => {
                for (const d of r.resultDependencies) if (get(r.result, d.key) !== undefined) set(r.result, d.key, outputOf(r.result[d.key], false, d.urns));
                return r.result;
            }),
            package: request => this.monitor.registerPackage(request).packageRef,
        };
    }
}
const objectOf = v => {
    const object = found => isObject(found) ? found : wrongInputs(found), found = given(v);
    return thenable(found) ? found.then(object) : object(found);
};
const wrongInputs = v => { throw new HuskError("invalid-argument", `inputs are an object, and not ${kindOf(v)}`); };

/** Returns inputs as the author of a component sees them: those of output() as outputs, with the dependencies around them. */
export const loadComponent = (o, m, around = []) => o.properties.reduce((out, p) => {
    const v = get(m, p.name);
    return v === undefined || v === null ? out : set(out, p.name, loadEventual(p.type, v, around));
}, {});
const loadEventual = (t, v, around) => {
    if (t.output) return outputOf(v, false, around);
    if (t.kind === "any") return v;
    if (v instanceof Output) around = [...around, ...v.dependencies];
    v = plain(v);
    if (v === null || v === unknown) return undefined;
    if (Array.isArray(v) && t.element) return v.map(x => loadEventual(t.element, x, around));
    if (isObject(v) && t.kind === "object") return loadComponent(t.object, v, around);
    if (isObject(v) && t.kind === "map") return Object.keys(v).reduce((out, k) => set(out, k, loadEventual(t.element, v[k], around)), {});
    if (t.kind === "union") { const found = t.oneOf.find(u => fitsWhole(u, v)); return found ? loadEventual(found, v, around) : v; }
    return v;
};

/** Returns the path of a part that is secret, or unknown, where the author's code has a plain value; undefined if there is none. */
export const opaque = (o, m, is, contains) => {
    const first = (list, f) => { for (const x of list) { const found = f(x); if (found) return found; } };
    const within = (t, v, path) => {
        if (t.output || t.kind === "any") return;
        if (is(v)) return path;
        const inner = plain(v), found = (of, k, x) => within(of, x, [...path, k]);
        if (t.kind === "object" && isObject(inner)) return first(t.object.properties, p => found(p.type, p.name, get(inner, p.name)));
        if (t.kind === "map" && isObject(inner)) return first(keysOf(inner), k => found(t.element, k, inner[k]));
        if (t.kind === "array" && Array.isArray(inner)) return first([...inner.keys()], i => found(t.element, i, inner[i]));
        return contains(v) ? path : undefined;
    };
    return first(o.properties, p => within(p.type, get(m, p.name), [p.name]));
};
