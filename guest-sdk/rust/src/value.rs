//! Property values, as CBOR (wit/property.cddl) and as JSON.

use std::collections::BTreeMap;

/// An object of property values.
pub type Object = BTreeMap<String, Value>;

/// A property value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    Array(Vec<Value>),
    Object(Object),
    Asset(Opaque),
    Archive(Opaque),
    Reference(Opaque),
    /// Known after the deployment; in previews only.
    Unknown,
    Secret(Box<Value>),
    /// A value, and the URNs of the resources that it comes from.
    Output { value: Box<Value>, secret: bool, dependencies: Vec<String> },
}

/// What crosses unchanged. The hash is that of an asset or archive.
#[derive(Clone, Debug, PartialEq)]
pub struct Opaque {
    raw: Vec<u8>,
    pub hash: String,
}

const UNKNOWN: u64 = 48500;

impl Value {
    /// Marks a value as secret.
    pub fn secret(self) -> Value {
        match self {
            Value::Secret(_) => self,
            Value::Output { value, dependencies, .. } => Value::Output { value, secret: true, dependencies },
            v => Value::Secret(Box::new(v)),
        }
    }

    /// The value inside of secrets and outputs.
    pub fn plain(&self) -> &Value {
        match self {
            Value::Secret(v) | Value::Output { value: v, .. } => v.plain(),
            v => v,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(s) = self.plain() { Some(s) } else { None }
    }

    pub fn as_array(&self) -> &[Value] {
        if let Value::Array(a) = self.plain() { a } else { &[] }
    }

    pub fn as_object(&self) -> Option<&Object> {
        if let Value::Object(o) = self.plain() { Some(o) } else { None }
    }

    pub(crate) fn into_object(self) -> Object {
        if let Value::Object(o) = self { o } else { Object::new() }
    }

    /// The property of an object, null if there is none.
    pub fn get(&self, key: &str) -> &Value {
        self.as_object().and_then(|o| o.get(key)).unwrap_or(&Value::Null)
    }

    pub(crate) fn is_secret(&self) -> bool {
        matches!(self, Value::Secret(_) | Value::Output { secret: true, .. })
    }

    /// Whether the value is or holds one of which the function says so.
    pub(crate) fn any(&self, is: &dyn Fn(&Value) -> bool) -> bool {
        is(self)
            || match self {
                Value::Secret(v) | Value::Output { value: v, .. } => v.any(is),
                Value::Array(a) => a.iter().any(|v| v.any(is)),
                Value::Object(o) => o.values().any(|v| v.any(is)),
                _ => false,
            }
    }

    /// A value whose parts, not those of secrets and outputs, are changed.
    pub(crate) fn each(&self, change: &dyn Fn(&Value) -> Value) -> Value {
        match self {
            Value::Array(a) => Value::Array(a.iter().map(change).collect()),
            Value::Object(o) => Value::Object(changed(o, &mut |_, v| change(v))),
            v => v.clone(),
        }
    }

    /// The value without the secrets and outputs in it.
    pub fn without_marks(&self) -> Value {
        self.plain().each(&Value::without_marks)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Value::Null => out.push(0xf6),
            Value::Bool(b) => out.push(0xf4 + *b as u8),
            Value::Number(n) => number(out, *n),
            Value::String(s) => text(out, s),
            Value::Array(a) => {
                head(out, 4, a.len() as u64);
                a.iter().for_each(|v| v.encode(out));
            }
            Value::Object(o) => object(out, o),
            Value::Asset(o) | Value::Archive(o) | Value::Reference(o) => out.extend(&o.raw),
            Value::Unknown => {
                head(out, 6, UNKNOWN);
                out.push(0xf6);
            }
            Value::Secret(v) => {
                head(out, 6, UNKNOWN + 1);
                v.encode(out);
            }
            Value::Output { value, secret, dependencies } => {
                head(out, 6, UNKNOWN + 2);
                head(out, 4, 3);
                value.encode(out);
                out.push(0xf4 + *secret as u8);
                head(out, 4, dependencies.len() as u64);
                dependencies.iter().for_each(|d| text(out, d));
            }
        }
    }

    /// The value as JSON. Kinds that JSON lacks are null.
    pub fn to_json(&self) -> String {
        let list = |parts: Vec<String>| parts.join(",");
        match self.plain() {
            Value::Bool(b) => b.to_string(),
            Value::Number(n) if n.is_finite() => n.to_string(),
            Value::String(s) => quoted(s),
            Value::Array(a) => format!("[{}]", list(a.iter().map(Value::to_json).collect())),
            Value::Object(o) => format!("{{{}}}", list(o.iter().map(|(k, v)| quoted(k) + ":" + &v.to_json()).collect())),
            _ => "null".into(),
        }
    }

    /// The value of JSON, none if it is no JSON, is nested more than 128 deep, or has a number beyond a double.
    pub fn from_json(text: &str) -> Option<Value> {
        let mut j = Json { text, at: 0 };
        let v = j.value(0)?;
        (j.next().is_none()).then_some(v)
    }
}

/// An object with other values for the same keys. `collect` sorts the keys again, with 4 KB of code for each kind of iterator.
pub(crate) fn changed(o: &Object, change: &mut dyn FnMut(&str, &Value) -> Value) -> Object {
    let mut new = Object::new();
    o.iter().for_each(|(k, v)| drop(new.insert(k.clone(), change(k, v))));
    new
}

/// The CBOR of an object: shorter keys first, then bytewise.
pub(crate) fn object(out: &mut Vec<u8>, o: &Object) {
    let mut keys: Vec<_> = o.iter().collect();
    keys.sort_unstable_by_key(|(k, _)| (k.len(), k.as_bytes()));
    head(out, 5, keys.len() as u64);
    for (key, v) in keys {
        text(out, key);
        v.encode(out);
    }
}

fn head(out: &mut Vec<u8>, major: u8, n: u64) {
    let size = if n < 24 { 0 } else if n < 1 << 8 { 1 } else if n < 1 << 16 { 2 } else if n < 1 << 32 { 4 } else { 8usize };
    out.push(major << 5 | if size == 0 { n as u8 } else { 24 + size.trailing_zeros() as u8 });
    out.extend(&n.to_be_bytes()[8 - size..]);
}

fn text(out: &mut Vec<u8>, s: &str) {
    head(out, 3, s.len() as u64);
    out.extend(s.as_bytes());
}

/// Writes the shortest form that holds a number exactly.
fn number(out: &mut Vec<u8>, n: f64) {
    let f = n as f32;
    if !n.is_nan() && f as f64 != n {
        out.push(0xfb);
        out.extend(n.to_be_bytes());
        return;
    }
    let (bits, exponent) = (f.to_bits(), (f.to_bits() >> 23 & 255) as i32 - 127);
    let (sign, fraction) = ((bits >> 16 & 0x8000) as u16, bits & 0x7fffff);
    let half = if n.is_nan() {
        Some(0x7e00)
    } else if exponent == 128 {
        Some(sign | 0x7c00)
    } else if f == 0.0 {
        Some(sign)
    } else if (-14..=15).contains(&exponent) && fraction & 0x1fff == 0 {
        Some(sign | ((exponent + 15) as u16) << 10 | (fraction >> 13) as u16)
    } else if (-24..-14).contains(&exponent) && (fraction | 0x800000) & ((1 << (-exponent - 1)) - 1) == 0 {
        Some(sign | ((fraction | 0x800000) >> (-exponent - 1)) as u16)
    } else {
        None
    };
    match half {
        Some(h) => {
            out.push(0xf9);
            out.extend(h.to_be_bytes());
        }
        None => {
            out.push(0xfa);
            out.extend(f.to_be_bytes());
        }
    }
}

/// Decodes an object, none if it is no CBOR of the contract.
pub(crate) fn decode(data: &[u8]) -> Option<Value> {
    let mut r = Reader { data, at: 0 };
    r.value(0).filter(|v| r.at == data.len() && matches!(v, Value::Object(_)))
}

/// How deep tags, arrays, and objects are nested in each other, which a host keeps to 128 of each.
const DEEPEST: usize = 4 * 128;

struct Reader<'a> {
    data: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take(&mut self, n: u64) -> Option<&[u8]> {
        let end = self.at.checked_add(usize::try_from(n).ok()?)?;
        let taken = self.data.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let begin = self.at;
        let first = self.take(1)?[0];
        let n = match first & 31 {
            m @ 0..=23 => m as u64,
            m @ 24..=27 => self.take(1 << (m - 24))?.iter().fold(0, |n, b| n << 8 | *b as u64),
            _ => return None,
        };
        if depth > DEEPEST {
            return None;
        }
        Some(match (first >> 5, first & 31) {
            (0, _) => Value::Number(n as f64), // the integers inside of tags
            (3, _) => Value::String(String::from_utf8_lossy(self.take(n)?).into_owned()),
            (4, _) => Value::Array((0..n).map(|_| self.value(depth + 1)).collect::<Option<_>>()?),
            (5, _) => {
                let mut o = Object::new();
                for _ in 0..n {
                    o.insert(self.value(depth + 1)?.as_str()?.to_string(), self.value(depth + 1)?);
                }
                Value::Object(o)
            }
            (6, _) => {
                let inner = self.value(depth + 1)?;
                let part = |i: usize| inner.as_array().get(i).cloned();
                let texts = |v: Value| v.as_array().iter().filter_map(Value::as_str).map(String::from).collect();
                let opaque = || Opaque { raw: self.data[begin..self.at].to_vec(), hash: part(0).as_ref().and_then(Value::as_str).unwrap_or("").into() };
                match n.checked_sub(UNKNOWN)? {
                    0 => Value::Unknown,
                    1 => Value::Secret(Box::new(inner)),
                    2 => Value::Output { value: Box::new(part(0)?), secret: part(1)? == Value::Bool(true), dependencies: texts(part(2)?) },
                    3 => Value::Asset(opaque()),
                    4 => Value::Archive(opaque()),
                    5 => Value::Reference(opaque()),
                    _ => return None,
                }
            }
            (7, 20) => Value::Bool(false),
            (7, 21) => Value::Bool(true),
            (7, 22) => Value::Null,
            (7, 25) => {
                let (exponent, fraction) = ((n >> 10 & 31) as i32, (n & 1023) as f64);
                let v = match exponent {
                    0 => fraction * 2f64.powi(-24),
                    31 if fraction == 0.0 => f64::INFINITY,
                    31 => f64::NAN,
                    _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
                };
                Value::Number(if n >> 15 == 1 { -v } else { v })
            }
            (7, 26) => Value::Number(f32::from_bits(n as u32) as f64),
            (7, 27) => Value::Number(f64::from_bits(n)),
            _ => return None,
        })
    }
}

/// A text in the quotes of JSON.
pub(crate) fn quoted(s: &str) -> String {
    let mut out = String::from('"');
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out += &format!("\\u{:04x}", c as u32),
            c => out.push(c),
        }
    }
    out + "\""
}

struct Json<'a> {
    text: &'a str,
    at: usize,
}

impl Json<'_> {
    /// What follows white space.
    fn next(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\r', '\n']);
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    fn accept(&mut self, word: &str) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        match self.next()? {
            'n' => self.accept("null").map(|_| Value::Null),
            't' => self.accept("true").map(|_| Value::Bool(true)),
            'f' => self.accept("false").map(|_| Value::Bool(false)),
            '"' => self.string().map(Value::String),
            '-' | '0'..='9' => self.number().map(Value::Number),
            open @ ('[' | '{') if depth < 128 => {
                let (mut array, mut object) = (Vec::new(), Object::new());
                let close = if open == '[' { "]" } else { "}" };
                self.at += 1;
                self.next()?;
                if self.accept(close).is_none() {
                    loop {
                        if open == '[' {
                            array.push(self.value(depth + 1)?);
                        } else {
                            (self.next()? == '"').then_some(())?;
                            let key = self.string()?;
                            self.next()?;
                            self.accept(":")?;
                            object.insert(key, self.value(depth + 1)?);
                        }
                        self.next()?;
                        if self.accept(close).is_some() {
                            break;
                        }
                        self.accept(",")?;
                    }
                }
                Some(if open == '[' { Value::Array(array) } else { Value::Object(object) })
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<f64> {
        let begin = self.at;
        let _ = self.accept("-");
        self.accept("0").or_else(|| self.digits())?;
        if self.accept(".").is_some() {
            self.digits()?;
        }
        if self.accept("e").or_else(|| self.accept("E")).is_some() {
            let _ = self.accept("+").or_else(|| self.accept("-"));
            self.digits()?;
        }
        self.text[begin..self.at].parse().ok().filter(|n: &f64| n.is_finite())
    }

    fn digits(&mut self) -> Option<()> {
        let rest = &self.text[self.at..];
        let n = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        self.at += n;
        (n > 0).then_some(())
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }

    fn string(&mut self) -> Option<String> {
        let mut out = String::new();
        self.accept("\"")?;
        loop {
            let c = self.text[self.at..].chars().next()?;
            self.at += c.len_utf8();
            match c {
                '"' => return Some(out),
                '\\' => {
                    let e = self.text[self.at..].chars().next()?;
                    self.at += e.len_utf8();
                    out.push(match e {
                        '"' | '\\' | '/' => e,
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        'u' => {
                            let mut r = self.unit()?;
                            let after = self.at;
                            let low = if r >> 10 == 0x36 { self.accept("\\u").and_then(|_| self.unit()) } else { None };
                            match low.filter(|low| low >> 10 == 0x37) {
                                Some(low) => r = 0x10000 + ((r & 1023) << 10 | (low & 1023)),
                                None => self.at = after,
                            }
                            char::from_u32(r).unwrap_or('\u{fffd}')
                        }
                        _ => return None,
                    });
                }
                c if c < ' ' => return None,
                c => out.push(c),
            }
        }
    }
}
