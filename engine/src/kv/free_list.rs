//! Blocks that nobody uses, the one to be given out next at the front.

/// No block.
const NONE: u32 = u32::MAX;

/// A queue of block ids from which any can be taken, each step in constant time: a doubly linked list over the ids.
#[derive(Debug)]
pub(super) struct FreeList {
    /// The neighbours of each block; both itself where it is not in the list.
    links: Vec<[u32; 2]>,
    front: u32,
    back: u32,
    len: usize,
}

impl FreeList {
    /// All of `blocks` blocks, in order.
    pub(super) fn full(blocks: u32) -> Self {
        let mut list = Self {
            links: (0..blocks).map(|block| [block; 2]).collect(),
            front: NONE,
            back: NONE,
            len: 0,
        };
        (0..blocks).for_each(|block| list.push(block));
        list
    }

    /// How many blocks are in the list.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Puts a block that is not in the list at its end.
    pub(super) fn push(&mut self, block: u32) {
        self.links[block as usize] = [self.back, NONE];
        match self.back {
            NONE => self.front = block,
            back => self.links[back as usize][1] = block,
        }
        self.back = block;
        self.len += 1;
    }

    /// Puts a block that is not in the list at its front.
    pub(super) fn push_front(&mut self, block: u32) {
        self.links[block as usize] = [NONE, self.front];
        match self.front {
            NONE => self.back = block,
            front => self.links[front as usize][0] = block,
        }
        self.front = block;
        self.len += 1;
    }

    /// Takes the block at the front.
    pub(super) fn pop(&mut self) -> Option<u32> {
        let front = self.front;
        (front != NONE).then(|| {
            self.take(front);
            front
        })
    }

    /// Takes a block that is in the list.
    pub(super) fn take(&mut self, block: u32) {
        let [before, after] = std::mem::replace(&mut self.links[block as usize], [block; 2]);
        match before {
            NONE => self.front = after,
            before => self.links[before as usize][1] = after,
        }
        match after {
            NONE => self.back = before,
            after => self.links[after as usize][0] = before,
        }
        self.len -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::FreeList;

    proptest! {
        /// Against a queue that is searched.
        #[test]
        fn it_is_a_queue_from_which_any_can_be_taken(choices in prop::collection::vec((0_u8..4, 0_u32..8), 0..200)) {
            let mut list = FreeList::full(8);
            let mut queue: VecDeque<u32> = (0..8).collect();
            for (action, block) in choices {
                let place = queue.iter().position(|&other| other == block);
                match (action, place) {
                    (0, None) => {
                        list.push(block);
                        queue.push_back(block);
                    }
                    (1, Some(place)) => {
                        list.take(block);
                        queue.remove(place);
                    }
                    (3, None) => {
                        list.push_front(block);
                        queue.push_front(block);
                    }
                    (2, _) => prop_assert_eq!(list.pop(), queue.pop_front()),
                    _ => {}
                }
                prop_assert_eq!(list.len(), queue.len());
            }
            while let Some(block) = queue.pop_front() {
                prop_assert_eq!(list.pop(), Some(block));
            }
            prop_assert_eq!(list.pop(), None);
        }
    }
}
