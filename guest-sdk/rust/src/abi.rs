//! The canonical ABI of the component model: records lie in memory as structs of C do.

use crate::component::{self, urns};
use crate::value::{changed, decode, object};
use crate::{Call, Error, Kind, Object, Page, Provider, Result, Value};
use std::alloc::{alloc, dealloc, Layout};
use std::cell::UnsafeCell;
use std::collections::BTreeSet;

/// What a call has in memory, and what stays between calls. A module has one thread, and serves one call at a time.
pub(crate) struct Instance {
    provider: Option<Provider>,
    pub(crate) config: Object,
    pub(crate) undecided: bool,
    given: Vec<(*mut u8, Layout)>,
    kept: Vec<Vec<u8>>,
    answer: [u64; 10],
}

struct Single(UnsafeCell<Instance>);
unsafe impl Sync for Single {}

static INSTANCE: Single = Single(UnsafeCell::new(Instance {
    provider: None,
    config: Object::new(),
    undecided: false,
    given: Vec::new(),
    kept: Vec::new(),
    answer: [0; 10],
}));

#[allow(clippy::mut_from_ref)]
pub(crate) fn instance() -> &'static mut Instance {
    unsafe { &mut *INSTANCE.0.get() }
}

/// Memory for the host, until the answer of the call was read.
pub fn realloc(old: *const u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
    let layout = Layout::from_size_align(size.max(1), align).unwrap();
    unsafe {
        let at = alloc(layout);
        std::ptr::copy_nonoverlapping(old, at, old_size.min(size));
        instance().given.push((at, layout));
        at
    }
}

pub fn release() {
    let i = instance();
    i.kept.clear();
    i.given.drain(..).for_each(|(at, layout)| unsafe { dealloc(at, layout) });
}

unsafe fn bytes(at: usize, size: usize) -> &'static [u8] {
    if size == 0 { &[] } else { std::slice::from_raw_parts(at as *const u8, size) }
}

/// A text that the host wrote, which is UTF-8.
pub fn text(at: usize, size: usize) -> &'static str {
    unsafe { std::str::from_utf8_unchecked(bytes(at, size)) }
}

pub(crate) fn properties(at: usize, size: usize) -> Result<Value> {
    unsafe { decode(bytes(at, size)) }.ok_or_else(|| Error::new(Kind::Internal, "the host sent properties that are no CBOR of the contract"))
}

/// A record that is written. Its places are those of the canonical ABI.
pub(crate) struct Record<'a>(pub(crate) &'a mut [u8]);

impl Record<'_> {
    pub(crate) fn of(place: &mut [u64]) -> Record<'_> {
        Record(unsafe { std::slice::from_raw_parts_mut(place.as_mut_ptr() as *mut u8, 8 * place.len()) })
    }

    /// The record in the record.
    pub(crate) fn at(&mut self, at: usize) -> Record<'_> {
        Record(&mut self.0[at..])
    }

    pub(crate) fn copy(&mut self, at: usize, from: usize, size: usize) {
        self.0[at..at + size].copy_from_slice(unsafe { bytes(from, size) });
    }

    pub(crate) fn value(&mut self, at: usize, v: &Value) {
        let mut data = Vec::new();
        v.encode(&mut data);
        let n = data.len();
        self.list(at, data, n);
    }

    /// Records of a size, each of which a function writes.
    pub(crate) fn records<T>(&mut self, at: usize, size: usize, all: &[T], write: impl Fn(&mut Record, &T)) {
        let mut data = vec![0; size * all.len()];
        data.chunks_exact_mut(size).zip(all).for_each(|(place, one)| write(&mut Record(place), one));
        self.list(at, data, all.len());
    }

    pub(crate) fn texts(&mut self, at: usize, all: &[impl AsRef<str>]) {
        self.records(at, 8, all, |r, s| r.text(0, s.as_ref()));
    }

    /// Which resources each property of an object comes from.
    pub(crate) fn dependencies(&mut self, at: usize, o: &Object) {
        let all: Vec<_> = o.iter().map(|(key, v)| (key, urns(v).into_iter().collect::<Vec<_>>())).filter(|(_, urns)| !urns.is_empty()).collect();
        self.records(at, 16, &all, |r, (key, urns)| {
            r.text(0, key);
            r.texts(8, urns);
        });
    }

    fn word(&mut self, at: usize, v: usize) {
        self.0[at..at + 4].copy_from_slice(&(v as u32).to_le_bytes());
    }

    fn list(&mut self, at: usize, data: Vec<u8>, n: usize) {
        self.word(at, if n == 0 { 8 } else { data.as_ptr() as usize });
        self.word(at + 4, n);
        instance().kept.push(data);
    }

    pub(crate) fn text(&mut self, at: usize, s: &str) {
        self.list(at, s.as_bytes().to_vec(), s.len());
    }

    pub(crate) fn object(&mut self, at: usize, o: &Object) {
        let mut data = Vec::new();
        object(&mut data, o);
        let n = data.len();
        self.list(at, data, n);
    }

    /// Pairs of texts.
    pub(crate) fn pairs(&mut self, at: usize, pairs: &[(String, String)]) {
        self.records(at, 16, pairs, |r, (first, second)| {
            r.text(0, first);
            r.text(8, second);
        });
    }

    fn error(&mut self, e: &Error) {
        (self.0[0], self.0[1]) = (e.kind as u8, e.origin);
        self.text(12, &e.path);
        let Some((id, state)) = &e.made else { return self.text(4, &e.message) };
        self.text(4, "the resource exists but is not healthy");
        self.0[20] = 1;
        self.text(24, id);
        self.object(32, state);
        let mut reason = vec![0; 8];
        Record(&mut reason).text(0, &e.message);
        self.list(52, reason, 1);
    }
}

/// Calls a function of the provider, which writes its answer behind 4 bytes, or 8 where a result may be a u64.
pub(crate) fn answer(wide: bool, call: impl FnOnce(&mut Record) -> Result<()>) -> usize {
    let mut out = [0; 80];
    let at = if wide { 8 } else { 4 };
    let result = call(&mut Record(&mut out[at..]));
    if let Err(e) = result {
        out = [0; 80];
        out[0] = 1;
        Record(&mut out[at..]).error(&e);
    }
    let place = &mut instance().answer;
    unsafe { std::ptr::copy_nonoverlapping(out.as_ptr(), place.as_mut_ptr() as *mut u8, 80) };
    place.as_ptr() as usize
}

pub fn unimplemented(name: &str, wide: bool) -> usize {
    answer(wide, |_| Err(Error::new(Kind::Unimplemented, format!("the provider does not implement {name}"))))
}

/// The provider, which is made by the first call.
fn provider(make: fn() -> Provider) -> &'static Provider {
    instance().provider.get_or_insert_with(make)
}

fn find<'a, T>(all: &'a [(String, T)], p: &Provider, what: &str, token: &str) -> Result<&'a T> {
    let found = all.iter().find(|(known, _)| known == token);
    found.map(|(_, v)| v).ok_or_else(|| Error::new(Kind::NotFound, format!("the package {} {} has no {what} {token}", p.name, p.version)))
}

pub(crate) fn call<'a>(urn: &'a str, name: &'a str, timeout: f64, preview: bool) -> Call<'a> {
    Call { urn, name, timeout, preview, config: &instance().config }
}

fn is_unknown(v: &Value) -> bool {
    matches!(v, Value::Unknown)
}

/// Refuses unknown values, which are a mistake outside of a preview, and returns the others without secrets.
fn ready(what: &str, v: &Value) -> Result<Object> {
    if instance().undecided {
        return Err(Error::new(Kind::Unavailable, "the configuration is not known in this preview: it depends on a resource that does not exist yet"));
    }
    let Some(o) = v.as_object() else { return Ok(Object::new()) };
    if let Some((name, _)) = o.iter().filter(|(_, v)| v.any(&is_unknown)).min_by_key(|(k, _)| (k.len(), k.as_str())) {
        return Err(Error::invalid(name, format!("the {what} is not known")));
    }
    Ok(changed(o, &mut |_, v| v.without_marks()))
}

/// Copies the secret marks of a value with the same contents.
fn copied(v: &Value, from: &Value) -> Value {
    if v.is_secret() || !from.any(&Value::is_secret) {
        return v.clone();
    }
    match (v, from.plain()) {
        (Value::Array(a), Value::Array(f)) if !from.is_secret() => Value::Array(a.iter().zip(f).map(|(v, f)| copied(v, f)).collect()),
        (Value::Object(o), Value::Object(_)) if !from.is_secret() => Value::Object(changed(o, &mut |k, v| copied(v, from.get(k)))),
        _ => v.clone().secret(),
    }
}

/// Collects the texts of secrets that are looked for elsewhere. Shorter ones are found by accident.
fn secret_texts(texts: &mut BTreeSet<String>, v: &Value, secret: bool) {
    let secret = secret || v.is_secret();
    match v.plain() {
        Value::String(s) if secret && s.len() >= 8 => drop(texts.insert(s.clone())),
        Value::Array(a) => a.iter().for_each(|v| secret_texts(texts, v, secret)),
        Value::Object(o) => o.values().for_each(|v| secret_texts(texts, v, secret)),
        _ => {}
    }
}

fn hidden(v: &Value, texts: &BTreeSet<String>) -> Value {
    match v {
        Value::String(s) if texts.contains(s) => v.clone().secret(),
        Value::Secret(inner) if !matches!(**inner, Value::String(_)) => Value::Secret(Box::new(hidden(inner, texts))),
        v => v.each(&|v| hidden(v, texts)),
    }
}

fn same(a: &Value, b: &Value) -> bool {
    a.without_marks() == b.without_marks()
}

/// Marks what has the name of a property of the source with a secret, and what is the same text as one.
fn marked(o: &Object, source: &Value) -> Object {
    let mut texts = BTreeSet::new();
    secret_texts(&mut texts, source, false);
    changed(o, &mut |k, v| {
        let from = source.get(k);
        match from.any(&Value::is_secret) {
            true if same(v, from) => hidden(&copied(v, from), &texts),
            true => hidden(&v.clone().secret(), &texts),
            false => hidden(v, &texts),
        }
    })
}

pub fn handshake(make: fn() -> Provider, features: u32) -> usize {
    answer(false, |out| {
        let p = provider(make);
        out.text(0, p.name);
        out.text(8, p.version);
        out.text(16, concat!("husk-rust ", env!("CARGO_PKG_VERSION")));
        out.0[24] = features as u8 & 1; // secrets
        Ok(())
    })
}

pub fn get_schema(make: fn() -> Provider, version: u32, name: &str) -> usize {
    answer(false, |out| {
        if version != 0 || !name.is_empty() {
            return Err(Error::new(Kind::InvalidArgument, "there is only the schema of the package itself, in version 0 of the format"));
        }
        out.text(0, &provider(make).schema());
        Ok(())
    })
}

pub fn configure(inputs: (usize, usize)) -> usize {
    answer(false, |_| {
        let given = properties(inputs.0, inputs.1)?;
        instance().undecided = given.any(&is_unknown);
        instance().config = given.without_marks().as_object().cloned().unwrap_or_default();
        Ok(())
    })
}

fn no_previews() -> Result<()> {
    Err(Error::new(Kind::Unimplemented, "the provider does not implement previews, which the host answers"))
}

pub fn create(make: fn() -> Provider, urn: &str, name: &str, token: &str, inputs: (usize, usize), timeout: f64, preview: u32) -> usize {
    answer(false, |out| {
        if preview != 0 {
            return no_previews();
        }
        let (p, given) = (provider(make), properties(inputs.0, inputs.1)?);
        let r = find(&p.resources, p, "resource type", token)?;
        let made = r.create(&call(urn, name, timeout, false), &ready("input", &given)?);
        let (id, state) = made.map_err(|e| kept(e, &given))?;
        if id.is_empty() {
            return Err(Error::new(Kind::Crashed, "the provider's create returned no ID")); // nobody knows whether there is an object
        }
        out.text(0, &id);
        out.object(8, &marked(&state, &given));
        Ok(())
    })
}

fn kept(mut e: Error, source: &Value) -> Error {
    e.made = e.made.map(|(id, state)| (id, marked(&state, source)));
    e
}

#[allow(clippy::too_many_arguments)]
pub fn read(make: fn() -> Provider, urn: &str, name: &str, token: &str, id: &str, state: Option<(usize, usize)>, inputs: Option<(usize, usize)>, timeout: f64) -> usize {
    answer(false, |out| {
        let p = provider(make);
        let r = find(&p.resources, p, "resource type", token)?;
        let given = |o: Option<(usize, usize)>| o.map_or(Ok(Value::Null), |(at, size)| properties(at, size));
        let (state, inputs) = (given(state)?, given(inputs)?);
        ready("", &Value::Null)?;
        let (found, new) = match r.read(&call(urn, name, timeout, false), id) {
            Err(e) if e.kind == Kind::NotFound && e.origin == 0 => {
                out.text(0, ""); // which says that it is gone
                out.object(8, &Object::new());
                return Ok(());
            }
            Err(e) if e.kind == Kind::Unimplemented && state != Value::Null => {
                (inputs.as_object().cloned().unwrap_or_default(), state.as_object().cloned().unwrap_or_default())
            }
            other => other?,
        };
        let found = changed(&found, &mut |k, v| match inputs.get(k) {
            was if same(was, v) => was.clone(),
            was if was.any(&Value::is_secret) => v.clone().secret(),
            _ => v.clone(),
        });
        out.text(0, id);
        out.object(8, &marked(&marked(&new, &inputs), &state));
        out.0[16] = 1;
        out.object(20, &found);
        Ok(())
    })
}

/// update has its parameters in memory.
pub fn update(make: fn() -> Provider, at: usize) -> usize {
    let word = |i: usize| unsafe { *((at + 4 * i) as *const u32) as usize };
    let text = |i: usize| text(word(2 * i), word(2 * i + 1));
    let object = |i: usize| properties(word(2 * i), word(2 * i + 1));
    answer(false, |out| {
        if word(18) & 255 != 0 {
            return no_previews();
        }
        let p = provider(make);
        let (r, old, given) = (find(&p.resources, p, "resource type", text(2))?, object(4)?.without_marks(), object(5)?);
        let timeout = unsafe { *((at + 64) as *const f64) };
        let state = r.update(&call(text(0), text(1), timeout, false), text(3), &ready("input", &given)?, old.as_object().unwrap_or(&Object::new()));
        out.object(0, &marked(&state.map_err(|e| kept(e, &given))?, &given));
        Ok(())
    })
}

pub fn delete(make: fn() -> Provider, urn: &str, name: &str, token: &str, id: &str, state: (usize, usize), timeout: f64) -> usize {
    answer(false, |_| {
        let p = provider(make);
        let r = find(&p.resources, p, "resource type", token)?;
        match r.delete(&call(urn, name, timeout, false), id, &ready("state", &properties(state.0, state.1)?)?) {
            Err(e) if e.kind != Kind::NotFound || e.origin != 0 => Err(e),
            _ => Ok(()),
        }
    })
}

pub fn list(make: fn() -> Provider, token: &str, query: (usize, usize), limit: u64, page_size: u64, continuation: &str) -> usize {
    answer(false, |out| {
        let p = provider(make);
        let r = find(&p.resources, p, "resource type", token)?;
        let query = ready("query", &properties(query.0, query.1)?)?;
        let listed = r.list(&call("", "", 0.0, false), &Page { query, limit, page_size, continuation })?;
        out.pairs(0, &listed.resources);
        out.text(8, &listed.next);
        Ok(())
    })
}

pub fn invoke(make: fn() -> Provider, token: &str, arguments: (usize, usize), preview: u32) -> usize {
    answer(false, |out| {
        let (p, given) = (provider(make), properties(arguments.0, arguments.1)?);
        let f = find(&p.functions, p, "function", token)?;
        let mut result = f(&call("", "", 0.0, preview != 0), &ready("argument", &given)?)?;
        if given.any(&Value::is_secret) {
            result = changed(&result, &mut |_, v| v.clone().secret());
        }
        out.object(0, &result);
        Ok(())
    })
}

/// construct has its parameters in memory.
pub fn construct(make: fn() -> Provider, at: usize) -> usize {
    let word = |i: usize| unsafe { *((at + 4 * i) as *const u32) as usize };
    answer(false, |out| {
        let (p, token) = (provider(make), text(word(0), word(1)));
        component::construct(p.name, token, &**find(&p.components, p, "component", token)?, at, out)
    })
}

pub fn cancel() -> usize {
    answer(false, |_| Ok(()))
}

// The host

#[link(wasm_import_module = "husk:provider/log@0.2.0")]
extern "C" {
    #[link_name = "write"]
    fn log_write(severity: u32, message: *const u8, size: usize, urn: *const u8, urn_size: usize, ephemeral: u32);
}

#[link(wasm_import_module = "husk:provider/control@0.2.0")]
extern "C" {
    #[link_name = "cancelled"]
    fn control_cancelled() -> u32;
}

#[link(wasm_import_module = "husk:provider/http@0.2.0")]
extern "C" {
    #[link_name = "send"]
    fn http_send(method: *const u8, m: usize, url: *const u8, u: usize, headers: usize, h: usize, body: *const u8, b: usize, timeout: u64, out: *mut u64);
}

#[link(wasm_import_module = "husk:provider/assets@0.2.0")]
extern "C" {
    #[link_name = "open"]
    fn assets_open(hash: *const u8, size: usize, form: u32, out: *mut u64);
    #[link_name = "read"]
    fn assets_read(contents: u64, most: u32, out: *mut u64);
    #[link_name = "close"]
    fn assets_close(contents: u64);
}

/// What a function of the host answers.
pub(crate) struct Came(pub(crate) [u64; 12]);

/// Calls a function of the host, and returns its answer, or the error, whose payload is at a place.
pub(crate) fn came(at: usize, call: impl FnOnce(*mut u64)) -> Result<Came> {
    let mut out = [0; 12];
    call(out.as_mut_ptr());
    let came = Came(out);
    if came.word(0) & 255 == 0 { Ok(came) } else { Err(came.error(at)) }
}

impl Came {
    pub(crate) fn word(&self, at: usize) -> usize {
        (self.0[at / 8] >> (8 * (at % 8))) as u32 as usize
    }

    pub(crate) fn list(&self, at: usize) -> (usize, usize) {
        (self.word(at), self.word(at + 4))
    }

    pub(crate) fn error(&self, at: usize) -> Error {
        let kinds = [Kind::InvalidArgument, Kind::NotFound, Kind::Unimplemented, Kind::Unavailable, Kind::Cancelled, Kind::InitFailed, Kind::Denied, Kind::Internal, Kind::Crashed];
        let (head, message, path) = (self.word(at), self.list(at + 4), self.list(at + 12));
        let mut e = Error::new(kinds[head & 255], text(message.0, message.1));
        (e.origin, e.path) = ((head >> 8) as u8, text(path.0, path.1).into());
        e
    }
}

/// Which resources each property comes from.
pub(crate) fn dependencies((at, n): (usize, usize)) -> Vec<(String, Vec<String>)> {
    let word = |at: usize| unsafe { *(at as *const u32) as usize };
    let string = |at: usize| text(word(at), word(at + 4)).to_string();
    (0..n).map(|i| at + 16 * i).map(|at| (string(at), (0..word(at + 12)).map(|i| string(word(at + 8) + 8 * i)).collect())).collect()
}

/// How much a message matters.
#[repr(u32)]
pub enum Severity {
    Debug,
    Info,
    Warning,
    Error,
}

/// Shows a message about what the call is about.
pub fn log(call: &Call, severity: Severity, message: &str) {
    unsafe { log_write(severity as u32, message.as_ptr(), message.len(), call.urn.as_ptr(), call.urn.len(), 0) }
}

/// Whether the call was cancelled.
pub fn cancelled() -> bool {
    unsafe { control_cancelled() != 0 }
}

/// A request, which the host sends within the grants.
#[derive(Default)]
pub struct Request<'a> {
    pub method: &'a str,
    pub url: &'a str,
    pub headers: &'a [(String, String)],
    pub body: &'a [u8],
    /// 0 for the host's default.
    pub timeout_ms: u64,
}

pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, Vec<u8>)>,
    pub body: Vec<u8>,
}

/// Sends a request. The error says what to grant, for example.
pub fn send(r: &Request) -> Result<Response> {
    let mut place = [0; 8];
    let mut headers = Record(&mut place);
    headers.pairs(0, r.headers);
    let at = u32::from_le_bytes([place[0], place[1], place[2], place[3]]) as usize;
    let came = came(4, |out| unsafe {
        http_send(r.method.as_ptr(), r.method.len(), r.url.as_ptr(), r.url.len(), at, r.headers.len(), r.body.as_ptr(), r.body.len(), r.timeout_ms, out)
    })?;
    let (list, body) = (came.list(8), came.list(16));
    let header = |i: usize| unsafe {
        let words = std::slice::from_raw_parts((list.0 + 16 * i) as *const usize, 4);
        (text(words[0], words[1]).to_string(), bytes(words[2], words[3]).to_vec())
    };
    let headers = (0..list.1).map(header).collect();
    Ok(Response { status: came.word(4) as u16, headers, body: unsafe { bytes(body.0, body.1).to_vec() } })
}

/// Reads a whole asset, or an archive as an uncompressed tar.
pub fn read_asset(v: &Value) -> Result<Vec<u8>> {
    let (hash, form) = match v.plain() {
        Value::Asset(o) => (&o.hash, 0),
        Value::Archive(o) => (&o.hash, 2),
        _ => return Err(Error::new(Kind::InvalidArgument, "the value is neither an asset nor an archive")),
    };
    let contents = came(8, |out| unsafe { assets_open(hash.as_ptr(), hash.len(), form, out) })?.0[1];
    let mut data = Vec::new();
    let result = loop {
        match came(4, |out| unsafe { assets_read(contents, 256 << 10, out) }).map(|came| came.list(4)) {
            Ok((_, 0)) => break Ok(data),
            Ok((at, size)) => data.extend(unsafe { bytes(at, size) }),
            Err(e) => break Err(e),
        }
    };
    unsafe { assets_close(contents) };
    result
}

/// Exports a provider, which a function makes: `husk_provider::serve!(provider);`
#[macro_export]
macro_rules! serve {
    ($make:path) => {
        $crate::realloc!();
        use $crate::abi::text as husk_text;
        $crate::export!("handshake", (_a: usize, _b: usize, features: u32), $crate::abi::handshake($make, features));
        $crate::export!("get-schema", (version: u32, a: usize, b: usize, _c: usize, _d: usize), $crate::abi::get_schema($make, version, husk_text(a, b)));
        $crate::export!("configure", (_a: usize, _b: usize, _c: usize, _d: usize, _e: usize, _f: usize, _g: usize, _h: usize, i: usize, j: usize), $crate::abi::configure((i, j)));
        $crate::export!("create", (a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize, h: usize, timeout: f64, preview: u32),
            $crate::abi::create($make, husk_text(a, b), husk_text(c, d), husk_text(e, f), (g, h), timeout, preview));
        $crate::export!("read", (a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize, h: usize, i: u32, j: usize, k: usize, l: u32, m: usize, n: usize, timeout: f64),
            $crate::abi::read($make, husk_text(a, b), husk_text(c, d), husk_text(e, f), husk_text(g, h), (i != 0).then_some((j, k)), (l != 0).then_some((m, n)), timeout));
        $crate::export!("update", (a: usize), $crate::abi::update($make, a));
        $crate::export!("delete", (a: usize, b: usize, c: usize, d: usize, e: usize, f: usize, g: usize, h: usize, i: usize, j: usize, _k: usize, _l: usize, timeout: f64),
            $crate::abi::delete($make, husk_text(a, b), husk_text(c, d), husk_text(e, f), husk_text(g, h), (i, j), timeout));
        $crate::export!("list", (a: usize, b: usize, c: usize, d: usize, limit: u64, page_size: u64, e: usize, f: usize),
            $crate::abi::list($make, husk_text(a, b), (c, d), limit, page_size, husk_text(e, f)));
        $crate::export!("invoke", (a: usize, b: usize, c: usize, d: usize, preview: u32), $crate::abi::invoke($make, husk_text(a, b), (c, d), preview));
        $crate::export!("cancel", (), $crate::abi::cancel());
        // What is left to the host, which checks and compares by the schema, and what the SDK does not have.
        $crate::export!("check-config", (_a: usize), $crate::abi::unimplemented("check-config", false));
        $crate::export!("check", (_a: usize), $crate::abi::unimplemented("check", false));
        $crate::export!("diff-config", (_a: usize, _b: usize, _c: usize, _d: usize, _e: usize, _f: usize, _g: usize, _h: usize, _i: usize, _j: usize, _k: usize, _l: usize, _m: usize, _n: usize, _o: usize, _p: usize),
            $crate::abi::unimplemented("diff-config", false));
        $crate::export!("diff", (_a: usize, _b: usize, _c: usize, _d: usize, _e: usize, _f: usize, _g: usize, _h: usize, _i: usize, _j: usize, _k: usize, _l: usize, _m: usize, _n: usize, _o: usize, _p: usize),
            $crate::abi::unimplemented("diff", false));
        $crate::export!("parameterize", (_a: u32, _b: usize, _c: usize, _d: usize, _e: usize, _f: usize, _g: usize, _h: u32), $crate::abi::unimplemented("parameterize", false));
        $crate::export!("get-mapping", (_a: usize, _b: usize, _c: usize, _d: usize), $crate::abi::unimplemented("get-mapping", false));
        $crate::export!("get-mappings", (_a: usize, _b: usize), $crate::abi::unimplemented("get-mappings", false));
        $crate::export!("stream-invoke", (_a: usize, _b: usize, _c: usize, _d: usize, _e: u32), $crate::abi::unimplemented("stream-invoke", true));
        $crate::export!("stream-next", (_a: u64), $crate::abi::unimplemented("stream-next", false));
        $crate::export!("stream-close", (_a: u64), $crate::abi::unimplemented("stream-close", false));
        $crate::export!("open-ephemeral", (_a: usize, _b: usize, _c: usize, _d: usize, _e: u32), $crate::abi::unimplemented("open-ephemeral", true));
        $crate::export!("renew-ephemeral", (_a: usize, _b: usize, _c: usize, _d: usize), $crate::abi::unimplemented("renew-ephemeral", true));
        $crate::export!("close-ephemeral", (_a: usize, _b: usize, _c: usize, _d: usize), $crate::abi::unimplemented("close-ephemeral", false));
        $crate::export!("run-action", (_a: usize, _b: usize, _c: usize, _d: usize, _e: u32), $crate::abi::unimplemented("run-action", false));
        $crate::export!("exists", (_a: usize, _b: usize, _c: usize, _d: usize, _e: usize, _f: usize, _g: usize, _h: usize, _i: u32, _j: usize, _k: usize, _l: f64), $crate::abi::unimplemented("exists", false));
        $crate::export!("call", (_a: usize, _b: usize, _c: usize, _d: usize, _e: usize, _f: usize, _g: usize, _h: usize, _i: usize, _j: usize, _k: usize, _l: usize, _m: usize, _n: usize, _o: u32, _p: u32),
            $crate::abi::unimplemented("call", false));
        $crate::export!("construct", (a: usize), $crate::abi::construct($make, a));
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! realloc {
    () => {
        #[unsafe(export_name = "cabi_realloc")]
        extern "C" fn husk_realloc(old: *const u8, old_size: usize, align: usize, size: usize) -> *mut u8 {
            $crate::abi::realloc(old, old_size, align, size)
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! export {
    ($name:literal, ($($arg:ident: $type:ty),*), $answer:expr) => {
        $crate::export!("husk:provider/provider@0.2.0#", $name, ($($arg: $type),*), $answer);
    };
    ($interface:literal, $name:literal, ($($arg:ident: $type:ty),*), $answer:expr) => {
        const _: () = {
            #[unsafe(export_name = concat!($interface, $name))]
            extern "C" fn serve($($arg: $type),*) -> usize {
                $answer
            }
            #[unsafe(export_name = concat!("cabi_post_", $interface, $name))]
            extern "C" fn post(_: usize) {
                $crate::abi::release()
            }
        };
    };
}
