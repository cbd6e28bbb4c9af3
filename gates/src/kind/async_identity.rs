//! Kind `async-identity`: requests that are computed together are answered exactly as alone.

use crate::spec::AsyncIdentityCheck;

/// The kind's name in specs and records.
pub const NAME: &str = "async-identity";

/// What it compares, in words.
pub fn explain(check: &AsyncIdentityCheck) -> String {
    let counts: Vec<String> = check.max_sequences.iter().map(|count| count.0.to_string()).collect();
    format!(
        "each request is answered by a process of its own; then all of them by one, computed {} at a time, and once more in the \
         reversed order: every answer line has the bytes that it has alone. Requests differ in length, so that they join and \
         leave at different times",
        counts.join(", ")
    )
}
