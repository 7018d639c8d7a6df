//! The provider contacts in Rust: see ../provider for the same in Go.

use husk_provider::{properties, send, Call, Error, Kind, Listed, Page, Properties, Provider, Request, Resource, Result, Value};

properties! {
    pub struct Config {
        /// Where the service is.
        url: String,
    }
    pub struct Address {
        city: String,
        street: Option<String>,
    }
    pub struct Inputs {
        /// Another name makes another contact.
        name: String [replace],
        kind: String [default "person", one_of ["person", "company"]],
        priority: i64 [default 3, minimum 1, maximum 5],
        address: Option<Address>,
        tags: Option<Vec<String>>,
        /// Never shown.
        password: Option<String> [secret],
    }
    pub struct State {
        /// Another name makes another contact.
        name: String,
        kind: String,
        priority: i64,
        address: Option<Address>,
        tags: Option<Vec<String>>,
        /// Never shown.
        password: Option<String> [secret],
        /// How letters begin.
        label: String,
    }
    pub struct Search {
        tag: String,
        limit: i64 [default 10, minimum 1],
    }
    pub struct Found {
        names: Vec<String>,
        tag: String,
    }
}

/// Sends a request to the service, and returns its answer.
fn ask(call: &Call, method: &str, path: &str, body: Option<&Inputs>) -> Result<Value> {
    let text = body.map(|b| Value::Object(b.store()).to_json()).unwrap_or_default();
    let response = send(&Request { method, url: &(call.config::<Config>()?.url + path), body: text.as_bytes(), ..Default::default() })?;
    match response.status {
        404 => Err(Error::new(Kind::NotFound, format!("{path} does not exist"))),
        204 => Ok(Value::Null),
        status if status >= 300 => Err(Error::new(Kind::Internal, format!("{method} {path}: the service answers {status}"))),
        _ => Value::from_json(&String::from_utf8_lossy(&response.body))
            .ok_or_else(|| Error::new(Kind::Internal, format!("{method} {path}: the service answers no JSON"))),
    }
}

fn state(i: Inputs) -> State {
    let label = format!("{} ({})", i.name, i.kind);
    State { name: i.name, kind: i.kind, priority: i.priority, address: i.address, tags: i.tags, password: i.password, label }
}

fn id_of(v: &Value) -> String {
    v.get("id").as_str().unwrap_or("").to_string()
}

struct Contact;

impl Resource for Contact {
    type Inputs = Inputs;
    type State = State;

    fn create(&self, call: &Call, inputs: Inputs) -> Result<(String, State)> {
        let made = ask(call, "POST", "/contacts", Some(&inputs))?;
        Ok((id_of(&made), state(inputs)))
    }

    fn read(&self, call: &Call, id: &str) -> Result<(Inputs, State)> {
        let found = ask(call, "GET", &format!("/contacts/{id}"), None)?;
        let inputs = Inputs::load(found.as_object().unwrap_or(&Default::default()))?;
        Ok((inputs.clone(), state(inputs)))
    }

    fn update(&self, call: &Call, id: &str, inputs: Inputs, _: State) -> Result<State> {
        ask(call, "PUT", &format!("/contacts/{id}"), Some(&inputs))?;
        Ok(state(inputs))
    }

    fn delete(&self, call: &Call, id: &str, _: State) -> Result<()> {
        ask(call, "DELETE", &format!("/contacts/{id}"), None).map(|_| ())
    }

    fn list(&self, call: &Call, _: &Page) -> Result<Listed> {
        let all = ask(call, "GET", "/contacts", None)?;
        let resources = all.as_array().iter().map(|one| (id_of(one), one.get("name").as_str().unwrap_or("").to_string())).collect();
        Ok(Listed { resources, ..Default::default() })
    }
}

fn find(call: &Call, search: Search) -> Result<Found> {
    let all = ask(call, "GET", "/contacts", None)?;
    let has = |one: &&Value| one.get("tags").as_array().iter().any(|t| t.as_str() == Some(&search.tag));
    let mut names: Vec<_> = all.as_array().iter().filter(has).filter_map(|one| one.get("name").as_str()).map(String::from).collect();
    names.sort();
    names.truncate(search.limit as usize);
    Ok(Found { names, tag: search.tag })
}

fn provider() -> Provider {
    Provider::new("contacts", "1.0.0", "Contacts of a service.").config::<Config>().resource("Contact", Contact).function("find", find)
}

husk_provider::serve!(provider);
