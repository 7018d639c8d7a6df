// The SDK for providers in C: see husk.h. Values cross as deterministic CBOR (wit/property.cddl), and functions by the canonical
// ABI of the component model, whose layout of records is that of C structs for wasm32.
#include "husk.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Memory. Chunks are freed together, and the newest is the first. What was kept by configure stays.

typedef struct chunk {
    struct chunk *next;
    size_t size, used;
    _Alignas(8) char data[];
} chunk;

static chunk *chunks, *kept;
static size_t kept_used;
static bool has_nul;   // a text of the call has one, where texts of C end
static bool malformed; // properties of the call are no CBOR of the contract

enum { CHUNK = 64 << 10 };

static void *place(size_t size) {
    if (size > SIZE_MAX / 2) __builtin_trap();
    size = (size + 7) & ~(size_t)7;
    if (!chunks || size > chunks->size - chunks->used) {
        size_t room = size > CHUNK ? size : CHUNK;
        chunk *c = malloc(sizeof *c + room);
        if (!c) __builtin_trap();
        *c = (chunk){chunks, room, 0};
        chunks = c;
    }
    void *at = chunks->data + chunks->used;
    chunks->used += size;
    return at;
}

// resized makes memory larger. What fills a chunk alone is moved with it, so that a large text is not kept in all its sizes.
static void *resized(void *old, size_t was, size_t size) {
    for (chunk **at = &chunks; was >= CHUNK && *at && *at != kept; at = &(*at)->next) {
        if ((*at)->data != old) continue;
        chunk *c = realloc(*at, sizeof *c + size);
        if (!c) __builtin_trap();
        c->size = c->used = size;
        return (*at = c)->data;
    }
    void *more = place(size);
    return was ? memcpy(more, old, was) : more;
}

static void release(void) {
    while (chunks && chunks != kept && (kept || chunks->next || chunks->size > CHUNK)) {
        chunk *next = chunks->next;
        free(chunks);
        chunks = next;
    }
    if (chunks) chunks->used = chunks == kept ? kept_used : 0;
    has_nul = malformed = false;
}

static void keep(void) {
    kept = chunks;
    kept_used = chunks ? chunks->used : 0;
}

void *husk_alloc(size_t size) { return memset(place(size), 0, size); }

// A NUL follows what the host writes, so that texts are those of C.
__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
    (void)align; // at most 8, as all memory here
    char *at = place(size + 1);
    if (old_size) memcpy(at, old, old_size < size ? old_size : size);
    at[size] = 0;
    return at;
}

// Bytes that grow.
typedef struct {
    char *data;
    size_t size, room;
} buffer;

static void put(buffer *b, const void *data, size_t size) {
    if (size >= b->room - b->size) {
        size_t needed = b->size + size + 64, room = needed > 2 * b->room ? needed : 2 * b->room;
        if (room < needed) __builtin_trap();
        b->data = resized(b->data, b->room, room), b->room = room;
    }
    if (size) memcpy(b->data + b->size, data, size);
    b->size += size;
    b->data[b->size] = 0;
}

static void put_text(buffer *b, const char *text) { put(b, text, strlen(text)); }
static void put_byte(buffer *b, int c) { put(b, &(char){(char)c}, 1); }

static void put_rune(buffer *b, uint32_t r) {
    if (r < 0x80) {
        put_byte(b, (int)r);
    } else if (r < 0x800) {
        put(b, (char[]){(char)(0xc0 | r >> 6), (char)(0x80 | (r & 63))}, 2);
    } else if (r < 0x10000) {
        put(b, (char[]){(char)(0xe0 | r >> 12), (char)(0x80 | (r >> 6 & 63)), (char)(0x80 | (r & 63))}, 3);
    } else {
        put(b, (char[]){(char)(0xf0 | r >> 18), (char)(0x80 | (r >> 12 & 63)), (char)(0x80 | (r >> 6 & 63)), (char)(0x80 | (r & 63))}, 4);
    }
}

// rune_size returns the length of the character of UTF-8 at the start of s, 0 if there is none.
static size_t rune_size(const unsigned char *s, size_t n) {
    size_t size = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
    if (size > n) return 0;
    for (size_t i = 1; i < size; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if (size >= 3 && ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f)))
        return 0;
    return size;
}

// valid_size returns how many bytes at the start are UTF-8 without a NUL.
static size_t valid_size(const char *data, size_t size) {
    size_t at = 0;
    for (size_t n; at < size && data[at] && (n = rune_size((const unsigned char *)data + at, size - at)); at += n) {}
    return at;
}

// valid copies text, and replaces what is no UTF-8, or a NUL.
static buffer valid(const char *data, size_t size) {
    buffer b = {0};
    for (;; data++, size--) {
        size_t n = valid_size(data, size);
        put(&b, data, n);
        if (n == size) return b;
        put_rune(&b, 0xfffd);
        data += n, size -= n;
    }
}

static const char *vformat(const char *format, va_list args) {
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *text = husk_alloc((size_t)(n < 0 ? 0 : n) + 1);
    vsnprintf(text, (size_t)(n < 0 ? 0 : n) + 1, format, again);
    va_end(again);
    return text;
}

const char *husk_format(const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *text = vformat(format, args);
    va_end(args);
    return text;
}

// Values

static husk_value *make(husk_kind kind) {
    husk_value *v = husk_alloc(sizeof *v);
    v->kind = kind;
    return v;
}

husk_value *husk_bool(bool b) {
    husk_value *v = make(HUSK_BOOL);
    v->boolean = b;
    return v;
}

husk_value *husk_number(double n) {
    husk_value *v = make(HUSK_NUMBER);
    v->number = n;
    return v;
}

husk_value *husk_string_of(const char *data, size_t size) {
    husk_value *v = make(HUSK_STRING);
    buffer b = valid(data, size);
    v->text = b.data, v->size = (uint32_t)b.size;
    return v;
}

husk_value *husk_string(const char *text) { return husk_string_of(text ? text : "", text ? strlen(text) : 0); }

const husk_value *husk_secret(const husk_value *of) {
    husk_value *v = make(HUSK_SECRET);
    v->in.value = of ? of : make(HUSK_NULL);
    if (!of || (of->kind != HUSK_SECRET && of->kind != HUSK_OUTPUT)) return v;
    *v = *of; // which holds no secret
    v->in.secret = true;
    return v;
}

husk_value *husk_array(void) { return make(HUSK_ARRAY); }
husk_value *husk_object(void) { return make(HUSK_OBJECT); }

// grown returns room for one more element. Lists have room for a power of two.
static void *grown(void *list, uint32_t n, size_t size) {
    if (n & (n - 1) && n) return list;
    void *more = place((n ? 2 * (size_t)n : 1) * size);
    return n ? memcpy(more, list, n * size) : more;
}

void husk_append(husk_value *array, const husk_value *v) {
    array->items = grown(array->items, array->size, sizeof *array->items);
    array->items[array->size++] = v ? v : make(HUSK_NULL);
}

static void append_entry(husk_value *object, const char *key, uint32_t size, const husk_value *v) {
    object->entries = grown(object->entries, object->size, sizeof *object->entries);
    object->entries[object->size++] = (husk_entry){key, size, v};
}

static int compare_keys(const char *a, uint32_t n, const char *b, uint32_t m) { return n != m ? (n < m ? -1 : 1) : memcmp(a, b, n); }

// find returns where a key is or belongs.
static uint32_t find(const husk_value *object, const char *key, uint32_t size, bool *found) {
    uint32_t low = 0, high = object->size;
    while (low < high) {
        uint32_t at = (low + high) / 2;
        int order = compare_keys(object->entries[at].key, object->entries[at].size, key, size);
        if (!order) return *found = true, at;
        if (order < 0) low = at + 1; else high = at;
    }
    return *found = false, low;
}

static void set_entry(husk_value *object, const char *key, uint32_t size, const husk_value *v) {
    bool found;
    uint32_t at = find(object, key, size, &found);
    if (!found) {
        append_entry(object, key, size, v);
        memmove(object->entries + at + 1, object->entries + at, (object->size - 1 - at) * sizeof *object->entries);
    }
    object->entries[at] = (husk_entry){key, size, v};
}

void husk_set(husk_value *object, const char *key, const husk_value *v) {
    bool found;
    buffer name = valid(key, strlen(key));
    if (v) return set_entry(object, name.data, (uint32_t)name.size, v);
    uint32_t at = find(object, name.data, (uint32_t)name.size, &found);
    if (found) memmove(object->entries + at, object->entries + at + 1, (--object->size - at) * sizeof *object->entries);
}

const husk_value *husk_plain(const husk_value *v) {
    while (v && (v->kind == HUSK_SECRET || v->kind == HUSK_OUTPUT)) v = v->in.value;
    return v;
}

static const husk_value *get(const husk_value *object, const char *key, uint32_t size) {
    bool found;
    object = husk_plain(object);
    if (!object || object->kind != HUSK_OBJECT) return NULL;
    uint32_t at = find(object, key, size, &found);
    return found ? object->entries[at].value : NULL;
}

const husk_value *husk_get(const husk_value *object, const char *key) { return get(object, key, (uint32_t)strlen(key)); }

const husk_value *husk_at(const husk_value *array, uint32_t i) {
    array = husk_plain(array);
    return array && array->kind == HUSK_ARRAY && i < array->size ? array->items[i] : NULL;
}

uint32_t husk_size(const husk_value *v) {
    v = husk_plain(v);
    return v && (v->kind == HUSK_ARRAY || v->kind == HUSK_OBJECT) ? v->size : 0;
}

bool husk_is(const husk_value *v, husk_kind kind) {
    if (kind != HUSK_SECRET && kind != HUSK_OUTPUT) v = husk_plain(v);
    return v ? v->kind == kind : kind == HUSK_NULL;
}

const char *husk_text(const husk_value *v, const char *otherwise) { return husk_is(v, HUSK_STRING) ? husk_plain(v)->text : otherwise; }
double husk_as_number(const husk_value *v, double otherwise) { return husk_is(v, HUSK_NUMBER) ? husk_plain(v)->number : otherwise; }
bool husk_as_bool(const husk_value *v, bool otherwise) { return husk_is(v, HUSK_BOOL) ? husk_plain(v)->boolean : otherwise; }

// any reports whether a value is or holds one of the kind.
static bool any(const husk_value *v, husk_kind kind) {
    if (!v) return false;
    if (v->kind == kind || (kind == HUSK_SECRET && v->kind == HUSK_OUTPUT && v->in.secret)) return true;
    if (v->kind == HUSK_SECRET || v->kind == HUSK_OUTPUT) return any(v->in.value, kind);
    for (uint32_t i = 0; v->kind == HUSK_ARRAY && i < v->size; i++)
        if (any(v->items[i], kind)) return true;
    for (uint32_t i = 0; v->kind == HUSK_OBJECT && i < v->size; i++)
        if (any(v->entries[i].value, kind)) return true;
    return false;
}

static bool is_secret(const husk_value *v) { return v && (v->kind == HUSK_SECRET || (v->kind == HUSK_OUTPUT && v->in.secret)); }

// Null properties equal absent ones, and assets are the same by their hash.
bool husk_equal(const husk_value *a, const husk_value *b) {
    a = husk_plain(a), b = husk_plain(b);
    if (husk_is(a, HUSK_NULL) || husk_is(b, HUSK_NULL)) return husk_is(a, HUSK_NULL) && husk_is(b, HUSK_NULL);
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case HUSK_BOOL: return a->boolean == b->boolean;
    case HUSK_NUMBER: return a->number == b->number || (a->number != a->number && b->number != b->number);
    case HUSK_STRING: return a->size == b->size && !memcmp(a->text, b->text, a->size);
    case HUSK_ARRAY:
        if (a->size != b->size) return false;
        for (uint32_t i = 0; i < a->size; i++)
            if (!husk_equal(a->items[i], b->items[i])) return false;
        return true;
    case HUSK_OBJECT:
        for (uint32_t i = 0; i < a->size; i++)
            if (!husk_equal(a->entries[i].value, get(b, a->entries[i].key, a->entries[i].size))) return false;
        for (uint32_t i = 0; i < b->size; i++)
            if (!husk_is(b->entries[i].value, HUSK_NULL) && !get(a, b->entries[i].key, b->entries[i].size)) return false;
        return true;
    case HUSK_UNKNOWN: return true;
    default:
        if (a->as.hash && b->as.hash && *a->as.hash && *b->as.hash) return !strcmp(a->as.hash, b->as.hash);
        return a->size == b->size && !memcmp(a->as.raw, b->as.raw, a->size);
    }
}

// CBOR

typedef struct {
    const uint8_t *at, *end;
} reader;

// take returns the next bytes. Where they are missing, properties are malformed, and a number is zero.
static const uint8_t *take(reader *r, size_t n) {
    static const uint8_t zero[8];
    if (n > (size_t)(r->end - r->at)) return malformed = true, zero;
    return (r->at += n) - n;
}

static uint64_t big_endian(reader *r, int n) {
    uint64_t v = 0;
    for (const uint8_t *p = take(r, (size_t)n); n--; p++) v = v << 8 | *p;
    return v;
}

static uint64_t head(reader *r, int *major, int *minor) {
    uint8_t first = *take(r, 1);
    *major = first >> 5, *minor = first & 31;
    return *minor < 24 ? (uint64_t)*minor : *minor < 28 ? big_endian(r, 1 << (*minor - 24)) : (malformed = true, 0);
}

static double half(uint64_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double v = exponent == 0 ? ldexp(fraction, -24) : exponent == 31 ? (fraction ? NAN : INFINITY) : ldexp(fraction + 1024, exponent - 25);
    return bits >> 15 ? -v : v;
}

enum { UNKNOWN = 48500, SECRET, OUTPUT, ASSET, ARCHIVE, REFERENCE };

static const char *text_of(reader *r, uint64_t n) {
    const uint8_t *bytes = take(r, n <= SIZE_MAX ? (size_t)n : SIZE_MAX);
    if (malformed) return "";
    has_nul = has_nul || memchr(bytes, 0, (size_t)n);
    char *text = place((size_t)n + 1);
    memcpy(text, bytes, (size_t)n);
    text[n] = 0;
    return text;
}

static husk_value *decode(reader *r, int depth) {
    const uint8_t *begin = r->at;
    int major, minor;
    uint64_t n = head(r, &major, &minor);
    husk_value *v = make(HUSK_NULL);
    if (depth > 4 * 128) malformed = true;
    if (malformed) return v;
    switch (major) {
    case 0: // the integers inside of tags
        v->kind = HUSK_NUMBER, v->number = (double)n;
        return v;
    case 3:
        v->kind = HUSK_STRING, v->text = text_of(r, n), v->size = malformed ? 0 : (uint32_t)n;
        return v;
    case 4:
        for (v->kind = HUSK_ARRAY; n && !malformed; n--) husk_append(v, decode(r, depth + 1));
        return v;
    case 5:
        for (v->kind = HUSK_OBJECT; n && !malformed; n--) {
            const husk_value *key = decode(r, depth + 1);
            if (key->kind != HUSK_STRING) return malformed = true, v;
            append_entry(v, key->text, key->size, decode(r, depth + 1));
        }
        return v;
    case 6: {
        const husk_value *in = decode(r, depth + 1);
        if (n == UNKNOWN) {
            v->kind = HUSK_UNKNOWN;
        } else if (n == SECRET) {
            v->kind = HUSK_SECRET, v->in.value = in;
        } else if (n == OUTPUT && in->kind == HUSK_ARRAY && in->size == 3) {
            v->kind = HUSK_OUTPUT;
            v->in.value = in->items[0], v->in.secret = husk_as_bool(in->items[1], false), v->in.dependencies = in->items[2];
        } else if (n >= ASSET && n <= REFERENCE) {
            v->kind = HUSK_ASSET + (husk_kind)(n - ASSET);
            v->as.raw = begin, v->size = (uint32_t)(r->at - begin), v->as.hash = n == REFERENCE ? NULL : husk_text(husk_at(in, 0), "");
        } else {
            malformed = true;
        }
        return v;
    }
    case 7:
        if (minor == 20 || minor == 21) v->kind = HUSK_BOOL, v->boolean = minor == 21;
        else if (minor == 25) v->kind = HUSK_NUMBER, v->number = half(n);
        else if (minor == 26) v->kind = HUSK_NUMBER, v->number = (double)(union { uint32_t bits; float f; }){(uint32_t)n}.f;
        else if (minor == 27) v->kind = HUSK_NUMBER, v->number = (union { uint64_t bits; double f; }){n}.f;
        else if (minor != 22) malformed = true;
        return v;
    }
    malformed = true;
    return v;
}

static void put_head(buffer *b, int major, uint64_t n) {
    int size = n < 24 ? 0 : n <= UINT8_MAX ? 1 : n <= UINT16_MAX ? 2 : n <= UINT32_MAX ? 4 : 8;
    put_byte(b, major << 5 | (size ? 24 + __builtin_ctz((unsigned)size) : (int)n));
    while (size--) put_byte(b, (int)(n >> 8 * size & 255));
}

static void put_float(buffer *b, int minor, uint64_t bits) {
    put_byte(b, 7 << 5 | minor);
    for (int size = 1 << (minor - 24); size--;) put_byte(b, (int)(bits >> 8 * size & 255));
}

// put_number writes the shortest form that holds a number exactly.
static void put_number(buffer *b, double n) {
    float f = (float)n;
    if (n != n) {
        put_float(b, 25, 0x7e00);
    } else if ((double)f != n) {
        put_float(b, 27, (union { double f; uint64_t bits; }){n}.bits);
    } else {
        uint32_t bits = (union { float f; uint32_t bits; }){f}.bits, sign = bits >> 16 & 0x8000, fraction = bits & 0x7fffff;
        int exponent = (int)(bits >> 23 & 255) - 127;
        if (exponent == 128) put_float(b, 25, sign | 0x7c00);
        else if (f == 0) put_float(b, 25, sign);
        else if (exponent >= -14 && exponent <= 15 && !(fraction & 0x1fff)) put_float(b, 25, sign | (uint32_t)(exponent + 15) << 10 | fraction >> 13);
        else if (exponent >= -24 && exponent < -14 && !((fraction | 0x800000) & ((1u << (-exponent - 1)) - 1)))
            put_float(b, 25, sign | (fraction | 0x800000) >> (-exponent - 1));
        else put_float(b, 26, bits);
    }
}

static void encode(buffer *b, const husk_value *v) {
    switch (v ? v->kind : HUSK_NULL) {
    case HUSK_NULL: put_byte(b, 0xf6); return;
    case HUSK_BOOL: put_byte(b, v->boolean ? 0xf5 : 0xf4); return;
    case HUSK_NUMBER: put_number(b, v->number); return;
    case HUSK_STRING: put_head(b, 3, v->size), put(b, v->text, v->size); return;
    case HUSK_ARRAY:
        put_head(b, 4, v->size);
        for (uint32_t i = 0; i < v->size; i++) encode(b, v->items[i]);
        return;
    case HUSK_OBJECT:
        put_head(b, 5, v->size);
        for (uint32_t i = 0; i < v->size; i++) {
            put_head(b, 3, v->entries[i].size), put(b, v->entries[i].key, v->entries[i].size);
            encode(b, v->entries[i].value);
        }
        return;
    case HUSK_UNKNOWN: put_head(b, 6, UNKNOWN), put_byte(b, 0xf6); return;
    case HUSK_SECRET: put_head(b, 6, SECRET), encode(b, v->in.value); return;
    case HUSK_OUTPUT:
        put_head(b, 6, OUTPUT), put_head(b, 4, 3), encode(b, v->in.value);
        put_byte(b, v->in.secret ? 0xf5 : 0xf4), encode(b, v->in.dependencies);
        return;
    default: put(b, v->as.raw, v->size); return;
    }
}

// JSON

static void put_json_text(buffer *b, const char *text, uint32_t size) {
    put_byte(b, '"');
    for (uint32_t from = 0, i = 0;; i++) {
        unsigned char c = i < size ? (unsigned char)text[i] : 0;
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        put(b, text + from, i - from);
        if (i >= size) break;
        put_text(b, husk_format(c < 0x20 ? "\\u%04x" : "\\%c", c));
        from = i + 1;
    }
    put_byte(b, '"');
}

static void put_json(buffer *b, const husk_value *v) {
    v = husk_plain(v);
    switch (v ? v->kind : HUSK_NULL) {
    case HUSK_BOOL: put_text(b, v->boolean ? "true" : "false"); return;
    case HUSK_NUMBER:
        if (!isfinite(v->number)) break;
        for (int digits = 15; digits <= 17; digits++) {
            const char *text = husk_format("%.*g", digits, v->number);
            if (digits == 17 || strtod(text, NULL) == v->number) return put_text(b, text);
        }
        return;
    case HUSK_STRING: put_json_text(b, v->text, v->size); return;
    case HUSK_ARRAY:
        put_byte(b, '[');
        for (uint32_t i = 0; i < v->size; i++) put_text(b, i ? "," : ""), put_json(b, v->items[i]);
        put_byte(b, ']');
        return;
    case HUSK_OBJECT:
        put_byte(b, '{');
        for (uint32_t i = 0; i < v->size; i++) {
            put_text(b, i ? "," : ""), put_json_text(b, v->entries[i].key, v->entries[i].size);
            put_byte(b, ':'), put_json(b, v->entries[i].value);
        }
        put_byte(b, '}');
        return;
    default: break;
    }
    put_text(b, "null");
}

const char *husk_json(const husk_value *v) {
    buffer b = {0};
    put_json(&b, v);
    return b.data;
}

typedef struct {
    const char *at, *end;
    int depth;
} json;

static int skip(json *j) { // white space; returns what follows, or -1
    while (j->at < j->end && strchr(" \t\r\n", *j->at) && *j->at) j->at++;
    return j->at < j->end ? (unsigned char)*j->at : -1;
}

static bool accept(json *j, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(j->end - j->at) < n || memcmp(j->at, text, n)) return false;
    return j->at += n, true;
}

static bool json_unit(json *j, uint32_t *unit) {
    *unit = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        int c = j->at < j->end ? *j->at : 0, digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
        if (digit < 0) return false;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

static const husk_value *json_text(json *j) {
    buffer b = {0};
    for (;;) {
        const char *from = j->at;
        while (j->at < j->end && (unsigned char)*j->at >= 0x20 && *j->at != '"' && *j->at != '\\') j->at++;
        put(&b, from, (size_t)(j->at - from));
        if (accept(j, "\"")) break;
        if (!accept(j, "\\")) return NULL;
        const char *escapes = "\"\\/bfnrt", *known = j->at < j->end && *j->at ? strchr(escapes, *j->at) : NULL;
        if (known) {
            put_byte(&b, "\"\\/\b\f\n\r\t"[known - escapes]), j->at++;
            continue;
        }
        uint32_t r, low;
        if (!accept(j, "u") || !json_unit(j, &r) || !r) return NULL;
        const char *after = j->at;
        if (r >> 10 == 0x36 && accept(j, "\\u") && json_unit(j, &low) && low >> 10 == 0x37) r = 0x10000 + ((r & 1023) << 10 | (low & 1023));
        else j->at = after;
        put_rune(&b, r >> 11 == 0x1b ? 0xfffd : r);
    }
    if (valid_size(b.data, b.size) < b.size) return husk_string_of(b.data, b.size);
    husk_value *v = make(HUSK_STRING);
    v->text = b.data, v->size = (uint32_t)b.size;
    return v;
}

static bool json_digits(json *j) {
    const char *from = j->at;
    while (j->at < j->end && *j->at >= '0' && *j->at <= '9') j->at++;
    return j->at > from;
}

// json_number reads a number. One that is beyond a double is none.
static const husk_value *json_number(json *j) {
    const char *from = j->at;
    accept(j, "-");
    if (!accept(j, "0") && !json_digits(j)) return NULL;
    if (accept(j, ".") && !json_digits(j)) return NULL;
    if ((accept(j, "e") || accept(j, "E")) && (accept(j, "+") || accept(j, "-") || true) && !json_digits(j)) return NULL;
    double n = strtod(husk_format("%.*s", (int)(j->at - from), from), NULL);
    return isfinite(n) ? husk_number(n) : NULL;
}

typedef struct {
    husk_entry entry;
    uint32_t place;
} placed;

static int by_key_and_place(const void *a, const void *b) {
    const placed *p = a, *q = b;
    int order = compare_keys(p->entry.key, p->entry.size, q->entry.key, q->entry.size);
    return order ? order : p->place < q->place ? -1 : 1;
}

// sort_entries orders the entries of an object. Of the ones with the same key the last stays.
static void sort_entries(husk_value *object) {
    placed *all = place(object->size * sizeof *all);
    for (uint32_t i = 0; i < object->size; i++) all[i] = (placed){object->entries[i], i};
    qsort(all, object->size, sizeof *all, by_key_and_place);
    uint32_t n = 0;
    for (uint32_t i = 0; i < object->size; i++) {
        if (n && !compare_keys(object->entries[n - 1].key, object->entries[n - 1].size, all[i].entry.key, all[i].entry.size)) n--;
        object->entries[n++] = all[i].entry;
    }
    object->size = n;
}

static const husk_value *parse_json(json *j) {
    int c = skip(j);
    if (c == '"') return j->at++, json_text(j);
    if (accept(j, "null")) return make(HUSK_NULL);
    if (accept(j, "true")) return husk_bool(true);
    if (accept(j, "false")) return husk_bool(false);
    if (c == '-' || (c >= '0' && c <= '9')) return json_number(j);
    if ((c != '[' && c != '{') || ++j->depth > 128) return NULL;
    husk_value *v = c == '[' ? husk_array() : husk_object();
    int close = c == '[' ? ']' : '}';
    j->at++;
    for (bool first = true; skip(j) != close; first = false) {
        if (!first && !accept(j, ",")) return NULL;
        if (!first) skip(j);
        const husk_value *key = NULL, *one;
        if (close == '}' && (!accept(j, "\"") || !(key = json_text(j)) || skip(j) != ':' || !accept(j, ":"))) return NULL;
        if (!(one = parse_json(j))) return NULL;
        if (key) append_entry(v, key->text, key->size, one);
        else husk_append(v, one);
    }
    if (close == '}') sort_entries(v);
    return j->at++, j->depth--, v;
}

const husk_value *husk_parse_json(const char *data, size_t size) {
    json j = {data, data + size, 0};
    const husk_value *v = parse_json(&j);
    return skip(&j) < 0 ? v : NULL;
}

// fitting returns what of a value has the shape at *at, NULL if it does not fit, and moves that behind the shape.
static const husk_value *fitting(const husk_value *v, const char **at) {
    husk_value *out;
    bool fits;
    v = husk_plain(v);
    switch (*(*at)++) {
    case 's': return husk_is(v, HUSK_STRING) ? v : NULL;
    case 'b': return husk_is(v, HUSK_BOOL) ? v : NULL;
    case 'n': return husk_is(v, HUSK_NUMBER) ? v : NULL;
    case 'i': return husk_is(v, HUSK_NUMBER) && fabs(v->number) <= 0x1p53 && v->number == trunc(v->number) ? v : NULL;
    case '*': return v && v->kind != HUSK_NULL ? v : NULL;
    case '[': {
        const char *element = *at;
        out = husk_array(), fits = husk_is(v, HUSK_ARRAY);
        fitting(NULL, at); // moves behind the shape of elements
        for (uint32_t i = 0; fits && i < v->size; i++) {
            const husk_value *one = fitting(v->items[i], &(const char *){element});
            if (one) husk_append(out, one);
            fits = one != NULL;
        }
        if (*(*at)++ != ']') __builtin_trap();
        return fits ? out : NULL;
    }
    case '{':
        out = husk_object(), fits = husk_is(v, HUSK_OBJECT);
        while (**at != '}') {
            size_t n = strcspn(*at, "?:");
            bool found = false;
            uint32_t place = fits ? find(v, *at, (uint32_t)n, &found) : 0;
            const husk_entry *e = found ? v->entries + place : NULL;
            *at += n;
            bool optional = **at == '?';
            *at += optional;
            if (*(*at)++ != ':') __builtin_trap();
            const husk_value *one = fitting(e ? e->value : NULL, at);
            if (one) set_entry(out, e->key, e->size, one);
            fits = fits && (one || (optional && (!e || husk_is(e->value, HUSK_NULL))));
            if (**at == ',') ++*at;
        }
        return ++*at, fits ? out : NULL;
    }
    __builtin_trap(); // the author's mistake
}

const husk_value *husk_fitting(const husk_value *v, const char *shape) { return fitting(v, &shape); }

// Secrets. The author's code sees values without them, and what comes of a secret one is marked again.

// without_marks returns a value without the secrets and outputs in it.
static const husk_value *without_marks(const husk_value *v) {
    v = husk_plain(v);
    if (!any(v, HUSK_SECRET) && !any(v, HUSK_OUTPUT)) return v;
    husk_value *out = make(v->kind);
    for (uint32_t i = 0; i < v->size; i++)
        if (v->kind == HUSK_ARRAY) husk_append(out, without_marks(v->items[i]));
        else append_entry(out, v->entries[i].key, v->entries[i].size, without_marks(v->entries[i].value));
    return out;
}

// copied returns a value with the secret marks of from, which has the same contents.
static const husk_value *copied(const husk_value *v, const husk_value *from) {
    const husk_value *source = husk_plain(from);
    if (!any(from, HUSK_SECRET) || is_secret(v)) return v;
    if (is_secret(from) || (source->kind != HUSK_ARRAY && source->kind != HUSK_OBJECT)) return husk_secret(v);
    husk_value *out = make(v->kind);
    for (uint32_t i = 0; i < v->size; i++)
        if (v->kind == HUSK_ARRAY) husk_append(out, copied(v->items[i], husk_at(source, i)));
        else append_entry(out, v->entries[i].key, v->entries[i].size, copied(v->entries[i].value, get(source, v->entries[i].key, v->entries[i].size)));
    return out;
}

// secret_texts collects the texts of secrets that are looked for elsewhere. Shorter ones are found by accident.
static void secret_texts(husk_value *texts, const husk_value *v, bool secret) {
    secret = secret || is_secret(v);
    v = husk_plain(v);
    if (secret && v->kind == HUSK_STRING && v->size >= 8) husk_append(texts, v);
    for (uint32_t i = 0; (v->kind == HUSK_ARRAY || v->kind == HUSK_OBJECT) && i < v->size; i++)
        secret_texts(texts, v->kind == HUSK_ARRAY ? v->items[i] : v->entries[i].value, secret);
}

static int by_text(const void *a, const void *b) {
    const husk_value *p = *(const husk_value **)a, *q = *(const husk_value **)b;
    return compare_keys(p->text, p->size, q->text, q->size);
}

// hidden marks the texts, which are sorted, in a value.
static const husk_value *hidden(const husk_value *v, const husk_value *texts) {
    if (v->kind == HUSK_STRING) return bsearch(&v, texts->items, texts->size, sizeof v, by_text) ? husk_secret(v) : v;
    husk_value *out = make(v->kind);
    if (v->kind == HUSK_SECRET || v->kind == HUSK_OUTPUT) {
        *out = *v;
        if (husk_plain(v)->kind != HUSK_STRING) out->in.value = hidden(v->in.value, texts);
        return out;
    }
    if (v->kind != HUSK_ARRAY && v->kind != HUSK_OBJECT) return v;
    for (uint32_t i = 0; i < v->size; i++)
        if (v->kind == HUSK_ARRAY) husk_append(out, hidden(v->items[i], texts));
        else append_entry(out, v->entries[i].key, v->entries[i].size, hidden(v->entries[i].value, texts));
    return out;
}

// marked returns an object without nulls, in which secret is what has the name of a property of the source with a secret, and what
// is the same text as one.
static husk_value *marked(const husk_value *v, const husk_value *source) {
    husk_value *out = husk_object(), *texts = husk_array();
    if (source) secret_texts(texts, source, false);
    if (texts->size) qsort(texts->items, texts->size, sizeof *texts->items, by_text);
    for (uint32_t i = 0; v && i < v->size; i++) {
        husk_entry e = v->entries[i];
        const husk_value *from = get(source, e.key, e.size);
        if (husk_is(e.value, HUSK_NULL)) continue;
        if (any(from, HUSK_SECRET) && !is_secret(e.value)) e.value = husk_equal(e.value, from) ? copied(e.value, from) : husk_secret(e.value);
        append_entry(out, e.key, e.size, texts->size ? hidden(e.value, texts) : e.value);
    }
    return out;
}

// merged returns the inputs that a read found. Those that are as recorded keep their marks.
static husk_value *merged(const husk_value *found, const husk_value *recorded) {
    husk_value *out = marked(found, NULL);
    for (uint32_t i = 0; i < out->size; i++) {
        husk_entry *e = out->entries + i;
        const husk_value *was = get(recorded, e->key, e->size);
        if (was && husk_equal(was, e->value)) e->value = was;
        else if (any(was, HUSK_SECRET)) e->value = husk_secret(e->value);
    }
    return out;
}

// Dependencies

static void own_urns(husk_value *urns, const husk_value *output) {
    for (uint32_t i = 0; i < husk_size(output->in.dependencies); i++)
        if (husk_is(husk_at(output->in.dependencies, i), HUSK_STRING)) husk_append(urns, husk_at(output->in.dependencies, i));
}

// urns_of collects the resources that a value comes from.
static void urns_of(husk_value *urns, const husk_value *v) {
    if (!v || !any(v, HUSK_OUTPUT)) return;
    if (v->kind == HUSK_OUTPUT) own_urns(urns, v);
    if (v->kind == HUSK_SECRET || v->kind == HUSK_OUTPUT) return urns_of(urns, v->in.value);
    for (uint32_t i = 0; i < v->size; i++) urns_of(urns, v->kind == HUSK_ARRAY ? v->items[i] : v->entries[i].value);
}

static int by_urn(const void *a, const void *b) { return strcmp((*(const husk_value **)a)->text, (*(const husk_value **)b)->text); }

// each_once sorts URNs as they cross, each once.
static husk_value *each_once(husk_value *urns) {
    uint32_t n = 0;
    if (urns->size) qsort(urns->items, urns->size, sizeof *urns->items, by_urn);
    for (uint32_t i = 0; i < urns->size; i++)
        if (!n || by_urn(urns->items + n - 1, urns->items + i)) urns->items[n++] = urns->items[i];
    urns->size = n;
    return urns;
}

static bool holds_secret(const husk_value *v) {
    for (; v && (v->kind == HUSK_SECRET || v->kind == HUSK_OUTPUT); v = v->in.value)
        if (is_secret(v)) return true;
    return false;
}

// dependent returns a value with the marks that it has, and more.
static const husk_value *dependent(const husk_value *v, bool secret, const husk_value *urns) {
    if (!secret && !husk_size(urns)) return v;
    husk_value *out = make(HUSK_OUTPUT), *all = husk_array();
    for (uint32_t i = 0; i < husk_size(urns); i++) husk_append(all, husk_at(urns, i));
    for (const husk_value *in = v; in && (in->kind == HUSK_SECRET || in->kind == HUSK_OUTPUT); in = in->in.value)
        if (in->kind == HUSK_OUTPUT) own_urns(all, in);
    out->in.value = v ? husk_plain(v) : make(HUSK_NULL), out->in.secret = secret || holds_secret(v), out->in.dependencies = each_once(all);
    return out;
}

const husk_value *husk_from(const husk_value *v, const husk_value *of) {
    husk_value *urns = husk_array();
    urns_of(urns, of);
    return dependent(any(of, HUSK_UNKNOWN) ? make(HUSK_UNKNOWN) : v, any(of, HUSK_SECRET), urns);
}

// lowered returns a value without the outputs in it, which are secrets where they are secret.
static const husk_value *lowered(const husk_value *v) {
    if (!any(v, HUSK_OUTPUT)) return v;
    const husk_value *plain = husk_plain(v);
    if (plain != v) return holds_secret(v) ? husk_secret(lowered(plain)) : lowered(plain);
    husk_value *out = make(v->kind);
    for (uint32_t i = 0; i < v->size; i++)
        if (v->kind == HUSK_ARRAY) husk_append(out, lowered(v->items[i]));
        else append_entry(out, v->entries[i].key, v->entries[i].size, lowered(v->entries[i].value));
    return out;
}

// The canonical ABI

typedef struct {
    const char *data;
    uint32_t size;
} text; // as it crosses

typedef struct {
    void *data;
    uint32_t size;
} list;

typedef struct {
    text first, second;
} texts;

struct husk_answer {
    bool failed;
    husk_error_kind kind;
    uint8_t origin;
    const char *message, *path;
    list listed;
    husk_child *children; // of a component, the last one first
    bool preview;
};

static text crossing(const char *s) {
    buffer b = valid(s ? s : "", s ? strlen(s) : 0);
    return (text){b.data, (uint32_t)b.size};
}

static const char *lifted(text t) { return t.size ? t.data : ""; }

static void append(list *l, const void *element, size_t size) {
    l->data = grown(l->data, l->size, size);
    memcpy((char *)l->data + size * l->size++, element, size);
}

static void append_texts(list *l, const char *first, const char *second) { append(l, &(texts){crossing(first), crossing(second)}, sizeof(texts)); }

static list encoded(const husk_value *object) {
    buffer b = {0};
    encode(&b, object ? object : husk_object());
    return (list){b.data, (uint32_t)b.size};
}

static const husk_value *decoded(list properties) {
    reader r = {properties.data, (const uint8_t *)properties.data + properties.size};
    const husk_value *v = decode(&r, 0);
    malformed = malformed || r.at != r.end || v->kind != HUSK_OBJECT;
    return malformed ? husk_object() : v;
}

typedef struct {
    uint8_t kind, origin;
    text message, path;
    uint8_t init_failed;
    text id;
    list state;
    uint8_t has_inputs;
    list inputs, reasons;
    uint8_t refresh;
    list missing;
} error;

// outcome is a result: whether it is an error, and a payload behind 4 bytes, or behind 8 if that may be a u64.
typedef union {
    uint8_t failed;
    uint32_t words[24];
    uint64_t room[12];
} outcome;

static void set_error(husk_call *call, husk_error_kind kind, uint8_t origin, const char *path, const char *message) {
    struct husk_answer *a = call->answer;
    if (!a->failed) a->failed = true, a->kind = kind, a->origin = origin, a->path = path, a->message = message;
}

void husk_fail(husk_call *call, husk_error_kind kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    set_error(call, kind, 0, "", vformat(format, args));
    va_end(args);
}

void husk_fail_at(husk_call *call, husk_error_kind kind, const char *path, const char *format, ...) {
    va_list args;
    va_start(args, format);
    set_error(call, kind, 0, path, vformat(format, args));
    va_end(args);
}

void husk_listed(husk_call *call, const char *id, const char *name) { append_texts(&call->answer->listed, id, name); }

// Host

#define IMPORT(interface, name) __attribute__((import_module("husk:provider/" interface "@0.2.0"), import_name(name)))

IMPORT("log", "write") void log_write(uint32_t severity, const char *, uint32_t, const char *urn, uint32_t, uint32_t ephemeral);
IMPORT("control", "cancelled") uint32_t control_cancelled(void);
IMPORT("http", "send") void http_send(const char *method, uint32_t, const char *url, uint32_t, void *headers, uint32_t, const char *body, uint32_t, uint64_t timeout, outcome *);
IMPORT("assets", "open") void assets_open(const char *hash, uint32_t, uint32_t form, outcome *);
IMPORT("assets", "read") void assets_read(uint64_t contents, uint32_t most, outcome *);
IMPORT("assets", "close") void assets_close(uint64_t contents);

// came returns the payload of what a host function answers, NULL for an error, which fails the call.
static void *came(husk_call *call, outcome *o, int word) {
    const error *e = (error *)(o->words + word);
    if (!o->failed) return o->words + word;
    set_error(call, (husk_error_kind)e->kind, e->origin, lifted(e->path), lifted(e->message));
    return NULL;
}

void husk_log(const husk_call *call, husk_severity severity, const char *format, ...) {
    va_list args;
    va_start(args, format);
    text message = crossing(vformat(format, args)), urn = crossing(call ? call->urn : "");
    va_end(args);
    log_write((uint32_t)severity, message.data, message.size, urn.data, urn.size, 0);
}

bool husk_cancelled(void) { return control_cancelled(); }

bool husk_send(husk_call *call, const husk_request *request, husk_response *response) {
    outcome o = {0};
    list headers = {0};
    text method = crossing(request->method), url = crossing(request->url);
    for (const husk_header *h = request->headers; h && h->name; h++) append_texts(&headers, h->name, h->value);
    http_send(method.data, method.size, url.data, url.size, headers.data, headers.size, request->body, (uint32_t)request->size, request->timeout_ms, &o);
    struct {
        uint16_t status;
        list headers;
        text body;
        list trailers;
    } *answer = came(call, &o, 1);
    if (!answer) return false;
    husk_header *all = husk_alloc((answer->headers.size + 1) * sizeof *all);
    for (uint32_t i = 0; i < answer->headers.size; i++) {
        const texts *h = (texts *)answer->headers.data + i;
        all[i] = (husk_header){lifted(h->first), lifted(h->second)};
    }
    *response = (husk_response){answer->status, lifted(answer->body), answer->body.size, all};
    return true;
}

bool husk_read_asset(husk_call *call, const husk_value *asset, const char **data, size_t *size) {
    bool archive = husk_is(asset, HUSK_ARCHIVE);
    if (!archive && !husk_is(asset, HUSK_ASSET)) return husk_fail(call, HUSK_INVALID_ARGUMENT, "the value is neither an asset nor an archive"), false;
    outcome o = {0};
    text hash = crossing(husk_plain(asset)->as.hash);
    assets_open(hash.data, hash.size, archive ? 2 : 0, &o);
    uint64_t *contents = came(call, &o, 2), opened = contents ? *contents : 0;
    buffer b = {0};
    put(&b, NULL, 0);
    for (const text *part; contents; put(&b, part->data, part->size)) {
        memset(&o, 0, sizeof o);
        assets_read(opened, 256 << 10, &o);
        part = came(call, &o, 1);
        if (part && part->size) continue;
        assets_close(opened);
        return *data = b.data, *size = b.size, part != NULL;
    }
    return false;
}

// Calls

static outcome answered; // of the call; the host reads it before the next one
static const husk_value *config;
static bool undecided; // the configuration holds unknowns

// FUNCTION defines an exported function, and the one that the host calls when it has read the answer.
#define FUNCTION(function, name)                                                                                                \
    __attribute__((export_name("cabi_post_husk:provider/provider@0.2.0#" name))) void after_##function(void *o) { (void)o, release(); } \
    __attribute__((export_name("husk:provider/provider@0.2.0#" name))) outcome *function

static text given(text t) {
    has_nul = has_nul || (t.size && memchr(t.data, 0, t.size));
    return (text){lifted(t), t.size};
}

// A text or list is two parameters.
#define FLAT(name) void *name##_data, uint32_t name##_size
#define TEXT(name) given((text){name##_data, name##_size})
#define LIST(name) ((list){name##_data, name##_size})

static void *payload(void) {
    memset(&answered, 0, sizeof answered);
    return answered.words + 1;
}

static outcome *fail_with(husk_error_kind kind, uint8_t origin, const char *path, const char *message) {
    error *e = payload();
    answered.failed = 1;
    e->kind = (uint8_t)kind, e->origin = origin, e->path = crossing(path), e->message = crossing(*message ? message : "an error without a description");
    return &answered;
}

static outcome *failed(husk_error_kind kind, const char *message) { return fail_with(kind, 0, "", message); }
static outcome *failed_call(const struct husk_answer *a) { return fail_with(a->kind == HUSK_INIT_FAILED ? HUSK_INTERNAL : a->kind, a->origin, a->path, a->message); }

// unhealthy is the answer about a resource that exists all the same.
static outcome *unhealthy(const struct husk_answer *a, const char *id, const husk_value *state) {
    error *e = (error *)(fail_with(HUSK_INIT_FAILED, a->origin, a->path, "the resource exists but is not healthy")->words + 1);
    text reason = crossing(a->message);
    e->init_failed = 1, e->id = crossing(id), e->state = encoded(state);
    append(&e->reasons, &reason, sizeof reason);
    return &answered;
}

// unimplemented is the answer of what there is not. A result with a u64 begins behind 8 bytes.
static outcome *unimplemented(const char *name, bool wide) {
    failed(HUSK_UNIMPLEMENTED, husk_format("the provider does not implement %s", name));
    if (wide) memmove(answered.words + 2, answered.words + 1, sizeof(error));
    return &answered;
}

// call_of begins a call, with the answer in it.
static husk_call call_of(const char *urn, const char *name, const char *type, const char *id, struct husk_answer *a) {
    return (husk_call){.urn = urn, .name = name, .type = type, .id = id, .config = config, .continuation = "", .answer = a};
}

// find_resource returns a resource by its type, or answers that there is none.
static const husk_resource *find_resource(text type) {
    for (const husk_resource *r = husk_served.resources; r && r->token; r++)
        if (!strcmp(r->token, type.data)) return r;
    failed(HUSK_NOT_FOUND, husk_format("the package %s %s has no resource type %s", husk_served.name, husk_served.version, type.data));
    return NULL;
}

static bool readable(void) {
    if (malformed) failed(HUSK_INTERNAL, "the host sent properties that are no CBOR of the contract");
    else if (has_nul) failed(HUSK_INVALID_ARGUMENT, "a text has a NUL character, where texts of this provider, which is written in C, end");
    return !malformed && !has_nul;
}

static bool ready(const char *what, const husk_value *v) {
    if (!readable()) return false;
    if (undecided) return failed(HUSK_UNAVAILABLE, "the configuration is not known in this preview: it depends on a resource that does not exist yet"), false;
    for (uint32_t i = 0; v && i < v->size; i++) {
        if (!any(v->entries[i].value, HUSK_UNKNOWN)) continue;
        return fail_with(HUSK_INVALID_ARGUMENT, 0, v->entries[i].key, husk_format("the %s is not known", what)), false;
    }
    return true;
}

FUNCTION(handshake, "handshake")(FLAT(engine), uint32_t features) {
    (void)engine_data, (void)engine_size;
    struct {
        text name, version, sdk;
        uint8_t features;
        list requests;
    } *answer = payload();
    answer->name = crossing(husk_served.name), answer->version = crossing(husk_served.version);
    answer->sdk = crossing("husk-c 0.1.0"), answer->features = features & 1; // secrets
    return &answered;
}

FUNCTION(get_schema, "get-schema")(uint32_t version, FLAT(name), FLAT(of)) {
    (void)name_data, (void)of_data, (void)of_size;
    if (version || name_size) return failed(HUSK_INVALID_ARGUMENT, "there is only the schema of the package itself, in version 0 of the format");
    *(text *)payload() = (text){husk_served.schema, (uint32_t)husk_served.schema_size};
    return &answered;
}

FUNCTION(configure, "configure")(FLAT(urn), FLAT(name), FLAT(type), FLAT(id), FLAT(inputs)) {
    (void)id_data, (void)id_size;
    struct husk_answer a = {0};
    const husk_value *all = decoded(LIST(inputs));
    undecided = any(all, HUSK_UNKNOWN), config = without_marks(all);
    husk_call call = call_of(TEXT(urn).data, TEXT(name).data, TEXT(type).data, "", &a);
    call.inputs = config;
    if (has_nul || malformed) return config = NULL, ready("", NULL), &answered;
    if (husk_served.configure && !undecided) husk_served.configure(&call);
    if (a.failed) return config = NULL, failed_call(&a); // whose memory is released
    keep();
    payload();
    return &answered;
}

typedef struct {
    text id;
    list state;
    uint8_t has_inputs; // of read; of create whether to refresh
    list inputs;
    uint8_t refresh;
} made;

FUNCTION(create, "create")(FLAT(urn), FLAT(name), FLAT(type), FLAT(inputs), double timeout, uint32_t preview) {
    const husk_resource *r = find_resource(TEXT(type));
    const husk_value *inputs = decoded(LIST(inputs));
    if (preview) return unimplemented("previews, which the host answers", false);
    if (!r) return &answered;
    struct husk_answer a = {0};
    husk_call call = call_of(TEXT(urn).data, TEXT(name).data, r->token, "", &a);
    if (!ready("input", inputs)) return &answered;
    call.inputs = without_marks(inputs), call.timeout = timeout;
    r->create(&call);
    const char *id = call.new_id ? call.new_id : "";
    const husk_value *state = marked(call.new_state, inputs);
    if (a.failed) return *id ? unhealthy(&a, id, state) : failed_call(&a);
    if (!*id) return failed(HUSK_CRASHED, "the provider's create returned no ID"); // nobody knows whether there is an object
    made *answer = payload();
    answer->id = crossing(id), answer->state = encoded(state);
    return &answered;
}

FUNCTION(read_, "read")(FLAT(urn), FLAT(name), FLAT(type), FLAT(id), uint32_t has_state, FLAT(state), uint32_t has_inputs, FLAT(inputs), double timeout) {
    const husk_resource *r = find_resource(TEXT(type));
    if (!r) return &answered;
    made *answer;
    struct husk_answer a = {0};
    husk_call call = call_of(TEXT(urn).data, TEXT(name).data, r->token, TEXT(id).data, &a);
    const husk_value *state = has_state ? decoded(LIST(state)) : NULL, *inputs = has_inputs ? decoded(LIST(inputs)) : NULL;
    if (!ready("", NULL)) return &answered;
    call.state = call.new_state = without_marks(state), call.inputs = without_marks(inputs), call.timeout = timeout;
    if (r->read) r->read(&call);
    else if (!has_state) return failed(HUSK_UNIMPLEMENTED, "resources of this type cannot be imported");
    if (a.failed && a.kind == HUSK_NOT_FOUND && !a.origin) call.id = ""; // which says that it is gone
    else if (a.failed) return failed_call(&a);
    const husk_value *new_inputs = call.new_inputs ? merged(call.new_inputs, inputs) : inputs;
    answer = payload();
    answer->id = crossing(call.new_id && *call.id ? call.new_id : call.id);
    answer->state = encoded(a.failed ? NULL : marked(marked(call.new_state, inputs), state));
    if (new_inputs && !a.failed) answer->has_inputs = 1, answer->inputs = encoded(new_inputs);
    return &answered;
}

typedef struct {
    text urn, name, type, id;
    list olds, news, old_inputs, ignored;
    double timeout;
    uint8_t preview;
} update_request;

FUNCTION(update, "update")(const update_request *request) {
    const husk_resource *r = find_resource(given(request->type));
    const husk_value *inputs = decoded(request->news), *old_inputs = decoded(request->old_inputs), *olds = decoded(request->olds);
    if (request->preview) return unimplemented("previews, which the host answers", false);
    if (!r) return &answered;
    struct husk_answer a = {0};
    husk_call call = call_of(given(request->urn).data, given(request->name).data, r->token, given(request->id).data, &a);
    if (!ready("input", inputs)) return &answered;
    if (!r->update) return failed(HUSK_UNIMPLEMENTED, "resources of this type cannot be changed in place, only replaced");
    call.inputs = without_marks(inputs), call.old_inputs = without_marks(old_inputs);
    call.state = without_marks(olds), call.timeout = request->timeout;
    r->update(&call);
    const husk_value *state = marked(call.new_state, inputs);
    if (a.failed) return a.kind == HUSK_INIT_FAILED ? unhealthy(&a, call.id, state) : failed_call(&a);
    *(list *)payload() = encoded(state);
    return &answered;
}

FUNCTION(delete_, "delete")(FLAT(urn), FLAT(name), FLAT(type), FLAT(id), FLAT(state), FLAT(inputs), double timeout) {
    (void)inputs_data, (void)inputs_size;
    const husk_resource *r = find_resource(TEXT(type));
    if (!r) return &answered;
    struct husk_answer a = {0};
    husk_call call = call_of(TEXT(urn).data, TEXT(name).data, r->token, TEXT(id).data, &a);
    call.state = without_marks(decoded(LIST(state))), call.timeout = timeout;
    if (!ready("", NULL)) return &answered;
    if (r->delete) r->delete(&call);
    if (a.failed && (a.kind != HUSK_NOT_FOUND || a.origin)) return failed_call(&a);
    payload();
    return &answered;
}

FUNCTION(list_, "list")(FLAT(token), FLAT(query), uint64_t limit, uint64_t page_size, FLAT(continuation)) {
    const husk_resource *r = find_resource(TEXT(token));
    if (!r) return &answered;
    struct husk_answer a = {0};
    husk_call call = call_of("", "", r->token, "", &a);
    call.inputs = without_marks(decoded(LIST(query))), call.limit = limit, call.page_size = page_size, call.continuation = TEXT(continuation).data;
    if (!ready("", NULL)) return &answered;
    if (!r->list) return unimplemented("list", false);
    r->list(&call);
    if (a.failed) return failed_call(&a);
    struct {
        list resources;
        text next;
    } *answer = payload();
    answer->resources = a.listed, answer->next = crossing(call.next);
    return &answered;
}

FUNCTION(invoke, "invoke")(FLAT(token), FLAT(arguments), uint32_t preview) {
    const husk_invokable *f = husk_served.functions;
    while (f && f->token && strcmp(f->token, TEXT(token).data)) f++;
    if (!f || !f->token) return failed(HUSK_NOT_FOUND, husk_format("the package %s %s has no function %s", husk_served.name, husk_served.version, TEXT(token).data));
    struct husk_answer a = {0};
    const husk_value *arguments = decoded(LIST(arguments)); // which the host has checked
    if (!ready("argument", arguments)) return &answered;
    husk_call call = call_of("", "", f->token, "", &a);
    call.inputs = without_marks(arguments), call.preview = preview;
    f->call(&call);
    if (a.failed) return failed_call(&a);
    husk_value *result = marked(call.result, NULL);
    for (uint32_t i = 0; any(arguments, HUSK_SECRET) && i < result->size; i++) result->entries[i].value = husk_secret(result->entries[i].value);
    *(list *)payload() = encoded(result);
    return &answered;
}

FUNCTION(cancel, "cancel")(void) {
    payload();
    return &answered;
}

// Components

typedef struct {
    uint8_t some, value;
} choice;

typedef struct {
    choice protect;
    text provider;
    list providers, dependencies, secret_outputs;
    double timeouts[4];
    text deleted_with;
    choice delete_before_replace;
    list ignore_changes, replace_on_changes;
    choice retain_on_delete;
    list aliases, replace_with;
    uint8_t has_trigger;
    list trigger, hide_diffs;
    text import_id, version, package;
    list hooks;
} options;

typedef struct {
    text type, name, parent;
    uint8_t custom, remote;
    list inputs, dependencies;
    options options;
    text position;
} registration;

typedef struct {
    text urn, id;
    list state, dependencies;
    uint8_t result;
} registered;

typedef struct {
    text key;
    list urns;
} dependency;

typedef struct {
    uint64_t handle;
    uint8_t kind;
    union {
        registered made;
        error failed;
    };
} completed;

enum { REGISTER = 0, MADE = 0, FAILED = 5 };

IMPORT("monitor", "register-resource") void monitor_register_resource(const registration *, outcome *);
IMPORT("monitor", "register-outputs") void monitor_register_outputs(const char *urn, uint32_t, const void *outputs, uint32_t, outcome *);
IMPORT("monitor", "start") void monitor_start(const void *operation, outcome *);
IMPORT("monitor", "wait") void monitor_wait(outcome *);

struct husk_child {
    husk_child *next;
    const char *type, *name, *urn, *id;
    uint64_t handle;
    bool custom, running;
    const husk_value *state;
    list dependencies;
};

// child_failed fails the call with the error of a child. One that was cancelled because something else failed does not count.
static void child_failed(husk_call *call, const husk_child *c, husk_error_kind kind, uint8_t origin, const char *path, const char *message) {
    if (call->answer->failed && call->answer->kind == HUSK_CANCELLED && kind != HUSK_CANCELLED) call->answer->failed = false;
    set_error(call, kind == HUSK_INIT_FAILED ? HUSK_INTERNAL : kind, origin, "", husk_format("%s %s: %s%s%s", c->type, c->name, path, *path ? ": " : "", message));
}

static void child_error(husk_call *call, const husk_child *c, const error *e) {
    child_failed(call, c, (husk_error_kind)e->kind, e->origin, lifted(e->path), lifted(e->message));
}

// wait_once waits for one of the children that are being made.
static void wait_once(husk_call *call) {
    outcome o = {0};
    monitor_wait(&o);
    const completed *done = came(call, &o, 2);
    for (husk_child *c = call->answer->children; c; c = c->next) {
        if (!c->running || (done && c->handle != done->handle)) continue;
        c->running = false;
        if (!done) continue;
        if (done->kind == FAILED) child_error(call, c, &done->failed);
        else if (done->kind != MADE || done->made.result == 1) child_failed(call, c, HUSK_INTERNAL, 0, "", "it failed");
        else if (done->made.result) child_failed(call, c, HUSK_INTERNAL, 0, "", "it was left out, because something that it depends on failed");
        else c->urn = lifted(done->made.urn), c->id = lifted(done->made.id), c->state = decoded(done->made.state), c->dependencies = done->made.dependencies;
    }
}

static const char *urn_of(husk_call *call, husk_child *c) {
    while (c && c->running) wait_once(call);
    return c ? c->urn : "";
}

static list urns(husk_call *call, husk_child *const *children) {
    list all = {0};
    for (; children && *children; children++) append(&all, &(text[]){crossing(urn_of(call, *children))}, sizeof(text));
    return all;
}

static const char *reference(husk_call *call, husk_child *c) { return c ? husk_format("%s::%s", urn_of(call, c), c->id) : ""; }

static list crossing_all(const char *const *texts) {
    list all = {0};
    for (; texts && *texts; texts++) append(&all, &(text[]){crossing(*texts)}, sizeof(text));
    return all;
}

static choice chosen(husk_choice c) { return (choice){c != HUSK_INHERITED, c == HUSK_YES}; }

static options options_of(husk_call *call, const husk_registration *r) {
    options o = {
        .protect = chosen(r->protect), .retain_on_delete = chosen(r->retain_on_delete), .delete_before_replace = chosen(r->delete_before_replace),
        .provider = crossing(reference(call, r->provider)), .dependencies = urns(call, r->depends_on), .replace_with = urns(call, r->replace_with),
        .deleted_with = crossing(urn_of(call, r->deleted_with)), .secret_outputs = crossing_all(r->secret_outputs),
        .ignore_changes = crossing_all(r->ignore_changes), .replace_on_changes = crossing_all(r->replace_on_changes),
        .hide_diffs = crossing_all(r->hide_diffs), .import_id = crossing(r->import_id), .version = crossing(r->version),
        .timeouts = {r->timeouts.create, r->timeouts.update, r->timeouts.delete, r->timeouts.read}, .has_trigger = r->replacement_trigger != NULL,
    };
    if (o.has_trigger) o.trigger = encoded(lowered(r->replacement_trigger));
    for (husk_child *const *p = r->providers; p && *p; p++) {
        const char *colon = strrchr((*p)->type, ':');
        append_texts(&o.providers, colon ? colon + 1 : (*p)->type, reference(call, *p));
    }
    for (const char *const *alias = r->aliases; alias && *alias; alias++) {
        struct {
            uint8_t is_spec;
            text urn, spec[4];
            uint8_t no_parent;
        } one = {.urn = crossing(*alias)};
        append(&o.aliases, &one, sizeof one);
    }
    return o;
}

husk_child *husk_register(husk_call *call, const husk_registration *r) {
    struct husk_answer *a = call->answer;
    husk_child *c = husk_alloc(sizeof *c);
    *c = (husk_child){.next = a->children, .type = husk_format("%s", r->type), .name = husk_format("%s", r->name), .urn = "", .id = "", .custom = !r->is_component};
    struct {
        uint8_t kind;
        registration resource;
    } operation = {REGISTER, {
        .type = crossing(r->type), .name = crossing(r->name), .parent = crossing(r->parent ? urn_of(call, r->parent) : call->urn),
        .custom = !r->is_component, .remote = r->is_component, .inputs = encoded(marked(r->inputs, NULL)), .options = options_of(call, r),
    }};
    if (a->failed) return c;
    outcome o = {0};
    monitor_start(&operation, &o);
    if (o.failed) return child_error(call, c, (error *)(o.words + 2)), c;
    c->handle = o.room[1], c->running = true;
    return a->children = c;
}

const husk_value *husk_output(husk_call *call, husk_child *c, const char *name) {
    const char *urn = urn_of(call, c);
    if (call->answer->failed) return NULL;
    const husk_value *v = husk_get(c->state, name);
    husk_value *from = husk_array();
    husk_append(from, husk_string(urn));
    if (!strcmp(name, "urn")) v = husk_string(urn);
    else if (!strcmp(name, "id")) v = !c->custom ? NULL : *c->id ? husk_string(c->id) : make(HUSK_UNKNOWN);
    else if (!v && call->answer->preview) v = make(HUSK_UNKNOWN);
    for (uint32_t i = 0; i < c->dependencies.size; i++) {
        const dependency *d = (dependency *)c->dependencies.data + i;
        for (uint32_t k = 0; !strcmp(lifted(d->key), name) && k < d->urns.size; k++) husk_append(from, husk_string(lifted(((text *)d->urns.data)[k])));
    }
    return v ? dependent(v, false, from) : NULL;
}

// secret_at returns the path of the first secret in the value at a path, NULL for none.
static const char *secret_at(const husk_value *v, const char *path) {
    if (!any(v, HUSK_SECRET)) return NULL;
    if (holds_secret(v)) return path;
    v = husk_plain(v);
    const char *found = NULL;
    for (uint32_t i = 0; !found && i < v->size; i++) {
        if (v->kind == HUSK_ARRAY) {
            found = secret_at(v->items[i], husk_format("%s[%u]", path, (unsigned)i));
            continue;
        }
        const char *key = v->entries[i].key;
        bool identifier = *key && !strchr("0123456789", *key) && !key[strspn(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$0123456789")];
        found = secret_at(v->entries[i].value, husk_format(identifier ? "%s.%s" : "%s[%s]", path, identifier ? key : husk_json(husk_string(key))));
    }
    return found;
}

// own_options returns the options of the component itself. Children of its package inherit its provider.
static options own_options(const options *given) {
    options o = *given;
    bool named = false;
    o.providers = (list){0};
    for (uint32_t i = 0; i < given->providers.size; i++) {
        const texts *p = (texts *)given->providers.data + i;
        append(&o.providers, p, sizeof *p);
        named = named || !strcmp(lifted(p->first), husk_served.name);
    }
    if (o.provider.size && !named) append(&o.providers, &(texts){crossing(husk_served.name), o.provider}, sizeof(texts));
    o.provider = o.version = o.package = (text){0};
    return o;
}

// unknown_outputs returns all outputs that the schema has for a component.
static husk_value *unknown_outputs(const char *token) {
    const husk_value *schema = husk_parse_json(husk_served.schema, husk_served.schema_size);
    const husk_value *outputs = husk_get(husk_get(husk_get(schema, "resources"), token), "properties");
    husk_value *all = husk_object();
    for (uint32_t i = 0; i < husk_size(outputs); i++) husk_set(all, outputs->entries[i].key, make(HUSK_UNKNOWN));
    return all;
}

static list dependencies_of(const husk_value *object) {
    list all = {0};
    for (uint32_t i = 0; i < object->size; i++) {
        husk_value *urns = husk_array();
        dependency d = {{object->entries[i].key, object->entries[i].size}, {0}};
        urns_of(urns, object->entries[i].value);
        each_once(urns);
        for (uint32_t k = 0; k < urns->size; k++) append(&d.urns, &(text){urns->items[k]->text, urns->items[k]->size}, sizeof(text));
        if (d.urns.size) append(&all, &d, sizeof d);
    }
    return all;
}

typedef struct {
    text type, name, parent;
    list inputs, dependencies;
    options options;
    text project, stack, organization;
    list config;
    uint8_t preview;
    uint32_t parallel;
} construct_request;

FUNCTION(construct, "construct")(const construct_request *request) {
    const husk_component *c = husk_served.components;
    text type = given(request->type), name = given(request->name);
    while (c && c->token && strcmp(c->token, type.data)) c++;
    if (!c || !c->token) return failed(HUSK_NOT_FOUND, husk_format("the package %s %s has no component %s", husk_served.name, husk_served.version, type.data));
    husk_value *inputs = marked(decoded(request->inputs), NULL); // which the host has checked
    for (uint32_t i = 0; i < request->dependencies.size; i++) {
        const dependency *d = (dependency *)request->dependencies.data + i;
        const husk_value *v = get(inputs, lifted(d->key), d->key.size);
        husk_value *from = husk_array();
        for (uint32_t k = 0; k < d->urns.size; k++) husk_append(from, husk_string(lifted(((text *)d->urns.data)[k])));
        if (v) set_entry(inputs, d->key.data, d->key.size, dependent(v, false, from));
    }
    if (!readable()) return &answered;
    bool open = !undecided;
    for (const char *const *deciding = c->deciding; deciding && *deciding; deciding++) {
        const husk_value *v = husk_get(inputs, *deciding);
        const char *path = secret_at(v, *deciding);
        if (path) return fail_with(HUSK_INVALID_ARGUMENT, 0, path, "the provider cannot keep this input secret: it decides what the component is made of");
        open = open && !any(v, HUSK_UNKNOWN);
    }
    registration own = {
        .type = type, .name = name, .parent = request->parent, .inputs = encoded(inputs), .dependencies = request->dependencies,
        .options = own_options(&request->options),
    };
    struct husk_answer a = {.preview = request->preview};
    husk_call call = call_of("", name.data, c->token, "", &a);
    outcome o = {0};
    monitor_register_resource(&own, &o);
    const registered *made = came(&call, &o, 1);
    if (!made) return failed_call(&a);
    text urn = given(made->urn);
    call.urn = urn.data, call.inputs = inputs, call.preview = request->preview;
    if (open) c->construct(&call);
    else husk_log(&call, HUSK_WARNING, "what %s is made of is not known in this preview, for some of its inputs are not", name.data);
    for (const husk_child *child = a.children; child; child = child->next)
        while (child->running) wait_once(&call);
    if (!readable()) return &answered;
    if (a.failed) return failed_call(&a);
    const husk_value *outputs = open ? marked(call.result, NULL) : unknown_outputs(c->token);
    list recorded = encoded(outputs);
    memset(&o, 0, sizeof o);
    monitor_register_outputs(urn.data, urn.size, recorded.data, recorded.size, &o);
    if (o.failed) return came(&call, &o, 1), failed_call(&a);
    struct {
        text urn;
        list state, dependencies;
    } *answer = payload();
    answer->urn = urn, answer->state = encoded(lowered(outputs)), answer->dependencies = dependencies_of(outputs);
    return &answered;
}

// What the SDK leaves to the host, which checks and compares by the schema, or does not have.
#define UNIMPLEMENTED(function, name, wide, ...) \
    FUNCTION(function, name)(__VA_ARGS__) { return unimplemented(name, wide); }
#define UNUSED(n) void *data##n __attribute__((unused)), uint32_t size##n __attribute__((unused))
#define I32 uint32_t i32 __attribute__((unused))
#define I64 uint64_t i64 __attribute__((unused))
#define F64 double f64 __attribute__((unused))

UNIMPLEMENTED(check, "check", false, I32)
UNIMPLEMENTED(check_config, "check-config", false, I32)
UNIMPLEMENTED(diff, "diff", false, UNUSED(0), UNUSED(1), UNUSED(2), UNUSED(3), UNUSED(4), UNUSED(5), UNUSED(6), UNUSED(7))
UNIMPLEMENTED(diff_config, "diff-config", false, UNUSED(0), UNUSED(1), UNUSED(2), UNUSED(3), UNUSED(4), UNUSED(5), UNUSED(6), UNUSED(7))
UNIMPLEMENTED(parameterize, "parameterize", false, I32, UNUSED(0), UNUSED(1), UNUSED(2), uint32_t extension __attribute__((unused)))
UNIMPLEMENTED(get_mapping, "get-mapping", false, UNUSED(0), UNUSED(1))
UNIMPLEMENTED(get_mappings, "get-mappings", false, UNUSED(0))
UNIMPLEMENTED(stream_invoke, "stream-invoke", true, UNUSED(0), UNUSED(1), I32)
UNIMPLEMENTED(stream_next, "stream-next", false, I64)
UNIMPLEMENTED(stream_close, "stream-close", false, I64)
UNIMPLEMENTED(open_ephemeral, "open-ephemeral", true, UNUSED(0), UNUSED(1), I32)
UNIMPLEMENTED(renew_ephemeral, "renew-ephemeral", true, UNUSED(0), UNUSED(1))
UNIMPLEMENTED(close_ephemeral, "close-ephemeral", false, UNUSED(0), UNUSED(1))
UNIMPLEMENTED(run_action, "run-action", false, UNUSED(0), UNUSED(1), I32)
UNIMPLEMENTED(exists, "exists", false, UNUSED(0), UNUSED(1), UNUSED(2), UNUSED(3), I32, UNUSED(4), F64)
UNIMPLEMENTED(call, "call", false, UNUSED(0), UNUSED(1), UNUSED(2), UNUSED(3), UNUSED(4), UNUSED(5), UNUSED(6), I32, uint32_t parallel __attribute__((unused)))
