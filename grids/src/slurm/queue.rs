//! What the scheduler says of an array: `squeue --states=all --format "%K|%T|%r"`, one line an element or a range of elements that
//! wait.

use std::collections::BTreeMap;
use std::fmt;

/// The states of an array's elements by index.
pub type States = BTreeMap<u32, Element>;

/// An element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// As Slurm names it, such as `RUNNING`.
    pub state: String,
    /// Why it is in it, such as `Resources`; `None` where Slurm gives no reason.
    pub reason: Option<String>,
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.state)?;
        self.reason.as_ref().map_or(Ok(()), |why| write!(f, " ({why})"))
    }
}

/// States in which an element still is to run or runs: squeue(1), "JOB STATE CODES".
const GOING: [&str; 11] = [
    "PENDING",
    "RUNNING",
    "CONFIGURING",
    "COMPLETING",
    "SUSPENDED",
    "RESIZING",
    "REQUEUED",
    "REQUEUE_HOLD",
    "REQUEUE_FED",
    "SIGNALING",
    "STAGE_OUT",
];

impl Element {
    /// It has ended, well or not.
    pub fn has_ended(&self) -> bool {
        !GOING.contains(&self.state.as_str())
    }

    /// It ended with status 0, or with a word of its own; only then is its share whole.
    pub fn is_complete(&self) -> bool {
        self.state == "COMPLETED"
    }
}

/// The elements of what `squeue` printed; the line that is none.
pub fn parse(text: &str) -> Result<States, String> {
    let mut states = States::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.trim().split('|').collect();
        let [indices, state, reason] = fields[..] else { return Err(line.to_owned()) };
        let reason = Some(reason).filter(|reason| !["None", "(null)", ""].contains(reason));
        let element = Element { state: state.to_owned(), reason: reason.map(str::to_owned) };
        let indices = expanded(indices).ok_or_else(|| line.to_owned())?;
        states.extend(indices.into_iter().map(|index| (index, element.clone())));
    }
    Ok(states)
}

/// `3`, `0-2`, `0,4-5`, with or without brackets and a limit such as `%2`.
fn expanded(text: &str) -> Option<Vec<u32>> {
    let text = text.trim_start_matches('[').trim_end_matches(']');
    let text = text.split('%').next().unwrap_or_default();
    let mut all = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            Some((first, last)) => {
                let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
                // An array has at most some thousands of elements; more is no index.
                if last < first || last - first > 100_000 {
                    return None;
                }
                all.extend(first..=last);
            }
            None => all.push(part.parse().ok()?),
        }
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn elements_and_ranges() {
        let states =
            parse("0|RUNNING|None\n1|NODE_FAIL|None\n[2-3%1]|PENDING|Resources\n").unwrap();
        assert_eq!(states.len(), 4);
        let ended: Vec<bool> = states.values().map(Element::has_ended).collect();
        assert_eq!(ended, [false, true, false, false]);
        assert_eq!(states[&3].reason.as_deref(), Some("Resources"));
        assert!(!states[&1].is_complete());
        assert_eq!(parse("\n").unwrap(), States::new());
        for wrong in ["0|RUNNING", "x|RUNNING|None", "3-1|PENDING|None", "0-999999999|PENDING|x"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_panic(text in "\\PC{0,80}") {
            let _ = parse(&text);
        }
    }
}
