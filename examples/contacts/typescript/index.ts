// The provider contacts, as ../provider has it in Go.
import {
    func, HuskError, integer, list, NotFound, object, optional, provider, resource, secret, string,
    type CreateRequest, type DeleteRequest, type Inputs, type ReadRequest, type Resource, type State, type UpdateRequest,
} from "@husk/provider";

const address = object("contacts:index/address:Address", { city: string(), street: optional(string()) });

const inputs = {
    name: string({ replace: true, doc: "Another name makes another contact." }),
    kind: string({ default: "person", oneOf: ["person", "company"] }),
    priority: integer({ default: 3, min: 1, max: 5 }),
    address: optional(address),
    tags: optional(list(string())),
    password: optional(secret(string({ doc: "Never shown." }))),
};
const state = { ...inputs, label: string({ doc: "How letters begin." }) };

type In = Inputs<typeof inputs>;

let url = "";

// What is empty is not sent.
const sent = (key: string, value: unknown) => key === "password" && value === "" || Array.isArray(value) && value.length === 0 ? undefined : value;

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(url + path, { method, body: body === undefined ? undefined : JSON.stringify(body, sent) });
    const text = await response.text();
    if (response.status === 404) throw new NotFound(`${path} does not exist`);
    if (response.status >= 300) throw new HuskError("internal", `${method} ${path}: the service answers ${response.status}`);
    try {
        return (text === "" ? undefined : JSON.parse(text)) as T;
    } catch {
        throw new HuskError("internal", `${method} ${path}: the service answers no JSON`);
    }
}

interface Listed { id: string; name: string; tags?: string[] }

/** Somebody. */
class Contact implements Resource<typeof inputs, typeof state> {
    private state(given: In): State<typeof state> { return { ...given, label: `${given.name} (${given.kind})` }; }

    async create({ inputs: given }: CreateRequest<typeof inputs>) {
        const made = await call<{ id: string }>("POST", "/contacts", given);
        return { id: made.id, state: this.state(given) };
    }
    async read({ id }: ReadRequest<typeof inputs, typeof state>) {
        const given = await call<In>("GET", `/contacts/${id}`);
        const { name, kind, priority, address, tags, password } = given;
        const found = { name, kind, priority, address, tags, password };
        return { inputs: found, state: this.state(found) };
    }
    async update({ id, inputs: given }: UpdateRequest<typeof inputs, typeof state>) {
        await call("PUT", `/contacts/${id}`, given);
        return { state: this.state(given) };
    }
    async delete({ id }: DeleteRequest<typeof state>) { await call("DELETE", `/contacts/${id}`); }
    async list() {
        const all = await call<Listed[]>("GET", "/contacts");
        return { resources: all.map(({ id, name }) => ({ id, name })) };
    }
}

const find = func("contacts:index:find", {
    inputs: { tag: string(), limit: integer({ default: 10, min: 1 }) },
    result: { names: list(string()), tag: string() },
}, async ({ tag, limit }) => {
    const all = await call<Listed[]>("GET", "/contacts");
    const names = all.filter(one => one.tags?.includes(tag)).map(one => one.name);
    return { names: names.sort().slice(0, limit), tag };
});

export default provider({
    name: "contacts", version: "1.0.0", description: "Contacts of a service.",
    config: { url: string({ doc: "Where the service is." }) },
    configure(config) { url = config.url; },
    resources: [resource("contacts:index:Contact", { inputs, state }, new Contact())],
    functions: [find],
});
