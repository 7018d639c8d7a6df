// Serves a program, which declares the resources of a stack. guest-sdk/program does the same for Go.
import { Deployment } from "./component.js";
import { HuskError } from "./errors.js";
import { isObject, kindOf, outputOf } from "./values.js";

/** What program() returns. */
export class Program { constructor(declare) { this.declare = declare; } }

export class ProgramServer {
    /** monitor has the functions of the host. */
    constructor(program, monitor) { this.program = program; this.monitor = monitor; }

    async run({ context: run, stack }) {
        const entry = key => { const whole = key.includes(":") ? key : `${run.project}:${key}`; return run.config.find(e => e.key === whole); };
        const deployment = this.deployment = new Deployment(this.monitor, run, stack, "program");
        try {
            const outputs = await deployment.do(context => this.program.declare({
                ...context, config: key => entry(key)?.value, secret: key => { const e = entry(key); return outputOf(e ? e.value : null, !!e); },
            })) ?? {};
            if (!isObject(outputs)) throw new HuskError("invalid-argument", `a program returns the outputs of its stack as an object, and not ${kindOf(outputs)}`);
            return { outputs };
        } finally { if (this.deployment === deployment) this.deployment = undefined; }
    }
    handshake() { throw new HuskError("internal", 'the default export is a program: package.json needs "husk": {"world": "program"}'); }
}
