//! `grid selftest`

use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;

use super::CommandError;
use crate::load::interrupt;
use crate::selftest::case::{CASES, Case};
use crate::selftest::collect::{Collected, collect};
use crate::selftest::fault::FAULTS;
use crate::selftest::judge::{ends_and_counts, judge};

/// How often a case is run whose times are off.
const TRIES: usize = 3;

#[derive(Debug, Args)]
pub(super) struct SelftestArguments {
    /// Only these modes
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Also plant every known lie into what the client wrote down, and demand that it is found
    #[arg(long)]
    prove: bool,
    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

pub(super) fn selftest(arguments: &SelftestArguments) -> Result<u8, CommandError> {
    let cases = chosen(&arguments.names)?;
    let stop = interrupt::on_signal()?;
    let mut results: Vec<(&Case, Collected, Vec<String>)> = Vec::new();
    for case in cases {
        let (collected, findings, tries) = measure(case, stop)?;
        if !arguments.json {
            let word = if findings.is_empty() { "ok  " } else { "FAIL" };
            let tries = if tries > 1 { format!(" (try {tries})") } else { String::new() };
            super::print(&format!("{word} {}{tries}\n", case.name))?;
            for finding in findings.iter().take(5) {
                super::print(&format!("     {finding}\n"))?;
            }
        }
        results.push((case, collected, findings));
    }
    let within = results.iter().filter(|(_, _, findings)| findings.is_empty()).count();
    let lies = if arguments.prove { prove(&results) } else { Vec::new() };
    let unseen = lies.iter().filter(|(_, found_by)| found_by.is_empty()).count();
    if arguments.json {
        let modes = results.iter().map(|(case, _, findings)| (case.name, findings));
        super::print_json(&serde_json::json!({
            "modes": modes.collect::<std::collections::BTreeMap<_, _>>(),
            "lies": lies.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "within": within,
        }))?;
    } else {
        for (name, found_by) in &lies {
            let word = if found_by.is_empty() { "UNSEEN" } else { "found " };
            super::print(&format!("{word} {name}: in {}\n", found_by.join(", ")))?;
        }
        if arguments.prove {
            let found = lies.len() - unseen;
            super::print(&format!("{} planted lies, {found} found\n", lies.len()))?;
        }
        super::print(&format!("{} modes, {within} within bounds\n", results.len()))?;
    }
    Ok(u8::from(within != results.len() || unseen > 0))
}

/// Runs a case; again if its times alone are off, as a busy machine does that once and a client that lies does it every time.
fn measure(
    case: &Case,
    stop: &AtomicBool,
) -> Result<(Collected, Vec<String>, usize), CommandError> {
    let mut tries = 1;
    loop {
        let collected = collect(case, stop)?;
        if stop.load(Ordering::SeqCst) {
            return Err(CommandError::Usage("interrupted".to_owned()));
        }
        let findings = judge(case, &collected);
        let is_time = !findings.is_empty() && ends_and_counts(case, &collected).is_empty();
        if !is_time || tries == TRIES {
            return Ok((collected, findings, tries));
        }
        tries += 1;
    }
}

fn chosen(names: &[String]) -> Result<Vec<&'static Case>, CommandError> {
    let by_name = |name: &String| {
        CASES.iter().find(|case| case.name == *name).ok_or_else(|| {
            let known: Vec<_> = CASES.iter().map(|case| case.name).collect();
            CommandError::Usage(format!("no mode {name:?}, expected one of {}", known.join(", ")))
        })
    };
    if names.is_empty() { Ok(CASES.iter().collect()) } else { names.iter().map(by_name).collect() }
}

/// Each lie, and the modes in which it was found: those that were within bounds before and are not with it.
fn prove(results: &[(&Case, Collected, Vec<String>)]) -> Vec<(&'static str, Vec<&'static str>)> {
    let found_by = |plant: fn(&mut Collected)| {
        let clean = results.iter().filter(|(_, _, findings)| findings.is_empty());
        let red = clean.filter(|(case, collected, _)| {
            let mut collected = collected.clone();
            plant(&mut collected);
            !judge(case, &collected).is_empty()
        });
        red.map(|(case, _, _)| case.name).collect()
    };
    FAULTS.iter().map(|fault| (fault.name, found_by(fault.plant))).collect()
}
