//! Kind `byte-identity`: the same requests, asked again and under other thread counts, are answered with the same bytes.

use crate::spec::ByteIdentityCheck;

/// The kind's name in specs and records.
pub const NAME: &str = "byte-identity";

/// What it compares, in words.
pub fn explain(check: &ByteIdentityCheck) -> String {
    let threads: Vec<String> = check.threads.iter().map(|count| count.0.to_string()).collect();
    format!(
        "each answer line, log-probabilities and all, has the same bytes under {} threads, each asked {} times in a process of \
         its own",
        threads.join(", "),
        check.repeats.0
    )
}
