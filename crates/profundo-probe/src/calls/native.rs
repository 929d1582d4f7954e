//! Calls of native functions, which may end without a hook: by `longjmp`, or by an exception (code
//! built by clang reports only returns).
//!
//! The machine's stack shows it. The stack grows downwards, so a call whose frame lies below that
//! of one that begins or ends is over.

use super::stack::{Open, Stack};
use super::tree::{Described, Memory, Tree};

impl Stack {
    /// Whether the innermost call's frame lies below this place.
    #[inline]
    pub fn is_past(&self, place: u32) -> bool {
        let top = self.open.all().last();
        top.is_some_and(|top| is_below(top, place))
    }

    /// Whether the two innermost calls are of the function at an address that returns to this
    /// place, and both frames lie below it: then the inner one is over.
    #[inline]
    pub fn is_past_again(&self, address: u64, place: u32) -> bool {
        let key = key_of(address);
        match self.open.all() {
            [.., under, top] => under.key == key && top.key == key && is_below(under, place),
            _ => false,
        }
    }
}

/// Places wrap around.
#[inline]
fn is_below(open: &Open, place: u32) -> bool {
    (place.wrapping_sub(open.place) as i32) > 0
}

/// Whether a place lies below a call's frame.
#[inline]
fn is_below_place(place: u32, open: &Open) -> bool {
    (open.place.wrapping_sub(place) as i32) > 0
}

/// A call whose end is not reported.
#[derive(Debug, Clone, Copy)]
pub struct EndlessCall {
    /// The address of its function.
    pub address: u64,
    /// Its return address.
    pub from: u64,
    /// The place of its frame on the stack.
    pub place: u32,
    /// The place of its caller's frame, if it has one.
    pub outer: u32,
}

impl<M: Memory> Tree<M> {
    /// A call of the function at an address begins, with its frame at this place of the stack.
    #[inline]
    pub fn enter_native(
        &mut self,
        stack: &mut Stack,
        address: u64,
        place: u32,
        clock: impl FnOnce() -> u64,
    ) {
        self.enter(stack, key_of(address), false, clock, described(address));
        if let Some(top) = stack.open.top_mut() {
            top.place = place;
        }
    }

    /// A call begins whose end is not reported. `returns_to`: the caller's return address.
    pub fn enter_from(
        &mut self,
        stack: &mut Stack,
        call: EndlessCall,
        returns_to: impl FnOnce() -> u64,
    ) {
        let EndlessCall {
            address,
            from,
            place,
            outer,
        } = call;
        // Calls with frames there or further down are over.
        while stack
            .open
            .top()
            .is_some_and(|top| !is_below_place(place, top))
        {
            stack.open.pop();
        }
        // The caller is not further up.
        let inner = stack.open.all().iter().rev();
        let inner = inner.take_while(|call| is_below(call, outer)).count();
        let at = stack.open.len().checked_sub(inner + 1);
        let caller = at.and_then(|at| stack.open.all().get(at));
        // The frame of a finished call may be that of a call that does not report.
        let caller = caller.filter(|caller| caller.place == outer && caller.began == returns_to());
        let parent = caller.map_or(stack.root, |caller| caller.node);
        if caller.is_some() {
            for _ in 0..inner {
                stack.open.pop();
            }
        }
        let key = key_of(address);
        self.enter_below(stack, parent, key, false, || from, described(address));
        if let Some(top) = stack.open.top_mut() {
            top.place = place;
        }
    }

    /// A call of the function at an address begins, with unknown caller and end.
    pub fn enter_alone(&mut self, stack: &mut Stack, address: u64) {
        let key = key_of(address);
        self.enter_below(stack, stack.root, key, false, || 0, described(address));
        stack.open.pop();
    }

    /// The call ends.
    #[inline]
    pub fn leave_native(&mut self, stack: &mut Stack, address: u64, place: u32, now: u64) {
        let key = key_of(address);
        if stack.open.top().is_some_and(|top| top.key != key) {
            self.drop_up_to(stack, key, place, now);
        }
        self.leave(stack, key, now);
    }

    /// Drops calls below this place, which have ended without a hook.
    #[cold]
    pub fn drop_past(&self, stack: &mut Stack, place: u32, now: u64) {
        while let Some(&top) = stack.open.top()
            && is_below(&top, place)
        {
            self.took(top.node, now.wrapping_sub(top.began));
            stack.open.pop();
        }
    }

    /// Drops the calls of one function that returns to this place, but for the outermost below it.
    #[cold]
    pub fn drop_past_again(&self, stack: &mut Stack, place: u32, now: u64) {
        while let [.., under, top] = *stack.open.all()
            && !stack.open.is_beyond()
            && under.key == top.key
            && is_below(&under, place)
        {
            self.took(top.node, now.wrapping_sub(top.began));
            stack.open.pop();
        }
    }

    /// Drops the calls that the ending one made, if it is there.
    #[cold]
    fn drop_up_to(&self, stack: &mut Stack, key: u64, place: u32, now: u64) {
        let over = stack.open.all().iter().rev();
        let over = over.take_while(|call| call.key != key && is_below(call, place));
        let count = over.count();
        let next = stack.open.len().checked_sub(count + 1);
        let next = next.and_then(|at| stack.open.all().get(at));
        if next.is_none_or(|call| call.key != key) {
            return;
        }
        for _ in 0..count {
            if let Some(top) = stack.open.top() {
                self.took(top.node, now.wrapping_sub(top.began));
            }
            stack.open.pop();
        }
    }

    /// In the child of a fork: calls that began in the parent go on. None of them counts as begun.
    /// `now`: the time, where it is measured.
    pub fn go_on_with(&mut self, stack: &mut Stack, calls: &[Open], now: Option<u64>) {
        for &Open {
            key, place, began, ..
        } in calls
        {
            let parent = stack.node();
            let Some(function) = self.function(key, described(address_of(key))) else {
                return;
            };
            let known = self.children.find(parent, key);
            let node = known.or_else(|| self.new_child(parent, key, function));
            let open = Open {
                key,
                began: now.unwrap_or(began),
                node: node.unwrap_or(0),
                place,
            };
            stack.open.push(open, self.memory());
        }
    }

    /// The number of calls of the function at an address, and their time.
    pub fn total_of_native(&self, address: u64) -> (u64, u64) {
        self.total_of(key_of(address))
    }
}

/// Keys of objects are multiples of eight; functions have any address.
const SHIFT: u32 = 4;

#[inline]
fn key_of(address: u64) -> u64 {
    address << SHIFT
}

fn address_of(key: u64) -> u64 {
    key >> SHIFT
}

#[inline]
fn described(address: u64) -> impl FnOnce(&mut dyn FnMut(Described<'_>)) {
    move |describe| {
        describe(Described {
            kind: crate::shared::function_kind::NATIVE,
            address,
            ..Described::default()
        });
    }
}
