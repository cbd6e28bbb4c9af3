//! What the store and the tree have to say about an oracle's own noise; [`Precedents::find`] decides what of it counts.

use std::error::Error;
use std::path::Path;

use oracles::Home;
use records::record::Record;
use records::store::{Store, StoreError};

use crate::bench::{Bench, Circumstances};
use crate::evidence::Kept;
use crate::kind::oracle_consistency::{Account, Committed, Comparison, Precedents, Testimony};
use crate::samples::Samples;
use crate::{chain, judge, recheck, spec};

/// What is on record for a comparison of choices; `None` for any other gate, and where no oracle answered.
pub fn on_record(
    bench: &Bench<'_>,
    circumstances: &Circumstances,
    store: &Store,
    home: &Home,
) -> Result<Option<Precedents>, StoreError> {
    let Some(comparison) = comparison(bench, circumstances, home) else { return Ok(None) };
    let records = store.read_all()?;
    let about = records.into_iter().filter(|record| comparison.is_named_by(record));
    let testimonies: Vec<Testimony> = about.map(|record| testimony(store, record)).collect();
    Ok(Some(Precedents::find(&comparison, &committed(home), &testimonies)))
}

fn comparison(bench: &Bench<'_>, circumstances: &Circumstances, home: &Home) -> Option<Comparison> {
    let spec = &bench.gate.spec;
    let (oracle, checkpoint) = (bench.oracle?, circumstances.checkpoint.as_ref()?);
    let generate = spec.generate.as_ref().filter(|_| spec.compares_choices())?;
    Some(Comparison {
        oracle: oracle.name.clone(),
        source_sha256: oracle.declared.package.archive_sha256.clone(),
        // One that cannot be read is none, and nothing speaks of it.
        definition_sha256: oracle.definition_sha256(home).ok(),
        identity: circumstances.reference.as_ref()?.identity.clone(),
        checkpoint: checkpoint.name.clone(),
        checkpoint_sha256: checkpoint.sha256.clone(),
        launch: spec.launch.clone(),
        cases: bench.workload?.cases.len() as u64,
        tokens: generate.max_tokens.0,
    })
}

/// The gates of the tree about oracles against themselves. A spec that cannot be read commits to nothing; tests find it.
fn committed(home: &Home) -> Vec<Committed> {
    let names = spec::names(&home.root).unwrap_or_default();
    let gates = names.iter().filter_map(|name| spec::load(&home.root, name).ok());
    let about_oracles = gates.filter(|gate| gate.spec.check.oracle_consistency.is_some());
    about_oracles
        .map(|gate| {
            let inputs = gate.spec.inputs.as_ref().map(|path| home.root.join(path));
            Committed {
                name: gate.name,
                spec_sha256: gate.sha256,
                inputs_sha256: inputs.and_then(|path| records::sha256_file(&path).ok()),
                spec: gate.spec,
            }
        })
        .collect()
}

/// A record, with what its evidence holds where the verdict follows from that.
fn testimony(store: &Store, record: Record) -> Testimony {
    let evidence = account(store, &record);
    Testimony { record, evidence }
}

/// A verdict that its evidence does not give again is nobody's.
fn account(store: &Store, record: &Record) -> Result<Account, String> {
    if record.evidence.is_empty() {
        return Err("it keeps no evidence".to_owned());
    }
    let unusable = |error: &dyn Error| format!("its evidence cannot be used: {}", chain::of(error));
    let again = recheck::recheck(store, record).map_err(|error| unusable(&error))?;
    if let Some(difference) = again.differences.into_iter().next() {
        return Err(difference);
    }
    let kept = Kept::read(store, record).map_err(|error| unusable(&error))?;
    let spec = spec::parse(&kept.spec, Path::new("spec.toml"));
    let spec = spec.map_err(|error| unusable(&error))?;
    let word = judge::judge(&spec, &kept.collected, &kept.facts, None).word;
    match kept.collected {
        Ok(Samples::Consistency(sample)) => Ok(Account { word, spec, sample: *sample }),
        _ => Err("it keeps no answer of an oracle to itself".to_owned()),
    }
}
