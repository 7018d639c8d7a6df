//! The provider contacts in Rust: see ../provider for the same in Go.

use husk_provider::{
    properties, send, Call, Child, Component, Deployment, Error, Kind, Listed, Output, Page, Properties, Property, Provider, Registration, Request, Resource, Result, Value,
};

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
    struct Made {
        id: String,
    }
    struct Entry {
        id: String,
        name: String,
        tags: Option<Vec<String>>,
    }
    pub struct Found {
        names: Vec<String>,
        tag: String,
    }
    pub struct TeamInputs {
        /// Each name makes a contact.
        names: Vec<String>,
        /// What follows each name and @.
        domain: Output<String>,
        /// The password of each contact.
        note: Option<Output<String>> [secret],
    }
    pub struct TeamOutputs {
        /// The IDs of the contacts, in the order of the names.
        ids: Vec<Output<String>>,
        count: i64,
        domain: Output<String>,
    }
    struct Member {
        name: Output<String>,
        password: Option<Output<String>>,
    }
}

/// Sends a request to the service, and returns the body of its answer.
fn ask(call: &Call, method: &str, path: &str, body: Option<&Inputs>) -> Result<Vec<u8>> {
    let text = body.map(|b| Value::Object(Properties::store(b)).to_json()).unwrap_or_default();
    let response = send(&Request { method, url: &(call.config::<Config>()?.url + path), body: text.as_bytes(), ..Default::default() })?;
    match response.status {
        404 => Err(Error::new(Kind::NotFound, format!("{path} does not exist"))),
        status if status >= 300 => Err(Error::new(Kind::Internal, format!("{method} {path}: the service answers {status}"))),
        _ => Ok(response.body),
    }
}

/// Sends a request, and returns what the service answers.
fn answer<T: Property>(call: &Call, method: &str, path: &str, body: Option<&Inputs>) -> Result<T> {
    let text = ask(call, method, path, body)?;
    let found = Value::from_json(&String::from_utf8_lossy(&text)).and_then(|v| T::load(&v).ok());
    found.ok_or_else(|| Error::new(Kind::Internal, format!("{method} {path}: the answer of the service does not fit")))
}

fn state(i: Inputs) -> State {
    let label = format!("{} ({})", i.name, i.kind);
    State { name: i.name, kind: i.kind, priority: i.priority, address: i.address, tags: i.tags, password: i.password, label }
}

struct Contact;

impl Resource for Contact {
    type Inputs = Inputs;
    type State = State;

    fn create(&self, call: &Call, inputs: Inputs) -> Result<(String, State)> {
        let made: Made = answer(call, "POST", "/contacts", Some(&inputs))?;
        Ok((made.id, state(inputs)))
    }

    fn read(&self, call: &Call, id: &str) -> Result<(Inputs, State)> {
        let inputs: Inputs = answer(call, "GET", &format!("/contacts/{id}"), None)?;
        Ok((inputs.clone(), state(inputs)))
    }

    fn update(&self, call: &Call, id: &str, inputs: Inputs, _: State) -> Result<State> {
        let _: Inputs = answer(call, "PUT", &format!("/contacts/{id}"), Some(&inputs))?;
        Ok(state(inputs))
    }

    fn delete(&self, call: &Call, id: &str, _: State) -> Result<()> {
        ask(call, "DELETE", &format!("/contacts/{id}"), None).map(|_| ())
    }

    fn list(&self, call: &Call, _: &Page) -> Result<Listed> {
        let all: Vec<Entry> = answer(call, "GET", "/contacts", None)?;
        Ok(Listed { resources: all.into_iter().map(|one| (one.id, one.name)).collect(), ..Default::default() })
    }
}

fn find(call: &Call, search: Search) -> Result<Found> {
    let all: Vec<Entry> = answer(call, "GET", "/contacts", None)?;
    let tagged = all.into_iter().filter(|one| one.tags.iter().flatten().any(|t| *t == search.tag));
    let mut names: Vec<_> = tagged.map(|one| one.name).collect();
    names.sort();
    names.truncate(search.limit as usize);
    Ok(Found { names, tag: search.tag })
}

/// A contact for each name. The first one is made before the others.
struct Team;

impl Component for Team {
    type Inputs = TeamInputs;
    type Outputs = TeamOutputs;

    fn construct(&self, call: &Call, deployment: &Deployment, inputs: TeamInputs) -> Result<TeamOutputs> {
        let names = &inputs.names;
        if let Some(i) = (0..names.len()).find(|i| names[..*i].contains(&names[*i])) {
            return Err(Error::invalid(&format!("names[{i}]"), format!("{} is in the team already", names[i])));
        }
        let mut contacts: Vec<Child> = Vec::new();
        for name in names {
            let member = Member { name: inputs.domain.map(|domain| format!("{name}@{domain}"))?, password: inputs.note.clone() };
            let first: Vec<_> = contacts.first().into_iter().collect();
            contacts.push(deployment.register(&Registration {
                token: "contacts:index:Contact",
                name: &format!("{}-{name}", call.name),
                inputs: Properties::store(&member),
                depends_on: &first,
                ..Default::default()
            })?);
        }
        let ids = contacts.iter().map(|contact| deployment.id(contact)).collect::<Result<_>>()?;
        Ok(TeamOutputs { ids, count: names.len() as i64, domain: inputs.domain })
    }
}

fn provider() -> Provider {
    Provider::new("contacts", "1.0.0", "Contacts of a service.")
        .config::<Config>()
        .resource("Contact", Contact)
        .component("Team", Team)
        .function("find", find)
}

husk_provider::serve!(provider);
