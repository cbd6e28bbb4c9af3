//! Samples of GPUs over NVML. The library is loaded at run time; where it is absent no GPU is seen, which is neither an error nor zero.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::error::{Bits, NvmlError};
use nvml_wrapper::{Device, Nvml};
use serde::{Deserialize, Serialize};

use crate::clocks::bound::GPU_HERTZ;

/// What does not change while a GPU works. What it does not tell is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Its place as the driver counts.
    pub index: u32,
    /// Its own id.
    pub uuid: Option<String>,
    /// Its model.
    pub name: Option<String>,
    /// Version of the driver.
    pub driver: Option<String>,
    /// The highest SM clock, in MHz.
    pub sm_max_mhz: Option<u32>,
    /// The SM clock that applications asked for, in MHz.
    pub sm_application_mhz: Option<u32>,
    /// Whether the driver stays loaded while nobody uses the GPU.
    pub persistence: Option<bool>,
    /// Installed memory, in bytes.
    pub memory_bytes: Option<u64>,
}

/// A process that computes on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Computing {
    /// Its id, as this machine's or container's driver sees it.
    pub pid: u32,
    /// Memory that it holds there, in bytes.
    pub memory_bytes: Option<u64>,
}

/// A GPU at one moment. What it did not tell is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Since the window was opened, in nanoseconds.
    pub at_ns: u64,
    /// Clock of the multiprocessors, in MHz.
    pub sm_mhz: Option<u32>,
    /// Clock of the memory, in MHz.
    pub memory_mhz: Option<u32>,
    /// Why the clock is not higher: nvml.h, nvmlClocksEventReason*.
    pub reasons: Option<u64>,
    /// Power, in milliwatts.
    pub power_mw: Option<u32>,
    /// Energy since the driver was loaded, in millijoules.
    pub energy_mj: Option<u64>,
    /// Temperature of the chip, in degrees Celsius.
    pub temperature_c: Option<u32>,
    /// Share of the last moments in which something ran, in percent.
    pub busy_percent: Option<u32>,
    /// Memory in use, in bytes.
    pub memory_used_bytes: Option<u64>,
    /// Who computes there.
    pub processes: Option<Vec<Computing>>,
}

/// What was sampled of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Which.
    pub card: Card,
    /// In order.
    pub samples: Vec<Sample>,
}

/// The GPUs of this machine; empty where no library or no driver is.
pub fn cards() -> Vec<Card> {
    let Ok(nvml) = Nvml::init() else { return Vec::new() };
    let driver = nvml.sys_driver_version().ok();
    devices(&nvml).iter().map(|(index, device)| card(*index, device, driver.clone())).collect()
}

fn devices(nvml: &Nvml) -> Vec<(u32, Device<'_>)> {
    let count = nvml.device_count().unwrap_or(0);
    (0..count).filter_map(|index| Some((index, nvml.device_by_index(index).ok()?))).collect()
}

fn card(index: u32, device: &Device<'_>, driver: Option<String>) -> Card {
    Card {
        index,
        uuid: device.uuid().ok(),
        name: device.name().ok(),
        driver,
        sm_max_mhz: device.max_clock_info(Clock::SM).ok(),
        sm_application_mhz: device.applications_clock(Clock::SM).ok(),
        persistence: device.is_in_persistent_mode().ok(),
        memory_bytes: device.memory_info().ok().map(|memory| memory.total),
    }
}

fn sample(device: &Device<'_>, at_ns: u64) -> Sample {
    let processes = device.running_compute_processes().ok().map(|all| {
        let computing = all.into_iter().map(|process| Computing {
            pid: process.pid,
            memory_bytes: match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => Some(bytes),
                UsedGpuMemory::Unavailable => None,
            },
        });
        computing.collect()
    });
    Sample {
        at_ns,
        sm_mhz: device.clock_info(Clock::SM).ok(),
        memory_mhz: device.clock_info(Clock::Memory).ok(),
        reasons: reasons(&device.current_throttle_reasons_strict()),
        power_mw: device.power_usage().ok(),
        energy_mj: device.total_energy_consumption().ok(),
        temperature_c: device.temperature(TemperatureSensor::Gpu).ok(),
        busy_percent: device.utilization_rates().ok().map(|rates| rates.gpu),
        memory_used_bytes: device.memory_info().ok().map(|memory| memory.used),
        processes,
    }
}

/// All bits, those that the wrapper has no name for included: an unknown reason is no absent one.
fn reasons(found: &Result<ThrottleReasons, NvmlError>) -> Option<u64> {
    match found {
        Ok(reasons) => Some(reasons.bits()),
        Err(NvmlError::IncorrectBits(Bits::U64(bits))) => Some(*bits),
        Err(_) => None,
    }
}

/// A thread that samples every GPU [`GPU_HERTZ`] times a second until it is stopped.
pub struct Sampler {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Recording>>,
}

impl Sampler {
    /// Starts it.
    pub fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&stop);
        Self { stop, thread: std::thread::spawn(move || record(&seen)) }
    }

    /// Stops it, after a last sample, and gives what it saw; empty where no GPU is.
    pub fn stop(self) -> Vec<Recording> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn record(stop: &AtomicBool) -> Vec<Recording> {
    let Ok(nvml) = Nvml::init() else { return Vec::new() };
    let driver = nvml.sys_driver_version().ok();
    let devices = devices(&nvml);
    let mut recordings: Vec<Recording> = devices
        .iter()
        .map(|(index, device)| Recording {
            card: card(*index, device, driver.clone()),
            samples: Vec::new(),
        })
        .collect();
    let (start, period) = (Instant::now(), Duration::from_secs(1) / GPU_HERTZ);
    for tick in 1.. {
        let last = stop.load(Ordering::Relaxed);
        for ((_, device), recording) in devices.iter().zip(&mut recordings) {
            recording.samples.push(sample(device, start.elapsed().as_nanos() as u64));
        }
        if last || devices.is_empty() {
            break;
        }
        // Ticks at fixed times: a slow sample does not move the later ones.
        std::thread::sleep((start + period * tick).saturating_duration_since(Instant::now()));
    }
    recordings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_reasons_are_kept_and_absent_ones_are_absent() {
        assert_eq!(reasons(&Ok(ThrottleReasons::GPU_IDLE)), Some(1));
        assert_eq!(reasons(&Err(NvmlError::IncorrectBits(Bits::U64(0x4_0000)))), Some(0x4_0000));
        assert_eq!(reasons(&Err(NvmlError::NotSupported)), None);
    }

    /// Whatever the machine: without a GPU nothing, with one a first and a last sample and numbers that a GPU can have.
    #[test]
    fn samples_what_is_there() {
        let sampler = Sampler::start();
        std::thread::sleep(Duration::from_millis(250));
        let recordings = sampler.stop();
        assert_eq!(recordings.len(), cards().len());
        for Recording { card, samples } in recordings {
            assert!(samples.len() >= 2, "{card:?}");
            assert!(samples.is_sorted_by_key(|sample| sample.at_ns));
            assert!(samples.iter().all(|sample| sample.sm_mhz <= card.sm_max_mhz), "{card:?}");
            let energy = samples.iter().map(|sample| sample.energy_mj);
            assert!(energy.is_sorted(), "{card:?}");
            println!("{card:?}\n{:?}", samples.last());
        }
    }
}
