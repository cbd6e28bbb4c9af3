//! The machine that answers were given on: the same after a restart of it, another on any other machine.

use std::path::Path;

use records::machine::Machine;
use serde::{Deserialize, Serialize};

/// Where systemd and D-Bus keep the id of an installation (machine-id(5)).
const MACHINE_ID: [&str; 2] = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/// A machine, as far as the bits of an answer may depend on it. Containers of one image share an id, or have none: the processor
/// tells them apart where it matters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// SHA-256 of its id, which machine-id(5) asks to keep to oneself; `None` where it has none.
    pub machine_id_sha256: Option<String>,
    /// The processor as it calls itself.
    pub cpu_model: Option<String>,
    /// Its instruction set extensions, sorted.
    pub cpu_features: Vec<String>,
}

impl Host {
    /// This machine.
    pub fn here() -> Self {
        let Machine { cpu_model, cpu_features, .. } = Machine::capture();
        Self { machine_id_sha256: machine_id(&MACHINE_ID.map(Path::new)), cpu_model, cpu_features }
    }
}

/// Digest of the first id that there is.
fn machine_id(paths: &[&Path]) -> Option<String> {
    let ids = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let id = ids.map(|id| id.trim().to_owned()).find(|id| !id.is_empty())?;
    Some(oracles::digest::sha256_bytes(format!("plumbline {id}").as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_itself_and_its_id_is_not_told() {
        assert_eq!(Host::here(), Host::here());
        let folder = tempfile::tempdir().unwrap();
        let [none, blank, id] = ["none", "blank", "id"].map(|name| folder.path().join(name));
        std::fs::write(&blank, "\n").unwrap();
        std::fs::write(&id, "0123\n").unwrap();
        assert_eq!(machine_id(&[&none, &blank]), None);
        let digest = machine_id(&[&none, &blank, &id]).unwrap();
        assert_eq!(digest, oracles::digest::sha256_bytes(b"plumbline 0123"));
    }
}
