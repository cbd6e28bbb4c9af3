//! Writes a store with one made-up series of as many legs as asked for, to measure how long its page takes:
//!
//! ```sh
//! cargo run --release -p records --features review --example sweep_store -- DIR legs 1000000
//! time cargo gate review latest:ab-attention --records DIR --out page.html
//! ```
//!
//! `legs` keeps what words rest on, `requests` keeps every request and the machine around every leg as well.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "run by hand: a panic is the report")]

#[path = "../tests/review/fixture.rs"]
mod fixture;
#[path = "../tests/review/series.rs"]
mod fixture_series;
#[path = "../tests/review/samples.rs"]
mod samples;

use records::Store;

/// Legs of a block, and cells: what the fixture makes of each pair.
const LEGS: u64 = 3 * 3;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, what, count] = &arguments[..] else { panic!("expected DIR legs|requests COUNT") };
    let keeps_samples = match what.as_str() {
        "legs" => false,
        "requests" => true,
        other => panic!("expected legs or requests, found {other}"),
    };
    let count: u64 = count.parse().unwrap();
    let legs = if keeps_samples { count / samples::REQUESTS } else { count };
    let (record, files) = fixture_series::series(legs.div_ceil(LEGS));
    let mut draft = Store::open(dir).unwrap().begin(&record.gate).unwrap();
    let is_kept = |name: &str| {
        keeps_samples || ![records::sampled::REQUESTS, records::sampled::AROUND].contains(&name)
    };
    for file in files.iter().filter(|file| is_kept(&file.name)) {
        draft.evidence(&file.name, &file.bytes).unwrap();
    }
    println!("{}", draft.commit(record).unwrap().display());
}
