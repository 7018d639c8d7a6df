// Errors by which the engine and people act.

/** An error of a kind of the contract, with the path of the property that it is about. */
export class HuskError extends Error {
    name = "HuskError"; path = ""; origin = "guest";
    constructor(kind, message, path = "") { super(message); this.kind = kind; this.path = path; }
}
/** Returns the error that says why inputs or arguments are refused. */
export const refusal = failures => failures.length === 1 ? new HuskError("invalid-argument", failures[0].reason, failures[0].path)
    : new HuskError("invalid-argument", failures.map(f => (f.path ? f.path + ": " : "") + f.reason).join("\n"));
/** Says in read and delete that the object does not exist; nothing else says that. */
export class NotFound extends HuskError { constructor(message = "the object does not exist") { super("not-found", message); } }
/** Refuses an input. What needs the inputs alone belongs in check. */
export class InvalidArgument extends HuskError { constructor(path, message) { super("invalid-argument", message, path); } }
/** Says that the service cannot be reached now. */
export class Unavailable extends HuskError { origin = "remote"; constructor(message) { super("unavailable", message); } }
/** Says that the resource exists and is not healthy: its ID and state are recorded, and the next deployment updates it. */
export class InitFailed extends HuskError {
    constructor({ id = "", state, reasons = [] }) { super("init-failed", "the resource exists but is not healthy"); this.id = id; this.state = state; this.reasons = [reasons ?? []].flat(); }
}
