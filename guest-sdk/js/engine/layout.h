// What the engines of providers share: the layout of the contract's types, memory of answers, CBOR, and the files of a provider. An engine
// includes it once, and has the functions serve, lift, and lower.
#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wasi/api.h>

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

// The layout of a type in memory, and what it consists of.
enum { BOOL, U8, U16, U32, U64, F64, STRING, BYTES, PROPERTIES, LIST, RECORD, VARIANT, ENUM, OPTION, RESULT, FLAGS };
struct part { const char *name; uint32_t offset; const struct type *type; };
struct type { uint8_t kind, align; uint16_t count; uint32_t size, payload; const struct part *parts; const struct type *of; };
struct function { const char *name; const struct type *params, *result; };
struct import { struct function f; void (*call)(const char *params, char *answer); };
static const struct type t_bool = {BOOL, 1, 0, 1}, t_u16 = {U16, 2, 0, 2}, t_u32 = {U32, 4, 0, 4}, t_u64 = {U64, 8, 0, 8},
    t_f64 = {F64, 8, 0, 8}, t_string = {STRING, 4, 0, 8}, t_bytes = {BYTES, 4, 0, 8}, t_properties = {PROPERTIES, 4, 0, 8};

static void *serve(const struct function *f, char *params, bool allocated);
static void release_answer(void);
#define PUT(offset, type, value) (*(type *)(b + offset) = (value))
#define GET(offset, type) (*(const type *)(b + offset))
#include "contract.h"

// Memory of answers: blocks with a header that links them.
struct block { struct block *next; max_align_t data[]; };
static struct block *answers;
static void *answer_memory(size_t n) {
    struct block *b = calloc(1, sizeof *b + n);
    if (!b) abort();
    b->next = answers;
    answers = b;
    return b->data;
}
static void release(struct block **list) {
    for (struct block *b; (b = *list); free(b)) *list = b->next;
}
static void release_answer(void) { release(&answers); }

EXPORT("cabi_realloc") void *cabi_realloc(void *old, size_t old_size, size_t align, size_t n) {
    void *p = n ? realloc(old_size ? old : NULL, n) : (void *)align;
    if (!p) abort();
    return p;
}

// Bytes that grow.
struct buffer { uint8_t *at; size_t n, room; };
static void append(struct buffer *b, const void *from, size_t n) {
    if (b->n + n > b->room) {
        b->room = (b->n + n) * 2 + 64;
        if (!(b->at = realloc(b->at, b->room))) abort();
    }
    memcpy(b->at + b->n, from, n);
    b->n += n;
}

// CBOR: deterministic, with numbers as floats outside of tags. Assets and archives have their kind of source as an integer.
enum { TAG_ASSET = 48503, TAG_ARCHIVE = 48504 };

static void head(struct buffer *b, uint8_t major, uint32_t n) {
    uint8_t h[5] = {major << 5};
    if (n < 24) { h[0] |= n; append(b, h, 1); return; }
    if (n < 0x100) { h[0] |= 24; h[1] = n; append(b, h, 2); return; }
    if (n < 0x10000) { h[0] |= 25; h[1] = n >> 8; h[2] = n; append(b, h, 3); return; }
    h[0] |= 26; h[1] = n >> 24; h[2] = n >> 16; h[3] = n >> 8; h[4] = n;
    append(b, h, 5);
}

static void big_endian(struct buffer *b, uint8_t first, uint64_t bits, int n) {
    uint8_t h[9] = {first};
    for (int i = 0; i < n; i++) h[i + 1] = bits >> 8 * (n - 1 - i);
    append(b, h, n + 1);
}

static void number(struct buffer *b, double d) {
    if (d != d) { big_endian(b, 0xf9, 0x7e00, 2); return; }
    float f = (float)d;
    if (f != d) { uint64_t bits; memcpy(&bits, &d, 8); big_endian(b, 0xfb, bits, 8); return; }
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t sign = bits >> 16 & 0x8000, mantissa = bits & 0x7fffff;
    int exponent = (int)(bits >> 23 & 0xff) - 127;
    if (exponent == 128) { big_endian(b, 0xf9, sign | 0x7c00, 2); return; }
    if (exponent == -127 && !mantissa) { big_endian(b, 0xf9, sign, 2); return; }
    if (exponent >= -14 && exponent <= 15 && !(mantissa & 0x1fff)) { big_endian(b, 0xf9, sign | (exponent + 15) << 10 | mantissa >> 13, 2); return; }
    if (exponent >= -24 && exponent < -14) {
        int shift = -14 - exponent + 13;
        uint32_t whole = mantissa | 0x800000;
        if (!(whole & ((1u << shift) - 1))) { big_endian(b, 0xf9, sign | whole >> shift, 2); return; }
    }
    big_endian(b, 0xfa, bits, 4);
}

// half returns the number of two bytes.
static double half(uint32_t n) {
    int exponent = n >> 10 & 31;
    double m = n & 1023, scale = 1;
    int power = (exponent ? exponent : 1) - 25;
    for (int i = 0; i < (power < 0 ? -power : power); i++) scale *= 2;
    if (exponent) m += 1024;
    double d = exponent == 31 ? (n & 1023 ? __builtin_nan("") : __builtin_inf()) : power < 0 ? m / scale : m * scale;
    return n >> 15 ? -d : d;
}

// The files of the provider, where husk wrote them when it linked the module, and found this by its mark: for each the length of
// its name and of its text in four bytes each, then both, each with a zero byte.
static volatile struct { char mark[16]; const char *at; uint32_t size; } files = {"husk:files\n\1\2\3\4"};

// file returns the text of the file with a name, NULL if there is none.
static const char *file(const char *name, uint32_t *size) {
    for (const char *p = files.at, *end = p + files.size; p < end;) {
        uint32_t n;
        memcpy(&n, p, 4);
        memcpy(size, p + 4, 4);
        const char *text = p + 8 + n + 1;
        if (!strcmp(p + 8, name)) return text;
        p = text + *size + 1;
    }
    return NULL;
}
