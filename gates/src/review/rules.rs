//! Every rule with what it was asked of. Whether it holds is what [`validity::all`] says and nothing else; here only the inputs
//! are laid beside it, in the words of the facts.

use records::review::page::{Found, RuleStep};

use crate::facts::Facts;
use crate::judge::Trouble;
use crate::rule::Rule;
use crate::samples::Samples;
use crate::spec::Spec;
use crate::validity::{self, short};
use crate::words::count;

/// Labels and values.
type Inputs = Vec<(String, String)>;

/// All rules: the broken ones first, then those that hold, then those that had nothing to be asked of.
pub(super) fn asked(
    spec: &Spec,
    facts: &Facts,
    collected: &Result<Samples, Trouble>,
) -> Vec<RuleStep> {
    let broken = validity::all(spec, facts, collected);
    let mut steps: Vec<RuleStep> = Rule::ALL
        .into_iter()
        .map(|rule| {
            let reasons: Vec<&str> = broken
                .iter()
                .filter(|violation| violation.rule == rule)
                .map(|violation| violation.reason.as_str())
                .collect();
            let inputs = inputs(rule, spec, facts, collected);
            let found = match (&inputs, reasons.is_empty()) {
                (_, false) => Found::Broken(reasons.join("; ")),
                (Ok(_), true) => Found::Held,
                (Err(why), true) => Found::NotAsked((*why).to_owned()),
            };
            let (inputs, source) = inputs.unwrap_or_default();
            RuleStep {
                id: rule.id().to_owned(),
                demand: format!("Broken if {}.", rule.meaning()),
                source: source.to_owned(),
                inputs,
                found,
            }
        })
        .collect();
    steps.sort_by_key(|step| match step.found {
        Found::Broken(_) => 0,
        Found::Held => 1,
        Found::NotAsked(_) => 2,
    });
    steps
}

fn line(label: &str, value: impl Into<String>) -> (String, String) {
    (label.to_owned(), value.into())
}

/// What a rule was asked of and where that was read, or why it has nothing to be asked of.
fn inputs(
    rule: Rule,
    spec: &Spec,
    facts: &Facts,
    collected: &Result<Samples, Trouble>,
) -> Result<(Inputs, &'static str), &'static str> {
    match rule {
        Rule::Dirty => dirty(facts),
        Rule::Profile => profile(spec, facts),
        Rule::Pin => pin(facts),
        Rule::Golden | Rule::Checkpoint => golden(rule, facts),
        Rule::Workload => workload(facts, collected),
        Rule::Count => answers(spec, collected),
        Rule::Failed | Rule::Skip => served(collected),
        Rule::Band => band(spec, facts),
        Rule::Backend | Rule::Eager | Rule::Unfused => production(spec, facts),
        Rule::CachePolicy | Rule::Concurrency => match collected {
            Ok(Samples::Consistency(_)) => Ok((Vec::new(), "collected.json.gz")),
            _ => Err("only an oracle that is compared with itself has arms that declare it"),
        },
        Rule::Contend => match spec.check.startup {
            Some(_) => Ok((Vec::new(), "collected.json.gz")),
            None => Err("nothing is timed here"),
        },
    }
}

fn dirty(facts: &Facts) -> Result<(Inputs, &'static str), &'static str> {
    let mut all = Vec::new();
    let tree = |tree: Option<&String>| tree.map_or("none beside it", |tree| short(tree)).to_owned();
    if let Some(engine) = &facts.engine {
        all.push(line("engine embeds", short(&engine.embedded)));
        all.push(line("engine's tree", tree(engine.tree.as_ref())));
        all.push(line("found by", engine.found_by.as_str()));
    }
    if let Some(harness) = &facts.harness {
        all.push(line("gate embeds", harness.embedded.as_deref().map_or("none", short)));
        all.push(line("gate's tree", tree(harness.tree.as_ref())));
    }
    if all.is_empty() {
        Err("no build is on record")
    } else {
        Ok((all, "facts.json: engine, harness, loaded"))
    }
}

fn profile(spec: &Spec, facts: &Facts) -> Result<(Inputs, &'static str), &'static str> {
    let named = spec.profile.as_deref().ok_or("the gate names no numerics profile")?;
    let loaded = facts.loaded.as_ref().ok_or("no model was loaded")?;
    let runs = loaded.profile.as_deref().unwrap_or("none");
    Ok((
        vec![line("the gate names", named), line("the engine runs", runs)],
        "spec.toml, facts.json: loaded",
    ))
}

fn pin(facts: &Facts) -> Result<(Inputs, &'static str), &'static str> {
    let pinned = facts.oracle.as_ref().ok_or("the engine is judged alone")?;
    let identity = facts.answered_by.as_ref().ok_or("no oracle answered")?;
    let package = &pinned.declared.package;
    let told = |name: &str, version: &str, sha256: &str| {
        format!("{name} {version}, source {}", short(sha256))
    };
    let inputs = vec![
        line("pinned", told(&pinned.name, &package.version, &package.archive_sha256)),
        line("answered", told(&identity.name, &identity.version, &identity.source_sha256)),
    ];
    Ok((inputs, "facts.json: oracle, answered_by, golden"))
}

fn golden(rule: Rule, facts: &Facts) -> Result<(Inputs, &'static str), &'static str> {
    let Some(answered) = &facts.golden else {
        return Err("a live process answered, no golden did");
    };
    let manifest = &answered.manifest;
    let given = facts.checkpoint.as_ref().map_or("none", |given| short(&given.sha256)).to_owned();
    let inputs = match rule {
        Rule::Checkpoint => vec![
            line("golden's checkpoint", short(&manifest.checkpoint.sha256)),
            line("the subject's", given),
        ],
        _ => vec![
            line("captured for", manifest.gate.clone()),
            line("from", manifest.oracle.name.clone()),
            line("this gate", facts.gate.clone()),
        ],
    };
    Ok((inputs, "facts.json: golden, checkpoint"))
}

fn workload(
    facts: &Facts,
    collected: &Result<Samples, Trouble>,
) -> Result<(Inputs, &'static str), &'static str> {
    let asked = facts.asked.as_ref().ok_or("the gate has no inputs of its own")?;
    let mut all = vec![
        line("inputs", short(&asked.sha256)),
        line("asked", count(asked.cases.len(), "case", "cases")),
    ];
    match collected {
        Ok(Samples::Generations(samples)) => {
            all.push(line("answered by the oracle", count(samples.len(), "case", "cases")));
        }
        Ok(Samples::Texts(corpora)) => {
            let texts = corpora.iter().map(|corpus| corpus.texts.len()).sum();
            all.push(line("answered by the oracle", count(texts, "text", "texts")));
        }
        _ => {}
    }
    if let Some(golden) = &facts.golden {
        all.push(line("the golden answered", short(&golden.manifest.prompts_sha256)));
    }
    Ok((all, "facts.json: asked; collected.json.gz"))
}

fn answers(
    spec: &Spec,
    collected: &Result<Samples, Trouble>,
) -> Result<(Inputs, &'static str), &'static str> {
    let (Ok(Samples::Generations(samples)), Some(generate)) = (collected, &spec.generate) else {
        return Err("no generation is compared");
    };
    let tokens: usize = samples.iter().map(|sample| sample.reference.ids.len()).sum();
    let inputs = vec![
        line(
            "asked for",
            format!(
                "{} tokens a case, {} alternatives",
                generate.max_tokens.0, generate.top_logprobs.0
            ),
        ),
        line(
            "the oracle answered",
            format!(
                "{} in {}",
                count(tokens, "token", "tokens"),
                count(samples.len(), "case", "cases")
            ),
        ),
    ];
    Ok((inputs, "spec.toml, collected.json.gz"))
}

fn served(collected: &Result<Samples, Trouble>) -> Result<(Inputs, &'static str), &'static str> {
    let Ok(samples) = collected else { return Err("there are no samples") };
    let inputs = match samples {
        Samples::Generations(samples) => {
            let usable = samples.iter().filter(|sample| sample.subject.is_ok()).count();
            vec![line("usable answers of the engine", format!("{usable} of {}", samples.len()))]
        }
        Samples::Logits(chunks) => {
            let usable = chunks.iter().filter(|chunk| chunk.positions.is_ok()).count();
            vec![line("usable chunks of the engine", format!("{usable} of {}", chunks.len()))]
        }
        _ => Vec::new(),
    };
    Ok((inputs, "collected.json.gz"))
}

fn band(spec: &Spec, facts: &Facts) -> Result<(Inputs, &'static str), &'static str> {
    let check = spec.check.near_tie.as_ref().ok_or("no near tie may be called here")?;
    let noise = facts.noise.as_ref().map_or_else(
        || "not measured".to_owned(),
        |noise| format!("{:.1} milli-nats", noise.logprob_difference_max_mnats),
    );
    let inputs = vec![
        line("band", format!("{} milli-nats", check.band_mnats.0)),
        line(
            "cites",
            if check.source == crate::spec::BandSource::OracleNoise {
                "the oracle's spread"
            } else {
                "ulp of a bf16 logit"
            },
        ),
        line("the oracle's spread", noise),
    ];
    Ok((inputs, "spec.toml, facts.json: noise"))
}

fn production(spec: &Spec, facts: &Facts) -> Result<(Inputs, &'static str), &'static str> {
    if !spec.launch.production {
        return Err("the gate does not claim an oracle as in production");
    }
    let identity = facts.answered_by.as_ref().ok_or("no oracle answered")?;
    let keys = [
        "enforce_eager",
        "compilation_mode",
        "compilation_backend",
        "attention_backend",
        "cudagraph_mode",
    ];
    let said = keys.iter().filter_map(|key| Some(line(key, identity.settings.get(*key)?.clone())));
    Ok((said.collect(), "facts.json: answered_by"))
}
