//! The cells of a plan, dealt to allocations.

use std::fmt;
use std::str::FromStr;

use crate::series::{Cell, Plan};

/// One of `of` allocations, from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Which.
    pub index: u32,
    /// Of how many.
    pub of: u32,
}

impl Share {
    /// Its cells. Cells cost about as much as they have requests in flight, and are dealt from both ends in turn, so that no
    /// allocation has all the large ones.
    pub fn cells<'a>(&self, plan: &'a Plan) -> Vec<&'a Cell> {
        let of = self.of.max(1) as usize;
        let is_ours = |place: usize| {
            let (round, at) = (place / of, place % of);
            let at = if round % 2 == 0 { at } else { of - 1 - at };
            at == self.index as usize
        };
        let dealt = plan.cells.iter().rev().enumerate();
        let mut ours: Vec<&Cell> =
            dealt.filter(|(place, _)| is_ours(*place)).map(|(_, cell)| cell).collect();
        ours.reverse();
        ours
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?}: expected INDEX/COUNT with INDEX below COUNT");
        let (index, of) = text.split_once('/').ok_or_else(wrong)?;
        let (index, of) = (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if index < of { Ok(Self { index, of }) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::series::build;
    use crate::spec::named;

    #[test]
    fn every_cell_is_dealt_once_and_the_large_ones_are_shared() {
        let text = include_str!("../../specs/cpu-sweep.toml").to_owned();
        let plan = build(&named("cpu-sweep", text, Path::new("cpu-sweep.toml")).unwrap());
        let of = |index, of| -> Vec<u32> {
            Share { index, of }.cells(&plan).iter().map(|cell| cell.concurrency).collect()
        };
        assert_eq!((of(0, 2), of(1, 2)), (vec![2, 4, 32], vec![1, 8, 16]));
        for count in 1..8 {
            let all: Vec<u32> = (0..count).flat_map(|index| of(index, count)).collect();
            assert_eq!(all.len(), plan.cells.len());
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), plan.cells.len());
        }
    }

    #[test]
    fn a_share_reads_back_and_nothing_else_is_one() {
        let share = Share { index: 1, of: 2 };
        assert_eq!(share.to_string().parse(), Ok(share));
        for wrong in ["", "1", "2/2", "-1/2", "1/0", "a/b", "0/2/3"] {
            assert!(wrong.parse::<Share>().is_err(), "{wrong}");
        }
    }
}
