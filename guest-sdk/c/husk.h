// husk.h is the SDK for providers in C: one header and one source file. Define husk_served, and build with both a module for
// wasm32-wasi. docs/tutorial-provider-c.md shows it.
//
// The package's schema is a JSON document beside the source. By it the host checks inputs and arguments, sets defaults, compares,
// and answers previews: schemaCheck and schemaDiff in it say so (docs/contract.md).
//
// All memory that the functions below return is freed when the call ends. Nothing has to be freed, and nothing may be kept: a
// host may end an instance after any call. What configure allocates stays.
#ifndef HUSK_H
#define HUSK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Values

typedef enum {
    HUSK_NULL, HUSK_BOOL, HUSK_NUMBER, HUSK_STRING, HUSK_ARRAY, HUSK_OBJECT, HUSK_ASSET, HUSK_ARCHIVE, HUSK_REFERENCE,
    HUSK_UNKNOWN, // known after the deployment; in previews only
    HUSK_SECRET,
    HUSK_OUTPUT, // a value, and the resources that it comes from
} husk_kind;

typedef struct husk_value husk_value;

typedef struct {
    const char *key;
    uint32_t size;
    const husk_value *value;
} husk_entry;

// A NUL follows each text, which its size does not count. None is in a text: the SDK refuses calls with such texts.
struct husk_value {
    husk_kind kind;
    uint32_t size; // of the text, array, object, or raw
    union {
        bool boolean;
        double number;
        const char *text;
        const husk_value **items;
        husk_entry *entries; // shorter keys first, then bytewise
        struct {
            const husk_value *value;        // of a secret or output
            const husk_value *dependencies; // of an output: an array of URNs
            bool secret;                    // of an output
        } in;
        struct {
            const uint8_t *raw; // an asset, archive, or reference as it crosses
            const char *hash;   // of an asset or archive
        } as;
    };
};

void *husk_alloc(size_t size); // zeroed, and freed when the call ends
const char *husk_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

husk_value *husk_bool(bool b);
husk_value *husk_number(double n);
husk_value *husk_string(const char *text);
husk_value *husk_string_of(const char *data, size_t size); // bytes that are no UTF-8, or NUL, become U+FFFD
const husk_value *husk_secret(const husk_value *v);
husk_value *husk_array(void);
husk_value *husk_object(void);
void husk_append(husk_value *array, const husk_value *v);
void husk_set(husk_value *object, const char *key, const husk_value *v); // NULL removes the key

// These look through secrets and outputs, and take NULL for null.
const husk_value *husk_plain(const husk_value *v);
const husk_value *husk_get(const husk_value *object, const char *key); // NULL if there is none
const husk_value *husk_at(const husk_value *array, uint32_t i);
uint32_t husk_size(const husk_value *v); // of an array or object, else 0
const char *husk_text(const husk_value *v, const char *otherwise);
double husk_as_number(const husk_value *v, double otherwise);
bool husk_as_bool(const husk_value *v, bool otherwise);
bool husk_is(const husk_value *v, husk_kind kind);
bool husk_equal(const husk_value *a, const husk_value *b);

// husk_from returns v as what was computed from another value: unknown if a part of that is, secret if a part is, and of its resources.
const husk_value *husk_from(const husk_value *v, const husk_value *of);

const char *husk_json(const husk_value *v); // kinds that JSON lacks are null
// NULL if it is no JSON, is nested more than 128 deep, or has a number beyond a double or a NUL in a text.
const husk_value *husk_parse_json(const char *data, size_t size);
// husk_fitting returns what of a value, such as the answer of a service, has a shape, NULL if it does not fit: "{id:s,age?:n,tags?:[s]}"
// is an object with a string id. A property with ? may be missing or null; unnamed ones are left out. s is a string, n a number, i
// an integer, b a bool, and * anything but null.
const husk_value *husk_fitting(const husk_value *v, const char *shape);

// Calls

typedef enum {
    HUSK_INVALID_ARGUMENT,
    HUSK_NOT_FOUND, // of read and delete: the object is gone
    HUSK_UNIMPLEMENTED, HUSK_UNAVAILABLE, HUSK_CANCELLED,
    HUSK_INIT_FAILED, // of update: it was done, and the object is not healthy
    HUSK_DENIED, HUSK_INTERNAL, HUSK_CRASHED,
} husk_error_kind;

// husk_call is what a function of the author is asked, and what it answers. Values are without secrets: the SDK marks again what
// comes of them. The inputs of components are as they came.
typedef struct {
    const char *urn, *name, *type, *id;
    const husk_value *config;
    const husk_value *inputs;     // checked; in read the recorded ones, NULL in an import; of a function its arguments
    const husk_value *old_inputs; // in update
    const husk_value *state;      // the recorded one; NULL in create and in an import
    double timeout;               // seconds, 0 for none
    bool preview;                 // of a function or component
    uint64_t limit, page_size;    // of list, 0 for no limit
    const char *continuation;     // of list, empty for the first page

    const char *new_id;           // of create. With it, an error says that the object is there and not healthy
    const husk_value *new_state;  // of create, read, update
    const husk_value *new_inputs; // of read; NULL for the recorded ones
    const husk_value *result;     // of a function; the outputs of a component
    const char *next;             // of list: the next continuation

    struct husk_answer *answer; // of the SDK
} husk_call;

// husk_fail ends a call with an error, once the function returns. The first error counts.
void husk_fail(husk_call *call, husk_error_kind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
// husk_fail_at is the same with the property that the error is about, such as names[1].
void husk_fail_at(husk_call *call, husk_error_kind kind, const char *path, const char *format, ...) __attribute__((format(printf, 4, 5)));
// husk_listed adds a resource that exists to what list answers.
void husk_listed(husk_call *call, const char *id, const char *name);

// Components

typedef struct husk_child husk_child;

typedef enum { HUSK_INHERITED, HUSK_NO, HUSK_YES } husk_choice;

// husk_registration is a resource that a component wants to have. Lists end with NULL, and each field but the first two may be
// left out. Inputs keep the secrets, unknowns, and resources of the values that they are made of.
typedef struct {
    const char *type, *name;
    const husk_value *inputs;
    bool is_component;               // of any provider
    husk_child *parent;              // NULL for the component itself
    husk_child *provider;            // a child whose type is pulumi:providers:<package>
    husk_child *const *providers;    // what the children of a component use
    husk_child *const *depends_on, *const *replace_with;
    husk_child *deleted_with;
    husk_choice protect, retain_on_delete, delete_before_replace;
    const char *const *ignore_changes, *const *replace_on_changes, *const *hide_diffs, *const *secret_outputs;
    const char *const *aliases; // URNs
    struct {
        double create, update, delete, read;
    } timeouts; // seconds
    const husk_value *replacement_trigger;
    const char *import_id, *version;
} husk_registration;

// husk_register begins to make a resource, and returns at once where all that it depends on is made. It waits for the other
// children of the registration. Once one has failed, the call has, and no other is begun.
husk_child *husk_register(husk_call *call, const husk_registration *registration);
// husk_output waits for a child, and returns its output, "id", or "urn". It is unknown while nobody knows it in a preview, and NULL
// if there is none or the call has failed.
const husk_value *husk_output(husk_call *call, husk_child *child, const char *name);

// Host

typedef enum { HUSK_DEBUG, HUSK_INFO, HUSK_WARNING, HUSK_ERROR } husk_severity;
void husk_log(const husk_call *call, husk_severity severity, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool husk_cancelled(void);

typedef struct {
    const char *name, *value;
} husk_header;

typedef struct {
    const char *method, *url;
    const husk_header *headers; // ends with one without a name; may be NULL
    const char *body;
    size_t size;
    uint64_t timeout_ms; // 0 for the host's default
} husk_request;

typedef struct {
    unsigned status;
    const char *body;
    size_t size;
    const husk_header *headers;
} husk_response;

// These return false once they have failed the call with the host's error, which says what to grant, for example.
bool husk_send(husk_call *call, const husk_request *request, husk_response *response);
bool husk_read_asset(husk_call *call, const husk_value *asset, const char **data, size_t *size); // an archive is read as a tar

// Provider

typedef void husk_function(husk_call *call);

typedef struct {
    const char *token;
    husk_function *create; // the only one that is needed
    husk_function *read;   // without it a refresh finds the recorded state, and nothing can be imported
    husk_function *update; // without it each change must replace the resource
    husk_function *delete;
    husk_function *list;
} husk_resource;

typedef struct {
    const char *token;
    husk_function *call;
} husk_invokable;

// The SDK registers a component, calls construct for its children, waits for them, and registers the outputs.
typedef struct {
    const char *token;
    husk_function *construct;
    // The inputs that decide which children there are; ends with NULL. While one is unknown, construct is not called, and all outputs are
    // unknown. A secret in one is refused.
    const char *const *deciding;
} husk_component;

typedef struct {
    const char *name, *version; // as in the schema
    const char *schema;         // the JSON document
    size_t schema_size;
    husk_function *configure; // checks the configuration; may be NULL
    const husk_resource *resources;  // end with one without a token
    const husk_invokable *functions; // end with one without a token
    const husk_component *components; // end with one without a token
} husk_provider;

extern const husk_provider husk_served;

#endif
