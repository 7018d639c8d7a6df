/**
 * The SDK for providers and programs of Husk in JavaScript and TypeScript.
 *
 * A resource is described by fields, from which the schema, the checks and defaults of inputs, the diff, and the TypeScript
 * types of inputs and state follow:
 *
 *     const inputs = { name: string({ replace: true }), mark: string({ default: "!" }) };
 *     const state = { ...inputs, text: string() };
 *
 *     const greeting = resource("greet:index:Greeting", { inputs, state }, {
 *         create: ({ name, inputs }) => ({ id: name, state: { ...inputs, text: `Hello, ${inputs.name}${inputs.mark}` } }),
 *     });
 *     export default provider({ name: "greet", version: "1.0.0", resources: [greeting] });
 *
 * The default export of the main file is the provider. A provider runs in several instances with memory of their own: a variable
 * is seen by its own instance only. What runs when the files are loaded runs once, before there is any configuration.
 *
 * A program is what program() returns, and its package.json has "husk": {"world": "program"}.
 */

type Maybe<T> = T | Promise<T>;

/** What is said of a field beside its type. */
export interface FieldOptions<T> {
    /** The value if the program gives none. */
    default?: T;
    /** The only values. */
    oneOf?: readonly T[];
    /** Bounds of a number, both inclusive. */
    min?: number;
    max?: number;
    /** A change replaces the resource. */
    replace?: boolean;
    /** An update never changes the output. */
    stable?: boolean;
    /** The name of the resource, at most so many characters long: made up if the program gives none. */
    autoname?: true | number;
    doc?: string;
    deprecated?: string;
}

declare const of: unique symbol;
declare const may: unique symbol;
declare const gives: unique symbol;
/** A field with values of the type T; one that may be missing has O, one that programs may leave out G. */
export interface Field<T, O extends boolean = boolean, G extends boolean = boolean> { readonly [of]?: T; readonly [may]?: O; readonly [gives]?: G }
export type Fields = Record<string, Field<any>>;
type Value<F> = F extends Field<infer T, any> ? T : never;
type Missing<F> = F extends Field<any, infer O> ? O : never;
type LeftOut<F> = F extends Field<any, any, infer G> ? G : never;
type Flat<T> = { [K in keyof T]: T[K] };
/** The type of inputs, or of a state, that fields describe. */
export type Infer<F extends Fields> = Flat<
    { [K in keyof F as Missing<F[K]> extends true ? never : K]: Value<F[K]> } & { [K in keyof F as Missing<F[K]> extends true ? K : never]?: Value<F[K]> | undefined }>;
export type Inputs<F extends Fields> = Infer<F>;
export type State<F extends Fields> = Infer<F>;
/** The type of inputs as a program gives them: without those that have a default. */
export type Asked<F extends Fields> = Flat<
    { [K in keyof F as LeftOut<F[K]> extends true ? never : K]: Value<F[K]> } & { [K in keyof F as LeftOut<F[K]> extends true ? K : never]?: Value<F[K]> | undefined }>;
type Made<P> = P extends { default: {} } | { autoname: true | number } ? true : false;

export function string<P extends FieldOptions<string>>(options?: P): Field<string, false, Made<P>>;
export function boolean<P extends FieldOptions<boolean>>(options?: P): Field<boolean, false, Made<P>>;
export function number<P extends FieldOptions<number>>(options?: P): Field<number, false, Made<P>>;
export function integer<P extends FieldOptions<number>>(options?: P): Field<number, false, Made<P>>;
/** A value of any kind, as it is: also a Secret, or unknown. */
export function any(options?: FieldOptions<unknown>): Field<any, false, false>;
export function asset(options?: FieldOptions<Asset>): Field<Asset | Archive, false, false>;
export function archive(options?: FieldOptions<Archive>): Field<Archive, false, false>;
/** A resource of a type, by its token. */
export function reference(token?: string, options?: FieldOptions<Reference>): Field<Reference, false, false>;
export function list<T>(element: Field<T, any>, options?: FieldOptions<T[]>): Field<T[], false, false>;
export function map<T>(element: Field<T, any>, options?: FieldOptions<Record<string, T>>): Field<Record<string, T>, false, false>;
export function union<const F extends readonly Field<any>[]>(fields: F, options?: FieldOptions<unknown>): Field<Value<F[number]>, false, false>;
/** An object with a token, such as "greet:index/owner:Owner". */
export function object<F extends Fields>(token: string, fields: F, options?: FieldOptions<unknown>): Field<Infer<F>, false, false>;
/** The program may leave the field out. */
export function optional<T>(field: Field<T>): Field<T, true, true>;
/** The program may leave the input out, and the provider may choose a value. */
export function computed<T>(field: Field<T>): Field<T, true, true>;
/** The value is always sensitive. Inputs arrive as plain values. */
export function secret<T, O extends boolean, G extends boolean>(field: Field<T, O, G>): Field<T, O, G>;
/** The input is secret, and never recorded: the state must not have it. */
export function writeOnly<T, O extends boolean, G extends boolean>(field: Field<T, O, G>): Field<T, O, G>;

/** An input of a component that may be unknown or secret, and comes from other resources. */
export function output<T, O extends boolean, G extends boolean>(field: Field<T, O, G>): Field<Output<T>, O, G>;

/** Reads JSON, such as the answer of a service, as a value of a field. Properties that it does not name are left out; anything that does not fit is an error. */
export function parse<T>(field: Field<T, any>, text: string): T;

/** What every request about a resource has. */
export interface Request {
    urn: string;
    /** The name of the resource in the program. */
    name: string;
}
interface Timed {
    /** The user's timeout in seconds, 0 for none; signal is aborted then. fetch takes it. */
    timeout: number;
    signal: AbortSignal;
}
export interface CreateRequest<I extends Fields> extends Request, Timed { inputs: Infer<I> }
export interface ReadRequest<I extends Fields, S extends Fields> extends Request, Timed {
    id: string;
    /** The recorded ones; missing in an import. */
    inputs?: Infer<I>;
    state?: Infer<S>;
}
export interface UpdateRequest<I extends Fields, S extends Fields> extends Request, Timed {
    id: string;
    inputs: Infer<I>;
    /** Those that the state was made from. */
    oldInputs: Infer<I>;
    state: Infer<S>;
    /** Paths of properties that keep their old values in inputs. */
    ignoreChanges: string[];
}
export interface DeleteRequest<S extends Fields> extends Request, Timed { id: string; state: Infer<S> }
export interface CheckFailure { path: string; reason: string }
export interface CheckRequest<I extends Fields> extends Request {
    /** The inputs, with the schema's defaults; what check changes in them becomes the resource's. What is not known is missing. */
    inputs: Partial<Infer<I>>;
    /** The inputs as last checked. */
    olds?: Partial<Infer<I>>;
    /** 32 bytes for random defaults, which a saved plan repeats. */
    randomSeed: Uint8Array;
    autonaming?: { proposedName: string; mode: "propose" | "enforce" | "disable" };
    /** Reports whether the input of that name is known as a whole. */
    known(name: keyof I & string): boolean;
}
export interface Change { path: string; kind: "add" | "add-replace" | "delete" | "delete-replace" | "update" | "update-replace"; inputDiff?: boolean }
export interface DiffRequest<I extends Fields, S extends Fields> extends Request {
    id: string;
    /** What is not known is missing. */
    inputs: Partial<Infer<I>>;
    oldInputs: Partial<Infer<I>>;
    state: Partial<Infer<S>>;
    known(name: keyof I & string): boolean;
    /** What the schema finds. Answer it, with some removed or turned into replacements. */
    changes: Change[];
    deleteBeforeReplace: boolean;
}
export interface PreviewRequest<I extends Fields, S extends Fields> extends Request { id: string; inputs: Infer<I>; state?: Infer<S> }
export interface ExistsRequest extends Request, Timed { id: string }
export interface ListRequest { query: Record<string, unknown>; limit: number; pageSize: number; continuationToken: string }
export interface ListResponse { resources: { id: string; name?: string }[]; continuationToken?: string }

/** What implements a resource: an object, or an instance of a class. Only create is needed. */
export interface Resource<I extends Fields, S extends Fields> {
    /** Makes the object. An error says that nothing was made, but for InitFailed with an id. */
    create(request: CreateRequest<I>): Maybe<{ id: string; state: Infer<S> }>;
    /** Reads the object, and throws NotFound if it does not exist. Without it, nothing can be imported. */
    read?(request: ReadRequest<I, S>): Maybe<{ id?: string; inputs: Infer<I>; state: Infer<S> }>;
    /** Changes the object. Without it, every change replaces the resource. */
    update?(request: UpdateRequest<I, S>): Maybe<{ state: Infer<S> }>;
    /** Removes the object. One that is gone is no error: throw NotFound. */
    delete?(request: DeleteRequest<S>): Maybe<void>;
    /** Checks what the schema cannot express. */
    check?(request: CheckRequest<I>): Maybe<CheckFailure[] | void>;
    diff?(request: DiffRequest<I, S>): Maybe<Change[] | { changes: Change[]; deleteBeforeReplace?: boolean }>;
    /** Foretells outputs, and changes nothing. Outputs with the name of an input have its value without it. */
    preview?(request: PreviewRequest<I, S>): Maybe<Partial<Infer<S>>>;
    list?(request: ListRequest): Maybe<ListResponse>;
    /** Tells whether the object exists with less than a read. */
    exists?(request: ExistsRequest): Maybe<boolean>;
}

declare const declared: unique symbol;
export interface DeclaredResource<I = any, S = any> { readonly [declared]: "resource"; readonly [of]?: [I, S] }
export interface DeclaredComponent<I = any, S = any> { readonly [declared]: "component"; readonly [of]?: [I, S] }
export interface DeclaredFunction { readonly [declared]: "function" }

/** Declares a type of resource, whose token has the form <package>:<module>:<name>. */
export function resource<I extends Fields, S extends Fields>(token: string, about: {
    inputs?: I; state?: S; doc?: string; deprecated?: string;
    /** Earlier tokens, under which states may hold it. */
    aliases?: string[];
    /** Two cannot exist at the same time, for example because the object has the resource's name. */
    deleteBeforeReplace?: boolean;
    /** The inputs that the object is known by: a replacement that leaves them as they are deletes first. */
    identity?: (keyof I & string)[];
}, implementation: Resource<I, S>): DeclaredResource<Asked<I>, Infer<S>>;

// Components

/** A value of a component or program, which may be unknown in a preview, or secret, and knows the resources that it comes from. */
export class Output<T = any> {
    private constructor();
    /** Reports whether all of the value is known. */
    readonly known: boolean;
    readonly secret: boolean;
    /** The URNs of the resources that the value comes from. */
    readonly dependencies: string[];
    /** The value as it is: perhaps unknown, with secrets in its parts. */
    readonly value: T;
    /** Returns what f makes of the value: unknown, without a call of f, if that is unknown, and secret if a part of it is. Await it if f is async. */
    apply<U>(f: (value: T) => Promise<Given<U>>): Output<U> | Promise<Output<U>>;
    apply<U>(f: (value: T) => Given<U>): Output<U>;
    /** Returns the part at a path, such as subjects[0].name. */
    get<K extends keyof T & string>(path: K): Output<T[K]>;
    get(path: string): Output;
}
type Known<T> = T extends Output<infer U> ? Known<U> : T;
/** What may stand for a value in inputs of children, and in outputs: the value, an output, or a promise, also in its parts. */
export type Given<T> = T | Output<T> | (T extends Output<infer U> ? Given<U> : never) | (T extends Reference ? Child : never) | Promise<T> | Promise<Output<T>>
    | (T extends readonly (infer E)[] ? readonly Given<E>[] : T extends object ? { [K in keyof T]: Given<T[K]> } : never);
/** Returns one output of a list or object with outputs in it. */
export function all<const T>(values: T): Output<{ -readonly [K in keyof T]: Known<T[K]> }>;
/** Returns one text of several parts. */
export function concat(...parts: Given<string | number | boolean | null>[]): Output<string>;

/** A resource that a component or program declared or read. As an input of another, it is a reference. */
export class Child<S = any> {
    private constructor();
    readonly urn: Output<string>;
    /** Null for a component. */
    readonly id: Output<string>;
    readonly outputs: Output<S>;
    /** Returns the output at a path, such as subjects[0].name. In a preview, one that is not there yet is unknown. */
    output<K extends keyof S & string>(path: K): Output<Known<S[K]>>;
    output(path: string): Output;
}

type Soon<T> = T | Promise<T>;
export interface CallOptions {
    /** The child under which it lies; the component itself without it. */
    parent?: Soon<Child>;
    /** A child of a type pulumi:providers:<package>. */
    provider?: Soon<Child>;
    dependsOn?: Soon<Child> | Soon<Child>[];
    /** The version of the package. */
    version?: string;
    /** What package() returned. */
    package?: string;
}
/** A kind and the names under which hooks were registered. */
export interface Hook { kind: "before-create" | "after-create" | "before-update" | "after-update" | "before-delete" | "after-delete" | "on-error"; names: string[] }
/** What is said of a child beside its inputs. What is left out, it inherits from its parent. */
export interface ResourceOptions extends CallOptions {
    /** The providers that the children of a component use, one for each package. */
    providers?: Soon<Child> | Soon<Child>[];
    deletedWith?: Soon<Child>;
    replaceWith?: Soon<Child> | Soon<Child>[];
    protect?: boolean;
    retainOnDelete?: boolean;
    deleteBeforeReplace?: boolean;
    /** Paths of properties. */
    ignoreChanges?: string[];
    replaceOnChanges?: string[];
    hideDiffs?: string[];
    additionalSecretOutputs?: string[];
    /** Earlier names: a URN, or the parts that differ. */
    aliases?: (string | { name?: string; type?: string; stack?: string; project?: string; parentUrn?: string; noParent?: boolean })[];
    /** In seconds. */
    customTimeouts?: { create?: number; update?: number; delete?: number; read?: number };
    /** The ID of an existing object that is adopted instead of made. */
    import?: string;
    /** A change of the value replaces the resource. */
    replacementTrigger?: unknown;
    hooks?: Hook[];
}

/** The words of a command line, or the value of an earlier answer. */
type Parameters = { case: "args"; value: string[] } | { case: "value"; value: { name: string; version: string; value: Uint8Array } };
/**
 * Declares the children of a component. A declaration begins at once, or when the promises in its inputs and options have values, and the
 * promise that it returns ends when the child is made: independent children are made in parallel. The component ends when all are made, also
 * those that nobody awaits. After a failure no more are begun, and the component fails with the first.
 */
export interface Context {
    /** Nothing is made: outputs of new children are unknown. */
    readonly preview: boolean;
    readonly run: { project: string; stack: string; organization: string; config: { key: string; value: string; secret: boolean }[]; dryRun: boolean; parallel: number };
    /** Declares a resource: one of this provider, whose inputs are checked by TypeScript, or one of any package by its token. */
    resource<I, S>(type: DeclaredResource<I, S>, name: string, inputs: Given<I>, options?: ResourceOptions): Promise<Child<S>>;
    resource<S = any>(token: string, name: string, inputs?: Record<string, unknown>, options?: ResourceOptions): Promise<Child<S>>;
    /** Declares a component that a provider makes. */
    component<I, S>(type: DeclaredComponent<I, S>, name: string, inputs: Given<I>, options?: ResourceOptions): Promise<Child<S>>;
    component<S = any>(token: string, name: string, inputs?: Record<string, unknown>, options?: ResourceOptions): Promise<Child<S>>;
    /** Declares a component without a provider, to be the parent of others. */
    group(token: string, name: string, inputs?: Record<string, unknown>, options?: ResourceOptions): Promise<Child>;
    /** Reads a resource that exists and is not managed here. Inputs help to find it if its ID is not enough. */
    read<I, S>(type: DeclaredResource<I, S>, name: string, id: Given<string>, inputs?: Partial<Given<I>>, options?: ResourceOptions): Promise<Child<S>>;
    read<S = any>(token: string, name: string, id: Given<string>, inputs?: Record<string, unknown>, options?: ResourceOptions): Promise<Child<S>>;
    /** Calls a function of a package. Its failure is thrown where the result is awaited, and fails a child or output that it is passed to. */
    invoke<R = any>(token: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Output<R>>;
    /** Calls a method of a child that is a component, such as site:index:Site/check. */
    call<R = any>(of: Soon<Child>, token: string, args?: Record<string, unknown>, options?: CallOptions): Promise<Output<R>>;
    /** Makes a parameterized package known. The result is for the option package. */
    package(request: { name: string; version: string; parameters?: Parameters; extension?: Parameters }): string;
}
/** Declares the resources of a stack, under which they lie without another parent. */
export interface Stack extends Context {
    /** Returns the value of a key of the stack's configuration: a text as it is, anything else as JSON. A key without a namespace is one of the project. A secret is in plain text here. */
    config(key: string): string | undefined;
    /** Returns the value as a secret, null if the key has none. */
    secret(key: string): Output<string>;
}
declare const programmed: unique symbol;
export interface Program { readonly [programmed]: true }
/**
 * Completes a program, the default export of the main file: declare runs anew for each preview and update, and returns the outputs of the
 * stack. If it throws, the deployment fails before anything is deleted. Without a resource that failed, a deployment may go on: its outputs are unknown.
 */
export function program(declare: (stack: Stack) => Maybe<Record<string, unknown> | void>): Program;

export interface ConstructRequest<I extends Fields> extends Request { inputs: Infer<I> }

/**
 * Declares a type of component, which consists of other resources. Inputs of output() are passed on as they are. The others decide which
 * children there are: they must be known and not secret, and if one is unknown in a preview, the preview has no children.
 */
export function component<I extends Fields, S extends Fields>(token: string, about: {
    inputs?: I; outputs?: S; doc?: string; deprecated?: string; aliases?: string[];
}, construct: (request: ConstructRequest<I>, context: Context) => Maybe<Given<Infer<S>>>): DeclaredComponent<Asked<I>, Infer<S>>;

/** Declares a function of the package. All results of a call with a secret argument are secret. */
export function func<A extends Fields, R extends Fields>(token: string, about: { inputs?: A; result?: R; doc?: string; deprecated?: string }, call: (args: Infer<A>) => Maybe<Infer<R>>): DeclaredFunction;

export interface CapabilityRequest { capability: "fs" | "env" | "http" | "tcp" | "kv"; scope?: string; reason?: string; optional?: boolean }
declare const complete: unique symbol;
export interface Provider { readonly [complete]: true }

/** Completes a provider, and throws an error about what is wrong with it. It must not depend on time, place, or grants. */
export function provider<C extends Fields>(p: {
    name: string; version: string;
    displayName?: string; description?: string; keywords?: string[]; homepage?: string; license?: string; repository?: string; publisher?: string;
    /** The capabilities that the provider needs. They grant nothing, but advise the operator. */
    requests?: CapabilityRequest[];
    config?: C;
    /** Is called with the checked configuration before any method of resources. */
    configure?(config: Infer<C>): Maybe<void>;
    /** Has the host configure the provider when the first method needs it. */
    deferred?: boolean;
    resources?: DeclaredResource[];
    components?: DeclaredComponent[];
    functions?: DeclaredFunction[];
    /** Releases what the provider holds. */
    close?(): Maybe<void>;
}): Provider;

export type ErrorKind = "invalid-argument" | "not-found" | "unimplemented" | "unavailable" | "cancelled" | "init-failed" | "denied" | "internal" | "crashed";
/** An error of a kind by which the engine and people act, with the path of the property that it is about. */
export class HuskError extends Error { constructor(kind: ErrorKind, message: string, path?: string); kind: ErrorKind; path: string }
/** Says in read and delete that the object does not exist. */
export class NotFound extends HuskError { constructor(message?: string) }
/** Refuses an input at a path, such as tags.owner. What needs the inputs alone belongs in check. */
export class InvalidArgument extends HuskError { constructor(path: string, message: string) }
/** Says that the service cannot be reached now. */
export class Unavailable extends HuskError { constructor(message: string) }
/** Says that the object exists and is not healthy. In update, its id follows. */
export class InitFailed extends HuskError { constructor(what: { id?: string; state: Record<string, unknown>; reasons?: string[] }) }

export class Secret { constructor(value: unknown); value: unknown }
/** A value that is known after the deployment only, in fields of any(). */
export const unknown: unique symbol;
export class Reference { urn: string; id: string | null; packageVersion: string }
export class Asset { constructor(hash: string, source: Asset["source"], from: string); hash: string; source: "none" | "text" | "path" | "uri"; from: string }
export class Archive { constructor(hash: string, source: Archive["source"], from: unknown); hash: string; source: "none" | "path" | "uri" | "assets"; from: unknown }

/** The log of the run, about the resource that is being handled. console writes there, too. */
export const log: { debug(message: string): void; info(message: string): void; warning(message: string): void; error(message: string): void; /** Is replaced by the next. */ status(message: string): void };
/** Values that are kept from one deployment of the stack to the next; needs the grant kv. */
export const kv: {
    get(key: string): { value?: Uint8Array; revision: number };
    /** Writes a value, or deletes the key without one, if the key still has the revision; returns the new one. */
    put(key: string, value: Uint8Array | undefined, revision?: number): number;
    keys(prefix?: string, after?: string, limit?: number): string[];
};
/** The contents of assets and archives of the inputs, during the call that has them. */
export const assets: { read(asset: Asset | Archive, form?: "blob" | "tar" | "tar-gzip" | "zip"): Uint8Array };
