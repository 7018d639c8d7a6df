// The module that CPython and a provider in Python make: it exports the contract, and calls the functions of the host. Values
// cross as the tables of contract.h describe them; properties are CBOR here and objects in Python. The module _husk has all that
// Python sees of it.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>
#include "layout.h"

static PyObject *error;    // the exception with an error of the contract
static PyObject *handler;  // of calls, see py_main
static PyObject *tagged;   // makes a value of a tag and what it holds
static PyObject *untagged; // the opposite
static PyObject *begin;    // runs ahead of the first call, see boot.py
static char *problem;      // what the start failed with

struct entry { const char *key; Py_ssize_t n; PyObject *value; };
static int by_key(const void *x, const void *y) {
    const struct entry *a = x, *b = y;
    return a->n != b->n ? (a->n < b->n ? -1 : 1) : memcmp(a->key, b->key, a->n);
}

static int write_value(struct buffer *b, PyObject *v, bool integers, int depth);

static int write_dict(struct buffer *b, PyObject *v, bool integers, int depth) {
    struct entry *entries = malloc(PyDict_GET_SIZE(v) * sizeof *entries + 1);
    if (!entries) { PyErr_NoMemory(); return -1; }
    PyObject *key, *value;
    Py_ssize_t at = 0, n = 0;
    int failed = 0;
    while (!failed && PyDict_Next(v, &at, &key, &value)) {
        if (!PyUnicode_Check(key)) {
            PyErr_Format(PyExc_TypeError, "the key of a property is a str, but one is %.100s", Py_TYPE(key)->tp_name);
            failed = -1;
        } else if (!(entries[n].key = PyUnicode_AsUTF8AndSize(key, &entries[n].n))) {
            failed = -1;
        } else {
            entries[n++].value = value;
        }
    }
    if (!failed) {
        qsort(entries, n, sizeof *entries, by_key);
        head(b, 5, n);
    }
    for (Py_ssize_t i = 0; i < n && !failed; i++) {
        head(b, 3, entries[i].n);
        append(b, entries[i].key, entries[i].n);
        failed = write_value(b, entries[i].value, integers, depth + 1);
    }
    free(entries);
    return failed;
}

static int write_value(struct buffer *b, PyObject *v, bool integers, int depth) {
    if (depth > 128) { PyErr_SetString(PyExc_ValueError, "a value is nested more than 128 deep"); return -1; }
    if (v == Py_None) { head(b, 7, 22); return 0; }
    if (PyBool_Check(v)) { head(b, 7, v == Py_True ? 21 : 20); return 0; }
    if (PyFloat_Check(v)) { number(b, PyFloat_AS_DOUBLE(v)); return 0; }
    if (PyLong_Check(v)) {
        double d = PyLong_AsDouble(v);
        if (d == -1 && PyErr_Occurred()) return -1;
        if (integers) { head(b, 0, (uint32_t)d); return 0; }
        if (d > 9007199254740992.0 || d < -9007199254740992.0) {
            PyObject *back = PyLong_FromDouble(d);
            int same = back ? PyObject_RichCompareBool(back, v, Py_EQ) : -1;
            Py_XDECREF(back);
            if (!same) PyErr_SetString(PyExc_OverflowError, "an integer is too large for a number, which is a double: pass it as a str");
            if (same <= 0) return -1;
        }
        number(b, d);
        return 0;
    }
    if (PyUnicode_Check(v)) {
        Py_ssize_t n;
        const char *s = PyUnicode_AsUTF8AndSize(v, &n);
        if (!s) return -1;
        head(b, 3, n);
        append(b, s, n);
        return 0;
    }
    if (PyList_Check(v) || PyTuple_Check(v)) {
        head(b, 4, PySequence_Fast_GET_SIZE(v));
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(v); i++) if (write_value(b, PySequence_Fast_GET_ITEM(v, i), integers, depth + 1)) return -1;
        return 0;
    }
    if (PyDict_Check(v)) return write_dict(b, v, integers, depth);
    PyObject *pair = untagged ? PyObject_CallOneArg(untagged, v) : NULL, *inner; // (tag, what it holds)
    unsigned int tag;
    int failed = -1;
    if (pair == Py_None) PyErr_Format(PyExc_TypeError, "a property cannot be %.100s", Py_TYPE(v)->tp_name);
    else if (pair && PyArg_ParseTuple(pair, "IO", &tag, &inner)) {
        head(b, 6, tag);
        failed = write_value(b, inner, tag == TAG_ASSET || tag == TAG_ARCHIVE, depth + 1);
    }
    Py_XDECREF(pair);
    return failed;
}

struct input { const uint8_t *at, *end; };
static PyObject *malformed(void) { PyErr_SetString(PyExc_ValueError, "the host sent properties that are no CBOR of the contract"); return NULL; }

static PyObject *read_value(struct input *in, int depth) {
    if (in->at == in->end || depth > 200) return malformed();
    uint8_t first = *in->at++, major = first >> 5, info = first & 31;
    int more = info < 24 ? 0 : info < 28 ? 1 << (info - 24) : -1;
    if (more < 0 || in->end - in->at < more) return malformed();
    uint64_t n = info;
    if (more) n = 0;
    for (int i = 0; i < more; i++) n = n << 8 | *in->at++;
    PyObject *out, *element;
    switch (major) {
    case 0:
        return PyLong_FromUnsignedLongLong(n);
    case 3:
        if ((uint64_t)(in->end - in->at) < n) return malformed();
        in->at += n;
        return PyUnicode_DecodeUTF8((const char *)in->at - n, n, NULL);
    case 4:
        if (!(out = PyList_New(0))) return NULL;
        for (uint64_t i = 0; i < n; i++) {
            element = read_value(in, depth + 1);
            if (!element || PyList_Append(out, element)) { Py_XDECREF(element); Py_DECREF(out); return NULL; }
            Py_DECREF(element);
        }
        return out;
    case 5:
        if (!(out = PyDict_New())) return NULL;
        for (uint64_t i = 0; i < n; i++) {
            PyObject *key = read_value(in, depth + 1);
            if (key && !PyUnicode_Check(key)) Py_SETREF(key, malformed());
            element = key ? read_value(in, depth + 1) : NULL;
            int failed = element ? PyDict_SetItem(out, key, element) : -1;
            Py_XDECREF(key);
            Py_XDECREF(element);
            if (failed) { Py_DECREF(out); return NULL; }
        }
        return out;
    case 6:
        if (!(element = read_value(in, depth + 1))) return NULL;
        out = tagged ? PyObject_CallFunction(tagged, "KO", n, element) : malformed();
        Py_DECREF(element);
        return out;
    case 7:
        if (info == 20 || info == 21) return PyBool_FromLong(info == 21);
        if (info == 22) Py_RETURN_NONE;
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
        return PyFloat_FromDouble(d);
    }
    return malformed();
}

// put adds a value to a dictionary, and releases it.
static int put(PyObject *dict, const char *name, PyObject *value) {
    int failed = value ? PyDict_SetItemString(dict, name, value) : -1;
    Py_XDECREF(value);
    return failed;
}

// lift makes a value of what is in memory, and frees what that owns.
static PyObject *lift(const struct type *t, const char *b) {
    PyObject *out, *inner;
    uint32_t at, n;
    int failed = 0;
    switch (t->kind) {
    case BOOL: return PyBool_FromLong(GET(0, uint8_t));
    case U8: return PyLong_FromUnsignedLong(GET(0, uint8_t));
    case U16: return PyLong_FromUnsignedLong(GET(0, uint16_t));
    case U32: return PyLong_FromUnsignedLong(GET(0, uint32_t));
    case U64: return PyLong_FromUnsignedLongLong(GET(0, uint64_t));
    case F64: return PyFloat_FromDouble(GET(0, double));
    case ENUM: return PyUnicode_InternFromString(t->parts[GET(0, uint8_t)].name);
    case OPTION:
        if (GET(0, uint8_t)) return lift(t->of, b + t->payload);
        Py_RETURN_NONE;
    case FLAGS:
    case RECORD:
        if (!(out = PyDict_New())) return NULL;
        for (n = 0; n < t->count && !failed; n++)
            failed = put(out, t->parts[n].name, t->kind == FLAGS ? PyBool_FromLong(GET(0, uint8_t) >> n & 1) : lift(t->parts[n].type, b + t->parts[n].offset));
        if (failed) Py_CLEAR(out);
        return out;
    case RESULT:
    case VARIANT: {
        const struct part *p = &t->parts[GET(0, uint8_t)];
        inner = p->type ? lift(p->type, b + t->payload) : Py_NewRef(Py_None);
        if (!inner) return NULL;
        if (t->kind == VARIANT) return Py_BuildValue("{s:s,s:N}", "case", p->name, "value", inner);
        if (p == t->parts) return inner;
        PyErr_SetObject(error, inner);
        Py_DECREF(inner);
        return NULL;
    }
    }
    at = GET(0, uint32_t), n = GET(4, uint32_t);
    char *list = (char *)at;
    switch (t->kind) {
    case STRING:
        out = PyUnicode_DecodeUTF8(list, n, NULL);
        break;
    case BYTES:
        out = PyBytes_FromStringAndSize(list, n);
        break;
    case PROPERTIES: {
        struct input in = {(uint8_t *)list, (uint8_t *)list + n};
        out = read_value(&in, 0);
        break;
    }
    default: // LIST
        out = PyList_New(n);
        for (uint32_t i = 0; out && i < n; i++) {
            if ((inner = lift(t->of, list + i * t->of->size))) PyList_SET_ITEM(out, i, inner);
            else Py_CLEAR(out);
        }
    }
    if (n) free(list);
    return out;
}

// copy writes the address and the size of a copy in memory of the answer.
static void copy(char *b, const void *from, size_t n) {
    char *to = answer_memory(n);
    if (n) memcpy(to, from, n);
    PUT(0, uint32_t, (uint32_t)to);
    PUT(4, uint32_t, n);
}

// part returns what a record has by a name, NULL for nothing, with an exception if the value is no record.
static PyObject *part(PyObject *v, const char *name) {
    if (!PyDict_Check(v)) { PyErr_Format(PyExc_TypeError, "the contract has a record with %s here, which is a dict, and not %.100s", name, Py_TYPE(v)->tp_name); return NULL; }
    return PyDict_GetItemString(v, name);
}

// named returns the index of the part whose name is the text v, or -1 with an exception.
static int named(const struct type *t, PyObject *v) {
    const char *s = v && PyUnicode_Check(v) ? PyUnicode_AsUTF8(v) : NULL;
    for (int i = 0; s && i < t->count; i++) if (!strcmp(t->parts[i].name, s)) return i;
    if (!PyErr_Occurred()) PyErr_Format(PyExc_ValueError, "the contract has no %R here", v ? v : Py_None);
    return -1;
}

// lower writes a value to memory, which is zero. None and NULL are the zero value. Parts are in memory of the answer.
static int lower(const struct type *t, char *b, PyObject *v) {
    if ((!v || v == Py_None) && t->kind != PROPERTIES) return 0;
    int n;
    switch (t->kind) {
    case BOOL:
        if ((n = PyObject_IsTrue(v)) < 0) return -1;
        PUT(0, uint8_t, n);
        return 0;
    case U16: case U32: case U64: {
        PyObject *index = PyNumber_Long(v);
        uint64_t u = index ? PyLong_AsUnsignedLongLong(index) : 0;
        Py_XDECREF(index);
        if (PyErr_Occurred()) return -1;
        if (t->kind == U64) PUT(0, uint64_t, u);
        else if (t->kind == U32) PUT(0, uint32_t, (uint32_t)u);
        else PUT(0, uint16_t, (uint16_t)u);
        return 0;
    }
    case F64: {
        double d = PyFloat_AsDouble(v);
        if (d == -1 && PyErr_Occurred()) return -1;
        PUT(0, double, d);
        return 0;
    }
    case ENUM:
        if ((n = named(t, v)) < 0) return -1;
        PUT(0, uint8_t, n);
        return 0;
    case OPTION:
        PUT(0, uint8_t, 1);
        return lower(t->of, b + t->payload, v);
    case FLAGS:
        for (n = 0; n < t->count; n++) {
            PyObject *is = part(v, t->parts[n].name);
            int set = is ? PyObject_IsTrue(is) : 0;
            if (PyErr_Occurred()) return -1;
            if (set) *b |= 1 << n;
        }
        return 0;
    case RECORD:
        for (n = 0; n < t->count; n++) {
            PyObject *value = part(v, t->parts[n].name);
            if (PyErr_Occurred() || lower(t->parts[n].type, b + t->parts[n].offset, value)) return -1;
        }
        return 0;
    case RESULT: // that succeeded
        return t->parts[0].type ? lower(t->parts[0].type, b + t->payload, v) : 0;
    case VARIANT: {
        PyObject *name = part(v, "case");
        if (PyErr_Occurred() || (n = named(t, name)) < 0) return -1;
        PUT(0, uint8_t, n);
        return t->parts[n].type ? lower(t->parts[n].type, b + t->payload, part(v, "value")) : 0;
    }
    case STRING: {
        Py_ssize_t size;
        const char *s = PyUnicode_AsUTF8AndSize(v, &size);
        if (!s) return -1;
        copy(b, s, size);
        return 0;
    }
    case BYTES: {
        Py_buffer view;
        if (PyObject_GetBuffer(v, &view, PyBUF_SIMPLE)) return -1;
        copy(b, view.buf, view.len);
        PyBuffer_Release(&view);
        return 0;
    }
    case PROPERTIES: {
        struct buffer out = {0};
        if (v && v != Py_None) n = write_value(&out, v, false, 0);
        else n = 0, head(&out, 5, 0);
        copy(b, out.at, out.n);
        free(out.at);
        return n;
    }
    }
    PyObject *items = PySequence_Fast(v, "the contract has a list here"); // LIST
    if (!items) return -1;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    char *list = answer_memory(count * t->of->size);
    PUT(0, uint32_t, (uint32_t)list);
    PUT(4, uint32_t, (uint32_t)count);
    n = 0;
    for (Py_ssize_t i = 0; i < count && !n; i++) n = lower(t->of, list + i * t->of->size, PySequence_Fast_GET_ITEM(items, i));
    Py_DECREF(items);
    return n;
}

// py_call calls a function of the host: _husk.call(name, params).
static PyObject *py_call(PyObject *self, PyObject *args) {
    const char *name;
    PyObject *given = NULL;
    if (!PyArg_ParseTuple(args, "s|O", &name, &given)) return NULL;
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++) {
        const struct import *m = &imports[i];
        if (strcmp(m->f.name, name)) continue;
        struct block *outer = answers;
        answers = NULL;
        char *params = answer_memory(m->f.params->size), *answer = answer_memory(m->f.result ? m->f.result->size : 1);
        PyObject *out = NULL;
        if (!lower(m->f.params, params, given)) {
            m->call(params, answer);
            out = m->f.result ? lift(m->f.result, answer) : Py_NewRef(Py_None);
        }
        release(&answers);
        answers = outer;
        return out;
    }
    return PyErr_Format(PyExc_LookupError, "the contract has no function %s", name);
}

static PyObject *py_main(PyObject *self, PyObject *args) {
    PyObject *given[3], **to[] = {&handler, &tagged, &untagged};
    if (!PyArg_ParseTuple(args, "OOO", &given[0], &given[1], &given[2])) return NULL;
    for (int i = 0; i < 3; i++) Py_XSETREF(*to[i], Py_NewRef(given[i]));
    Py_RETURN_NONE;
}

static PyObject *py_file(PyObject *self, PyObject *name) {
    const char *s = PyUnicode_AsUTF8(name);
    uint32_t size;
    const char *text = s ? file(s, &size) : NULL;
    if (text) return PyBytes_FromStringAndSize(text, size);
    if (s) Py_RETURN_NONE;
    return NULL;
}

static PyObject *py_names(PyObject *self, PyObject *args) {
    PyObject *out = PyList_New(0);
    for (const char *p = files.at, *end = p + files.size; out && p < end;) {
        uint32_t n, size;
        memcpy(&n, p, 4);
        memcpy(&size, p + 4, 4);
        PyObject *name = PyUnicode_FromStringAndSize(p + 8, n);
        if (!name || PyList_Append(out, name)) Py_CLEAR(out);
        Py_XDECREF(name);
        p += 8 + n + 1 + size + 1;
    }
    return out;
}

// The clock stands still while the interpreter is made, and its own random numbers are the same, so that many instances can begin with
// its memory. What the author's code asks for, the host answers. Python and the C library call these functions.
static bool made;
int clock_gettime(clockid_t clock, struct timespec *now) {
    __wasi_timestamp_t t = 0;
    if (made && __wasi_clock_time_get(clock == CLOCK_REALTIME ? __WASI_CLOCKID_REALTIME : __WASI_CLOCKID_MONOTONIC, 1, &t)) return -1;
    *now = (struct timespec){t / 1000000000, t % 1000000000};
    return 0;
}
time_t time(time_t *to) {
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    if (to) *to = now.tv_sec;
    return now.tv_sec;
}
clock_t clock(void) {
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) ? -1 : now.tv_sec * CLOCKS_PER_SEC + now.tv_nsec / (1000000000 / CLOCKS_PER_SEC);
}
clock_t times(struct tms *to) {
    *to = (struct tms){.tms_utime = clock()};
    return to->tms_utime;
}
int getentropy(void *to, size_t n) {
    if (!made) { memset(to, 0, n); return 0; }
    if (n <= 256 && !__wasi_random_get(to, n)) return 0;
    errno = EIO;
    return -1;
}

static PyMethodDef methods[] = {
    {"call", py_call, METH_VARARGS, NULL}, {"main", py_main, METH_VARARGS, NULL}, {"file", py_file, METH_O, NULL}, {"names", py_names, METH_NOARGS, NULL}, {0},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_husk", NULL, -1, methods};
static PyObject *make_module(void) {
    PyObject *m = PyModule_Create(&module), *names = PyTuple_New(sizeof imports / sizeof *imports);
    error = PyErr_NewException("_husk.Error", NULL, NULL);
    if (!m || !names || !error) return NULL;
    for (size_t i = 0; i < sizeof imports / sizeof *imports; i++) PyTuple_SET_ITEM(names, i, PyUnicode_FromString(imports[i].f.name));
    uint32_t size;
    const char *main = file("main", &size);
    if (PyModule_AddObjectRef(m, "Error", error) || PyModule_Add(m, "functions", names) || PyModule_AddStringConstant(m, "main_module", main ? main : "")) return NULL;
    return m;
}

// The library: for each module the length of its name with a zero byte, the size of its code, and whether it is a package, in four
// bytes each, then both. See library.py.
static const char library[] = {
#embed "library.bin"
};
static void freeze(void) {
    size_t count = 0;
    for (int turn = 0; turn < 2; turn++) {
        struct _frozen *list = turn ? calloc(count + 1, sizeof *list) : NULL;
        size_t i = 0;
        for (const char *p = library; p < library + sizeof library; i++) {
            uint32_t h[3];
            memcpy(h, p, sizeof h);
            p += sizeof h;
            if (list) list[i] = (struct _frozen){p, (const unsigned char *)p + h[0], h[1], h[2]};
            p += h[0] + h[1];
        }
        count = i;
        PyImport_FrozenModules = list;
    }
}

// describe returns the text of the pending exception, with its traceback.
static char *describe(void) {
    PyObject *e = PyErr_GetRaisedException(), *traceback = PyImport_ImportModule("traceback");
    PyObject *lines = traceback ? PyObject_CallMethod(traceback, "format_exception", "O", e) : NULL, *none = PyUnicode_FromString("");
    PyObject *text = lines ? PyUnicode_Join(none, lines) : PyObject_Str(e);
    const char *s = text ? PyUnicode_AsUTF8(text) : NULL;
    char *out = strdup(s ? s : "an error that has no text");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(none);
    Py_XDECREF(lines);
    Py_XDECREF(traceback);
    Py_XDECREF(e);
    return out;
}

// start makes the interpreter and runs the provider's files, once.
static void start(void) {
    static bool started;
    if (started) return;
    started = true;
    freeze();
    PyImport_AppendInittab("_husk", make_module);
    PyPreConfig early;
    PyPreConfig_InitIsolatedConfig(&early);
    early.utf8_mode = 1;
    PyConfig config;
    PyStatus status = Py_PreInitialize(&early);
    PyConfig_InitIsolatedConfig(&config);
    config.use_hash_seed = 1;
    config.site_import = config.write_bytecode = config.install_signal_handlers = config.pathconfig_warnings = config.buffered_stdio = 0;
    config.module_search_paths_set = 1;
    if (!PyStatus_Exception(status)) status = PyConfig_SetBytesString(&config, &config.program_name, "python");
    if (!PyStatus_Exception(status)) status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    if (PyStatus_Exception(status)) {
        problem = strdup(status.err_msg ? status.err_msg : "the interpreter does not start");
        return;
    }
    PyObject *boot = PyImport_ImportModule("_husk_boot");
    made = true;
    PyObject *done = boot ? PyObject_CallMethod(boot, "load", NULL) : NULL;
    begin = boot ? PyObject_GetAttrString(boot, "begin") : NULL;
    if (!done) problem = describe();
    Py_XDECREF(done);
    Py_XDECREF(boot);
}

EXPORT("wizer-initialize") void initialize(void) { start(); }
EXPORT("husk:feature/read-first") void read_first(void) {}

// fail makes an error the answer: the pending exception, an error of the contract or its text, or what the start failed with.
static void fail(const struct type *result, char *b) {
    const struct type *e = result->parts[1].type;
    PyObject *raised = PyErr_Occurred() ? PyErr_GetRaisedException() : NULL;
    PyObject *record = raised && PyErr_GivenExceptionMatches(raised, error) ? PySequence_GetItem(((PyBaseExceptionObject *)raised)->args, 0) : NULL;
    PUT(0, uint8_t, 1);
    b += result->payload;
    bool told = record && !lower(e, b, record);
    Py_XDECREF(record);
    if (!told) {
        PyErr_Clear();
        memset(b, 0, e->size);
        char *text = NULL;
        if (raised) {
            PyErr_SetRaisedException(Py_NewRef(raised));
            text = describe();
        }
        *b = 7; // internal
        for (uint32_t i = 0; i < e->count; i++) if (!strcmp(e->parts[i].name, "message")) {
            const char *message = text ? text : problem;
            copy(b + e->parts[i].offset, message, strlen(message));
        }
        free(text);
    }
    Py_XDECREF(raised);
}

static void *serve(const struct function *f, char *params, bool allocated) {
    start();
    release_answer();
    static bool begun;
    if (begin && !begun) {
        begun = true;
        PyObject *done = PyObject_CallNoArgs(begin);
        if (!done && !problem) problem = describe();
        Py_XDECREF(done);
    }
    PyObject *request = problem ? NULL : lift(f->params, params);
    if (allocated) free(params);
    PyObject *outcome = request ? PyObject_CallFunction(handler, "sO", f->name, request) : NULL;
    Py_XDECREF(request);
    char *answer = answer_memory(f->result->size);
    if (!outcome) {
        fail(f->result, answer);
    } else if (lower(f->result, answer, outcome)) {
        memset(answer, 0, f->result->size);
        fail(f->result, answer);
    }
    Py_XDECREF(outcome);
    return answer;
}
