//! Rules over the whole workspace that the compiler cannot hold: the direction of dependencies, where `unsafe` may stand, how
//! long a file may be, what must not be forgotten when something is added, and what may never change.
//!
//! A rule is a function from the workspace to its [`Defect`]s, and has a test that shows it finding one.

pub mod arrows;
pub mod defect;
pub mod history;
pub mod licences;
pub mod masked;
pub mod registered;
pub mod sources;
pub mod specs;
pub mod tables;
pub mod workspace;

use defect::Defect;
use workspace::Workspace;

/// A rule: its name, and what finds its defects.
pub type Rule = (&'static str, fn(&Workspace) -> Vec<Defect>);

/// Every rule of `cargo xtask tidy`.
pub const RULES: &[Rule] = &[
    ("dependencies point one way", arrows::check),
    ("every source file opens with its purpose", sources::purpose),
    ("files stay short", sources::length),
    ("unsafe stays where it belongs", sources::unsafety),
    ("every spec parses", specs::check),
    ("every format is registered, every family is gated", registered::check),
    ("table cells stay short", tables::check),
    ("records are only added", history::check),
];
