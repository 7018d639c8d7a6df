//! Programs: what declares the resources of a stack.

use crate::abi::{answer, call, text};
use crate::component::Deployment;
use crate::{Output, Properties, Result, Severity, Value};
use std::ops::Deref;

/// The stack that a program declares, with all that a [`Deployment`] has. Its resources lie below it. A program goes on without a
/// resource that failed, or that was left out, if the deployment does: its outputs are unknown.
pub struct Stack<'a> {
    pub project: &'a str,
    /// The stack's name in the project.
    pub name: &'a str,
    pub organization: &'a str,
    config: Vec<(&'a str, &'a str)>,
    deployment: Deployment<'a>,
}

impl<'a> Deref for Stack<'a> {
    type Target = Deployment<'a>;
    fn deref(&self) -> &Deployment<'a> {
        &self.deployment
    }
}

impl Stack<'_> {
    /// The value of a key of the configuration: a text as it is, anything else as JSON. A key without a namespace is one of the
    /// project. A secret is in plain text here.
    pub fn config(&self, key: &str) -> Option<&str> {
        let whole = if key.contains(':') { key.into() } else { format!("{}:{key}", self.project) };
        self.config.iter().find(|(known, _)| *known == whole).map(|(_, v)| *v)
    }

    /// The value of a key as a secret, null if it has none.
    pub fn secret(&self, key: &str) -> Output<String> {
        Output::of(self.config(key).map_or(Value::Null, |v| Value::String(v.into()).secret()))
    }

    /// Shows a message.
    pub fn log(&self, severity: Severity, message: &str) {
        crate::log(&call("", "", 0.0, self.preview()), severity, message)
    }
}

/// Serves run, whose answer is the outputs of the stack.
pub fn run<O: Properties>(declare: fn(&Stack) -> Result<O>, context: [&str; 3], (config, n): (usize, usize), preview: u32, urn: &str) -> usize {
    answer(false, |out| {
        let word = |at: usize| unsafe { *(at as *const u32) as usize };
        let string = |at: usize| text(word(at), word(at + 4));
        let [project, name, organization] = context;
        let entries = (0..n).map(|i| config + 20 * i).map(|at| (string(at), string(at + 8))).collect();
        let stack = Stack { project, name, organization, config: entries, deployment: Deployment::new(urn, preview != 0, true) };
        let outputs = stack.deployment.end(declare(&stack))?;
        out.object(0, &outputs.store());
        Ok(())
    })
}

/// Exports a program, which a function declares: `husk_provider::program!(declare);`
#[macro_export]
macro_rules! program {
    ($declare:path) => {
        $crate::realloc!();
        use $crate::abi::text as husk_text;
        $crate::export!(
            "husk:program/program@0.1.0#", "run",
            (_a: usize, _b: usize, c: usize, d: usize, e: usize, f: usize, g: usize, h: usize, i: usize, j: usize, preview: u32, _k: u32, l: usize, m: usize),
            $crate::program::run($declare, [husk_text(c, d), husk_text(e, f), husk_text(g, h)], (i, j), preview, husk_text(l, m))
        );
    };
}
