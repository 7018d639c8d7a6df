// The functions by which a Go program drives QuickJS-ng. Strings are UTF-8 with a length.
#include <stdlib.h>
#include <string.h>
#include "quickjs.h"

// host_call asks the Go program for something. It returns a text that result_alloc made, or null.
__attribute__((import_module("host"), import_name("call")))
extern char *host_call(const char *name, size_t name_len, const char *arg, size_t arg_len);

static JSRuntime *rt;
static JSContext *ctx;
static char *result;
static size_t result_len;

__attribute__((export_name("allocate"))) void *allocate(size_t n) { return malloc(n); }
__attribute__((export_name("release"))) void release(void *p) { free(p); }
__attribute__((export_name("result_length"))) size_t result_length(void) { return result_len; }
// result_allocate makes room for what host_call returns.
__attribute__((export_name("result_allocate"))) char *result_allocate(size_t n) {
    free(result);
    result = malloc(n + 1);
    result_len = result ? n : 0;
    return result;
}

static char *give(const char *text, size_t n) {
    char *p = result_allocate(n);
    if (p) { memcpy(p, text, n); p[n] = 0; }
    return p;
}

static JSValue js_host(JSContext *c, JSValueConst self, int argc, JSValueConst *argv) {
    size_t name_len, arg_len;
    const char *name = JS_ToCStringLen(c, &name_len, argv[0]);
    if (!name) return JS_EXCEPTION;
    const char *arg = JS_ToCStringLen(c, &arg_len, argv[1]);
    if (!arg) { JS_FreeCString(c, name); return JS_EXCEPTION; }
    char *answer = host_call(name, name_len, arg, arg_len);
    JS_FreeCString(c, name);
    JS_FreeCString(c, arg);
    if (!answer) return JS_UNDEFINED;
    return JS_NewStringLen(c, answer, result_len);
}

// failure returns the pending exception as text: its name and message, and its stack.
static char *failure(void) {
    JSValue e = JS_GetException(ctx);
    size_t n;
    const char *text = JS_ToCStringLen(ctx, &n, e);
    char *p;
    if (!text) {
        JS_FreeValue(ctx, JS_GetException(ctx));
        p = give("an error without a text", 23);
    } else {
        p = give(text, n);
        JS_FreeCString(ctx, text);
    }
    JS_FreeValue(ctx, e);
    return p;
}

static JSValue tracker_function;

static void track(JSContext *c, JSValueConst promise, JSValueConst reason, bool handled, void *opaque) {
    if (!JS_IsFunction(c, tracker_function)) return;
    JSValueConst args[3] = { promise, reason, JS_NewBool(c, handled) };
    JS_FreeValue(c, JS_Call(c, tracker_function, JS_UNDEFINED, 3, args));
}

// start makes the engine, with a bound of its memory and of its stack, both in bytes.
__attribute__((export_name("start"))) int start(size_t memory, size_t stack) {
    rt = JS_NewRuntime();
    if (!rt) return 1;
    JS_SetMemoryLimit(rt, memory);
    JS_SetMaxStackSize(rt, stack);
    ctx = JS_NewContext(rt);
    if (!ctx) return 1;
    JSValue global = JS_GetGlobalObject(ctx);
    JS_SetPropertyStr(ctx, global, "__host", JS_NewCFunction(ctx, js_host, "__host", 2));
    JS_FreeValue(ctx, global);
    tracker_function = JS_UNDEFINED;
    return 0;
}

// watch has the global function __unhandled called with promises that are rejected.
__attribute__((export_name("watch"))) void watch(void) {
    JSValue global = JS_GetGlobalObject(ctx);
    tracker_function = JS_GetPropertyStr(ctx, global, "__unhandled");
    JS_FreeValue(ctx, global);
    JS_SetHostPromiseRejectionTracker(rt, track, NULL);
}

// evaluate runs a script. It returns 0 and the text of the value, or 1 and the text of the exception;
// the text is at result_text.
__attribute__((export_name("evaluate"))) int evaluate(const char *source, size_t len, const char *file) {
    JSValue v = JS_Eval(ctx, source, len, file, JS_EVAL_TYPE_GLOBAL);
    if (JS_IsException(v)) { failure(); return 1; }
    size_t n;
    const char *text = JS_ToCStringLen(ctx, &n, v);
    if (!text) { JS_FreeValue(ctx, v); failure(); return 1; }
    give(text, n);
    JS_FreeCString(ctx, text);
    JS_FreeValue(ctx, v);
    return 0;
}

__attribute__((export_name("result_text"))) char *result_text(void) { return result; }

// job runs one pending job: 0 if there was none, 1 if it ran, 2 if it failed.
__attribute__((export_name("job"))) int job(void) {
    JSContext *c;
    int n = JS_ExecutePendingJob(rt, &c);
    if (n < 0) { failure(); return 2; }
    return n > 0;
}
