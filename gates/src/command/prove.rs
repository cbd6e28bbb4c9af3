//! `gate prove NAME… | --all | --cheap`

use comfy_table::Table;
use serde_json::{Value, json};

use super::prepare::{Declared, Engine};
use super::{CommandError, Context, ProveArguments};
use crate::prove::{self, Outcome, Proof};
use crate::rule::{Word, exit_status};
use crate::spec;
use crate::supplies::Wanted;
use crate::words::count;

/// Characters of a reason in the table; `--json` has all of it.
const HOW_SHOWN: usize = 160;

pub(super) fn prove(context: &Context, arguments: &ProveArguments) -> Result<u8, CommandError> {
    let gates: Vec<Declared> = names(context, arguments)?
        .iter()
        .map(|name| Declared::read(context, name)?.for_proofs())
        .collect::<Result<_, _>>()?;
    let engine = Engine::find(context, arguments.plumb.as_deref(), oracles::Progress::Silent)?;
    let mut status = 0;
    let mut total = Total::default();
    let mut objects = Vec::new();
    for declared in &gates {
        let outcome = one(context, &engine, declared)?;
        let word = word(&outcome);
        status = status.max(exit_status(word));
        total.add(declared, &outcome);
        if arguments.json {
            objects.push(object(declared, &outcome, word));
        } else {
            super::print(&text(&declared.gate.name, &outcome, word))?;
        }
    }
    if arguments.json {
        super::print(&format!(
            "{:#}\n",
            json!({ "proofs": objects, "planted": total.planted, "red": total.red })
        ))?;
    }
    if gates.len() > 1 && !arguments.json {
        super::print(&format!("{} planted, {} red\n", total.planted, total.red))?;
    }
    Ok(status)
}

/// The faults of all gates. Those of a gate that is not green without one count as planted and not red.
#[derive(Default)]
struct Total {
    planted: usize,
    red: usize,
}

impl Total {
    fn add(&mut self, declared: &Declared, outcome: &Outcome) {
        self.planted += declared.gate.spec.prove.faults.len();
        if let Outcome::Tried(proofs) = outcome {
            self.red += proofs.iter().filter(|proof| proof.caught).count();
        }
    }
}

fn names(context: &Context, arguments: &ProveArguments) -> Result<Vec<String>, CommandError> {
    if !arguments.all && !arguments.cheap {
        return Ok(arguments.names.clone());
    }
    let mut chosen = Vec::new();
    for name in spec::names(&context.home.root)? {
        let spec = spec::load(&context.home.root, &name)?.spec;
        if !spec.prove.faults.is_empty() && (arguments.all || spec.cheap) {
            chosen.push(name);
        }
    }
    Ok(chosen)
}

fn one(context: &Context, engine: &Engine, declared: &Declared) -> Result<Outcome, CommandError> {
    let identity = declared.identify(engine)?;
    let supplies = declared.supplies(context);
    let bench = declared.bench(engine, &identity, &supplies, Wanted::Golden);
    let golden = declared.oracle.as_ref();
    let golden = golden.map(|oracle| context.home.golden_dir(&oracle.name, &declared.gate.name));
    Ok(prove::prove(&bench, golden.as_deref())?)
}

/// A proof passes when every fault was caught; without a green run it says what that run said.
fn word(outcome: &Outcome) -> Word {
    match outcome {
        Outcome::Tried(proofs) if proofs.iter().all(|proof| proof.caught) => Word::Pass,
        Outcome::Tried(_) => Word::Fail,
        Outcome::NotGreen(judgement) => judgement.word,
    }
}

fn text(name: &str, outcome: &Outcome, word: Word) -> String {
    match outcome {
        Outcome::NotGreen(judgement) => format!(
            "{word} prove {name}: without a fault the gate is not green, so its faults prove nothing: {}\n",
            judgement.reason,
            word = word.as_str(),
        ),
        Outcome::Tried(proofs) => {
            let red = proofs.iter().filter(|proof| proof.caught).count();
            let seconds: f64 = proofs.iter().map(|proof| proof.seconds).sum();
            format!(
                "{}\n{} prove {name}: {red}/{} red ({seconds:.1} s)\n",
                super::table_text(&table(proofs), ""),
                word.as_str(),
                count(proofs.len(), "planted fault", "planted faults")
            )
        }
    }
}

fn table(proofs: &[Proof]) -> Table {
    let mut table = super::table(&["fault", "what was planted", "", "how it was caught"]);
    for proof in proofs {
        let how: String = proof.how.chars().take(HOW_SHOWN).collect();
        let caught = if proof.caught { "red" } else { "NOT CAUGHT" };
        table.add_row([proof.fault, proof.plants, caught, &how]);
    }
    table
}

fn object(declared: &Declared, outcome: &Outcome, word: Word) -> Value {
    let (proofs, reason) = match outcome {
        Outcome::Tried(proofs) => (proofs.as_slice(), None),
        Outcome::NotGreen(judgement) => (&[][..], Some(judgement.reason.as_str())),
    };
    json!({
        "gate": declared.gate.name,
        "word": word.as_str(),
        "exit": exit_status(word),
        "not_green_because": reason,
        "faults": proofs,
    })
}
