//! Components, which consist of other resources, and what they and programs register those with: the host's monitor.

use crate::abi::{came, dependencies, instance, properties, Came, Record};
use crate::properties::{Properties, Property, Types};
use crate::value::changed;
use crate::{Call, Error, Kind, Object, Result, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::rc::Rc;

/// A property of a component or program, which may be unknown in a preview, may be secret, and names the resources that it comes from. A field of
/// another type decides which children there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Output<T>(Value, PhantomData<T>);

impl<T> Output<T> {
    pub(crate) fn of(v: Value) -> Output<T> {
        Output(v, PhantomData)
    }
}

impl<T: Property> Output<T> {
    pub fn known(v: &T) -> Output<T> {
        Output(v.store(), PhantomData)
    }

    pub fn secret(self) -> Output<T> {
        Output(self.0.secret(), PhantomData)
    }

    /// The values as one.
    pub fn all(outputs: &[Output<T>]) -> Output<Vec<T>> {
        Output(Value::Array(outputs.iter().map(|o| o.0.clone()).collect()), PhantomData)
    }

    /// What a function makes of the value: unknown where the value is, secret if a part of it is, and of its resources.
    pub fn map<U: Property>(&self, f: impl FnOnce(T) -> U) -> Result<Output<U>> {
        let unknown = self.0.any(&|v| *v == Value::Unknown);
        let v = if unknown { Value::Unknown } else { f(T::load(&self.0)?).store() };
        Ok(Output(dependent(v, self.0.any(&Value::is_secret), urns(&self.0)), PhantomData))
    }
}

impl<T: Property> Property for Output<T> {
    const OPTIONAL: bool = T::OPTIONAL;
    fn schema(types: &mut Types) -> String {
        T::schema(types)
    }
    fn load(v: &Value) -> Result<Self> {
        Ok(Output(v.clone(), PhantomData))
    }
    fn store(&self) -> Value {
        self.0.clone()
    }
    fn deciding(_: &Value, _: &str, _: &mut dyn FnMut(&str, &Value)) {}
}

/// The resources that a value comes from.
pub(crate) fn urns(v: &Value) -> BTreeSet<String> {
    let all = RefCell::new(BTreeSet::new());
    v.any(&|v| {
        if let Value::Output { dependencies, .. } = v {
            all.borrow_mut().extend(dependencies.iter().cloned());
        }
        false
    });
    all.into_inner()
}

fn holds_secret(v: &Value) -> bool {
    v.is_secret() || matches!(v, Value::Secret(v) | Value::Output { value: v, .. } if holds_secret(v))
}

/// The value with the marks that it has, and more.
fn dependent(v: Value, secret: bool, mut from: BTreeSet<String>) -> Value {
    if from.is_empty() {
        return if secret { v.secret() } else { v };
    }
    let secret = secret || holds_secret(&v);
    let mut of = &v;
    while let Value::Secret(inner) | Value::Output { value: inner, .. } = of {
        if let Value::Output { dependencies, .. } = of {
            from.extend(dependencies.iter().cloned());
        }
        of = inner;
    }
    Value::Output { value: Box::new(of.clone()), secret, dependencies: from.into_iter().collect() }
}

/// The value without the outputs in it, which are secrets where they are secret.
fn lowered(v: &Value) -> Value {
    match v {
        Value::Secret(_) | Value::Output { .. } if holds_secret(v) => lowered(v.plain()).secret(),
        Value::Output { .. } => lowered(v.plain()),
        v => v.each(&lowered),
    }
}

/// A type of component.
pub trait Component {
    type Inputs: Properties;
    type Outputs: Properties;

    /// Registers the children, and returns the outputs. It is not called while an input that is no [`Output`] is unknown.
    fn construct(&self, call: &Call, deployment: &Deployment, inputs: Self::Inputs) -> Result<Self::Outputs>;
}

/// A component whose types are not known.
pub(crate) trait Erased {
    fn deciding(&self, inputs: &Object, see: &mut dyn FnMut(&str, &Value));
    fn construct(&self, call: &Call, deployment: &Deployment, inputs: &Object) -> Result<Object>;
    fn unknown(&self) -> Object;
}

impl<C: Component> Erased for C {
    fn deciding(&self, inputs: &Object, see: &mut dyn FnMut(&str, &Value)) {
        C::Inputs::deciding(inputs, "", see)
    }
    fn construct(&self, call: &Call, deployment: &Deployment, inputs: &Object) -> Result<Object> {
        Ok(Component::construct(self, call, deployment, C::Inputs::load(inputs)?)?.store())
    }
    fn unknown(&self) -> Object {
        let (all, _) = C::Outputs::describe(&mut Types { package: "", known: Default::default() });
        let mut outputs = Object::new();
        all.into_iter().for_each(|(name, _)| drop(outputs.insert(name, Value::Unknown)));
        outputs
    }
}

/// How long the operations of a resource may take, in seconds; 0 is the provider's default.
#[derive(Clone, Copy, Default)]
pub struct Timeouts {
    pub create: f64,
    pub update: f64,
    pub delete: f64,
    pub read: f64,
}

/// A resource that a component or program wants to have. Options that are left out are inherited.
#[derive(Default)]
pub struct Registration<'a> {
    pub token: &'a str,
    pub name: &'a str,
    pub inputs: Object,
    /// Whether the type is a component, of any provider.
    pub component: bool,
    /// Whether it is a component without a provider, to be the parent of others.
    pub group: bool,
    /// The ID of an existing object, which is read and not managed. Inputs help to find it.
    pub read: Option<&'a Output<String>>,
    /// None for the component itself, and for the stack.
    pub parent: Option<&'a Child>,
    /// A child whose type is pulumi:providers:PACKAGE.
    pub provider: Option<&'a Child>,
    /// What the children of a component use.
    pub providers: &'a [&'a Child],
    pub depends_on: &'a [&'a Child],
    pub replace_with: &'a [&'a Child],
    pub deleted_with: Option<&'a Child>,
    pub protect: Option<bool>,
    pub retain_on_delete: Option<bool>,
    pub delete_before_replace: Option<bool>,
    pub ignore_changes: &'a [&'a str],
    pub replace_on_changes: &'a [&'a str],
    pub hide_diffs: &'a [&'a str],
    pub secret_outputs: &'a [&'a str],
    /// URNs.
    pub aliases: &'a [&'a str],
    pub timeouts: Timeouts,
    pub replacement_trigger: Option<Value>,
    pub import_id: &'a str,
    pub version: &'a str,
}

/// A resource that a component or program has registered.
#[derive(Clone)]
pub struct Child(Rc<Begun>);

struct Begun {
    token: String,
    name: String,
    custom: bool,
    handle: u64,
    made: RefCell<Rc<Made>>,
}

#[derive(Default)]
struct Made {
    urn: String,
    id: String,
    state: Object,
    /// The URNs that each output comes from.
    from: Vec<(String, Vec<String>)>,
    /// Whether it failed or was left out, and the program goes on.
    missing: bool,
}

/// The deployment that a component or program is part of.
pub struct Deployment<'a> {
    urn: &'a str,
    preview: bool,
    program: bool,
    running: RefCell<Vec<Child>>,
    failure: RefCell<Option<Error>>,
}

#[link(wasm_import_module = "husk:provider/monitor@0.2.0")]
extern "C" {
    #[link_name = "register-resource"]
    fn monitor_register_resource(registration: *const u64, out: *mut u64);
    #[link_name = "register-outputs"]
    fn monitor_register_outputs(urn: *const u8, size: usize, outputs: *const u8, outputs_size: usize, out: *mut u64);
    #[link_name = "start"]
    fn monitor_start(operation: *const u64, out: *mut u64);
    #[link_name = "wait"]
    fn monitor_wait(out: *mut u64);
    #[link_name = "invoke"]
    #[rustfmt::skip]
    fn monitor_invoke(
        token: *const u8, size: usize, args: usize, args_size: usize, provider: *const u8, provider_size: usize, version: usize, version_size: usize,
        package: usize, package_size: usize, parent: *const u8, parent_size: usize, depends: usize, depends_size: usize, out: *mut u64,
    );
}

/// Where the options are in a registration and in a read, and these in an operation.
const OPTIONS: usize = 48;
const READ_OPTIONS: usize = 40;
const REGISTRATION: usize = 8;

impl<'a> Deployment<'a> {
    pub(crate) fn new(urn: &'a str, preview: bool, program: bool) -> Deployment<'a> {
        Deployment { urn, preview, program, running: Default::default(), failure: Default::default() }
    }

    /// Waits for all that is begun, also after a failure, so that it is recorded.
    pub(crate) fn end<T>(&self, result: Result<T>) -> Result<T> {
        if let Err(e) = &result {
            self.fail(e.clone());
        }
        while !self.running.borrow().is_empty() {
            self.wait();
        }
        self.check()?;
        result
    }

    /// Whether nothing is made. What is new is unknown then.
    pub fn preview(&self) -> bool {
        self.preview
    }

    /// Begins to make a resource, and returns at once where all that it depends on is made. It waits for the other children of the
    /// registration. Once the component has failed, or the program cannot go on, no other is begun.
    pub fn register(&self, r: &Registration) -> Result<Child> {
        let mut place = [0; 30]; // an operation
        let mut operation = Record::of(&mut place);
        let custom = !r.component && !r.group;
        let parent = self.urns(r.parent.as_slice())?.pop().unwrap_or_else(|| self.urn.into());
        let mut depends_on = self.urns(r.depends_on)?;
        let mut inputs = r.inputs.clone();
        inputs.retain(|_, v| *v.plain() != Value::Null);
        let mut record = operation.at(REGISTRATION);
        let (mut at, mut id) = (0, "");
        if let Some(Output(v, _)) = r.read {
            id = v.as_str().unwrap_or(""); // it may be unknown in a preview
            record.text(0, id);
            depends_on.extend(urns(v));
            at = 8;
        }
        record.text(at, r.token);
        record.text(at + 8, r.name);
        record.text(at + 16, &parent);
        let mut o = if r.read.is_some() {
            record.object(32, &inputs);
            record.at(READ_OPTIONS)
        } else {
            (record.0[24], record.0[25]) = (custom as u8, r.component as u8);
            record.object(28, &inputs);
            record.at(OPTIONS)
        };
        for (at, choice) in [(0, r.protect), (80, r.delete_before_replace), (100, r.retain_on_delete)] {
            (o.0[at], o.0[at + 1]) = (choice.is_some() as u8, (choice == Some(true)) as u8);
        }
        o.text(4, &self.providers(r.provider.as_slice())?.pop().unwrap_or_default().1);
        o.pairs(12, &self.providers(r.providers)?);
        o.texts(20, &depends_on);
        o.texts(28, r.secret_outputs);
        for (i, seconds) in [r.timeouts.create, r.timeouts.update, r.timeouts.delete, r.timeouts.read].iter().enumerate() {
            o.0[40 + 8 * i..48 + 8 * i].copy_from_slice(&seconds.to_le_bytes());
        }
        o.text(72, &self.urns(r.deleted_with.as_slice())?.pop().unwrap_or_default());
        o.texts(84, r.ignore_changes);
        o.texts(92, r.replace_on_changes);
        o.records(104, 48, r.aliases, |one, urn| one.text(4, urn));
        o.texts(112, &self.urns(r.replace_with)?);
        if let Some(trigger) = &r.replacement_trigger {
            o.0[120] = 1;
            o.value(124, &lowered(trigger));
        }
        o.texts(132, r.hide_diffs);
        o.text(140, r.import_id);
        o.text(148, r.version);
        if r.read.is_some() {
            Record::of(&mut place).0[0] = 2;
        }
        self.check()?;
        let known = Made { id: id.into(), ..Default::default() };
        let mut child = Begun { token: r.token.into(), name: r.name.into(), custom, handle: 0, made: RefCell::new(Rc::new(known)) };
        match came(8, |out| unsafe { monitor_start(place.as_ptr(), out) }) {
            Ok(begun) => child.handle = begun.0[1],
            Err(e) => self.fail(explained(&child.what(), e)),
        }
        self.check()?;
        let child = Child(Rc::new(child));
        self.running.borrow_mut().push(child.clone());
        Ok(child)
    }

    /// Waits for a child, and returns the output at a path, such as subjects[0].name or labels["app.io/name"], or its id or urn. It is
    /// unknown while nobody knows it in a preview.
    pub fn output<T: Property>(&self, child: &Child, path: &str) -> Result<Output<T>> {
        match path {
            "id" => return Ok(Output::of(self.id(child)?.0)),
            "urn" => return Ok(Output::of(self.urn(child)?.0)),
            _ => {}
        }
        let made = self.made(child)?;
        let mut segments = segments(path).into_iter();
        let name = segments.next().unwrap_or("");
        let missing = if self.preview || made.missing { Value::Unknown } else { Value::Null };
        let found = made.state.get(name).filter(|_| !made.missing).cloned();
        let mut v = found.unwrap_or(missing);
        for segment in segments {
            let part = match v.plain() {
                Value::Array(a) => segment.parse().ok().and_then(|i: usize| a.get(i)),
                Value::Object(o) => o.get(segment),
                Value::Unknown => break,
                _ => None,
            };
            v = dependent(part.cloned().unwrap_or(Value::Null), holds_secret(&v), BTreeSet::new());
        }
        Ok(self.of(&made, name, v))
    }

    /// Waits for a child, and returns its ID, unknown in a preview of a new one. Components have none.
    pub fn id(&self, child: &Child) -> Result<Output<String>> {
        let made = self.made(child)?;
        let id = match made.id.as_str() {
            _ if !child.0.custom => Value::Null,
            "" => Value::Unknown,
            id => Value::String(id.into()),
        };
        Ok(self.of(&made, "id", id))
    }

    pub fn urn(&self, child: &Child) -> Result<Output<String>> {
        let made = self.made(child)?;
        Ok(self.of(&made, "urn", Value::String(made.urn.clone())))
    }

    /// Calls a function of a package, and waits for its result. A provider, if there is one, is a child whose type is
    /// pulumi:providers:PACKAGE.
    pub fn invoke(&self, token: &str, args: &Object, provider: Option<&Child>) -> Result<Output<Value>> {
        let provider = self.providers(provider.as_slice())?.pop().unwrap_or_default().1;
        self.check()?;
        let given = Value::Object(args.clone());
        let mut place = [0; 1];
        Record::of(&mut place).object(0, args);
        let (at, size) = (place[0] as u32 as usize, (place[0] >> 32) as usize);
        let came = came(4, |out| unsafe {
            monitor_invoke(
                token.as_ptr(), token.len(), at, size, provider.as_ptr(), provider.len(), 0, 0, 0, 0, self.urn.as_ptr(), self.urn.len(), 0, 0, out,
            )
        });
        let came = came.map_err(|e| explained(token, e))?;
        let (failures, n) = came.list(12);
        if n > 0 {
            let string = |at: usize| unsafe { text((*(at as *const u32) as usize, *((at + 4) as *const u32) as usize)) };
            return Err(explained(token, Error::invalid(string(failures), string(failures + 8).into())));
        }
        let (data, size) = came.list(4);
        let result = if came.word(20) & 255 != 0 { Value::Unknown } else { properties(data, size)? };
        Ok(Output::of(dependent(result, given.any(&Value::is_secret), urns(&given))))
    }

    fn of<T>(&self, made: &Made, name: &str, v: Value) -> Output<T> {
        let mut from = BTreeSet::new();
        from.insert(made.urn.clone());
        made.from.iter().filter(|(key, _)| key == name).for_each(|(_, urns)| from.extend(urns.iter().cloned()));
        Output(dependent(v, false, from), PhantomData)
    }

    #[inline(never)]
    fn urns(&self, children: &[&Child]) -> Result<Vec<String>> {
        children.iter().map(|c| Ok(self.made(c)?.urn.clone())).collect()
    }

    /// The package of each child that is a provider, and its reference.
    #[inline(never)]
    fn providers(&self, children: &[&Child]) -> Result<Vec<(String, String)>> {
        let package = |c: &Child| c.0.token.rsplit(':').next().unwrap_or("").to_string();
        children.iter().map(|c| self.made(c).map(|made| (package(c), format!("{}::{}", made.urn, made.id)))).collect()
    }

    /// Waits until a child is made.
    #[inline(never)]
    fn made(&self, child: &Child) -> Result<Rc<Made>> {
        while self.running.borrow().iter().any(|c| Rc::ptr_eq(&c.0, &child.0)) {
            self.wait();
        }
        self.check()?;
        Ok(child.0.made.borrow().clone())
    }

    #[inline(never)]
    fn check(&self) -> Result<()> {
        self.failure.borrow().clone().map_or(Ok(()), Err)
    }

    /// Records a failure. The first one counts, but not one that was cancelled because another failed.
    fn fail(&self, e: Error) {
        let mut failure = self.failure.borrow_mut();
        if failure.as_ref().map_or(true, |was| was.kind == Kind::Cancelled && e.kind != Kind::Cancelled) {
            *failure = Some(e);
        }
    }

    /// Waits for one of the children that are being made.
    fn wait(&self) {
        let done = match came(8, |out| unsafe { monitor_wait(out) }) {
            Ok(done) => done,
            Err(e) => {
                self.running.borrow_mut().clear();
                return self.fail(e);
            }
        };
        let place = self.running.borrow().iter().position(|c| c.0.handle == done.0[1]);
        let Some(place) = place else { return };
        let child = self.running.borrow_mut().remove(place);
        let failed = |message| Err(Error::new(Kind::Internal, message));
        let result = match (done.word(16) & 255, done.word(52) & 255) {
            (5, _) => Err(done.error(20)),
            (2, _) => {
                let (data, size) = done.list(28);
                let id = child.0.made.borrow().id.clone();
                properties(data, size).map(|state| Made { urn: text(done.list(20)).into(), id, state: state.into_object(), ..Default::default() })
            }
            (0, result) if result == 0 || self.program => made(&done, 20).map(|made| Made { missing: result != 0, ..made }),
            (0, 2) => failed("it was left out, because something that it depends on failed"),
            _ => failed("it failed"),
        };
        match result {
            Ok(made) => drop(child.0.made.replace(Rc::new(made))),
            Err(e) => self.fail(explained(&child.0.what(), e)),
        }
    }
}

impl Begun {
    fn what(&self) -> String {
        format!("{} {}", self.token, self.name)
    }
}

/// The names and indexes of a path.
fn segments(path: &str) -> Vec<&str> {
    let (mut all, mut rest) = (Vec::new(), path);
    while !rest.is_empty() {
        let quoted = rest.strip_prefix("[\"").and_then(|r| r.split_once("\"]"));
        let (one, after) = quoted.unwrap_or_else(|| {
            let r = rest.trim_start_matches(['.', '[']);
            let end = r.find(['.', '[', ']']).unwrap_or(r.len());
            (&r[..end], r[end..].trim_start_matches(']'))
        });
        all.push(one);
        rest = after;
    }
    all
}

/// What the monitor answers of a resource.
fn made(came: &Came, at: usize) -> Result<Made> {
    let string = |at: usize| text(came.list(at)).to_string();
    let (data, size) = came.list(at + 16);
    let state = properties(data, size)?;
    Ok(Made { urn: string(at), id: string(at + 8), state: state.into_object(), from: dependencies(came.list(at + 24)), missing: false })
}

/// The error of a child or function as that of the component or program.
fn explained(what: &str, e: Error) -> Error {
    let path = if e.path.is_empty() { e.path } else { e.path + ": " };
    let kind = if e.kind == Kind::InitFailed { Kind::Internal } else { e.kind };
    Error { origin: e.origin, ..Error::new(kind, format!("{what}: {path}{}", e.message)) }
}

fn text((at, size): (usize, usize)) -> &'static str {
    crate::abi::text(at, size)
}

/// Serves construct, whose request is at a place. It writes the answer.
pub(crate) fn construct(package: &str, token: &str, component: &dyn Erased, request: usize, out: &mut Record) -> Result<()> {
    let words = |at: usize| -> (usize, usize) { unsafe { *(at as *const [usize; 2]) }.into() };
    let (list, string) = (|at| words(request + at), |at| text(words(at)).to_string());
    let (name, from) = (text(list(8)), dependencies(list(32)));
    let (data, size) = list(24);
    let mut inputs = properties(data, size)?.into_object(); // which the host has checked
    for (key, urns) in &from {
        if let Some(v) = inputs.get_mut(key) {
            let mut of = BTreeSet::new();
            of.extend(urns.iter().cloned());
            *v = dependent(v.clone(), false, of);
        }
    }
    let (mut open, mut secret) = (!instance().undecided, None);
    component.deciding(&inputs, &mut |path, v| {
        open = open && *v.plain() != Value::Unknown;
        if holds_secret(v) && secret.is_none() {
            secret = Some(path.to_string());
        }
    });
    if let Some(path) = secret {
        return Err(Error::invalid(&path, "the provider cannot keep this input secret: its field would have to be an Output".into()));
    }

    let mut place = [0; 29]; // a registration
    let mut own = Record::of(&mut place);
    own.text(0, token);
    own.text(8, name);
    own.text(16, text(list(16)));
    own.object(28, &inputs);
    own.copy(36, request + 32, 8);
    let mut options = own.at(OPTIONS);
    options.copy(0, request + 40, 176);
    let (data, n) = list(40 + 12);
    let mut providers: Vec<_> = (0..n).map(|i| (string(data + 16 * i), string(data + 16 * i + 8))).collect();
    let provider = text(list(40 + 4));
    if !provider.is_empty() && providers.iter().all(|(of, _)| of != package) {
        providers.push((package.into(), provider.into())); // children of the package inherit the provider
    }
    options.pairs(12, &providers);
    for at in [4, 148, 156] {
        options.text(at, ""); // the provider, its version, and package are for children
    }
    let urn = text(came(4, |out| unsafe { monitor_register_resource(place.as_ptr(), out) })?.list(4));

    let preview = unsafe { *((request + 248) as *const u8) } != 0;
    let call = Call { urn, name, timeout: 0.0, preview, config: &instance().config };
    let outputs = if open {
        let deployment = Deployment::new(urn, preview, false);
        deployment.end(component.construct(&call, &deployment, &inputs))?
    } else {
        crate::log(&call, crate::Severity::Warning, &format!("what {name} is made of is not known in this preview, for some of its inputs are not"));
        component.unknown()
    };
    let mut recorded = [0; 2];
    let mut record = Record::of(&mut recorded);
    record.object(0, &outputs);
    let at = record.0.as_ptr() as *const usize;
    came(4, |out| unsafe { monitor_register_outputs(urn.as_ptr(), urn.len(), *at as *const u8, *at.add(1), out) })?;
    out.text(0, urn);
    out.object(8, &changed(&outputs, &mut |_, v| lowered(v)));
    out.dependencies(16, &outputs);
    Ok(())
}
