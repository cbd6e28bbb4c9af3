//! `gate run NAME…`

use std::path::{Path, PathBuf};

use records::record::VerdictWord as Word;
use serde_json::{Value, json};

use super::prepare::{Declared, Engine};
use super::{CommandError, Context, RunArguments};
use crate::rule::{exit_status, gravity};
use crate::run::{self, Destination, Finished};
use crate::supplies::Wanted;

pub(super) fn run(context: &Context, arguments: &RunArguments) -> Result<u8, CommandError> {
    // Every spec is read before anything is built or run: a typing error shows at once.
    let gates: Vec<Declared> = arguments
        .names
        .iter()
        .map(|name| Declared::read(context, name))
        .collect::<Result<_, _>>()?;
    let keep = keep_files(arguments, &gates)?;
    let engine = Engine::find(context, arguments.plumb.as_deref())?;
    let mut worst = Word::Pass;
    let mut objects = Vec::new();
    for (declared, keep) in gates.iter().zip(keep) {
        let finished = one(context, arguments, &engine, declared, keep)?;
        let word = finished.record.verdict.word;
        if gravity(word) > gravity(worst) {
            worst = word;
        }
        if arguments.json {
            objects.push(object(&finished));
        } else {
            super::print(&(finished.report.join("\n") + "\n"))?;
        }
    }
    if arguments.json {
        super::print(&format!("{:#}\n", json!({ "runs": objects })))?;
    }
    Ok(exit_status(worst))
}

fn one(
    context: &Context,
    arguments: &RunArguments,
    engine: &Engine,
    declared: &Declared,
    keep: Option<PathBuf>,
) -> Result<Finished, CommandError> {
    let identity = declared.identify(engine)?;
    let supplies = declared.supplies(context);
    let wanted = match (arguments.live, arguments.golden) {
        (true, _) => Wanted::Live,
        (_, true) => Wanted::Golden,
        _ => Wanted::Either,
    };
    let bench = declared.bench(engine, &identity, &supplies, wanted);
    let records = arguments.records.clone().unwrap_or_else(|| context.records_folder());
    let destination = Destination {
        records: &records,
        supersedes: arguments.supersedes.clone(),
        reproduce: reproduce(arguments, &declared.gate.name),
        keep,
    };
    Ok(run::run(&bench, &destination)?)
}

/// The command that repeats the run.
fn reproduce(arguments: &RunArguments, name: &str) -> String {
    let mut command = format!("cargo gate run {name}");
    if arguments.live {
        command += " --live";
    }
    if arguments.golden {
        command += " --golden";
    }
    if let Some(path) = &arguments.plumb {
        command += " --plumb ";
        command += &path.display().to_string();
    }
    command
}

/// The file under --keep for each gate; none of them may exist.
fn keep_files(
    arguments: &RunArguments,
    gates: &[Declared],
) -> Result<Vec<Option<PathBuf>>, CommandError> {
    let Some(folder) = &arguments.keep else { return Ok(vec![None; gates.len()]) };
    std::fs::create_dir_all(folder)
        .map_err(|source| CommandError::Keep { path: folder.clone(), source })?;
    let file = |declared: &Declared| {
        let path = folder.join(format!("{}.rankings.jsonl", declared.gate.name));
        if Path::exists(&path) { Err(CommandError::Overwrite(path)) } else { Ok(Some(path)) }
    };
    gates.iter().map(file).collect()
}

fn object(finished: &Finished) -> Value {
    let record = &finished.record;
    json!({
        "gate": record.gate,
        "word": record.verdict.word.as_str(),
        "exit": exit_status(record.verdict.word),
        "reason": record.verdict.reason,
        "rules": record.verdict.rules,
        "compared": record.compared,
        "record": finished.path,
        "report": finished.report,
    })
}
