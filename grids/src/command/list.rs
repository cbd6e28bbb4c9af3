//! `grid list`: the grids and what each is about.

use std::path::Path;

use oracles::Home;
use serde_json::{Value, json};

use super::{CommandError, EMPTY, print, print_json, table, table_text};
use crate::series;
use crate::spec;

/// Every grid with the size of its plan. A spec that does not parse is an error, not a grid less.
pub(super) fn list(root: Option<&Path>, as_json: bool) -> Result<u8, CommandError> {
    let home = Home::find(root, None)?;
    let names = spec::names(&home.root)?;
    let mut rows = table(&["grid", "cells", "pairs", "legs", "arms", "summary"]);
    let mut all: Vec<Value> = Vec::new();
    for name in &names {
        let named = spec::load(&home.root, name)?;
        let plan = series::build(&named);
        let verb = named.spec.verb();
        let cells: Vec<&str> = plan.cells.iter().map(|cell| cell.id.as_str()).collect();
        let summary = &named.spec.summary;
        rows.add_row([
            format!("{verb} {name}"),
            cells.join(" "),
            plan.pairs().to_string(),
            plan.legs.len().to_string(),
            plan.arms().join(" "),
            summary.clone(),
        ]);
        all.push(json!({
            "grid": name, "verb": verb, "cells": cells, "pairs": plan.pairs(),
            "legs": plan.legs.len(), "arms": plan.arms(), "summary": summary,
            "spec_sha256": named.sha256, "plan_sha256": plan.sha256(),
        }));
    }
    if as_json {
        print_json(&json!({ "grids": all }))?;
    } else if names.is_empty() {
        print("empty: no grids\n")?;
    } else {
        print(&table_text(&rows))?;
    }
    Ok(if names.is_empty() { EMPTY } else { 0 })
}
