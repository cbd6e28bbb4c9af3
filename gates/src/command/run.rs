//! `gate run NAME…`

use std::path::{Path, PathBuf};
use std::sync::Arc;

use records::record::VerdictWord as Word;
use records::store::Store;
use serde_json::{Value, json};

use super::prepare::{Declared, Engine};
use super::{CommandError, Context, RunArguments};
use crate::bench::SubjectIdentity;
use crate::journal::{Journal, JournaledSubject};
use crate::rule::{exit_status, gravity};
use crate::run::{self, Destination, Finished};
use crate::supplies::Wanted;
use crate::words::count;

pub(super) fn run(context: &Context, arguments: &RunArguments) -> Result<u8, CommandError> {
    // Every spec is read before anything is built or run: a typing error shows at once.
    let gates: Vec<Declared> = arguments
        .names
        .iter()
        .map(|name| {
            let declared = Declared::read(context, name)?;
            match &arguments.oracle {
                Some(oracle) => declared.against(context, oracle),
                None => Ok(declared),
            }
        })
        .collect::<Result<_, _>>()?;
    let records = arguments.records.clone().unwrap_or_else(|| context.records_folder());
    check_supersedes(arguments, &records)?;
    let keep = keep_files(arguments, &gates)?;
    let engine = Engine::find(context, arguments.plumb.as_deref(), context.progress)?;
    let mut worst = Word::Pass;
    let mut objects = Vec::new();
    for (declared, keep) in gates.iter().zip(keep) {
        let finished = one(context, arguments, &engine, declared, &records, keep)?;
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
    records: &Path,
    keep: Option<PathBuf>,
) -> Result<Finished, CommandError> {
    let identity = declared.identify(engine)?;
    let journal = Arc::new(journal(context, arguments, declared, &identity)?);
    let mut supplies = declared.supplies(context);
    supplies.journal = Some(Arc::clone(&journal));
    let wanted = match (arguments.live, arguments.golden) {
        (true, _) => Wanted::Live,
        (_, true) => Wanted::Golden,
        _ => Wanted::Either,
    };
    let mut bench = declared.bench(engine, &identity, &supplies, wanted);
    let subject = JournaledSubject { inner: &engine.transport, journal: &journal };
    bench.subject.transport = &subject;
    let destination = Destination {
        records,
        home: &context.home,
        plumb: arguments.plumb.as_deref(),
        supersedes: arguments.supersedes.clone(),
        reproduce: reproduce(arguments, &declared.gate.name),
        keep,
    };
    let finished = run::run(&bench, &destination)?;
    journal.finish()?;
    Ok(finished)
}

/// The answers of this run: those of an interrupted one first, where the user wants to go on with it.
fn journal(
    context: &Context,
    arguments: &RunArguments,
    declared: &Declared,
    identity: &SubjectIdentity,
) -> Result<Journal, CommandError> {
    let folder = context.home.cache.join("runs");
    let header = declared.header(context, identity)?;
    let left = Journal::left(&folder, &header);
    let note = |text: String| context.progress.note(&text);
    match (left, arguments.resume) {
        (Some(left), true) => {
            let journal = Journal::resume(&folder, &header)?;
            note(format!(
                "going on with {} of the run of {} that was interrupted",
                count(left, "answer", "answers"),
                header.gate
            ));
            return Ok(journal);
        }
        (Some(left), false) => note(format!(
            "a run of {} was interrupted after {}; --resume would have gone on with it",
            header.gate,
            count(left, "answer", "answers")
        )),
        (None, true) => note(format!("no run of {} was interrupted: it begins", header.gate)),
        (None, false) => {}
    }
    Ok(Journal::begin(&folder, &header)?)
}

/// `--supersedes` names a record that is there, of the one gate that is run.
fn check_supersedes(arguments: &RunArguments, folder: &Path) -> Result<(), CommandError> {
    let Some(id) = &arguments.supersedes else { return Ok(()) };
    let [gate] = arguments.names.as_slice() else {
        return Err(CommandError::SupersedesSeveral(id.clone()));
    };
    let records = Store::open(folder)?.read_all()?;
    let found = records.iter().find(|record| record.id == *id);
    let corrected = found.ok_or_else(|| CommandError::NoRecord(id.clone()))?;
    if corrected.gate != *gate {
        return Err(CommandError::SupersedesOther {
            id: id.clone(),
            found: corrected.gate.clone(),
            gate: gate.clone(),
        });
    }
    Ok(())
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
    if let Some(oracle) = &arguments.oracle {
        command += " --oracle ";
        command += oracle;
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
        "next": finished.next,
        "compared": record.compared,
        "oracle_noise": finished.noise,
        "record": finished.path,
        "report": finished.report,
    })
}
