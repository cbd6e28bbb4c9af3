//! How many positions a block holds.

/// Positions of a block: a power of two, so that a position's place is a shift and a mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSize {
    shift: u32,
}

impl BlockSize {
    /// Sixteen positions, vLLM's default.
    pub const DEFAULT: Self = Self { shift: 4 };
    /// The most positions of a block.
    const MOST: usize = 512;

    /// A block of so many positions; none unless that is a power of two and at most 512.
    pub fn of(positions: usize) -> Option<Self> {
        let fits = positions.is_power_of_two() && positions <= Self::MOST;
        fits.then(|| Self { shift: positions.trailing_zeros() })
    }

    /// The positions of a block.
    pub fn positions(self) -> usize {
        1 << self.shift
    }

    /// The binary logarithm of the positions.
    pub fn shift(self) -> u32 {
        self.shift
    }

    /// The blocks that so many positions take.
    pub fn blocks_for(self, positions: usize) -> usize {
        positions.div_ceil(self.positions())
    }
}

#[cfg(test)]
mod tests {
    use super::BlockSize;

    #[test]
    fn a_block_size_is_a_power_of_two() {
        assert_eq!(BlockSize::of(16), Some(BlockSize::DEFAULT));
        assert!([0, 3, 48, 1024].into_iter().all(|positions| BlockSize::of(positions).is_none()));
        let blocks: Vec<usize> = [0, 1, 16, 17].map(|n| BlockSize::DEFAULT.blocks_for(n)).into();
        assert_eq!(blocks, [0, 1, 1, 2]);
    }
}
