//! The SDK for providers and programs of Husk in Rust, for modules that `cargo build --target wasm32-wasip1` builds. A provider is a
//! `cdylib`: the macro [`properties`] declares what programs set and read, a [`Resource`] manages objects, a [`Component`] consists of
//! other resources, and [`serve`] exports all of it. A program is one, too: a function declares the resources of a [`Stack`], and
//! [`program`] exports it.
//!
//! The host checks inputs and arguments by the schema, sets defaults, compares, and answers previews (docs/contract.md).

#[doc(hidden)]
pub mod abi;
mod component;
#[doc(hidden)]
pub mod program;
#[doc(hidden)]
pub mod properties;
mod value;

pub use abi::{cancelled, log, read_asset, send, Request, Response, Severity};
pub use component::{Child, Component, Deployment, Output, Registration, Timeouts};
pub use program::Stack;
pub use properties::{Properties, Property};
pub use value::{Object, Opaque, Value};

use properties::{described, Types};
use value::quoted;

pub type Result<T> = std::result::Result<T, Error>;

/// What kind of failure an error is, as in wit/types.wit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(u8)]
pub enum Kind {
    InvalidArgument,
    /// From read and delete: the object is gone.
    NotFound,
    Unimplemented,
    Unavailable,
    Cancelled,
    InitFailed,
    Denied,
    Internal,
    Crashed,
}

/// A failure of a call.
#[derive(Clone, Debug)]
pub struct Error {
    pub kind: Kind,
    pub message: String,
    /// The property that the error is about, empty for none.
    pub path: String,
    pub(crate) origin: u8,
    pub(crate) made: Option<(String, Object)>,
}

impl Error {
    pub fn new(kind: Kind, message: impl Into<String>) -> Error {
        Error { kind, message: message.into(), path: String::new(), origin: 0, made: None }
    }

    /// The error for a wrong input at a path.
    pub fn invalid(path: &str, message: String) -> Error {
        Error { path: path.into(), ..Error::new(Kind::InvalidArgument, message) }
    }

    /// The error for an object that exists and is not healthy. Its state is recorded, and the next deployment updates it.
    pub fn unhealthy(id: impl Into<String>, state: &impl Properties, reason: impl Into<String>) -> Error {
        Error { made: Some((id.into(), state.store())), ..Error::new(Kind::InitFailed, reason) }
    }

    #[doc(hidden)]
    pub fn within(mut self, name: &str) -> Error {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{name}{dot}{}", self.path);
        self
    }
}

/// What a call is about.
pub struct Call<'a> {
    pub urn: &'a str,
    pub name: &'a str,
    /// Seconds, 0 for none.
    pub timeout: f64,
    pub preview: bool,
    pub(crate) config: &'a Object,
}

impl Call<'_> {
    /// The configuration of the provider.
    pub fn config<C: Properties>(&self) -> Result<C> {
        C::load(self.config)
    }
}

/// A page of the existing objects of a type.
#[derive(Default)]
pub struct Listed {
    /// Each ID that can be imported, and a name for people.
    pub resources: Vec<(String, String)>,
    /// Asks for the next page; empty on the last one.
    pub next: String,
}

/// What of a list is asked for; 0 is no limit, and the continuation of the first page empty.
pub struct Page<'a> {
    pub query: Object,
    pub limit: u64,
    pub page_size: u64,
    pub continuation: &'a str,
}

fn not_there<T>(what: &str) -> Result<T> {
    Err(Error::new(Kind::Unimplemented, what))
}

/// A type of resource.
pub trait Resource {
    type Inputs: Properties;
    type State: Properties;

    /// Makes an object, and returns its ID.
    fn create(&self, call: &Call, inputs: Self::Inputs) -> Result<(String, Self::State)>;

    /// Reads an object. Without it, a refresh finds the recorded state, and nothing can be imported.
    fn read(&self, _call: &Call, _id: &str) -> Result<(Self::Inputs, Self::State)> {
        not_there("resources of this type cannot be imported")
    }

    /// Changes an object. Without it, each change has to replace the resource.
    fn update(&self, _call: &Call, _id: &str, _inputs: Self::Inputs, _state: Self::State) -> Result<Self::State> {
        not_there("resources of this type cannot be changed in place, only replaced")
    }

    fn delete(&self, _call: &Call, _id: &str, _state: Self::State) -> Result<()> {
        Ok(())
    }

    fn list(&self, _call: &Call, _page: &Page) -> Result<Listed> {
        not_there("the provider does not implement list")
    }
}

/// A recorded state. Another version of the provider may have made it.
fn recorded<S: Properties>(state: &Object) -> Result<S> {
    S::load(state).map_err(|e| Error { kind: Kind::Internal, message: format!("the recorded value does not fit this version of the provider: {}", e.message), ..e })
}

/// A resource whose types are not known.
pub(crate) trait Erased {
    fn create(&self, call: &Call, inputs: &Object) -> Result<(String, Object)>;
    fn read(&self, call: &Call, id: &str) -> Result<(Object, Object)>;
    fn update(&self, call: &Call, id: &str, inputs: &Object, state: &Object) -> Result<Object>;
    fn delete(&self, call: &Call, id: &str, state: &Object) -> Result<()>;
    fn list(&self, call: &Call, page: &Page) -> Result<Listed>;
}

impl<R: Resource> Erased for R {
    fn create(&self, call: &Call, inputs: &Object) -> Result<(String, Object)> {
        let (id, state) = Resource::create(self, call, R::Inputs::load(inputs)?)?;
        Ok((id, state.store()))
    }
    fn read(&self, call: &Call, id: &str) -> Result<(Object, Object)> {
        let (inputs, state) = Resource::read(self, call, id)?;
        Ok((inputs.store(), state.store()))
    }
    fn update(&self, call: &Call, id: &str, inputs: &Object, state: &Object) -> Result<Object> {
        Ok(Resource::update(self, call, id, R::Inputs::load(inputs)?, recorded(state)?)?.store())
    }
    fn delete(&self, call: &Call, id: &str, state: &Object) -> Result<()> {
        Resource::delete(self, call, id, recorded(state)?)
    }
    fn list(&self, call: &Call, page: &Page) -> Result<Listed> {
        Resource::list(self, call, page)
    }
}

type Function = Box<dyn Fn(&Call, &Object) -> Result<Object>>;

/// A provider: what [`serve`] exports.
pub struct Provider {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resources: Vec<(String, Box<dyn Erased>)>,
    pub(crate) functions: Vec<(String, Function)>,
    pub(crate) components: Vec<(String, Box<dyn component::Erased>)>,
    doc: &'static str,
    types: Types,
    config: Option<String>,
    described: [Vec<String>; 2],
}

impl Provider {
    pub fn new(name: &'static str, version: &'static str, doc: &'static str) -> Provider {
        let types = Types { package: name, known: Default::default() };
        Provider { name, version, doc, types, resources: vec![], functions: vec![], components: vec![], config: None, described: Default::default() }
    }

    /// Adds the configuration, which [`Call::config`] returns.
    pub fn config<C: Properties>(mut self) -> Provider {
        let provider = described::<C>(&mut self.types, "inputProperties", "requiredInputs");
        self.config = Some(format!("\"config\":{{{}}},\"provider\":{{{provider},", described::<C>(&mut self.types, "variables", "defaults")));
        self
    }

    /// Adds a resource of the type package:index:NAME.
    pub fn resource<R: Resource + 'static>(mut self, name: &str, resource: R) -> Provider {
        let token = format!("{}:index:{name}", self.name);
        let (inputs, state) = (described::<R::Inputs>(&mut self.types, "inputProperties", "requiredInputs"), described::<R::State>(&mut self.types, "properties", "required"));
        self.described[0].push(format!("{}:{{{inputs},{state},\"language\":{{\"husk\":{{\"schemaCheck\":true,\"schemaDiff\":true}}}}}}", quoted(&token)));
        self.resources.push((token, Box::new(resource)));
        self
    }

    /// Adds a component of the type package:index:NAME.
    pub fn component<C: Component + 'static>(mut self, name: &str, component: C) -> Provider {
        let token = format!("{}:index:{name}", self.name);
        let (inputs, outputs) = (described::<C::Inputs>(&mut self.types, "inputProperties", "requiredInputs"), described::<C::Outputs>(&mut self.types, "properties", "required"));
        self.described[0].push(format!("{}:{{\"isComponent\":true,{inputs},{outputs},\"language\":{{\"husk\":{{\"schemaCheck\":true}}}}}}", quoted(&token)));
        self.components.push((token, Box::new(component)));
        self
    }

    /// Adds a function package:index:NAME.
    pub fn function<A: Properties + 'static, R: Properties + 'static>(mut self, name: &str, function: fn(&Call, A) -> Result<R>) -> Provider {
        let token = format!("{}:index:{name}", self.name);
        let (arguments, result) = (described::<A>(&mut self.types, "properties", "required"), described::<R>(&mut self.types, "properties", "required"));
        self.described[1].push(format!(
            "{}:{{\"inputs\":{{\"type\":\"object\",{arguments}}},\"outputs\":{{\"type\":\"object\",{result}}},\"language\":{{\"husk\":{{\"schemaCheck\":true}}}}}}",
            quoted(&token)
        ));
        self.functions.push((token, Box::new(move |call, o| Ok(function(call, A::load(o)?)?.store()))));
        self
    }

    pub(crate) fn schema(&self) -> String {
        let plain = "\"provider\":{"; // without a configuration, nothing waits for it
        let configure = if self.config.is_some() { "" } else { ",\"schemaConfigure\":true,\"deferred\":true" };
        let types: Vec<_> = self.types.known.iter().map(|(token, spec)| quoted(token) + ":" + spec).collect();
        format!(
            "{{\"name\":{},\"version\":{},\"description\":{},{}\"language\":{{\"husk\":{{\"schemaCheck\":true,\"schemaDiff\":true{configure}}}}}}},\"types\":{{{}}},\"resources\":{{{}}},\"functions\":{{{}}}}}",
            quoted(self.name), quoted(self.version), quoted(self.doc), self.config.as_deref().unwrap_or(plain),
            types.join(","), self.described[0].join(","), self.described[1].join(",")
        )
    }
}
