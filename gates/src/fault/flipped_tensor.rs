//! Fault: one bit of the golden's tensors is another one.

use std::path::Path;

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "flipped-tensor",
    plants: "one bit in the middle of the golden's tensors.safetensors",
    act: Act::Golden(plant),
};

fn plant(folder: &Path) -> std::io::Result<()> {
    let path = folder.join("tensors.safetensors");
    let mut bytes = std::fs::read(&path)?;
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
    std::fs::write(path, bytes)
}
