//! `gate agreement CHECKPOINT…`: one table of every oracle that the records compare with.

use std::path::PathBuf;

use records::store::Store;
use serde_json::json;

use super::{CommandError, Context};
use crate::agreement::{HEAD, cells, rows};
use crate::rule::{Word, exit_status};

/// Columns of the table, which does not wrap: a line is read across.
const WIDTH: u16 = 200;

pub(super) fn agreement(
    context: &Context,
    checkpoints: &[String],
    records: Option<PathBuf>,
    as_json: bool,
) -> Result<u8, CommandError> {
    let folder = records.unwrap_or_else(|| context.records_folder());
    let records = Store::open(folder)?.read_all()?;
    let rows = rows(&records, checkpoints, &super::gaps::present(context)?);
    if as_json {
        super::print(&format!("{:#}\n", json!({ "rows": rows })))?;
    } else if rows.is_empty() {
        let names = checkpoints.join(", ");
        super::print(&format!("no record compares with an oracle on {names}\n"))?;
    } else {
        let mut table = super::table(&HEAD);
        table.set_width(WIDTH);
        for row in &rows {
            table.add_row(cells(row));
        }
        super::print_table(&table)?;
    }
    Ok(if rows.is_empty() { exit_status(Word::Skipped) } else { 0 })
}
