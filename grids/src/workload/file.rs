//! A workload as a file declares it: what is asked, and when.
//!
//! ```toml
//! seed = 1
//! ids = { from = 64, to = 255 }       # ids that may be drawn, both included: none that a server acts upon
//!
//! [prompts.unique]                    # or mixed, shared, conversation, text, mooncake
//! requests = 200
//! prompt-tokens = 256
//! output-tokens = 64
//!
//! [arrival]                           # an open loop; without it as many are in flight as the command says
//! process = "poisson"                 # or "constant", or { gamma = 0.5 }
//! rate = { steady = 4.0 }             # or { linear = { from = 1, to = 8, seconds = 60 } }, or exponential
//! ```

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::workload::arrival::{Process, Rate, intended_ns};
use crate::workload::conversation::{self, Turn};
use crate::workload::text::TextItem;
use crate::workload::vocabulary::Vocabulary;
use crate::workload::{Item, WorkloadError, mixed, mooncake, prefix, shared, text, unique};

/// The partition that streams of random numbers are named by: a load has one.
const PARTITION: &str = "load";

/// A file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    /// Of everything that is drawn.
    #[serde(default = "one")]
    pub seed: u64,
    /// Ids to draw from. Texts need none.
    pub ids: Option<Ids>,
    /// What is asked.
    pub prompts: Prompts,
    /// When; a closed loop without.
    pub arrival: Option<Timing>,
}

/// Token ids, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ids {
    /// The lowest.
    pub from: u32,
    /// The highest.
    pub to: u32,
}

/// The kinds of prompts.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Prompts {
    /// Of one length, sharing no prefix.
    Unique(Lengths),
    /// Of lengths in bands by weight, sharing no prefix.
    Mixed(Mixed),
    /// Groups that share a prefix.
    Shared(shared::Shape),
    /// Turns whose prompts are built from the answers.
    Conversation(Conversations),
    /// Texts, from JSON lines.
    Text(Texts),
    /// Recorded traffic.
    Mooncake(Recorded),
}

/// Prompts of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Lengths {
    /// How many.
    pub requests: u32,
    /// Tokens of a prompt.
    pub prompt_tokens: u32,
    /// Tokens of an answer.
    pub output_tokens: u32,
}

/// Prompts in bands.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mixed {
    /// How many in all.
    pub requests: u32,
    /// The bands.
    pub bands: Vec<mixed::Band>,
}

/// Conversations of one shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Conversations {
    /// How many.
    pub conversations: u32,
    /// Turns of each.
    pub turns: u32,
    /// Tokens of the first turn.
    pub first_tokens: u32,
    /// Tokens of each later turn.
    pub later_tokens: u32,
    /// Tokens of each answer.
    pub output_tokens: u32,
}

/// Texts of a file, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Texts {
    /// Beside the workload's own file.
    pub file: PathBuf,
}

/// A recorded trace, at its own times.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Recorded {
    /// Beside the workload's own file.
    pub file: PathBuf,
    /// How many times as fast as recorded.
    pub speed: f64,
}

/// An open loop.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Timing {
    /// How requests follow each other.
    pub process: Process,
    /// How many a second.
    pub rate: Rate,
}

/// A workload ready to be sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// What is asked.
    pub asked: Asked,
    /// For each request, nanoseconds from the start; `None` in a closed loop.
    pub intended_ns: Option<Vec<u64>>,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Prompts of token ids.
    Ids(Vec<Item>),
    /// Prompts of text.
    Texts(Vec<TextItem>),
    /// Conversations.
    Conversations(Vec<Vec<Turn>>),
}

fn one() -> u64 {
    1
}

impl Workload {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, WorkloadError> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| WorkloadError::Read { path: name.clone(), source })?;
        // The message carries line, column and what was expected.
        toml::from_str(&text).map_err(|error| WorkloadError::Form {
            path: name,
            message: error.to_string().trim_end().to_owned(),
        })
    }

    /// Draws it. Files that it names lie in `folder` unless they are absolute.
    pub fn make(&self, folder: &Path) -> Result<Made, WorkloadError> {
        let asked = self.asked(folder)?;
        let intended_ns = match (&self.prompts, self.arrival) {
            (Prompts::Mooncake(_) | Prompts::Conversation(_), Some(_)) => {
                return Err(WorkloadError::range(
                    "arrival",
                    &"given",
                    "none: recorded traffic has its own times, and a turn follows its answer",
                ));
            }
            (Prompts::Mooncake(Recorded { file, speed }), None) => {
                Some(mooncake::intended_ns(&mooncake::read(&folder.join(file))?, *speed)?)
            }
            (_, Some(Timing { process, rate })) => {
                Some(intended_ns(process, rate, self.seed, PARTITION, asked.len() as u32)?)
            }
            (_, None) => None,
        };
        Ok(Made { asked, intended_ns })
    }

    fn asked(&self, folder: &Path) -> Result<Asked, WorkloadError> {
        let seed = self.seed;
        let items = match &self.prompts {
            Prompts::Text(Texts { file }) => {
                return Ok(Asked::Texts(text::read(&folder.join(file))?));
            }
            Prompts::Conversation(Conversations {
                conversations,
                turns,
                first_tokens,
                later_tokens,
                output_tokens,
            }) => {
                for (what, count) in [("conversations", conversations), ("turns", turns)] {
                    if *count == 0 {
                        return Err(WorkloadError::range(what, count, "at least 1"));
                    }
                }
                let (turns, first_tokens) = (*turns, *first_tokens);
                let (later_tokens, output_tokens) = (*later_tokens, *output_tokens);
                let shape =
                    conversation::Shape { turns, first_tokens, later_tokens, output_tokens };
                let vocabulary = self.vocabulary()?;
                let one = |index: u32| {
                    conversation::turns(&vocabulary, seed, PARTITION, u64::from(index), shape)
                };
                return Ok(Asked::Conversations((0..*conversations).map(one).collect()));
            }
            Prompts::Unique(Lengths { requests, prompt_tokens, output_tokens }) => {
                let lengths = vec![(*prompt_tokens, *output_tokens); *requests as usize];
                distinct(unique::items(&self.vocabulary()?, seed, PARTITION, lengths))?
            }
            Prompts::Mixed(Mixed { requests, bands }) => {
                let lengths = mixed::lengths(bands, seed, PARTITION, *requests)?;
                distinct(unique::items(&self.vocabulary()?, seed, PARTITION, lengths))?
            }
            Prompts::Shared(shape) => shared::items(&self.vocabulary()?, seed, PARTITION, *shape)?,
            Prompts::Mooncake(Recorded { file, .. }) => {
                mooncake::items(&mooncake::read(&folder.join(file))?, &self.vocabulary()?, seed)
            }
        };
        if items.is_empty() {
            return Err(WorkloadError::range("requests", &0, "at least 1"));
        }
        Ok(Asked::Ids(items))
    }

    fn vocabulary(&self) -> Result<Vocabulary, WorkloadError> {
        let missing = || WorkloadError::range("ids", &"missing", "{ from = ID, to = ID }");
        let Ids { from, to } = self.ids.ok_or_else(missing)?;
        let size = to.checked_add(1).filter(|_| from <= to);
        let size = size.ok_or_else(|| {
            WorkloadError::range("ids", &format!("{from} to {to}"), "ascending, below 2^32 - 1")
        })?;
        Vocabulary::new(size, &(0..from).collect())
    }
}

/// The proof that no prompt begins as another.
fn distinct(items: Vec<Item>) -> Result<Vec<Item>, WorkloadError> {
    prefix::check_unique(&items.iter().map(|item| &item.ids[..]).collect::<Vec<_>>())?;
    Ok(items)
}

impl Asked {
    /// Requests, of conversations the first turns alone.
    pub fn len(&self) -> usize {
        match self {
            Self::Ids(items) => items.len(),
            Self::Texts(texts) => texts.len(),
            Self::Conversations(conversations) => conversations.len(),
        }
    }

    /// Nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> Result<Made, WorkloadError> {
        toml::from_str::<Workload>(text).unwrap().make(Path::new("/nowhere"))
    }

    const IDS: &str = "ids = { from = 10, to = 19 }\n";

    /// 20 requests at a constant 4 a second: one each 250 ms, the first after one gap.
    #[test]
    fn unique_prompts_at_even_gaps() {
        let text = format!(
            "{IDS}[prompts.unique]\nrequests = 20\nprompt-tokens = 30\noutput-tokens = 5\n[arrival]\nprocess = \"constant\"\nrate = {{ steady = 4 }}"
        );
        let made = made(&text).unwrap();
        let Asked::Ids(items) = &made.asked else { panic!("{:?}", made.asked) };
        assert!(items.iter().all(|item| item.ids.len() == 30 && item.output_tokens == 5));
        assert!(items.iter().flat_map(|item| &item.ids).all(|id| (10..=19).contains(id)));
        let expected: Vec<u64> = (1..=20).map(|index| index * 250_000_000).collect();
        assert_eq!(made.intended_ns.as_deref(), Some(&expected[..]));
    }

    #[test]
    fn conversations_have_their_turns() {
        let text = format!(
            "{IDS}[prompts.conversation]\nconversations = 3\nturns = 4\nfirst-tokens = 9\nlater-tokens = 2\noutput-tokens = 5"
        );
        let made = made(&text).unwrap();
        let Asked::Conversations(all) = &made.asked else { panic!("{:?}", made.asked) };
        let lengths = |turns: &Vec<Turn>| turns.iter().map(|turn| turn.ids.len()).collect();
        assert_eq!(all.iter().map(lengths).collect::<Vec<Vec<_>>>(), vec![vec![9, 2, 2, 2]; 3]);
        assert_eq!((made.asked.len(), made.intended_ns), (3, None));
    }

    #[test]
    fn what_cannot_be_made_says_which_key() {
        let unique = "[prompts.unique]\nrequests = 2\nprompt-tokens = 3\noutput-tokens = 5\n";
        let told = |text: &str| made(text).unwrap_err().to_string();
        assert!(told(unique).starts_with("ids is missing, expected"), "{}", told(unique));
        let descending = format!("ids = {{ from = 9, to = 3 }}\n{unique}");
        assert!(told(&descending).starts_with("ids is 9 to 3, expected"), "{}", told(&descending));
        let none = format!("{IDS}{}", unique.replace("requests = 2", "requests = 0"));
        assert_eq!(told(&none), "requests is 0, expected at least 1");
        let rate =
            format!("{IDS}{unique}[arrival]\nprocess = \"poisson\"\nrate = {{ steady = 0 }}");
        assert_eq!(told(&rate), "the rate is 0, expected a finite number above 0");
        let turns = format!(
            "{IDS}[prompts.conversation]\nconversations = 1\nturns = 0\nfirst-tokens = 1\nlater-tokens = 1\noutput-tokens = 1"
        );
        assert_eq!(told(&turns), "turns is 0, expected at least 1");
        assert!(toml::from_str::<Workload>("[prompts.unique]\nrequest = 2").is_err());
    }
}
