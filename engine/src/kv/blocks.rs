//! Who uses which block: reference counts, the free list, and the blocks that are remembered by their hash.
//!
//! A block whose last user lets it go stays remembered until it is given out again, which happens to the one let go first. A
//! block is remembered only once its rows are final, so what is shared is never written.

use std::collections::HashMap;

use super::chain::BlockHash;
use super::free_list::FreeList;

/// How often the memory of blocks was asked, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounts {
    /// Tokens of sequences that looked for a remembered prefix.
    pub queries: u64,
    /// Tokens of them that were found.
    pub hits: u64,
    /// Remembered blocks that were given to something else.
    pub evictions: u64,
}

/// The blocks of a store.
#[derive(Debug)]
pub struct Blocks {
    users: Vec<u32>,
    hashes: Vec<Option<BlockHash>>,
    remembered: HashMap<BlockHash, u32>,
    free: FreeList,
    counts: CacheCounts,
}

impl Blocks {
    /// So many blocks, all free.
    pub fn new(blocks: usize) -> Self {
        Self {
            users: vec![0; blocks],
            hashes: vec![None; blocks],
            remembered: HashMap::new(),
            free: FreeList::full(blocks as u32),
            counts: CacheCounts::default(),
        }
    }

    /// How many there are.
    pub fn total(&self) -> usize {
        self.users.len()
    }

    /// How many nobody uses.
    pub fn free(&self) -> usize {
        self.free.len()
    }

    /// What was looked for and found so far.
    pub fn counts(&self) -> CacheCounts {
        self.counts
    }

    /// Gives `count` blocks to their first user; none if there are not as many.
    pub fn allocate(&mut self, count: usize) -> Option<Vec<u32>> {
        if count > self.free.len() {
            return None;
        }
        let blocks = (0..count).filter_map(|_| {
            let block = self.free.pop()?;
            self.users[block as usize] = 1;
            if let Some(hash) = self.hashes[block as usize].take() {
                self.remembered.remove(&hash);
                self.counts.evictions += 1;
            }
            Some(block)
        });
        Some(blocks.collect())
    }

    /// How many of these blocks, from the first on, are remembered.
    pub fn known(&self, hashes: &[BlockHash]) -> usize {
        hashes.iter().take_while(|hash| self.remembered.contains_key(hash)).count()
    }

    /// How many of these remembered blocks nobody uses: they leave the free list when they are shared.
    pub fn known_free(&self, hashes: &[BlockHash]) -> usize {
        let users = hashes.iter().filter_map(|hash| self.remembered.get(hash));
        users.filter(|&&block| self.users[block as usize] == 0).count()
    }

    /// Gives these remembered blocks to one more user.
    pub fn share(&mut self, hashes: &[BlockHash]) -> Vec<u32> {
        let blocks: Vec<u32> =
            hashes.iter().map_while(|hash| self.remembered.get(hash).copied()).collect();
        for &block in &blocks {
            if self.users[block as usize] == 0 {
                self.free.take(block);
            }
            self.users[block as usize] += 1;
        }
        blocks
    }

    /// Counts a search for the prefix of `asked` tokens that found `found`.
    pub fn count_search(&mut self, asked: usize, found: usize) {
        self.counts.queries += asked as u64;
        self.counts.hits += found as u64;
    }

    /// Remembers a block whose rows are final, unless another with the same content is remembered already.
    pub fn remember(&mut self, block: u32, hash: BlockHash) {
        if self.hashes[block as usize].is_none() && !self.remembered.contains_key(&hash) {
            self.remembered.insert(hash, block);
            self.hashes[block as usize] = Some(hash);
        }
    }

    /// One user lets a sequence's blocks go. Given out again first is what nobody could share, then what was let go first, and
    /// of one sequence its last blocks: prefixes are worth more.
    pub fn release(&mut self, table: &[u32]) {
        for &block in table.iter().rev() {
            let users = &mut self.users[block as usize];
            *users -= 1;
            match (*users, self.hashes[block as usize]) {
                (0, Some(_)) => self.free.push(block),
                (0, None) => self.free.push_front(block),
                _ => {}
            }
        }
    }

    /// Forgets every remembered block that nobody uses, and those in use for whoever comes later.
    pub fn forget_all(&mut self) {
        self.remembered.clear();
        self.hashes.fill(None);
    }
}

#[cfg(test)]
mod tests {
    use super::{Blocks, CacheCounts};
    use crate::kv::Chain;

    #[test]
    fn a_block_is_remembered_until_it_is_needed_least_recent_first() {
        let mut blocks = Blocks::new(3);
        let hashes = Chain::new(None).up_to(3, 1, &[1, 2, 3]).to_vec();
        let table = blocks.allocate(2).unwrap();
        assert_eq!(blocks.allocate(2), None, "all or nothing");
        blocks.remember(table[0], hashes[0]);
        blocks.remember(table[1], hashes[1]);
        assert_eq!((blocks.known(&hashes), blocks.known_free(&hashes[..2])), (2, 0));
        blocks.release(&table);
        assert_eq!((blocks.free(), blocks.known_free(&hashes[..2])), (3, 2));
        let shared = blocks.share(&hashes[..1]);
        assert_eq!((shared, blocks.free()), (vec![table[0]], 2));
        // The block never used goes first, then the tail of what was let go.
        assert_eq!(blocks.allocate(1), Some(vec![2]));
        assert_eq!(blocks.known(&hashes), 2);
        assert_eq!(blocks.allocate(1), Some(vec![table[1]]));
        assert_eq!((blocks.known(&hashes), blocks.free()), (1, 0));
        assert_eq!(blocks.counts(), CacheCounts { evictions: 1, ..CacheCounts::default() });
    }

    #[test]
    fn equal_blocks_are_remembered_once_and_shared_ones_counted() {
        let mut blocks = Blocks::new(2);
        let hash = Chain::new(None).up_to(1, 1, &[1]).to_vec();
        let table = blocks.allocate(2).unwrap();
        for &block in &table {
            blocks.remember(block, hash[0]);
        }
        assert_eq!(blocks.share(&hash), [table[0]]);
        blocks.release(&table);
        assert_eq!(blocks.free(), 1, "one is still in use");
        blocks.release(&table[..1]);
        assert_eq!(blocks.free(), 2);
        blocks.forget_all();
        assert_eq!(blocks.known(&hash), 0);
    }
}
