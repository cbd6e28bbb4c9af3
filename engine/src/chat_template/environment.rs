//! The Jinja2 environment of the transformers library.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment, Error, ErrorKind};

use super::error::Raised;
use super::{python_json, python_methods};

/// How much work one rendering may do, in instructions of the template engine. The longest of the
/// templates that were looked at needs some thousands a message; an endless loop ends here.
const FUEL: u64 = 50_000_000;

/// An environment that renders as Python's does, with what transformers adds.
pub(super) fn python_like() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_fuel(Some(FUEL));
    environment.set_unknown_method_callback(python_methods::call);
    environment.add_filter("tojson", python_json::tojson);
    environment.add_test("iterable", is_iterable);
    environment.add_test("sequence", is_sequence);
    environment.add_function("raise_exception", raise_exception);
    environment.add_function("strftime_now", strftime_now);
    Ok(environment)
}

/// Python's answer: none is not iterable, an undefined value is.
fn is_iterable(value: &Value) -> bool {
    value.is_undefined() || (!value.is_none() && value.try_iter().is_ok())
}

/// What has a length and items by index or key: texts and dictionaries too.
fn is_sequence(value: &Value) -> bool {
    matches!(value.kind(), ValueKind::String | ValueKind::Seq | ValueKind::Map)
}

/// Refuses the conversation.
fn raise_exception(message: String) -> Result<Value, Error> {
    Err(Error::new(ErrorKind::InvalidOperation, "raise_exception was called")
        .with_source(Raised(message)))
}

/// The present date and time. In UTC, where transformers takes the machine's zone: what a model is told
/// must not depend on where it runs.
fn strftime_now(format: &str) -> Result<String, Error> {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    jiff::fmt::strtime::format(format, &now)
        .map_err(|error| Error::new(ErrorKind::InvalidOperation, format!("strftime_now: {error}")))
}
