// The provider contacts in C: see ../provider for the same in Go.
#include "husk.h"

#include <stdlib.h>
#include <string.h>

static const char schema[] = {
#embed "schema.json"
};

static const char contact_shape[] = "{name:s,kind:s,priority:i,address?:{city:s,street?:s},tags?:[s],password?:s}", list_shape[] = "[{id:s,name:s,tags?:[s]}]";

// ask sends a request to the service, and returns its answer, NULL if the call has failed. The answer of a shape "" does not matter.
static const husk_value *ask(husk_call *call, const char *method, const char *path, const husk_value *body, const char *shape) {
    const char *text = body ? husk_json(body) : "";
    husk_response response;
    husk_request request = {.method = method, .url = husk_format("%s%s", husk_text(husk_get(call->config, "url"), ""), path), .body = text, .size = strlen(text)};
    if (!husk_send(call, &request, &response)) return NULL;
    if (response.status == 404) return husk_fail(call, HUSK_NOT_FOUND, "%s does not exist", path), NULL;
    if (response.status >= 300) return husk_fail(call, HUSK_INTERNAL, "%s %s: the service answers %u", method, path, response.status), NULL;
    if (!*shape) return NULL;
    const husk_value *answer = husk_fitting(husk_parse_json(response.body, response.size), shape);
    if (!answer) husk_fail(call, HUSK_INTERNAL, "%s %s: the answer of the service does not fit", method, path);
    return answer;
}

// contact returns the properties of a contact that are inputs.
static husk_value *contact(const husk_value *from) {
    static const char *const names[] = {"name", "kind", "priority", "address", "tags"};
    husk_value *v = husk_object();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) husk_set(v, names[i], husk_get(from, names[i]));
    if (husk_get(from, "password")) husk_set(v, "password", husk_secret(husk_get(from, "password")));
    return v;
}

static husk_value *state(const husk_value *inputs) {
    husk_value *v = contact(inputs);
    husk_set(v, "label", husk_string(husk_format("%s (%s)", husk_text(husk_get(inputs, "name"), ""), husk_text(husk_get(inputs, "kind"), ""))));
    return v;
}

static void create(husk_call *call) {
    const husk_value *made = ask(call, "POST", "/contacts", call->inputs, "{id:s}");
    call->new_id = husk_text(husk_get(made, "id"), "");
    call->new_state = state(call->inputs);
}

static const char *path_of(const husk_call *call) { return husk_format("/contacts/%s", call->id); }

static void read(husk_call *call) {
    const husk_value *found = ask(call, "GET", path_of(call), NULL, contact_shape);
    call->new_inputs = contact(found);
    call->new_state = state(found);
}

static void update(husk_call *call) {
    ask(call, "PUT", path_of(call), call->inputs, contact_shape);
    call->new_state = state(call->inputs);
}

static void delete(husk_call *call) { ask(call, "DELETE", path_of(call), NULL, ""); }

static void list(husk_call *call) {
    const husk_value *all = ask(call, "GET", "/contacts", NULL, list_shape);
    for (uint32_t i = 0; i < husk_size(all); i++)
        husk_listed(call, husk_text(husk_get(husk_at(all, i), "id"), ""), husk_text(husk_get(husk_at(all, i), "name"), ""));
}

static int by_text(const void *a, const void *b) { return strcmp(husk_text(*(husk_value *const *)a, ""), husk_text(*(husk_value *const *)b, "")); }

static void find(husk_call *call) {
    const husk_value *all = ask(call, "GET", "/contacts", NULL, list_shape), *tag = husk_get(call->inputs, "tag");
    husk_value *names = husk_array(), *result = husk_object();
    for (uint32_t i = 0; i < husk_size(all); i++) {
        const husk_value *one = husk_at(all, i), *tags = husk_get(one, "tags");
        uint32_t k = 0;
        while (k < husk_size(tags) && !husk_equal(husk_at(tags, k), tag)) k++;
        if (k < husk_size(tags)) husk_append(names, husk_get(one, "name"));
    }
    if (names->size) qsort(names->items, names->size, sizeof *names->items, by_text);
    double limit = husk_as_number(husk_get(call->inputs, "limit"), 0);
    if (names->size > limit) names->size = (uint32_t)limit;
    husk_set(result, "names", names);
    husk_set(result, "tag", tag);
    call->result = result;
}

// team registers a contact for each name. The first one is made before the others.
static void team(husk_call *call) {
    const husk_value *names = husk_get(call->inputs, "names"), *domain = husk_get(call->inputs, "domain");
    uint32_t n = husk_size(names);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < i; k++)
            if (husk_equal(husk_at(names, i), husk_at(names, k)))
                return husk_fail_at(call, HUSK_INVALID_ARGUMENT, husk_format("names[%u]", (unsigned)i), "%s is in the team already", husk_text(husk_at(names, i), ""));
    husk_child **contacts = husk_alloc(n * sizeof *contacts), *first[] = {NULL, NULL};
    for (uint32_t i = 0; i < n; i++) {
        const char *name = husk_text(husk_at(names, i), "");
        husk_value *inputs = husk_object();
        husk_set(inputs, "name", husk_from(husk_string(husk_format("%s@%s", name, husk_text(domain, ""))), domain));
        husk_set(inputs, "password", husk_get(call->inputs, "note"));
        contacts[i] = husk_register(call, &(husk_registration){
            .type = "contacts:index:Contact", .name = husk_format("%s-%s", call->name, name), .inputs = inputs, .depends_on = first,
        });
        first[0] = contacts[0];
    }
    husk_value *ids = husk_array(), *outputs = husk_object();
    for (uint32_t i = 0; i < n; i++) husk_append(ids, husk_output(call, contacts[i], "id"));
    husk_set(outputs, "ids", ids);
    husk_set(outputs, "count", husk_number(n));
    husk_set(outputs, "domain", domain);
    call->result = outputs;
}

static const husk_resource resources[] = {
    {.token = "contacts:index:Contact", .create = create, .read = read, .update = update, .delete = delete, .list = list},
    {0},
};

static const husk_invokable functions[] = {{.token = "contacts:index:find", .call = find}, {0}};

static const char *const deciding[] = {"names", NULL};

static const husk_component components[] = {{.token = "contacts:index:Team", .construct = team, .deciding = deciding}, {0}};

const husk_provider husk_served = {
    .name = "contacts", .version = "1.0.0", .schema = schema, .schema_size = sizeof schema,
    .resources = resources, .functions = functions, .components = components,
};
