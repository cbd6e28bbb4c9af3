//! The keys and values of a sequence.
//!
//! One contiguous plane a layer for keys and one for values, a row a position. Everything that reads goes
//! through [`LayerCache`], so that rows can later lie in blocks.

use half::{bf16, f16};

/// How keys and values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheFormat {
    /// IEEE half: llama.cpp's default.
    F16,
    /// bfloat16: the activations of a bfloat16 model, unchanged.
    Bf16,
    /// IEEE single.
    F32,
}

/// Rows of one layer's keys or values.
#[derive(Debug)]
pub enum Plane {
    /// In half precision.
    F16(Vec<f16>),
    /// In bfloat16.
    Bf16(Vec<bf16>),
    /// In single precision.
    F32(Vec<f32>),
}

/// Keys and values of one sequence, for all layers.
#[derive(Debug)]
pub struct KvCache {
    /// Keys and values of each layer.
    layers: Vec<[Plane; 2]>,
    format: CacheFormat,
    /// Values in a row: all key heads, or all value heads.
    width: usize,
    /// The most positions it may hold.
    capacity: usize,
}

/// One layer's part of a cache.
#[derive(Clone, Copy, Debug)]
pub struct LayerCache<'a> {
    /// Keys, `[positions][width]`.
    pub keys: &'a Plane,
    /// Values, `[positions][width]`.
    pub values: &'a Plane,
    /// Values in a row.
    pub width: usize,
}

impl KvCache {
    /// An empty cache for up to `capacity` positions; memory is taken as positions come.
    pub fn new(format: CacheFormat, layers: usize, width: usize, capacity: usize) -> Self {
        let layers = (0..layers).map(|_| [Plane::empty(format), Plane::empty(format)]).collect();
        Self { layers, format, width, capacity }
    }

    /// How the rows are kept.
    pub fn format(&self) -> CacheFormat {
        self.format
    }

    /// The most positions it may hold.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Positions held by every layer.
    pub fn positions(&self) -> usize {
        self.layers.last().map_or(0, |[keys, _]| keys.len() / self.width.max(1))
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.layers.iter().flatten().map(Plane::bytes).sum()
    }

    /// Adds rows of keys and values to a layer, rounding them to the cache's format.
    pub fn append(&mut self, layer: usize, keys: &[f32], values: &[f32]) {
        let [key_plane, value_plane] = &mut self.layers[layer];
        key_plane.extend(keys);
        value_plane.extend(values);
    }

    /// One layer's keys and values.
    pub fn layer(&self, layer: usize) -> LayerCache<'_> {
        let [keys, values] = &self.layers[layer];
        LayerCache { keys, values, width: self.width }
    }

    /// Forgets every position from `positions` on.
    pub fn truncate(&mut self, positions: usize) {
        for plane in self.layers.iter_mut().flatten() {
            plane.truncate(positions * self.width);
        }
    }
}

impl Plane {
    fn empty(format: CacheFormat) -> Self {
        match format {
            CacheFormat::F16 => Self::F16(Vec::new()),
            CacheFormat::Bf16 => Self::Bf16(Vec::new()),
            CacheFormat::F32 => Self::F32(Vec::new()),
        }
    }

    fn extend(&mut self, row: &[f32]) {
        match self {
            Self::F16(plane) => plane.extend(row.iter().map(|&value| f16::from_f32(value))),
            Self::Bf16(plane) => plane.extend(row.iter().map(|&value| bf16::from_f32(value))),
            Self::F32(plane) => plane.extend_from_slice(row),
        }
    }

    fn truncate(&mut self, values: usize) {
        match self {
            Self::F16(plane) => plane.truncate(values),
            Self::Bf16(plane) => plane.truncate(values),
            Self::F32(plane) => plane.truncate(values),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::F16(plane) => plane.len(),
            Self::Bf16(plane) => plane.len(),
            Self::F32(plane) => plane.len(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::F16(plane) => size_of_val(plane.as_slice()),
            Self::Bf16(plane) => size_of_val(plane.as_slice()),
            Self::F32(plane) => size_of_val(plane.as_slice()),
        }
    }

    /// `width` values from `start` on, as `f32`; the conversion is exact.
    pub fn read(&self, start: usize, out: &mut [f32]) {
        let end = start + out.len();
        match self {
            Self::F16(plane) => {
                for (out, value) in out.iter_mut().zip(&plane[start..end]) {
                    *out = value.to_f32();
                }
            }
            Self::Bf16(plane) => {
                for (out, value) in out.iter_mut().zip(&plane[start..end]) {
                    *out = value.to_f32();
                }
            }
            Self::F32(plane) => out.copy_from_slice(&plane[start..end]),
        }
    }
}
