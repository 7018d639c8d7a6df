//! Rust types as properties, and their schema.

use crate::value::{quoted, Object, Value};
use crate::{Error, Result};
use std::collections::BTreeMap;

/// The schema of the types of a package, as JSON, by token.
pub struct Types {
    pub package: &'static str,
    pub known: BTreeMap<String, String>,
}

/// A type of a property.
pub trait Property: Sized {
    const OPTIONAL: bool = false;
    /// The members of its schema, such as "type":"string".
    fn schema(types: &mut Types) -> String;
    fn load(v: &Value) -> Result<Self>;
    fn store(&self) -> Value;
    /// Calls a function with each part of the value at a path that a variable of the type holds without its marks.
    fn deciding(v: &Value, path: &str, see: &mut dyn FnMut(&str, &Value)) {
        see(path, v)
    }
}

/// A struct of properties. The macro `properties` implements it.
pub trait Properties: Sized {
    /// The properties with their schema, and those that are required.
    fn describe(types: &mut Types) -> (Vec<(String, String)>, Vec<String>);
    fn load(o: &Object) -> Result<Self>;
    fn store(&self) -> Object;
    fn deciding(o: &Object, path: &str, see: &mut dyn FnMut(&str, &Value));
}

/// The path of a property of the object at a path.
pub fn within(path: &str, key: &str) -> String {
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    match path {
        "" => key.into(),
        path if !key.is_empty() && key.chars().all(letter) && !key.starts_with(|c: char| c.is_ascii_digit()) => format!("{path}.{key}"),
        path => format!("{path}[{}]", quoted(key)),
    }
}

/// The members `properties` and `required` of an object's schema, with their names.
pub(crate) fn described<P: Properties>(types: &mut Types, properties: &str, required: &str) -> String {
    let (all, needed) = P::describe(types);
    let all: Vec<_> = all.iter().map(|(name, spec)| quoted(name) + ":" + spec).collect();
    let needed: Vec<_> = needed.iter().map(|name| quoted(name)).collect();
    format!("\"{properties}\":{{{}}},\"{required}\":[{}]", all.join(","), needed.join(","))
}

fn wrong<T>(want: &str) -> Result<T> {
    Err(Error::invalid("", format!("expected {want}")))
}

macro_rules! scalar {
    ($type:ty, $name:literal, $kind:ident, $v:ident, $from:expr, $to:expr) => {
        impl Property for $type {
            fn schema(_: &mut Types) -> String {
                concat!("\"type\":\"", $name, "\"").into()
            }
            fn load(v: &Value) -> Result<Self> {
                if let Value::$kind($v) = v.plain() { Ok($from) } else { wrong($name) }
            }
            fn store(&self) -> Value {
                let $v = self;
                Value::$kind($to)
            }
        }
    };
}
scalar!(bool, "boolean", Bool, v, *v, *v);
scalar!(f64, "number", Number, v, *v, *v);
scalar!(String, "string", String, v, v.clone(), v.clone());

impl Property for i64 {
    fn schema(_: &mut Types) -> String {
        "\"type\":\"integer\"".into()
    }
    fn load(v: &Value) -> Result<Self> {
        match v.plain() {
            Value::Number(n) if n.fract() == 0.0 && n.abs() <= (1i64 << 53) as f64 => Ok(*n as i64),
            _ => wrong("integer"),
        }
    }
    fn store(&self) -> Value {
        Value::Number(*self as f64)
    }
}

impl Property for Value {
    fn schema(_: &mut Types) -> String {
        "\"$ref\":\"pulumi.json#/Any\"".into()
    }
    fn load(v: &Value) -> Result<Self> {
        Ok(v.clone())
    }
    fn store(&self) -> Value {
        self.clone()
    }
    fn deciding(_: &Value, _: &str, _: &mut dyn FnMut(&str, &Value)) {}
}

impl<T: Property> Property for Option<T> {
    const OPTIONAL: bool = true;
    fn schema(types: &mut Types) -> String {
        T::schema(types)
    }
    fn load(v: &Value) -> Result<Self> {
        if *v.plain() == Value::Null { Ok(None) } else { T::load(v).map(Some) }
    }
    fn store(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::store)
    }
    fn deciding(v: &Value, path: &str, see: &mut dyn FnMut(&str, &Value)) {
        T::deciding(v, path, see)
    }
}

impl<T: Property> Property for Vec<T> {
    fn schema(types: &mut Types) -> String {
        format!("\"type\":\"array\",\"items\":{{{}}}", T::schema(types))
    }
    fn load(v: &Value) -> Result<Self> {
        let Value::Array(a) = v.plain() else { return wrong("array") };
        a.iter().map(T::load).collect()
    }
    fn store(&self) -> Value {
        Value::Array(self.iter().map(T::store).collect())
    }
    fn deciding(v: &Value, path: &str, see: &mut dyn FnMut(&str, &Value)) {
        see(path, v);
        v.as_array().iter().enumerate().for_each(|(i, v)| T::deciding(v, &format!("{path}[{i}]"), see));
    }
}

impl<T: Property> Property for BTreeMap<String, T> {
    fn schema(types: &mut Types) -> String {
        format!("\"type\":\"object\",\"additionalProperties\":{{{}}}", T::schema(types))
    }
    fn load(v: &Value) -> Result<Self> {
        let Value::Object(o) = v.plain() else { return wrong("object") };
        o.iter().map(|(k, v)| Ok((k.clone(), T::load(v)?))).collect()
    }
    fn store(&self) -> Value {
        Value::Object(self.iter().map(|(k, v)| (k.clone(), v.store())).collect())
    }
    fn deciding(v: &Value, path: &str, see: &mut dyn FnMut(&str, &Value)) {
        see(path, v);
        v.as_object().into_iter().flatten().for_each(|(k, v)| T::deciding(v, &within(path, k), see));
    }
}

/// The name of a property: that of the field in camel case.
pub fn camel(field: &str) -> String {
    let mut words = field.trim_start_matches("r#").split('_');
    let mut name = words.next().unwrap_or("").to_string();
    for word in words {
        name += &word[..1].to_uppercase();
        name += &word[1..];
    }
    name
}

/// The reference to an object, whose schema is added to the types.
pub fn reference<P: Properties>(types: &mut Types, name: &str) -> String {
    let token = format!("{}:index/{}{}:{name}", types.package, name[..1].to_lowercase(), &name[1..]);
    if !types.known.contains_key(&token) {
        types.known.insert(token.clone(), String::new()); // first, because objects may hold themselves
        let spec = format!("{{\"type\":\"object\",{}}}", described::<P>(types, "properties", "required"));
        types.known.insert(token.clone(), spec);
    }
    format!("\"$ref\":{}", quoted(&format!("#/types/{token}")))
}

/// What the options of a field add to its schema.
#[derive(Default)]
pub struct Options {
    pub doc: String,
    pub members: String,
    pub husk: Vec<String>,
    pub has_default: bool,
    pub secret: bool,
}

impl Options {
    pub fn spec(self, members: String) -> String {
        let doc = if self.doc.is_empty() { String::new() } else { format!(",\"description\":{}", quoted(self.doc.trim())) };
        let husk = if self.husk.is_empty() { String::new() } else { format!(",\"language\":{{\"husk\":{{{}}}}}", self.husk.join(",")) };
        format!("{{{members}{doc}{}{husk}}}", self.members)
    }
}

/// A constant of a schema.
pub trait Constant {
    fn json(&self) -> String;
}

impl Constant for &str {
    fn json(&self) -> String {
        quoted(self)
    }
}

macro_rules! constants {
    ($($type:ty),*) => { $(impl Constant for $type {
        fn json(&self) -> String {
            self.to_string()
        }
    })* };
}
constants!(bool, i32, f64);

/// Declares structs of properties. A field without an `Option` is required, unless it has a default. Behind the type are options:
/// `secret`, `replace`, `stable`, `computed`, `default V`, `one_of [V, ...]`, `minimum N`, `maximum N`.
///
/// ```ignore
/// properties! {
///     pub struct GreetingInputs {
///         /// Who is greeted.
///         name: String [replace],
///         mark: String [default "!", one_of ["!", "?"]],
///     }
/// }
/// ```
#[macro_export]
macro_rules! properties {
    ($($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[doc = $doc:literal])* $field:ident: $type:ty $([$($option:tt)*])?),* $(,)? })*) => { $(
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name { $($(#[doc = $doc])* pub $field: $type),* }

        impl $crate::Properties for $name {
            fn describe(types: &mut $crate::properties::Types) -> (Vec<(String, String)>, Vec<String>) {
                let (mut all, mut required) = (Vec::new(), Vec::new());
                $({
                    let mut options = $crate::properties::Options::default();
                    $(options.doc += $doc;)*
                    $($crate::property_options!(options $($option)*);)?
                    let name = $crate::properties::camel(stringify!($field));
                    if !<$type as $crate::Property>::OPTIONAL && !options.has_default {
                        required.push(name.clone());
                    }
                    all.push((name, options.spec(<$type as $crate::Property>::schema(types))));
                })*
                (all, required)
            }
            fn load(o: &$crate::Object) -> $crate::Result<Self> {
                Ok($name { $($field: {
                    let name = $crate::properties::camel(stringify!($field));
                    <$type as $crate::Property>::load(o.get(&name).unwrap_or(&$crate::Value::Null)).map_err(|e| e.within(&name))?
                }),* })
            }
            fn store(&self) -> $crate::Object {
                let mut o = $crate::Object::new();
                $({
                    #[allow(unused_mut)]
                    let mut options = $crate::properties::Options::default();
                    $($crate::property_options!(options $($option)*);)?
                    let v = <$type as $crate::Property>::store(&self.$field);
                    if *v.plain() != $crate::Value::Null {
                        o.insert($crate::properties::camel(stringify!($field)), if options.secret { v.secret() } else { v });
                    }
                })*
                o
            }
            fn deciding(o: &$crate::Object, path: &str, see: &mut dyn FnMut(&str, &$crate::Value)) {
                $({
                    let name = $crate::properties::camel(stringify!($field));
                    let v = o.get(&name).unwrap_or(&$crate::Value::Null);
                    <$type as $crate::Property>::deciding(v, &$crate::properties::within(path, &name), see);
                })*
            }
        }

        impl $crate::Property for $name {
            fn schema(types: &mut $crate::properties::Types) -> String {
                $crate::properties::reference::<$name>(types, stringify!($name))
            }
            fn load(v: &$crate::Value) -> $crate::Result<Self> {
                match v.as_object() {
                    Some(o) => <$name as $crate::Properties>::load(o),
                    None => Err($crate::Error::invalid("", "expected object".into())),
                }
            }
            fn store(&self) -> $crate::Value {
                $crate::Value::Object(<$name as $crate::Properties>::store(self))
            }
            fn deciding(v: &$crate::Value, path: &str, see: &mut dyn FnMut(&str, &$crate::Value)) {
                see(path, v);
                v.as_object().into_iter().for_each(|o| <$name as $crate::Properties>::deciding(o, path, see));
            }
        }
    )* };
}

/// Inputs or arguments without a struct: `object! { "name": name, "size": object! { "width": 3 } }`. What is null is left out.
#[macro_export]
macro_rules! object {
    ($($name:literal: $value:expr),* $(,)?) => {{
        #[allow(unused_mut)]
        let mut o = $crate::Object::new();
        $({
            let v = $crate::Property::store(&$value);
            if *v.plain() != $crate::Value::Null {
                o.insert($name.into(), v);
            }
        })*
        o
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! property_options {
    ($o:ident) => {};
    ($o:ident secret $(, $($rest:tt)*)?) => { $o.secret = true; $o.members += ",\"secret\":true"; $($crate::property_options!($o $($rest)*);)? };
    ($o:ident replace $(, $($rest:tt)*)?) => { $o.members += ",\"willReplaceOnChanges\":true"; $($crate::property_options!($o $($rest)*);)? };
    ($o:ident stable $(, $($rest:tt)*)?) => { $o.husk.push("\"stable\":true".into()); $($crate::property_options!($o $($rest)*);)? };
    ($o:ident computed $(, $($rest:tt)*)?) => { $o.husk.push("\"computed\":true".into()); $($crate::property_options!($o $($rest)*);)? };
    ($o:ident default $v:literal $(, $($rest:tt)*)?) => {
        $o.has_default = true;
        $o.members += &format!(",\"default\":{}", $crate::properties::Constant::json(&$v));
        $($crate::property_options!($o $($rest)*);)?
    };
    ($o:ident one_of [$($v:literal),*] $(, $($rest:tt)*)?) => {
        $o.husk.push(format!("\"oneOf\":[{}]", [$($crate::properties::Constant::json(&$v)),*].join(",")));
        $($crate::property_options!($o $($rest)*);)?
    };
    ($o:ident minimum $v:literal $(, $($rest:tt)*)?) => { $o.husk.push(format!("\"minimum\":{}", $v)); $($crate::property_options!($o $($rest)*);)? };
    ($o:ident maximum $v:literal $(, $($rest:tt)*)?) => { $o.husk.push(format!("\"maximum\":{}", $v)); $($crate::property_options!($o $($rest)*);)? };
}
