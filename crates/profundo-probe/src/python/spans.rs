//! The innermost span of a thread of the interpreter, read where the interpreter keeps it.
//!
//! A span of a Python program is the value of a *context variable*. So it goes with the task that
//! has entered it: an event loop runs each step of a task in the task's own context, whichever loop
//! it is. Nothing has to watch the switches. A sample reads the variable of the context that the
//! thread is in:
//!
//! ```text
//! thread state ─▶ context ─▶ variables ─▶ root ─▶ … ─▶ span ─▶ span around it ─▶ …
//!                            (a hash tree that is never changed, but replaced)
//! ```
//!
//! A span that was left may stay the variable's value: it counts for nothing, and the nearest one
//! around it that is still open does.
//!
//! The agent fills in the places ([`SpanPlaces`]) when it makes the type of spans, and compares the
//! result of this walk with the interpreter's own answer before it relies on it.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use profundo_cpython::Memory;

use super::interpreter::Interpreter;

/// The places in a span's object, which the agent lays out, behind the head of each object.
pub mod span_object {
    /// The number of its path, and behind it whether it is open: half a word each.
    pub const PATH: u64 = 0;
    /// The span around it, by the end of its head; 0 if there is none.
    pub const AROUND: u64 = 8;
    /// The second half of the word at [`PATH`], while the span is open.
    pub const OPEN: u32 = 1;
}

/// The places in the interpreter's contexts, behind the head of each object. They are the same
/// from 3.8 to 3.15.
pub mod context {
    /// The variables.
    pub const VARIABLES: u64 = 8;
    /// In the variables: the root of their tree.
    pub const ROOT: u64 = 0;
    /// The last word of each head: the type.
    pub const TYPE_BEFORE: u64 = 8;
    /// In a node with few children: a bit for each, and then pairs of a key and a value. Without
    /// a key the value is another node.
    pub(super) const BITMAP: u64 = 8;
    pub(super) const PAIRS: u64 = 16;
    /// In a node with many children: the nodes.
    pub(super) const NODES: u64 = 0;
    /// The bits of a hash for each level of the tree.
    pub(super) const BITS: u32 = 5;
}

/// The place of the variable. All zero: there are no spans.
#[derive(Debug)]
pub struct SpanPlaces {
    /// The variable; written last.
    variable: AtomicU64,
    hash: AtomicU32,
    /// The offset of the context in a thread's state.
    context: AtomicU32,
    /// The size of an object's head.
    head: AtomicU32,
    /// The types of nodes with few and with many children.
    few: AtomicU64,
    many: AtomicU64,
}

/// Values for [`SpanPlaces`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    /// The variable.
    pub variable: u64,
    /// Its hash, folded as the tree does.
    pub hash: u32,
    /// The offset of the context in a thread's state.
    pub context: u32,
    /// The size of an object's head: longer where threads run at the same time.
    pub head: u32,
    /// The type of nodes with few children.
    pub few: u64,
    /// The type of nodes with many children.
    pub many: u64,
}

/// The place of the variable in this process. It is the same in the child of a fork.
pub static SPANS: SpanPlaces = SpanPlaces {
    variable: AtomicU64::new(0),
    hash: AtomicU32::new(0),
    context: AtomicU32::new(0),
    head: AtomicU32::new(0),
    few: AtomicU64::new(0),
    many: AtomicU64::new(0),
};

impl SpanPlaces {
    /// Has samples look for spans from now on.
    pub fn publish(&self, places: &Places) {
        self.hash.store(places.hash, Ordering::Relaxed);
        self.context.store(places.context, Ordering::Relaxed);
        self.head.store(places.head, Ordering::Relaxed);
        self.few.store(places.few, Ordering::Relaxed);
        self.many.store(places.many, Ordering::Relaxed);
        // Release pairs with the acquire in `get`.
        self.variable.store(places.variable, Ordering::Release);
    }

    /// Has samples look for no spans any more.
    pub fn withdraw(&self) {
        self.variable.store(0, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self) -> Option<Places> {
        // Acquire pairs with the release in `publish`.
        let variable = self.variable.load(Ordering::Acquire);
        (variable != 0).then(|| Places {
            variable,
            hash: self.hash.load(Ordering::Relaxed),
            context: self.context.load(Ordering::Relaxed),
            head: self.head.load(Ordering::Relaxed),
            few: self.few.load(Ordering::Relaxed),
            many: self.many.load(Ordering::Relaxed),
        })
    }
}

/// The end of the way to a variable.
enum Found {
    Value(u64),
    /// A node of a type that is not known.
    OtherType(u64),
}

impl Places {
    /// The variable's value in the context of the thread with this state; `None` if it has none.
    pub fn value(&self, memory: &mut impl Memory, state: u64) -> Option<u64> {
        match self.find(memory, state)? {
            Found::Value(value) => Some(value),
            Found::OtherType(_) => None,
        }
    }

    /// The type of the first node on the way to the variable that is of neither type; `None` if
    /// there is none.
    pub fn other_type(&self, memory: &mut impl Memory, state: u64) -> Option<u64> {
        match self.find(memory, state)? {
            Found::OtherType(kind) => Some(kind),
            Found::Value(_) => None,
        }
    }

    #[inline]
    fn find(&self, memory: &mut impl Memory, state: u64) -> Option<Found> {
        let head = u64::from(self.head);
        let context = word(memory, state, self.context.into())?;
        let variables = word(memory, context, head + context::VARIABLES)?;
        let mut node = word(memory, variables, head + context::ROOT)?;
        let mut shift = 0;
        while shift < u32::BITS {
            let child = self.hash >> shift & ((1 << context::BITS) - 1);
            let kind = word(memory, node, head.wrapping_sub(context::TYPE_BEFORE))?;
            if kind == self.few {
                let bits = word(memory, node, head + context::BITMAP)? as u32;
                if bits & 1 << child == 0 {
                    return None;
                }
                let before = (bits & ((1 << child) - 1)).count_ones();
                let pair = head + context::PAIRS + 16 * u64::from(before);
                let key = memory.word(node.wrapping_add(pair))?;
                let value = word(memory, node, pair + 8)?;
                match key {
                    0 => node = value,
                    key => return (key == self.variable).then_some(Found::Value(value)),
                }
            } else if kind == self.many {
                node = word(memory, node, head + context::NODES + 8 * u64::from(child))?;
            } else {
                // Two variables with the same hash: there is one such pair in four billion.
                return Some(Found::OtherType(kind));
            }
            shift += context::BITS;
        }
        None
    }

    /// The path of the innermost open span of the thread with this state; 0 outside of spans.
    fn path(&self, memory: &mut impl Memory, state: u64) -> u32 {
        /// More than there can be in one another.
        const MOST: usize = 1 << 11;
        let value = self.value(memory, state);
        let mut span = value.map(|value| value.wrapping_add(self.head.into()));
        for _ in 0..MOST {
            let Some(place) = span else { break };
            let Some(both) = word(memory, place, span_object::PATH) else {
                break;
            };
            if (both >> 32) as u32 == span_object::OPEN {
                return both as u32;
            }
            span = word(memory, place, span_object::AROUND);
        }
        0
    }
}

/// A word behind an address, neither of which is 0.
#[inline]
fn word(memory: &mut impl Memory, address: u64, offset: u64) -> Option<u64> {
    match address {
        0 => None,
        address => memory
            .word(address.wrapping_add(offset))
            .filter(|&word| word != 0),
    }
}

/// The path of the innermost span of the thread with this state, which a handler may have
/// interrupted anywhere; 0 outside of spans.
#[inline]
pub(super) fn span_of(memory: &mut impl Memory, state: u64) -> u32 {
    match SPANS.get() {
        Some(places) if state != 0 => places.path(memory, state),
        _ => 0,
    }
}

/// Memory of objects that the calling thread holds.
struct Held;

impl Memory for Held {
    #[inline]
    fn word(&mut self, address: u64) -> Option<u64> {
        // SAFETY: only words of objects that the thread's own state leads to are asked for, and
        // only by that thread, at a call.
        Some(unsafe { (address as *const u64).read_unaligned() })
    }

    fn bytes(&mut self, _: u64, _: &mut [u8]) -> bool {
        false
    }
}

impl Interpreter {
    /// The path of the calling thread's innermost span; 0 outside of spans.
    ///
    /// # Safety
    /// The calling thread is at a call of its own, such as that of an allocator: its state is
    /// whole.
    #[inline]
    pub(crate) unsafe fn current_span(&self) -> u32 {
        match SPANS.get() {
            Some(places) => match self.thread_state() {
                0 => 0,
                state => places.path(&mut Held, state),
            },
            None => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;
    use std::vec;
    use std::vec::Vec;

    use super::*;

    const FEW: u64 = 0x1000;
    const MANY: u64 = 0x2000;
    const CONTEXT: u32 = 40;
    /// The words of the heads of objects, in both kinds of builds.
    const HEADS: [usize; 2] = [2, 4];

    /// Objects whose heads have so many words. They stay where they are.
    #[derive(Clone, Copy)]
    struct Objects(usize);

    impl Objects {
        fn object(self, kind: u64, words: &[u64]) -> u64 {
            let mut all = vec![1; self.0];
            all[self.0 - 1] = kind;
            all.extend(words);
            Box::leak(all.into_boxed_slice()).as_ptr() as u64
        }

        fn span(self, path: u32, state: u32, around: u64) -> u64 {
            let around = match around {
                0 => 0,
                around => around + 8 * self.0 as u64,
            };
            self.object(0, &[u64::from(state) << 32 | u64::from(path), around])
        }

        fn few(self, children: &[(u32, u64, u64)]) -> u64 {
            let bits = children
                .iter()
                .fold(0, |bits, &(child, ..)| bits | 1 << child);
            let mut words = vec![0, bits];
            for &(_, key, value) in children {
                words.extend([key, value]);
            }
            self.object(FEW, &words)
        }

        fn many(self, children: &[(u32, u64)]) -> u64 {
            let mut words = vec![0; 33];
            for &(child, node) in children {
                words[child as usize] = node;
            }
            self.object(MANY, &words)
        }

        fn state(self, root: u64) -> u64 {
            let variables = self.object(0, &[root]);
            let context = self.object(0, &[0, variables]);
            let words: Vec<u64> = vec![0, 0, 0, 0, 0, context];
            Box::leak(words.into_boxed_slice()).as_ptr() as u64
        }

        /// The path where the tree has this root, and the variable is `0xAA`.
        fn path(self, hash: u32, root: u64) -> u32 {
            let places = Places {
                variable: 0xAA,
                hash,
                context: CONTEXT,
                head: 8 * self.0 as u32,
                few: FEW,
                many: MANY,
            };
            places.path(&mut Held, self.state(root))
        }
    }

    #[test]
    fn the_variable_is_found_at_each_depth_of_the_tree() {
        for objects in HEADS.map(Objects) {
            let open = objects.span(7, span_object::OPEN, 0);
            let other = objects.span(8, span_object::OPEN, 0);
            let path = |root| objects.path(3 | 5 << 5 | 30 << 10, root);
            assert_eq!(path(objects.few(&[(3, 0xAA, open)])), 7);
            assert_eq!(path(objects.few(&[(1, 0xBB, other), (3, 0xAA, open)])), 7);
            let second = objects.few(&[(2, 0xCC, other), (5, 0xAA, open), (9, 0xDD, other)]);
            assert_eq!(path(objects.few(&[(0, 0xBB, other), (3, 0, second)])), 7);
            let third = objects.few(&[(30, 0xAA, open)]);
            let second = objects.many(&[(5, third), (6, second)]);
            assert_eq!(path(objects.many(&[(3, second)])), 7);
        }
    }

    #[test]
    fn where_it_is_not_there_is_none() {
        for objects in HEADS.map(Objects) {
            let open = objects.span(7, span_object::OPEN, 0);
            for root in [
                objects.few(&[(3, 0xBB, open)]),
                objects.few(&[(4, 0xAA, open)]),
                objects.many(&[(4, objects.few(&[]))]),
                objects.object(0x3000, &[0, 0]),
                0,
            ] {
                assert_eq!(objects.path(3, root), 0);
            }
            // A tree that leads to itself.
            let ring = objects.object(MANY, &[0, 0, 0, 0]);
            // SAFETY: it is ours, and nothing else reads it.
            unsafe { (ring as *mut u64).add(objects.0 + 3).write(ring) };
            assert_eq!(objects.path(0xC631_8C63, ring), 0);
        }
    }

    #[test]
    fn a_thread_without_a_context_is_in_no_span() {
        let places = Places {
            variable: 0xAA,
            hash: 3,
            context: CONTEXT,
            head: 16,
            few: FEW,
            many: MANY,
        };
        let state = Box::leak(Box::new([0_u64; 6])).as_ptr() as u64;
        assert_eq!(places.path(&mut Held, state), 0);
    }

    #[test]
    fn a_span_that_was_left_counts_for_the_one_around_it() {
        for objects in HEADS.map(Objects) {
            let outer = objects.span(1, span_object::OPEN, 0);
            let left = objects.span(2, 2, outer);
            let inner = objects.span(3, 2, left);
            assert_eq!(objects.path(3, objects.few(&[(3, 0xAA, inner)])), 1);
            let all_left = objects.span(5, 2, objects.span(4, 2, 0));
            assert_eq!(objects.path(3, objects.few(&[(3, 0xAA, all_left)])), 0);
        }
    }
}
