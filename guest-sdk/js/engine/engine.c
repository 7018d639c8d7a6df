// The module that QuickJS-ng and a provider or program in JavaScript make: it exports the contract, and calls the functions of the
// host. Values cross as the tables of contract.h describe them; properties are CBOR here and objects in JavaScript.
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
#include "quickjs.h"
#include "layout.h"

// Scripts may use so much memory and stack, in bytes. The linker's stack is larger, because the engine's own functions use it, too.
#define MEMORY_LIMIT (192u << 20)
#define STACK_LIMIT (512u << 10)

static JSRuntime *rt;
static JSContext *ctx;
static JSValue handler = JS_UNDEFINED;  // of calls, see js_main
static JSValue idle = JS_UNDEFINED;     // what runs when no job is left
static JSValue tagged = JS_UNDEFINED;   // makes a value of a tag and what it holds
static JSValue untagged = JS_UNDEFINED; // the opposite
static JSValue source = JS_UNDEFINED;   // returns the text of a module that is no file, or undefined
static JSValue outcome;                 // of the call that is served
static enum { WAITING, ANSWERED, FAILED } ended;

struct entry { const char *key; size_t n; JSAtom atom; };
static int by_key(const void *x, const void *y) {
    const struct entry *a = x, *b = y;
    return a->n != b->n ? (a->n < b->n ? -1 : 1) : memcmp(a->key, b->key, a->n);
}

static int write_value(struct buffer *b, JSValueConst v, bool integers, int depth);

static int write_object(struct buffer *b, JSValueConst v, bool integers, int depth) {
    JSPropertyEnum *names = NULL;
    uint32_t count = 0, kept = 0;
    if (JS_GetOwnPropertyNames(ctx, &names, &count, v, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY)) return -1;
    struct entry *entries = malloc(count * sizeof *entries + 1);
    int failed = entries ? 0 : -1;
    for (uint32_t i = 0; i < count && !failed; i++) {
        JSValue e = JS_GetProperty(ctx, v, names[i].atom);
        bool absent = JS_IsUndefined(e);
        JS_FreeValue(ctx, e);
        if (JS_IsException(e)) failed = -1;
        if (absent) continue;
        entries[kept].atom = names[i].atom;
        if ((entries[kept].key = JS_AtomToCStringLen(ctx, &entries[kept].n, names[i].atom))) kept++; else failed = -1;
    }
    if (!failed) {
        qsort(entries, kept, sizeof *entries, by_key);
        head(b, 5, kept);
    }
    for (uint32_t i = 0; i < kept; i++) {
        if (!failed) {
            head(b, 3, entries[i].n);
            append(b, entries[i].key, entries[i].n);
            JSValue e = JS_GetProperty(ctx, v, entries[i].atom);
            failed = JS_IsException(e) ? -1 : write_value(b, e, integers, depth + 1);
            JS_FreeValue(ctx, e);
        }
        JS_FreeCString(ctx, entries[i].key);
    }
    free(entries);
    JS_FreePropertyEnum(ctx, names, count);
    return failed;
}

static int write_value(struct buffer *b, JSValueConst v, bool integers, int depth) {
    if (depth > 128) { JS_ThrowRangeError(ctx, "a value is nested more than 128 deep"); return -1; }
    if (JS_IsNull(v) || JS_IsUndefined(v)) { head(b, 7, 22); return 0; }
    if (JS_IsBool(v)) { head(b, 7, JS_VALUE_GET_BOOL(v) ? 21 : 20); return 0; }
    if (JS_IsNumber(v)) {
        double d;
        JS_ToFloat64(ctx, &d, v);
        if (integers) head(b, 0, (uint32_t)d); else number(b, d);
        return 0;
    }
    if (JS_IsString(v)) {
        size_t n;
        const char *s = JS_ToCStringLen(ctx, &n, v);
        if (!s) return -1;
        head(b, 3, n);
        append(b, s, n);
        JS_FreeCString(ctx, s);
        return 0;
    }
    if (JS_IsArray(v)) {
        int64_t n;
        if (JS_GetLength(ctx, v, &n)) return -1;
        head(b, 4, n);
        for (int64_t i = 0; i < n; i++) {
            JSValue e = JS_GetPropertyInt64(ctx, v, i);
            int failed = JS_IsException(e) ? -1 : write_value(b, e, integers, depth + 1);
            JS_FreeValue(ctx, e);
            if (failed) return -1;
        }
        return 0;
    }
    JSValue pair = JS_Call(ctx, untagged, JS_UNDEFINED, 1, &v); // [tag, what it holds], or undefined for a plain object
    if (JS_IsException(pair)) return -1;
    if (JS_IsUndefined(pair)) return write_object(b, v, integers, depth);
    JSValue tag = JS_GetPropertyUint32(ctx, pair, 0), inner = JS_GetPropertyUint32(ctx, pair, 1);
    uint32_t t = 0;
    JS_ToUint32(ctx, &t, tag);
    head(b, 6, t);
    int failed = write_value(b, inner, t == TAG_ASSET || t == TAG_ARCHIVE, depth + 1);
    JS_FreeValue(ctx, tag);
    JS_FreeValue(ctx, inner);
    JS_FreeValue(ctx, pair);
    return failed;
}

struct input { const uint8_t *at, *end; };
static JSValue malformed(void) { return JS_ThrowTypeError(ctx, "the host sent properties that are no CBOR of the contract"); }

static JSValue read_value(struct input *in, int depth) {
    if (in->at == in->end || depth > 200) return malformed();
    uint8_t first = *in->at++, major = first >> 5, info = first & 31;
    int more = info < 24 ? 0 : info < 28 ? 1 << (info - 24) : -1;
    if (more < 0 || in->end - in->at < more) return malformed();
    uint64_t n = info;
    if (more) n = 0;
    for (int i = 0; i < more; i++) n = n << 8 | *in->at++;
    JSValue out, element;
    switch (major) {
    case 0:
        return JS_NewInt64(ctx, n);
    case 3:
        if ((uint64_t)(in->end - in->at) < n) return malformed();
        in->at += n;
        return JS_NewStringLen(ctx, (const char *)in->at - n, n);
    case 4:
        out = JS_NewArray(ctx);
        for (uint32_t i = 0; i < n; i++) {
            element = read_value(in, depth + 1);
            if (JS_IsException(element) || JS_DefinePropertyValueUint32(ctx, out, i, element, JS_PROP_C_W_E) < 0) { JS_FreeValue(ctx, out); return JS_EXCEPTION; }
        }
        return out;
    case 5:
        out = JS_NewObjectProto(ctx, JS_NULL); // a key may be __proto__
        for (uint32_t i = 0; i < n; i++) {
            JSValue key = read_value(in, depth + 1);
            if (!JS_IsString(key)) { JS_FreeValue(ctx, key); JS_FreeValue(ctx, out); return JS_IsException(key) ? key : malformed(); }
            JSAtom atom = JS_ValueToAtom(ctx, key);
            JS_FreeValue(ctx, key);
            element = read_value(in, depth + 1);
            int failed = JS_IsException(element) ? -1 : JS_DefinePropertyValue(ctx, out, atom, element, JS_PROP_C_W_E);
            JS_FreeAtom(ctx, atom);
            if (failed < 0) { JS_FreeValue(ctx, out); return JS_EXCEPTION; }
        }
        return out;
    case 6:
        element = read_value(in, depth + 1);
        if (JS_IsException(element)) return element;
        {
            JSValue args[2] = {JS_NewInt64(ctx, n), element};
            out = JS_Call(ctx, tagged, JS_UNDEFINED, 2, args);
            JS_FreeValue(ctx, element);
            return out;
        }
    case 7:
        if (info == 20 || info == 21) return JS_NewBool(ctx, info == 21);
        if (info == 22) return JS_NULL;
        double d;
        if (info == 25) {
            d = half(n);
        } else if (info == 26) {
            uint32_t bits = n;
            float f;
            memcpy(&f, &bits, 4);
            d = f;
        } else if (info == 27) {
            memcpy(&d, &n, 8);
        } else {
            return malformed();
        }
        return JS_NewNumber(ctx, d);
    }
    return malformed();
}

// lift makes a value of what is in memory, and frees what that owns.
static JSValue lift(const struct type *t, const char *b) {
    JSValue out, inner;
    uint32_t at, n;
    switch (t->kind) {
    case BOOL: return JS_NewBool(ctx, GET(0, uint8_t) != 0);
    case U8: return JS_NewUint32(ctx, GET(0, uint8_t));
    case U16: return JS_NewUint32(ctx, GET(0, uint16_t));
    case U32: return JS_NewUint32(ctx, GET(0, uint32_t));
    case U64: return JS_NewNumber(ctx, (double)GET(0, uint64_t));
    case F64: return JS_NewNumber(ctx, GET(0, double));
    case ENUM: return JS_NewString(ctx, t->parts[GET(0, uint8_t)].name);
    case OPTION: return GET(0, uint8_t) ? lift(t->of, b + t->payload) : JS_UNDEFINED;
    case FLAGS:
        out = JS_NewObject(ctx);
        for (n = 0; n < t->count; n++) JS_SetPropertyStr(ctx, out, t->parts[n].name, JS_NewBool(ctx, GET(0, uint8_t) >> n & 1));
        return out;
    case RECORD:
        out = JS_NewObject(ctx);
        for (n = 0; n < t->count; n++) {
            inner = lift(t->parts[n].type, b + t->parts[n].offset);
            if (JS_IsException(inner)) { JS_FreeValue(ctx, out); return inner; }
            JS_SetPropertyStr(ctx, out, t->parts[n].name, inner);
        }
        return out;
    case RESULT:
    case VARIANT: {
        const struct part *p = &t->parts[GET(0, uint8_t)];
        inner = p->type ? lift(p->type, b + t->payload) : JS_UNDEFINED;
        if (JS_IsException(inner)) return inner;
        if (t->kind == RESULT) return p == t->parts ? inner : JS_Throw(ctx, inner);
        out = JS_NewObject(ctx);
        JS_SetPropertyStr(ctx, out, "case", JS_NewString(ctx, p->name));
        JS_SetPropertyStr(ctx, out, "value", inner);
        return out;
    }
    }
    at = GET(0, uint32_t), n = GET(4, uint32_t);
    char *list = (char *)at;
    switch (t->kind) {
    case STRING:
        out = JS_NewStringLen(ctx, list, n);
        break;
    case BYTES:
        out = JS_NewUint8ArrayCopy(ctx, (uint8_t *)list, n);
        break;
    case PROPERTIES: {
        struct input in = {(uint8_t *)list, (uint8_t *)list + n};
        out = read_value(&in, 0);
        break;
    }
    default: // LIST
        out = JS_NewArray(ctx);
        for (uint32_t i = 0; i < n; i++) {
            inner = lift(t->of, list + i * t->of->size);
            if (JS_IsException(inner)) { JS_FreeValue(ctx, out); out = inner; break; }
            JS_DefinePropertyValueUint32(ctx, out, i, inner, JS_PROP_C_W_E);
        }
    }
    if (n) free(list);
    return out;
}

static int lower(const struct type *t, char *b, JSValueConst v);

static int lower_part(const struct part *p, char *b, JSValueConst v) {
    JSValue inner = JS_GetPropertyStr(ctx, v, p->name);
    int failed = JS_IsException(inner) ? -1 : lower(p->type, b + p->offset, inner);
    JS_FreeValue(ctx, inner);
    return failed;
}

// named returns the index of the part whose name is the text v, or -1 with an exception.
static int named(const struct type *t, JSValueConst v) {
    const char *s = JS_ToCString(ctx, v);
    if (!s) return -1;
    int i = 0;
    while (i < t->count && strcmp(t->parts[i].name, s)) i++;
    if (i == t->count) { JS_ThrowTypeError(ctx, "the contract has no %s here", s); i = -1; }
    JS_FreeCString(ctx, s);
    return i;
}

// lower writes a value to memory, which is zero. Undefined is the zero value. Parts are in memory of the answer.
static int lower(const struct type *t, char *b, JSValueConst v) {
    if (JS_IsUndefined(v) && t->kind != PROPERTIES) return 0;
    double d;
    int n;
    switch (t->kind) {
    case BOOL: PUT(0, uint8_t, JS_ToBool(ctx, v)); return 0;
    case U16: case U32: case U64: case F64:
        if (JS_ToFloat64(ctx, &d, v)) return -1;
        if (t->kind == F64) PUT(0, double, d);
        else if (!(d >= 0 && d < 18446744073709551616.0)) { JS_ThrowRangeError(ctx, "a count is negative or too large"); return -1; }
        else if (t->kind == U64) PUT(0, uint64_t, (uint64_t)d);
        else if (t->kind == U32) PUT(0, uint32_t, (uint32_t)d);
        else PUT(0, uint16_t, (uint16_t)d);
        return 0;
    case ENUM:
        if ((n = named(t, v)) < 0) return -1;
        PUT(0, uint8_t, n);
        return 0;
    case OPTION:
        PUT(0, uint8_t, 1);
        return lower(t->of, b + t->payload, v);
    case FLAGS:
        for (n = 0; n < t->count; n++) {
            JSValue is = JS_GetPropertyStr(ctx, v, t->parts[n].name);
            if (JS_ToBool(ctx, is)) *b |= 1 << n;
            JS_FreeValue(ctx, is);
        }
        return 0;
    case RECORD:
        for (n = 0; n < t->count; n++) if (lower_part(&t->parts[n], b, v)) return -1;
        return 0;
    case RESULT: // that succeeded
        return t->parts[0].type ? lower(t->parts[0].type, b + t->payload, v) : 0;
    case VARIANT: {
        JSValue name = JS_GetPropertyStr(ctx, v, "case");
        n = named(t, name);
        JS_FreeValue(ctx, name);
        if (n < 0) return -1;
        PUT(0, uint8_t, n);
        struct part value = {"value", t->payload, t->parts[n].type};
        return value.type ? lower_part(&value, b, v) : 0;
    }
    case STRING: {
        size_t size;
        const char *s = JS_ToCStringLen(ctx, &size, v);
        if (!s) return -1;
        char *copy = answer_memory(size);
        memcpy(copy, s, size);
        JS_FreeCString(ctx, s);
        PUT(0, uint32_t, (uint32_t)copy);
        PUT(4, uint32_t, size);
        return 0;
    }
    case BYTES: {
        size_t size;
        uint8_t *from = JS_GetUint8Array(ctx, &size, v);
        if (!from && size) return -1;
        char *copy = answer_memory(size);
        if (size) memcpy(copy, from, size);
        PUT(0, uint32_t, (uint32_t)copy);
        PUT(4, uint32_t, size);
        return 0;
    }
    case PROPERTIES: {
        struct buffer out = {0};
        JSValue empty = JS_UNDEFINED;
        if (JS_IsUndefined(v)) empty = JS_NewObject(ctx), v = empty;
        n = write_value(&out, v, false, 0);
        JS_FreeValue(ctx, empty);
        char *copy = answer_memory(out.n);
        memcpy(copy, out.at, out.n);
        free(out.at);
        PUT(0, uint32_t, (uint32_t)copy);
        PUT(4, uint32_t, out.n);
        return n;
    }
    }
    int64_t count; // LIST
    if (JS_GetLength(ctx, v, &count)) return -1;
    char *list = answer_memory(count * t->of->size);
    PUT(0, uint32_t, (uint32_t)list);
    PUT(4, uint32_t, (uint32_t)count);
    for (int64_t i = 0; i < count; i++) {
        JSValue e = JS_GetPropertyInt64(ctx, v, i);
        int failed = JS_IsException(e) ? -1 : lower(t->of, list + i * t->of->size, e);
        JS_FreeValue(ctx, e);
        if (failed) return -1;
    }
    return 0;
}

// js_call calls a function of the host: __engine.call(index, params).
static JSValue js_call(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    uint32_t i = 0;
    if (JS_ToUint32(c, &i, argv[0]) || i >= sizeof imports / sizeof *imports) return JS_ThrowRangeError(c, "no such function");
    const struct import *m = &imports[i];
    struct block *outer = answers;
    answers = NULL;
    char *params = answer_memory(m->f.params->size), *answer = answer_memory(m->f.result ? m->f.result->size : 1);
    JSValue out = JS_EXCEPTION;
    if (!lower(m->f.params, params, argv[1])) {
        m->call(params, answer);
        out = m->f.result ? lift(m->f.result, answer) : JS_UNDEFINED;
    }
    release(&answers);
    answers = outer;
    return out;
}

static JSValue js_settle(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    if (ended != WAITING) return JS_UNDEFINED;
    outcome = JS_DupValue(c, argv[1]);
    ended = JS_ToBool(c, argv[0]) ? ANSWERED : FAILED;
    return JS_UNDEFINED;
}

static JSValue js_main(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    JSValue *to[] = {&handler, &idle, &tagged, &untagged, &source};
    for (int i = 0; i < 5; i++) { JS_FreeValue(c, *to[i]); *to[i] = JS_DupValue(c, argv[i]); }
    return JS_UNDEFINED;
}

static JSValue js_random(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    size_t n;
    uint8_t *at = JS_GetUint8Array(c, &n, argv[0]);
    for (size_t i = 0; at && i < n; i += 256) if (getentropy(at + i, n - i < 256 ? n - i : 256)) return JS_ThrowInternalError(c, "there are no random numbers");
    return at || !n ? JS_DupValue(c, argv[0]) : JS_EXCEPTION;
}

// math_random begins with random numbers of its instance, because many instances begin with one memory.
static JSValue math_random(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    static uint64_t state;
    while (!state) if (getentropy(&state, sizeof state)) return JS_ThrowInternalError(c, "there are no random numbers");
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return JS_NewNumber(c, (double)(state * 2685821657736338717u >> 11) / 9007199254740992.0);
}

// js_encode and js_decode convert text from and to UTF-8.
static JSValue js_encode(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    size_t n;
    const char *s = JS_ToCStringLen(c, &n, argv[0]);
    JSValue out = s ? JS_NewUint8ArrayCopy(c, (const uint8_t *)s, n) : JS_EXCEPTION;
    JS_FreeCString(c, s);
    return out;
}
static JSValue js_decode(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    size_t n;
    uint8_t *at = JS_GetUint8Array(c, &n, argv[0]);
    return at || !n ? JS_NewStringLen(c, (const char *)at, n) : JS_EXCEPTION;
}

// js_env returns the variables that are granted. The C library would read them at the start, which is for all instances.
static JSValue js_env(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    JSValue out = JS_NewObject(c);
    __wasi_size_t count = 0, size = 0;
    if (__wasi_environ_sizes_get(&count, &size) || !count) return out;
    uint8_t **list = malloc(count * sizeof *list), *text = malloc(size);
    if (list && text && !__wasi_environ_get(list, text)) {
        for (__wasi_size_t i = 0; i < count; i++) {
            char *value = strchr((char *)list[i], '=');
            if (!value) continue;
            JSAtom name = JS_NewAtomLen(c, (char *)list[i], value - (char *)list[i]);
            JS_DefinePropertyValue(c, out, name, JS_NewString(c, value + 1), JS_PROP_C_W_E);
            JS_FreeAtom(c, name);
        }
    }
    free(list);
    free(text);
    return out;
}

// hash.zig has it.
size_t hash(uint32_t kind, const uint8_t *data, size_t n, uint8_t *out);
static JSValue js_hash(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    uint32_t kind = 0;
    size_t n, length;
    uint8_t sum[64], *at = JS_GetUint8Array(c, &n, argv[1]);
    if (JS_ToUint32(c, &kind, argv[0]) || (!at && n)) return JS_EXCEPTION;
    if (!(length = hash(kind, at, n, sum))) return JS_ThrowRangeError(c, "no such hash");
    return JS_NewUint8ArrayCopy(c, sum, length);
}

static void track(JSContext *c, JSValueConst promise, JSValueConst reason, bool handled, void *opaque) {
    JSValue global = JS_GetGlobalObject(c), f = JS_GetPropertyStr(c, global, "__unhandled");
    JSValueConst args[3] = {promise, reason, JS_NewBool(c, handled)};
    if (JS_IsFunction(c, f)) JS_FreeValue(c, JS_Call(c, f, JS_UNDEFINED, 3, args));
    JS_FreeValue(c, f);
    JS_FreeValue(c, global);
}

// The clock stands still while the engine is made, so that many instances can begin with its memory: QuickJS seeds random numbers with
// it, which math_random replaces. Its source has these functions in place of those of the C library.
static bool made;
int husk_clock_gettime(clockid_t clock, struct timespec *now) {
    __wasi_timestamp_t t = 0;
    if (made && __wasi_clock_time_get(clock == CLOCK_REALTIME ? __WASI_CLOCKID_REALTIME : __WASI_CLOCKID_MONOTONIC, 1, &t)) return -1;
    *now = (struct timespec){t / 1000000000, t % 1000000000};
    return 0;
}
int husk_gettimeofday(struct timeval *tv, void *zone) {
    struct timespec now;
    if (husk_clock_gettime(CLOCK_REALTIME, &now)) return -1;
    *tv = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

static JSModuleDef *compile(JSContext *c, const char *name, const char *text, size_t size) {
    JSValue m = JS_Eval(c, text, size, name, JS_EVAL_TYPE_MODULE | JS_EVAL_FLAG_COMPILE_ONLY);
    if (JS_IsException(m)) return NULL;
    JSModuleDef *def = JS_VALUE_GET_PTR(m);
    JS_FreeValue(c, m);
    return def;
}

static JSModuleDef *load(JSContext *c, const char *name, void *opaque) {
    uint32_t length;
    const char *written = file(name, &length);
    if (written) return compile(c, name, written, length);
    JSValue given = JS_NewString(c, name), text = JS_IsUndefined(source) ? JS_UNDEFINED : JS_Call(c, source, JS_UNDEFINED, 1, &given);
    JSModuleDef *m = NULL;
    size_t size;
    const char *found = JS_IsString(text) ? JS_ToCStringLen(c, &size, text) : NULL;
    if (found) m = compile(c, name, found, size);
    else if (!JS_IsException(text)) JS_ThrowReferenceError(c, "the module has no file %s: the bundle must have all that it imports", name);
    JS_FreeCString(c, found);
    JS_FreeValue(c, text);
    JS_FreeValue(c, given);
    return m;
}

static char *as_is(JSContext *c, const char *base, const char *name, void *opaque) { return js_strdup(c, name); }

static JSValue problem = JS_UNDEFINED; // what the start failed with

// start makes the engine and runs the provider's files, once.
static void start(void) {
    if (rt) return;
    rt = JS_NewRuntime();
    if (!rt) abort();
    JS_SetMemoryLimit(rt, MEMORY_LIMIT);
    JS_SetMaxStackSize(rt, STACK_LIMIT);
    ctx = JS_NewContext(rt);
    if (!ctx) abort();
    made = true;
    JS_SetModuleLoaderFunc(rt, as_is, load, NULL);
    JSValue global = JS_GetGlobalObject(ctx), engine = JS_NewObject(ctx), names = JS_NewArray(ctx);
    static const struct { const char *name; JSCFunction *f; int args; } functions[] = {
        {"call", js_call, 2}, {"settle", js_settle, 2}, {"main", js_main, 5}, {"random", js_random, 1},
        {"encode", js_encode, 1}, {"decode", js_decode, 1}, {"hash", js_hash, 2}, {"env", js_env, 0},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        JS_SetPropertyStr(ctx, engine, functions[i].name, JS_NewCFunction(ctx, functions[i].f, functions[i].name, functions[i].args));
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++) JS_SetPropertyUint32(ctx, names, i, JS_NewString(ctx, imports[i].f.name));
    JS_SetPropertyStr(ctx, engine, "functions", names);
    JS_SetPropertyStr(ctx, global, "__engine", engine);
    JSValue math = JS_GetPropertyStr(ctx, global, "Math");
    JS_SetPropertyStr(ctx, math, "random", JS_NewCFunction(ctx, math_random, "random", 0));
    JS_FreeValue(ctx, math);
    JS_FreeValue(ctx, global);
    JS_SetHostPromiseRejectionTracker(rt, track, NULL);
    static const char first[] = "import './start.js';";
    JSValue v = JS_Eval(ctx, first, sizeof first - 1, "start", JS_EVAL_TYPE_MODULE);
    if (!JS_IsException(v)) {
        JSContext *c;
        while (JS_ExecutePendingJob(rt, &c) > 0) {}
        if (JS_PromiseState(ctx, v) == JS_PROMISE_REJECTED) problem = JS_PromiseResult(ctx, v);
        else if (JS_PromiseState(ctx, v) == JS_PROMISE_PENDING) {
            JS_ThrowTypeError(ctx, "the main file awaits something when it is loaded: await it in configure, or in what is called");
            problem = JS_GetException(ctx);
        }
    } else {
        problem = JS_GetException(ctx);
    }
    JS_FreeValue(ctx, v);
}

EXPORT("wizer-initialize") void initialize(void) { start(); }
EXPORT("husk:feature/read-first") void read_first(void) {}

// fail makes an error the answer: an object as the contract has it, or the text of anything else.
static void fail(const struct type *result, char *b, JSValueConst error) {
    const struct type *e = result->parts[1].type;
    PUT(0, uint8_t, 1);
    if (JS_IsObject(error) && !JS_IsError(error) && !lower(e, b + result->payload, error)) return;
    JS_FreeValue(ctx, JS_GetException(ctx));
    memset(b + result->payload, 0, e->size);
    const char *message = JS_ToCString(ctx, error);
    static const char none[] = "an error that has no text";
    char *at = answer_memory(message ? strlen(message) + 1 : sizeof none);
    strcpy(at, message ? message : none);
    JS_FreeCString(ctx, message);
    b += result->payload;
    *b = 7; // internal
    for (uint32_t i = 0; i < e->count; i++) if (!strcmp(e->parts[i].name, "message")) {
        PUT(e->parts[i].offset, uint32_t, (uint32_t)at);
        PUT(e->parts[i].offset + 4, uint32_t, strlen(at));
    }
}

// take makes the pending exception the outcome.
static void take(void) {
    if (ended == WAITING) outcome = JS_GetException(ctx), ended = FAILED;
    else JS_FreeValue(ctx, JS_GetException(ctx));
}

// run has the handler answer the call, and runs all that it waits for.
static void run(const struct function *f, JSValue params) {
    JSValue args[2] = {JS_NewString(ctx, f->name), params};
    JSValue begun = JS_Call(ctx, handler, JS_UNDEFINED, 2, args);
    JS_FreeValue(ctx, args[0]);
    if (JS_IsException(begun)) take();
    JS_FreeValue(ctx, begun);
    for (;;) {
        JSContext *c;
        int ran = JS_ExecutePendingJob(rt, &c);
        if (ran < 0) take();
        if (ran) continue;
        JSValue left = JS_Call(ctx, idle, JS_UNDEFINED, 0, NULL);
        double wait = -1;
        if (JS_IsException(left)) take(); else JS_ToFloat64(ctx, &wait, left);
        JS_FreeValue(ctx, left);
        if (JS_IsJobPending(rt)) continue;
        if (ended != WAITING) return;
        if (wait > 0) usleep((uint32_t)(wait < 1000 ? wait * 1000 : 1000000));
        if (wait < 0) {
            JS_ThrowTypeError(ctx, "the module waits for a promise that nothing is going to resolve: no timer and no request is pending");
            take();
        }
    }
}

static void *serve(const struct function *f, char *params, bool allocated) {
    start();
    release_answer();
    JS_UpdateStackTop(rt);
    ended = WAITING;
    JSValue request = lift(f->params, params);
    if (allocated) free(params);
    if (!JS_IsUndefined(problem)) outcome = JS_DupValue(ctx, problem), ended = FAILED;
    else if (JS_IsException(request)) take();
    else run(f, request);
    JS_FreeValue(ctx, request);
    char *answer = answer_memory(f->result->size);
    if (ended == ANSWERED && lower(f->result, answer, outcome)) {
        ended = WAITING;
        JS_FreeValue(ctx, outcome);
        take();
        memset(answer, 0, f->result->size);
    }
    if (ended == FAILED) fail(f->result, answer, outcome);
    JS_FreeValue(ctx, outcome);
    outcome = JS_UNDEFINED;
    return answer;
}
