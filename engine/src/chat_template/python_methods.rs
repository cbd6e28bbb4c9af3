//! Methods of Python's types: those of minijinja-contrib, and the few more that templates call.

use minijinja::value::{Value, from_args};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

/// Calls a method that the template engine does not know itself.
pub(super) fn call(
    state: &mut State<'_, '_>,
    value: &Value,
    method: &str,
    arguments: &[Value],
) -> Result<Value, Error> {
    if let Some(text) = value.as_str()
        && let Some(result) = string_method(text, method, arguments)
    {
        return result;
    }
    pycompat::unknown_method_callback(state, value, method, arguments)
}

/// A string method that minijinja-contrib lacks; None for all others.
fn string_method(text: &str, method: &str, arguments: &[Value]) -> Option<Result<Value, Error>> {
    Some(match method {
        "removeprefix" => {
            one(arguments).map(|prefix| text.strip_prefix(prefix).unwrap_or(text).into())
        }
        "removesuffix" => {
            one(arguments).map(|suffix| text.strip_suffix(suffix).unwrap_or(text).into())
        }
        "partition" => one(arguments).and_then(|separator| partition(text, separator)),
        "rsplit" => rsplit(text, arguments),
        _ => return None,
    })
}

fn one(arguments: &[Value]) -> Result<&str, Error> {
    from_args::<(&str,)>(arguments).map(|(only,)| only)
}

fn partition(text: &str, separator: &str) -> Result<Value, Error> {
    if separator.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "partition: empty separator"));
    }
    let parts = match text.split_once(separator) {
        Some((before, behind)) => [before, separator, behind],
        None => [text, "", ""],
    };
    Ok(Value::from_iter(parts))
}

/// `str.rsplit(separator, maxsplit)`: at most that many cuts, from the right.
fn rsplit(text: &str, arguments: &[Value]) -> Result<Value, Error> {
    let (separator, most): (Option<&str>, Option<i64>) = from_args(arguments)?;
    let parts =
        usize::try_from(most.unwrap_or(-1)).map_or(usize::MAX, |most| most.saturating_add(1));
    let mut pieces: Vec<&str> = match separator {
        Some("") => return Err(Error::new(ErrorKind::InvalidOperation, "rsplit: empty separator")),
        Some(separator) => text.rsplitn(parts, separator).collect(),
        None => {
            let mut pieces = Vec::new();
            let mut rest = text.trim_end();
            while pieces.len() + 1 < parts
                && let Some(at) = rest.rfind(char::is_whitespace)
            {
                pieces.push(rest[at..].trim_start());
                rest = rest[..at].trim_end();
            }
            if !rest.is_empty() {
                pieces.push(rest);
            }
            pieces
        }
    };
    pieces.reverse();
    Ok(Value::from_iter(pieces))
}
