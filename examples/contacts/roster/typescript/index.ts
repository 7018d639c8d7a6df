// The program roster in TypeScript.
import { concat, program } from "@husk/provider";

export default program(async stack => {
    const city = stack.config("city"), note = stack.secret("note");
    const provider = stack.resource("pulumi:providers:contacts", "mine", { url: stack.config("url") });
    const parent = stack.group("roster:index:Staff", "staff");
    const ann = await stack.resource("contacts:index:Contact", "ann", {
        name: "Ann", priority: 2, tags: ["friend", "boss"], password: note, address: { city, street: stack.secret("street") },
    }, { parent, provider });
    const mode = stack.config("mode");
    if (mode && mode !== "later") misbehave(mode);
    const bob = await stack.resource("contacts:index:Contact", "bob", {
        name: concat("Bob, after ", ann.output("label")), tags: [ann.id],
        address: { city: ann.output("address.city"), street: ann.output('address["street"]') },
    }, { parent, provider });
    const team = stack.component("contacts:index:Team", "team", { names: ["Eve", "Max"], domain: bob.output("label"), note }, { provider, dependsOn: ann });
    const seen = stack.read("contacts:index:Contact", "seen", ann.id, {}, { parent, provider });
    const found = stack.invoke<{ names: string[] }>("contacts:index:find", { tag: bob.output("tags[0]") }, { provider });
    if (mode === "later") void found.then(() => misbehave(mode));
    console.log(`declared in ${stack.run.project}`);
    return {
        label: bob.output("label"), team: (await team).output("ids"), seen: (await seen).output("name"), found: (await found).get("names"),
        note, none: stack.secret("none"), place: { stack: stack.run.stack, city },
    };
});

function misbehave(mode: string) {
    if (mode === "panic") throw new TypeError("no such mood");
    throw new Error("no such mood");
}
