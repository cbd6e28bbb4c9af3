//! The ways of answering: one that is right, and each way of being hard to measure or wrong.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Tokens in an event of the bundled modes.
pub const BUNDLE: u32 = 4;
/// Tokens after which a stream breaks, in the modes where it does.
pub const BREAKS_AFTER: u32 = 3;
/// How long [`Mode::Stall`] stops after [`BREAKS_AFTER`] tokens.
pub const STALL_NS: u64 = 500_000_000;
/// Bytes of the text of an event of [`Mode::Giant`].
pub const GIANT_BYTES: usize = 256 << 10;
/// Thousandths by which each gap of [`Mode::Drift`] is longer than the one before it, of the first.
pub const DRIFT_PER_MILLE: u64 = 20;
/// Thousandths by which gaps are longer in the slower slot of [`Mode::Slot`].
pub const SLOT_PER_MILLE: u64 = 10;
/// Connections that [`Mode::ConnectionLimit`] takes.
pub const CONNECTIONS: usize = 4;

/// A way of answering.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One token an event, evenly spaced; usage in its own event; `[DONE]`.
    Constant,
    /// Four tokens an event, each bundle when its last token is due.
    Bundled,
    /// Four tokens in the first event, then one an event.
    FirstBundled,
    /// A first event with nothing but a role, one gap before the first token.
    RoleFirst,
    /// A first event with an empty text, one gap before the first token.
    EmptyFirst,
    /// Usage in the last event with content.
    UsageLast,
    /// No usage.
    UsageAbsent,
    /// Usage so far in every event.
    UsageRunning,
    /// No `[DONE]`.
    NoDone,
    /// An error event after three tokens, then `[DONE]`.
    ErrorEvent,
    /// Status 200 and a JSON error instead of a stream.
    ErrorBody,
    /// Status 503.
    Unavailable,
    /// The connection is reset after three tokens.
    Reset,
    /// The connection is closed after three tokens.
    Truncated,
    /// No answer.
    Silent,
    /// A comment in the middle of every gap.
    Pings,
    /// CRLF line ends, each byte its own chunk and its own write.
    SplitBytes,
    /// Characters of several bytes, cut between chunks and writes.
    SplitUtf8,
    /// An event of a quarter of a megabyte in the middle.
    Giant,
    /// The head trickles in until the first token is due.
    SlowHeader,
    /// Half the tokens, then a proper end.
    EarlyEos,
    /// Usage says one token more than came.
    WrongUsage,
    /// A pause of 500 ms after three tokens.
    Stall,
    /// Gaps that grow by 2 % of the first.
    Drift,
    /// Gaps 1 % longer where the first token id of the prompt is odd.
    Slot,
    /// The connection is closed after each answer, though its head does not say so.
    Closing,
    /// Connections past the fourth are reset.
    ConnectionLimit,
}

impl Mode {
    /// All of them.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Its name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
