//! V-BOOT, V-PERSIST and V-CONTEND.

use crate::clocks::bound::{FOREIGN_PERCENT, LOAD_ONE_MINUTE, STOLEN_PERCENT};
use crate::clocks::cpu::{Counters, stolen_percent};
use crate::clocks::gpu::{Card, Recording};
use crate::clocks::window::Window;
use crate::rule::{Rule, Violation};

/// V-BOOT: all windows are of one boot, and their GPUs are the same in all that does not change.
pub fn boot(windows: &[&Window]) -> Option<Violation> {
    let broken = |reason: String| Some(Violation::new(Rule::Boot, reason));
    let mut ids = windows.iter().flat_map(|window| [&window.before.boot_id, &window.after.boot_id]);
    let Some(Some(first)) = ids.clone().next() else {
        return broken("the boot id could not be read".to_owned());
    };
    if let Some(other) = ids.find(|id| id.as_ref() != Some(first)) {
        let other = other.as_deref().unwrap_or("none");
        return broken(format!("boot {first}, then {other}"));
    }
    let cards = |window: &Window| -> Vec<Card> {
        window.gpus.iter().map(|recording| recording.card.clone()).collect()
    };
    let first = cards(windows[0]);
    let other = windows.iter().map(|window| cards(window)).find(|other| *other != first)?;
    broken(format!("GPUs {first:?}, then {other:?}"))
}

/// V-PERSIST: no GPU says that its persistence mode is off. One that does not say has no such mode.
pub fn persistence(gpus: &[Recording]) -> Option<Violation> {
    let off = gpus.iter().find(|recording| recording.card.persistence == Some(false))?;
    let reason = format!("GPU {}: persistence mode is off", off.card.index);
    Some(Violation::new(Rule::Persistence, reason))
}

/// V-CONTEND before a series: the machine's lock is held and the load is below [`LOAD_ONE_MINUTE`]. Between legs the load is our own.
pub fn quiet(before: &Counters, holds_lock: bool) -> Option<Violation> {
    let load = before.load.unwrap_or(f64::NAN);
    let reason = if !holds_lock {
        "the machine's lock is not held".to_owned()
    } else if load < LOAD_ONE_MINUTE {
        return None;
    } else {
        format!("load {load:.2}, expected below {LOAD_ONE_MINUTE}")
    };
    Some(Violation::new(Rule::Contend, reason))
}

/// V-CONTEND: at most [`STOLEN_PERCENT`] of the processors' time was stolen by the host.
pub fn stolen(window: &Window) -> Option<Violation> {
    let percent = stolen_percent(&window.before, &window.after).unwrap_or(f64::NAN);
    if percent <= STOLEN_PERCENT {
        return None;
    }
    let reason =
        format!("{percent:.2} % of the processors' time was stolen, of at most {STOLEN_PERCENT} %");
    Some(Violation::new(Rule::Contend, reason))
}

/// V-CONTEND: no foreign process used more than [`FOREIGN_PERCENT`] of a core, and processes could be listed.
pub fn foreign(window: &Window) -> Option<Violation> {
    let Some(foreign) = &window.foreign else {
        return Some(Violation::new(Rule::Contend, "the processes could not be listed"));
    };
    let is_quiet = |percent: f64| percent <= FOREIGN_PERCENT;
    let busy = foreign.iter().find(|process| !is_quiet(process.percent))?;
    let reason = format!(
        "process {} ({}) used {:.1} % of a core, of at most {FOREIGN_PERCENT} %",
        busy.pid, busy.name, busy.percent
    );
    Some(Violation::new(Rule::Contend, reason))
}

/// V-CONTEND: nobody but `ours` computes on the GPUs, and they can say who does. Process ids are those that the driver tells: inside a
/// container that may be another's view, and then every process counts as foreign.
pub fn foreign_on_gpu(gpus: &[Recording], ours: &[u32]) -> Option<Violation> {
    let broken = |reason: String| Some(Violation::new(Rule::Contend, reason));
    for Recording { card, samples } in gpus {
        for sample in samples {
            let Some(processes) = &sample.processes else {
                return broken(format!("GPU {} does not say who computes on it", card.index));
            };
            if let Some(other) = processes.iter().find(|process| !ours.contains(&process.pid)) {
                return broken(format!("GPU {}: process {} computes on it", card.index, other.pid));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clocks::gpu::Computing;
    use crate::clocks::judge::fixture::{busy, recording, window};
    use crate::clocks::process::Foreign;

    #[test]
    fn one_boot_and_the_same_cards() {
        let gpu = || window(vec![recording(vec![busy(0, 1_500)])]);
        assert_eq!(boot(&[&gpu(), &gpu()]), None);
        let changed = |change: fn(&mut Window)| {
            let mut other = gpu();
            change(&mut other);
            boot(&[&gpu(), &other]).map(|found| found.rule)
        };
        let changes: [fn(&mut Window); 4] = [
            |window| window.after.boot_id = Some("other".to_owned()),
            |window| window.before.boot_id = None,
            |window| window.gpus[0].card.driver = Some("581".to_owned()),
            |window| window.gpus.clear(),
        ];
        for change in changes {
            assert_eq!(changed(change), Some(Rule::Boot));
        }
        assert!(boot(&[]).is_some(), "nothing shows it");
    }

    #[test]
    fn persistence_is_off_or_not_applicable() {
        let with = |persistence| {
            let mut one = recording(vec![]);
            one.card.persistence = persistence;
            persistence_fires(&[one])
        };
        assert_eq!((with(Some(true)), with(None), with(Some(false))), (false, false, true));
    }

    fn persistence_fires(gpus: &[Recording]) -> bool {
        persistence(gpus).is_some()
    }

    #[test]
    fn quiet_at_its_bound() {
        let with = |load, lock| quiet(&Counters { load, ..Counters::default() }, lock).is_some();
        assert!(!with(Some(0.79), true));
        assert!(with(Some(0.8), true) && with(Some(f64::NAN), true) && with(None, true));
        assert!(with(Some(0.0), false));
    }

    /// Of 1,000 ticks ten are one percent.
    #[test]
    fn stolen_at_its_bound() {
        let with = |stolen_ticks| {
            let mut one = window(vec![]);
            one.after.stolen_ticks = stolen_ticks;
            stolen(&one).is_some()
        };
        assert!(!with(Some(20)));
        assert!(with(Some(21)) && with(None));
    }

    #[test]
    fn foreign_at_its_bound() {
        let with = |percent| {
            let mut one = window(vec![]);
            one.foreign = Some(vec![Foreign { pid: 7, name: "cc".to_owned(), percent }]);
            foreign(&one).is_some()
        };
        assert!(!with(5.0));
        assert!(with(5.1) && with(f64::NAN));
        let mut unlisted = window(vec![]);
        unlisted.foreign = None;
        assert!(foreign(&unlisted).is_some());
    }

    #[test]
    fn others_on_the_gpu() {
        let with = |processes| {
            let mut sample = busy(0, 1_500);
            sample.processes = processes;
            foreign_on_gpu(&[recording(vec![sample])], &[7]).is_some()
        };
        let computing = |pid| Some(vec![Computing { pid, memory_bytes: None }]);
        assert!(!with(computing(7)) && !with(Some(vec![])));
        assert!(with(computing(8)) && with(None));
    }
}
