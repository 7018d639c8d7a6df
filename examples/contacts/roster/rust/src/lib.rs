//! The program roster in Rust.

use husk_provider::{object, properties, Error, Kind, Object, Output, Registration, Result, Severity, Stack, Value};

properties! {
    struct Outputs {
        label: Output<String>,
        team: Output<Vec<String>>,
        seen: Output<String>,
        found: Output<Value>,
        note: Output<String>,
        none: Output<String>,
        place: Place,
    }
    struct Place {
        stack: String,
        city: String,
    }
}

const CONTACT: &str = "contacts:index:Contact";

fn declare(stack: &Stack) -> Result<Outputs> {
    let url = stack.config("url").unwrap_or_default().to_string();
    let city = stack.config("city").unwrap_or_default().to_string();
    let mine = stack.register(&Registration { token: "pulumi:providers:contacts", name: "mine", inputs: object! { "url": url }, ..Default::default() })?;
    let staff = stack.register(&Registration { token: "roster:index:Staff", name: "staff", group: true, ..Default::default() })?;
    let contact = |name: &str, inputs: Object| {
        stack.register(&Registration { token: CONTACT, name, inputs, parent: Some(&staff), provider: Some(&mine), ..Default::default() })
    };
    let ann = contact("ann", object! {
        "name": "Ann".to_string(), "priority": 2, "tags": vec!["friend".to_string(), "boss".to_string()], "password": stack.secret("note"),
        "address": object! { "city": city, "street": stack.secret("street") },
    })?;
    if let Some(mode) = stack.config("mode") {
        stack.id(&ann)?;
        return misbehave(mode);
    }
    let label: Output<String> = stack.output(&ann, "label")?;
    let bob = contact("bob", object! {
        "name": label.map(|label| format!("Bob, after {label}"))?, "tags": vec![stack.output::<String>(&ann, "id")?],
        "address": object! { "city": stack.output::<String>(&ann, "address.city")?, "street": stack.output::<String>(&ann, "address[\"street\"]")? },
    })?;
    let label: Output<String> = stack.output(&bob, "label")?;
    let team = stack.register(&Registration {
        token: "contacts:index:Team",
        name: "team",
        inputs: object! { "names": vec!["Eve".to_string(), "Max".to_string()], "domain": label, "note": stack.secret("note") },
        component: true,
        provider: Some(&mine),
        depends_on: &[&ann],
        ..Default::default()
    })?;
    let id = stack.id(&ann)?;
    let seen = stack.register(&Registration { token: CONTACT, name: "seen", read: Some(&id), parent: Some(&staff), provider: Some(&mine), ..Default::default() })?;
    let found = stack.invoke("contacts:index:find", &object! { "tag": stack.output::<String>(&bob, "tags[0]")? }, Some(&mine))?;
    stack.log(Severity::Info, &format!("declared in {}", stack.project));
    Ok(Outputs {
        label,
        team: stack.output(&team, "ids")?,
        seen: stack.output(&seen, "name")?,
        found: found.map(|found| found.get("names").clone())?,
        note: stack.secret("note"),
        none: stack.secret("none"),
        place: Place { stack: stack.name.into(), city },
    })
}

fn misbehave(mode: &str) -> Result<Outputs> {
    if mode == "panic" {
        panic!("no such mood");
    }
    Err(Error::new(Kind::Internal, "no such mood"))
}

husk_provider::program!(declare);
