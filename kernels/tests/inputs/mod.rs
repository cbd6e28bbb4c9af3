//! Inputs that another program can make too: everything follows from a seed, exactly.
#![allow(dead_code, reason = "each test binary uses its part")]

use kernels::Format;

/// splitmix64.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

/// Activations whose blocks differ in size by up to 2^8, some of them all zero; times `2^shift`.
pub(crate) fn activations(seed: u64, cols: usize, shift: i32) -> Vec<f32> {
    let mut rng = Rng(seed);
    let value = |i: usize| {
        let (r, block) = (rng.next(), i / 32);
        if block % 13 == 12 || (cols >= 1024 && i / 256 % 4 == 3) {
            return 0.0;
        }
        let exponent = (r & 7) as i32 - 27 + (block * 7 % 9) as i32 - 4 + shift;
        (((r >> 40) as i64 - (1 << 23)) as f64 * 2.0_f64.powi(exponent)) as f32
    };
    (0..cols).map(value).collect()
}

/// Random blocks: every bit is random but the exponents of the half-precision scales, which stay in 2^-10 ..= 2^-1.
pub(crate) fn row(format: Format, seed: u64, cols: usize) -> Vec<u8> {
    let mut rng = Rng(seed);
    match format {
        Format::F32 => activations(seed, cols, 0).iter().flat_map(|v| v.to_le_bytes()).collect(),
        Format::F16 => (0..cols).flat_map(|_| half_bits(rng.next()).to_le_bytes()).collect(),
        Format::Bf16 => (0..cols).flat_map(|_| brain_bits(rng.next()).to_le_bytes()).collect(),
        _ => {
            let blocks = cols / format.block_len();
            (0..blocks).flat_map(|_| block(format, &mut rng)).collect()
        }
    }
}

fn block(format: Format, rng: &mut Rng) -> Vec<u8> {
    let mut block: Vec<u8> = (0..format.block_bytes()).map(|_| rng.next() as u8).collect();
    for &offset in scale_offsets(format) {
        block[offset..offset + 2].copy_from_slice(&half_bits(rng.next()).to_le_bytes());
    }
    block
}

/// Where the half-precision scales of a block lie.
pub(crate) fn scale_offsets(format: Format) -> &'static [usize] {
    match format {
        Format::F32 | Format::F16 | Format::Bf16 => &[],
        Format::Q4_0 | Format::Q5_0 | Format::Q8_0 => &[0],
        Format::Q4_1 | Format::Q5_1 | Format::Q4K | Format::Q5K => &[0, 2],
        Format::Q2K => &[80, 82],
        Format::Q3K => &[108],
        Format::Q6K => &[208],
    }
}

fn half_bits(r: u64) -> u16 {
    (r & 0x83ff) as u16 | ((5 + (r >> 32) % 10) << 10) as u16
}

fn brain_bits(r: u64) -> u16 {
    (r & 0x807f) as u16 | ((118 + (r >> 32) % 12) << 7) as u16
}
