//! Which machine a leg ran on. A leg's outcome names it, and `FOLDER/machines/NAME.json` says what it is: a series may be judged and
//! recorded on a machine that ran none of it.

use std::collections::BTreeMap;
use std::path::Path;

use records::Machine;
use serde::{Deserialize, Serialize};

use super::state::{StateError, canonical, publish, read_folder};
use crate::clocks::gpu::{self, Card};

/// A machine since it was booted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Processor, memory, kernel and boot, as they were when the first leg was about to run on it.
    pub machine: Machine,
    /// Its GPUs.
    pub gpus: Vec<Card>,
}

/// The machines of a series by name.
pub type Hosts = BTreeMap<String, Host>;

impl Host {
    /// The machine that this process runs on.
    pub fn capture() -> Self {
        Self { machine: Machine::capture(), gpus: gpu::cards() }
    }

    /// SHA-256 over what does not change until it is booted again: two legs with one name ran on the same hardware and one boot.
    pub fn name(&self) -> String {
        let machine = Machine {
            memory_available_bytes: None,
            load: None,
            cpu_pressure_percent: None,
            ..self.machine.clone()
        };
        // Numbers and strings: this cannot fail.
        let text = records::canonical::canonical_json(&Self { machine, gpus: self.gpus.clone() });
        records::sha256_hex(text.unwrap_or_default().as_bytes())
    }
}

/// Keeps what a machine is, and gives its name.
pub fn keep(folder: &Path, host: &Host) -> Result<String, StateError> {
    let name = host.name();
    let path = folder.join("machines").join(format!("{name}.json"));
    // What is there already has the same name, so that it is the same machine.
    publish(&path, canonical(&path, host)?.as_bytes())?;
    Ok(name)
}

/// Every machine that a series knows.
pub fn read(folder: &Path) -> Result<Hosts, StateError> {
    read_folder(&folder.join("machines"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_boot_is_the_same_machine_whatever_its_load() {
        let folder = tempfile::tempdir().unwrap();
        let here = Host::capture();
        let changed = |change: fn(&mut Machine)| {
            let mut other = here.clone();
            change(&mut other.machine);
            other.name() != here.name()
        };
        assert!(!changed(|machine| machine.load = Some([9.0, 9.0, 9.0])));
        assert!(!changed(|machine| machine.memory_available_bytes = Some(7)));
        assert!(changed(|machine| machine.boot_id = Some("another".to_owned())));
        assert!(changed(|machine| machine.cpu_model = Some("another".to_owned())));
        assert!(read(folder.path()).unwrap().is_empty());
        let name = keep(folder.path(), &here).unwrap();
        assert_eq!(keep(folder.path(), &here).unwrap(), name);
        assert_eq!(read(folder.path()).unwrap(), Hosts::from([(name, here)]));
    }
}
