//! `gate records diff A B`

use records::diff::{Difference, differences};
use records::number::digits;
use serde_json::{Value, json};

use super::{CommandError, Context};
use crate::command::aligned::Aligned;
use crate::command::{print, terminal_width};

/// Exit status of two records that differ, as `diff` has it.
const DIFFERENT: u8 = 1;
/// The longest value of the table, in characters. The JSON has the whole.
const LONGEST: usize = 40;

pub(super) fn diff(context: &Context, a: &str, b: &str, as_json: bool) -> Result<u8, CommandError> {
    let store = super::store(context, None)?;
    let records = store.read_kept()?;
    let (a, b) = (super::named(&records, a)?, super::named(&records, b)?);
    // From the texts, so that what this program does not know is compared too.
    let value = |id: &str| -> Result<Value, CommandError> {
        Ok(serde_json::from_str(&store.text(id)?).unwrap_or_default())
    };
    let (a, b) = (&a.record.id, &b.record.id);
    let found = differences(&value(a)?, &value(b)?);
    if as_json {
        let object = json!({ "a": a, "b": b, "differences": found });
        print(&format!("{object:#}\n"))?;
    } else if found.is_empty() {
        print(&format!("{a} and {b} say the same\n"))?;
    } else {
        let mut table = Aligned::new(&["field", "ratio", "a", "b"]).right([1]);
        for difference in &found {
            table.row(cells(difference));
        }
        print(&format!("a {a}\nb {b}\n\n{}", table.text("", terminal_width())))?;
    }
    Ok(if found.is_empty() { 0 } else { DIFFERENT })
}

fn cells(difference: &Difference) -> [String; 4] {
    let ratio = difference.ratio.map_or_else(|| "-".to_owned(), digits);
    let [a, b] = [&difference.a, &difference.b].map(|value| match value {
        None => "(absent)".to_owned(),
        Some(Value::String(text)) => records::cut(text, LONGEST),
        Some(value) => records::cut(&value.to_string(), LONGEST),
    });
    [difference.field.clone(), ratio, a, b]
}
