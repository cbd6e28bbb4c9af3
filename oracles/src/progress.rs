//! Progress on stderr: a bar for a person, plain lines for a log, nothing for a test.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Where progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// Bars that redraw themselves.
    Bars,
    /// One line a stage, and one every tenth part of it.
    Lines,
    /// Nothing.
    Silent,
}

impl Progress {
    /// Bars when stderr is a terminal, else lines.
    pub fn stderr() -> Self {
        if std::io::stderr().is_terminal() { Self::Bars } else { Self::Lines }
    }

    /// Says one line.
    pub fn note(self, line: &str) {
        if self != Self::Silent {
            // A closed stderr takes nothing away from the work.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }

    /// Begins a stage measured in bytes; `total` is unknown when `None`.
    pub fn bytes(self, label: &str, total: Option<u64>) -> Stage {
        self.stage(label, total, "{msg} [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta}")
    }

    /// Begins a stage measured in steps; `total` is unknown when `None`.
    pub fn steps(self, label: &str, total: Option<u64>) -> Stage {
        self.stage(label, total, "{msg} [{bar:30}] {pos}/{len} {elapsed}, {eta} to go")
    }

    fn stage(self, label: &str, total: Option<u64>, template: &str) -> Stage {
        let bar = match self {
            Self::Bars => {
                let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
                let template = if total.is_some() { template } else { "{spinner} {msg} {elapsed}" };
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(style);
                }
                bar.set_message(label.to_owned());
                bar.enable_steady_tick(Duration::from_millis(250));
                bar
            }
            Self::Lines | Self::Silent => ProgressBar::hidden(),
        };
        if self == Self::Lines {
            self.note(label);
        }
        Stage { progress: self, label: label.to_owned(), bar, total, position: 0, tenths: 0 }
    }
}

/// A stage in progress; it ends when dropped.
#[derive(Debug)]
pub struct Stage {
    progress: Progress,
    label: String,
    bar: ProgressBar,
    total: Option<u64>,
    position: u64,
    tenths: u64,
}

impl Stage {
    /// Moves to `position`.
    pub fn set(&mut self, position: u64) {
        self.position = position;
        self.bar.set_position(position);
        if let (Progress::Lines, Some(total)) = (self.progress, self.total) {
            let tenths = position.saturating_mul(10) / total.max(1);
            if tenths > self.tenths {
                self.tenths = tenths;
                self.progress.note(&format!("{}: {} %", self.label, tenths.min(10) * 10));
            }
        }
    }

    /// Moves on by `amount`.
    pub fn advance(&mut self, amount: u64) {
        self.set(self.position.saturating_add(amount));
    }

    /// Says what it is doing right now: beside the bar, or as a line.
    pub fn say(&self, line: &str) {
        self.bar.set_message(format!("{}: {line}", self.label));
        if self.progress == Progress::Lines {
            self.progress.note(&format!("{}: {line}", self.label));
        }
    }

    /// Learns the total.
    pub fn set_total(&mut self, total: u64) {
        if self.total != Some(total) {
            self.total = Some(total);
            self.bar.set_length(total);
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
