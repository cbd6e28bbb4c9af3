//! Every bound of the judges, with its reason. Bounds marked "campaign" come from the records of a long campaign on one workstation GPU,
//! where an untouched kernel moved 9.65 % for a clock change of 12.79 % between two boots without a throttle flag.

/// V-CLOCK-SPREAD: (max - min) / median of the busy samples of a window, in percent. Campaign.
pub const CLOCK_SPREAD_PERCENT: f64 = 5.0;

/// V-CLOCK-OFF: offset between the arms' medians, and between their means, in percent, each. Time follows the clock at most one to
/// one, so that this stays below the smallest effect that was ranked there (2.97 %). Both are asked because excursions below the median
/// leave it where it is: three pairs with equal medians had means 0.10 to 0.25 % apart. Campaign.
pub const CLOCK_OFF_PERCENT: f64 = 1.0;

/// V-CLOCK-COVER: busy samples of a window. One sample has no spread at all. Campaign, at one sample a second.
pub const BUSY_SAMPLES: usize = 30;

/// V-CLOCK-COVER: seconds that the busy samples span together. At ten samples a second [`BUSY_SAMPLES`] are three seconds, and NVML's
/// utilisation is an average over up to one second (nvmlUtilization_t: "between 1 second and 1/6 second, depending on the product"):
/// ten seconds hold at least ten readings of it that are independent.
pub const BUSY_SECONDS: f64 = 10.0;

/// V-CLOCK-COVER: share of the samples of a window that are busy. Campaign.
pub const BUSY_SHARE: f64 = 0.5;

/// V-THROTTLE: reasons that hold no clock down by themselves: idle (0x1), the application clocks (0x2), the display clocks (0x100).
/// Bits: nvml.h, nvmlClocksEventReason*.
pub const BENIGN_REASONS: u64 = 0x1 | 0x2 | 0x100;

/// V-CONTEND: load average over a minute before a leg on a machine whose processor is not measured. Campaign.
pub const LOAD_ONE_MINUTE: f64 = 0.8;

/// V-CONTEND: share of the window's processor time that was stolen by the host, in percent. Time stolen goes straight into the wall clock:
/// one percent is the offset that [`CLOCK_OFF_PERCENT`] allows.
pub const STOLEN_PERCENT: f64 = 1.0;

/// V-CONTEND: processor time of one foreign process, as a share of one core over the window, in percent. As [`STOLEN_PERCENT`], and
/// above what the kernel's own threads and a shell take.
pub const FOREIGN_PERCENT: f64 = 5.0;

/// V-MEMRET: memory that may be missing after a leg, in KiB. Campaign.
pub const MEMORY_MISSING_KIB: u64 = 1_048_576;

/// Energy is told of windows at least so long, in seconds. The counter moves about every 100 ms (Zeus, ml.energy, "measuring GPU
/// energy"), so that two edges miss at most 2 % of ten seconds; and power read by sampling sees about a quarter of the time of an
/// A100 or H100 (Z. Yang, K. Adamek, W. Armour, arXiv 2312.02741), so that only the counter is used.
pub const ENERGY_SECONDS: f64 = 10.0;

/// GPU samples a second.
pub const GPU_HERTZ: u32 = 10;
