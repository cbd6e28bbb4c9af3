//! Fault: two neighbouring tokens of one answer change places.

use serde_json::Value;

use super::{Act, Fault, ids_mut, set_id};

pub(super) const FAULT: Fault = Fault {
    name: "swapped-pair",
    plants: "two neighbouring tokens of one answer, exchanged",
    act: Act::Answer(plant),
};

fn plant(lines: &mut Vec<Value>) {
    for line in lines {
        let Some(ids) = ids_mut(line) else { continue };
        let Some(index) = ids.windows(2).position(|pair| pair[0] != pair[1]) else { continue };
        let (first, second) = (ids[index].clone(), ids[index + 1].clone());
        set_id(line, index, &second);
        set_id(line, index + 1, &first);
        return;
    }
}
