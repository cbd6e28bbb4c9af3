//! Which records `gate records list` names.

use clap::Args;
use records::{Record, Timestamp, VerdictWord};

/// Which records.
#[derive(Debug, Args)]
pub(in crate::command) struct Filter {
    /// Only of this gate or grid
    #[arg(long, value_name = "NAME")]
    gate: Option<String>,
    /// Only with this word, such as pass or not-established
    #[arg(long, value_parser = word)]
    word: Option<VerdictWord>,
    /// Only since this day or moment in UTC, such as 2026-12-01 or 2026-12-01T18:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = moment)]
    since: Option<Timestamp>,
}

impl Filter {
    pub(super) fn admits(&self, record: &Record) -> bool {
        self.gate.as_ref().is_none_or(|gate| record.gate == *gate)
            && self.word.is_none_or(|word| record.verdict.word == word)
            && self.since.is_none_or(|since| record.started_at >= since)
    }
}

fn word(text: &str) -> Result<VerdictWord, String> {
    let wanted = text.to_uppercase().replace(['-', '_'], " ");
    let found = VerdictWord::ALL.into_iter().find(|word| word.as_str() == wanted);
    found.ok_or_else(|| {
        let words = VerdictWord::ALL.map(VerdictWord::as_str);
        format!("expected one of {}", words.join(", "))
    })
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let day = || format!("{text}T00:00:00Z").parse();
    let found: Result<Timestamp, _> = text.parse().or_else(|_| day());
    found.map_err(|_| "expected 2026-12-01 or 2026-12-01T18:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_moments_are_read_as_people_write_them() {
        assert_eq!(word("not-established"), Ok(VerdictWord::NotEstablished));
        assert_eq!(word("NOT ESTABLISHED"), Ok(VerdictWord::NotEstablished));
        assert_eq!(word("pass"), Ok(VerdictWord::Pass));
        assert!(word("green").unwrap_err().contains("VOID"));
        assert_eq!(moment("1970-01-01"), Ok(Timestamp::UNIX_EPOCH));
        assert_eq!(moment("1970-01-01T00:00:00Z"), Ok(Timestamp::UNIX_EPOCH));
        assert!(moment("yesterday").is_err());
    }
}
