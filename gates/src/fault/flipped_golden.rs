//! Fault: one bit of the golden's answers is another one.

use std::path::Path;

use super::{Act, Fault};

pub(super) const FAULT: Fault = Fault {
    name: "flipped-golden",
    plants: "one bit in the middle of the golden's cases.jsonl",
    act: Act::Golden(plant),
};

fn plant(folder: &Path) -> std::io::Result<()> {
    let path = folder.join("cases.jsonl");
    let mut bytes = std::fs::read(&path)?;
    let middle = bytes.len() / 2;
    if let Some(byte) = bytes.get_mut(middle) {
        *byte ^= 1;
    }
    std::fs::write(&path, bytes)
}
