//! The machine a run happened on, captured before anything is measured. What cannot be read is `None`.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Hardware, kernel and load at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor as it calls itself.
    pub cpu_model: Option<String>,
    /// Instruction set extensions that the kernel reports, sorted.
    pub cpu_features: Vec<String>,
    /// Cores, without their second threads.
    pub physical_cores: Option<u32>,
    /// Hardware threads that this process may use.
    pub logical_cores: Option<u32>,
    /// Installed memory.
    pub memory_bytes: Option<u64>,
    /// Memory that could be given to programs at this moment.
    pub memory_available_bytes: Option<u64>,
    /// Kernel release.
    pub kernel: Option<String>,
    /// Operating system and its version.
    pub os: Option<String>,
    /// Changes with every boot: two runs with different ids did not share one.
    pub boot_id: Option<String>,
    /// Load averages over 1, 5 and 15 minutes.
    pub load: Option<[f64; 3]>,
    /// Share of the last 10 seconds in which some task waited for a processor, in percent.
    pub cpu_pressure_percent: Option<f64>,
}

impl Machine {
    /// Reads the machine this process runs on.
    pub fn capture() -> Self {
        let memory = sysinfo::System::new().ok().map(|mut system| {
            system.refresh_memory();
            (system.total_memory(), system.available_memory())
        });
        let text = |name: &str| fs::read_to_string(Path::new("/proc").join(name)).ok();
        let cpu = text("cpuinfo").unwrap_or_default();
        Self {
            cpu_model: field(&cpu, "model name"),
            cpu_features: features(&cpu),
            physical_cores: sysinfo::System::physical_core_count().ok().map(|n| n as u32),
            logical_cores: std::thread::available_parallelism().ok().map(|n| n.get() as u32),
            memory_bytes: memory.map(|(total, _)| total),
            memory_available_bytes: memory.map(|(_, available)| available),
            kernel: sysinfo::System::kernel_version().ok(),
            os: sysinfo::System::long_os_version().ok(),
            boot_id: text("sys/kernel/random/boot_id").map(|id| id.trim().to_owned()),
            load: text("loadavg").as_deref().and_then(load),
            cpu_pressure_percent: text("pressure/cpu").as_deref().and_then(pressure),
        }
    }
}

/// The first value of `key : value` in the text of `/proc/cpuinfo`.
fn field(cpuinfo: &str, key: &str) -> Option<String> {
    let found = cpuinfo.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim().to_owned())
    });
    found.filter(|value| !value.is_empty())
}

/// The `flags` (x86) or `Features` (Arm) line, sorted.
fn features(cpuinfo: &str) -> Vec<String> {
    let line = field(cpuinfo, "flags").or_else(|| field(cpuinfo, "Features")).unwrap_or_default();
    let mut features: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    features.sort_unstable();
    features
}

/// The first three numbers of `/proc/loadavg`.
fn load(loadavg: &str) -> Option<[f64; 3]> {
    let mut numbers = loadavg.split_whitespace().map_while(|word| word.parse::<f64>().ok());
    Some([numbers.next()?, numbers.next()?, numbers.next()?])
}

/// `avg10` of the `some` line of `/proc/pressure/cpu`.
fn pressure(text: &str) -> Option<f64> {
    let some = text.lines().find(|line| line.starts_with("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("avg10=")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_text_of_proc() {
        let cpuinfo = "processor\t: 0\nmodel name\t: Some CPU\nflags\t\t: sse4_2 avx2 avx\n\n\
                       processor\t: 1\nmodel name\t: Other\n";
        assert_eq!(field(cpuinfo, "model name").as_deref(), Some("Some CPU"));
        assert_eq!(features(cpuinfo), ["avx", "avx2", "sse4_2"]);
        assert_eq!(features(""), Vec::<String>::new());
        assert_eq!(load("0.52 1.25 2.00 3/412 9912\n"), Some([0.52, 1.25, 2.0]));
        assert_eq!(load("0.52 x"), None);
        let psi = "some avg10=1.50 avg60=0.20 avg300=0.00 total=9\nfull avg10=0.00 total=0\n";
        assert_eq!(pressure(psi), Some(1.5));
        assert_eq!(pressure("full avg10=0.00\n"), None);
    }

    #[test]
    fn captures_this_machine() {
        let machine = Machine::capture();
        assert!(machine.memory_bytes >= machine.memory_available_bytes);
        assert!(machine.logical_cores.is_some_and(|count| count >= 1));
        assert!(machine.boot_id.is_none_or(|id| id.len() == 36));
    }
}
