//! Names of blocks by what led to them: the hash of a block covers its tokens and, through the hash before it, all tokens before.

use sha2::{Digest, Sha256};

/// The name of a full block: equal only where the tokens up to its end, and the salt, are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockHash([u8; 32]);

/// The hashes of a sequence's full blocks, worked out once as the sequence grows.
#[derive(Clone, Debug)]
pub struct Chain {
    root: BlockHash,
    hashes: Vec<BlockHash>,
}

impl Chain {
    /// An empty sequence's. Sequences with another salt share nothing.
    pub fn new(salt: Option<&str>) -> Self {
        let mut hash = Sha256::new();
        hash.update([u8::from(salt.is_some())]);
        hash.update(salt.unwrap_or_default());
        Self { root: BlockHash(hash.finalize().into()), hashes: Vec::new() }
    }

    /// The hashes of the first `blocks` full blocks of `positions` tokens each.
    pub fn up_to(&mut self, blocks: usize, positions: usize, tokens: &[u32]) -> &[BlockHash] {
        while self.hashes.len() < blocks {
            let first = self.hashes.len() * positions;
            let mut hash = Sha256::new();
            hash.update(self.hashes.last().unwrap_or(&self.root).0);
            for token in &tokens[first..first + positions] {
                hash.update(token.to_le_bytes());
            }
            self.hashes.push(BlockHash(hash.finalize().into()));
        }
        &self.hashes[..blocks]
    }
}

#[cfg(test)]
mod tests {
    use super::Chain;

    #[test]
    fn a_hash_covers_everything_up_to_its_block_and_the_salt() {
        let hashes = |salt, tokens: &[u32]| Chain::new(salt).up_to(2, 2, tokens).to_vec();
        let plain = hashes(None, &[1, 2, 3, 4]);
        assert_eq!(plain, hashes(None, &[1, 2, 3, 4, 5]));
        assert_ne!(plain[0], plain[1]);
        let other = hashes(None, &[9, 2, 3, 4]);
        assert!(plain.iter().zip(&other).all(|(a, b)| a != b));
        assert_eq!(plain[0], hashes(None, &[1, 2, 9, 4])[0]);
        for salt in [Some(""), Some("a")] {
            assert!(plain.iter().zip(&hashes(salt, &[1, 2, 3, 4])).all(|(a, b)| a != b));
        }
    }
}
