// The provider contacts, as ../provider has it in Go.
import {
    component, concat, func, HuskError, integer, InvalidArgument, list, NotFound, object, optional, output, parse, provider, resource, secret, string,
    type Child, type CreateRequest, type DeleteRequest, type Field, type Inputs, type ReadRequest, type Resource, type State, type UpdateRequest,
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

// What the service answers.
const made = object("", { id: string() });
const found = object("", { name: string(), kind: string(), priority: integer(), address: optional(address), tags: optional(list(string())), password: optional(string()) });
const listed = list(object("", { id: string(), name: string(), tags: optional(list(string())) }));

let url = "";

// What is empty is not sent.
const sent = (key: string, value: unknown) => key === "password" && value === "" || Array.isArray(value) && value.length === 0 ? undefined : value;

async function send(method: string, path: string, body?: unknown): Promise<string> {
    const response = await fetch(url + path, { method, body: body === undefined ? undefined : JSON.stringify(body, sent) });
    const text = await response.text();
    if (response.status === 404) throw new NotFound(`${path} does not exist`);
    if (response.status >= 300) throw new HuskError("internal", `${method} ${path}: the service answers ${response.status}`);
    return text;
}

async function call<T>(answer: Field<T>, method: string, path: string, body?: unknown): Promise<T> {
    const text = await send(method, path, body);
    try {
        return parse(answer, text);
    } catch {
        throw new HuskError("internal", `${method} ${path}: the answer of the service does not fit`);
    }
}

/** Somebody. */
class Contact implements Resource<typeof inputs, typeof state> {
    private state(given: In): State<typeof state> { return { ...given, label: `${given.name} (${given.kind})` }; }

    async create({ inputs: given }: CreateRequest<typeof inputs>) {
        const { id } = await call(made, "POST", "/contacts", given);
        return { id, state: this.state(given) };
    }
    async read({ id }: ReadRequest<typeof inputs, typeof state>) {
        const given = await call(found, "GET", `/contacts/${id}`);
        return { inputs: given, state: this.state(given) };
    }
    async update({ id, inputs: given }: UpdateRequest<typeof inputs, typeof state>) {
        await call(found, "PUT", `/contacts/${id}`, given);
        return { state: this.state(given) };
    }
    async delete({ id }: DeleteRequest<typeof state>) { await send("DELETE", `/contacts/${id}`); }
    async list() {
        const all = await call(listed, "GET", "/contacts");
        return { resources: all.map(({ id, name }) => ({ id, name })) };
    }
}

const contact = resource("contacts:index:Contact", { inputs, state }, new Contact());

// A contact for each of its names. The first one is made before the others.
const team = component("contacts:index:Team", {
    inputs: {
        names: list(string(), { doc: "Each name makes a contact." }),
        domain: output(string({ doc: "What follows each name and @." })),
        note: optional(secret(output(string({ doc: "The password of each contact." })))),
    },
    outputs: { ids: list(string(), { doc: "The IDs of the contacts, in the order of the names." }), count: integer(), domain: string() },
}, async ({ name, inputs: { names, domain, note } }, context) => {
    const twice = names.findIndex((one, i) => names.indexOf(one) < i);
    if (twice >= 0) throw new InvalidArgument(`names[${twice}]`, `${names[twice]} is in the team already`);
    const contacts: Promise<Child>[] = [];
    for (const one of names) {
        const given = { name: concat(one, "@", domain), password: note };
        contacts.push(context.resource(contact, `${name}-${one}`, given, { dependsOn: contacts.slice(0, 1) }));
    }
    return { ids: (await Promise.all(contacts)).map(one => one.id), count: names.length, domain };
});

const find = func("contacts:index:find", {
    inputs: { tag: string(), limit: integer({ default: 10, min: 1 }) },
    result: { names: list(string()), tag: string() },
}, async ({ tag, limit }) => {
    const all = await call(listed, "GET", "/contacts");
    const names = all.filter(one => one.tags?.includes(tag)).map(one => one.name);
    return { names: names.sort().slice(0, limit), tag };
});

export default provider({
    name: "contacts", version: "1.0.0", description: "Contacts of a service.",
    config: { url: string({ doc: "Where the service is." }) },
    configure(config) { url = config.url; },
    resources: [contact],
    components: [team],
    functions: [find],
});
