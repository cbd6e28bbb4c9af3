//! Pages that a person reads: one run, one track, or all numbers over time.
//!
//! | module | what it does |
//! |---|---|
//! | [`page`] | the model of a page: sections of text, tables, rules, figures; no markup, no colour |
//! | [`run`] | from a record and its evidence to a page |
//! | [`series`] | what a series adds: pairs, clocks, latencies by concurrency, words of cells |
//! | [`identity`] | two descriptions of a program side by side |
//! | [`history`] | a track over time, and all numbers against their own history |
//! | [`chart`] | what a figure shows, before it is drawn |
//! | [`plot`] | a chart as SVG |
//! | [`mod@html`] | a page as one file that needs no network and no script |
//! | [`mod@text`] | the same page, condensed, for a terminal |
//!
//! Every function here is pure. Whoever calls it has read record and evidence through [`crate::Store`], so that a changed byte
//! was named before: [`refusal()`] is the page for that, and it has no word on it.

pub mod chart;
mod ecdf;
pub mod history;
pub mod html;
pub mod identity;
mod median;
pub mod page;
pub mod plot;
pub mod refusal;
pub mod run;
pub mod series;
pub mod text;

pub use html::html;
pub use page::Page;
pub use refusal::refusal;
pub use text::text;
