//! Recorded windows for tests, written by hand.

use crate::clocks::cpu::Counters;
use crate::clocks::gpu::{Card, Recording, Sample};
use crate::clocks::window::Window;

/// A GPU at work.
pub(crate) fn busy(at_ns: u64, sm_mhz: u32) -> Sample {
    Sample {
        at_ns,
        sm_mhz: Some(sm_mhz),
        memory_mhz: Some(2_619),
        reasons: Some(0),
        power_mw: Some(500_000),
        energy_mj: Some(at_ns / 2_000_000),
        temperature_c: Some(50),
        busy_percent: Some(97),
        memory_used_bytes: Some(1 << 33),
        processes: Some(Vec::new()),
    }
}

/// A GPU that waits.
pub(crate) fn idle(at_ns: u64) -> Sample {
    Sample { sm_mhz: Some(345), reasons: Some(1), busy_percent: Some(0), ..busy(at_ns, 0) }
}

/// Samples of one GPU.
pub(crate) fn recording(samples: Vec<Sample>) -> Recording {
    let card = Card {
        index: 0,
        uuid: Some("GPU-0".to_owned()),
        name: Some("NVIDIA H200".to_owned()),
        driver: Some("580.1".to_owned()),
        sm_max_mhz: Some(1_980),
        sm_application_mhz: Some(1_980),
        persistence: Some(true),
        memory_bytes: Some(150 << 30),
    };
    Recording { card, samples }
}

/// A quiet window with those GPUs.
pub(crate) fn window(gpus: Vec<Recording>) -> Window {
    let counters = |ticks, stolen| Counters {
        boot_id: Some("11111111-2222-3333-4444-555555555555".to_owned()),
        total_ticks: Some(ticks),
        stolen_ticks: Some(stolen),
        load: Some(0.2),
        ..Counters::default()
    };
    Window {
        spins: vec![vec![1.9; 15]; 2],
        before: counters(1_000, 10),
        after: counters(2_000, 10),
        foreign: Some(Vec::new()),
        available_before_kib: Some(20_000_000),
        available_after_kib: Some(20_000_000),
        gpus,
    }
}
