//! What `grid host` says: the machine and its spin, for people and as JSON.

use std::fmt::Write as _;

use records::Machine;
use serde::Serialize;

use crate::clocks::bound::CLOCK_SPREAD_PERCENT;
use crate::clocks::spin::Spin;

/// The machine at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// Hardware, kernel, load.
    pub machine: Machine,
    /// The stand-in for its core clock; `None` when the monotonic clock did not move.
    pub spin: Option<Spin>,
}

impl Host {
    /// The text for people. What could not be read says so.
    pub fn text(&self) -> String {
        let Machine { cpu_model, physical_cores, logical_cores, memory_bytes, .. } = &self.machine;
        let gib = |bytes: &Option<u64>| {
            bytes.map(|b| format!("{:.1} GiB", b as f64 / (1_u64 << 30) as f64))
        };
        let load = self
            .machine
            .load
            .map(|[one, five, fifteen]| format!("{one:.2} {five:.2} {fifteen:.2}"));
        let cores = |count: &Option<u32>| count.map(|count| count.to_string());
        let mut text = String::new();
        for (name, value) in [
            ("processor", cpu_model.clone()),
            ("cores", cores(physical_cores)),
            ("threads", cores(logical_cores)),
            ("memory", gib(memory_bytes)),
            ("available", gib(&self.machine.memory_available_bytes)),
            ("kernel", self.machine.kernel.clone()),
            ("system", self.machine.os.clone()),
            ("boot id", self.machine.boot_id.clone()),
            ("load", load),
            (
                "cpu pressure",
                self.machine.cpu_pressure_percent.map(|percent| format!("{percent:.2} %")),
            ),
            ("spin", self.spin.as_ref().map(spin_text)),
        ] {
            let _ = writeln!(text, "{name:13} {}", value.as_deref().unwrap_or("not readable"));
        }
        text
    }
}

fn spin_text(spin: &Spin) -> String {
    let s = spin.step_ns;
    let judgement =
        if spin.is_steady() { "steady" } else { "not steady: no comparison would hold" };
    format!(
        "median {:.4} ns a step, {} samples, spread {:.2} % of at most {CLOCK_SPREAD_PERCENT} %: {judgement}",
        s.median, s.n, s.spread_percent
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_could_not_be_read() {
        let mut machine = Machine::capture();
        machine.boot_id = None;
        let text = Host { machine, spin: None }.text();
        assert!(text.contains("boot id       not readable\n"), "{text}");
        assert!(text.contains("spin          not readable\n"), "{text}");
        assert_eq!(text.lines().count(), 11);
    }
}
