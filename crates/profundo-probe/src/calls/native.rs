//! Calls of native functions, which may end without a word: by `longjmp`, or by an exception (what clang builds tells of returns only).
//!
//! The machine's stack tells. It grows downwards, so a call whose frame lies below that of one that begins or ends is over.

use super::stack::{Open, Stack};
use super::tree::{Described, Memory, Tree};

impl Stack {
    /// Whether the innermost call's frame lies below this place.
    #[inline]
    pub fn is_past(&self, place: u32) -> bool {
        let top = self.open.all().last();
        top.is_some_and(|top| is_below(top, place))
    }

    /// Whether the two innermost calls are of the function at an address that ends at this place, and both frames lie below that: then
    /// the inner one is over.
    #[inline]
    pub fn is_past_again(&self, address: u64, place: u32) -> bool {
        let key = key_of(address);
        match self.open.all() {
            [.., under, top] => under.key == key && top.key == key && is_below(under, place),
            _ => false,
        }
    }
}

/// Places count round.
#[inline]
fn is_below(open: &Open, place: u32) -> bool {
    (place.wrapping_sub(open.place) as i32) > 0
}

/// Whether a place lies below a call's frame.
#[inline]
fn is_below_place(place: u32, open: &Open) -> bool {
    (open.place.wrapping_sub(place) as i32) > 0
}

impl<M: Memory> Tree<M> {
    /// A call begins of the function at an address, with its frame at this place of the stack.
    #[inline]
    pub fn enter_native(
        &mut self,
        stack: &mut Stack,
        (address, place): (u64, u32),
        clock: impl FnOnce() -> u64,
    ) {
        self.enter(stack, (key_of(address), false), clock, described(address));
        if let Some(top) = stack.open.top_mut() {
            top.place = place;
        }
    }

    /// A call begins of the function that an address is in, of whose end nobody will tell. It returns to `from`. Its frame is at the first
    /// of the places, and its caller's, if that has one, at the second. `returns_to`: where the caller returns to.
    pub fn enter_from(
        &mut self,
        stack: &mut Stack,
        (address, from): (u64, u64),
        (place, outer): (u32, u32),
        returns_to: impl FnOnce() -> u64,
    ) {
        // What had its frame there or further down is over.
        while stack
            .open
            .top()
            .is_some_and(|top| !is_below_place(place, top))
        {
            stack.open.pop();
        }
        // Further up than the caller nobody is meant.
        let inner = stack.open.all().iter().rev();
        let inner = inner.take_while(|it| is_below(it, outer)).count();
        let at = stack.open.len().checked_sub(inner + 1);
        let caller = at.and_then(|at| stack.open.all().get(at));
        // In the frame of one that is over there may be one that does not tell.
        let caller = caller.filter(|it| it.place == outer && it.began == returns_to());
        let parent = caller.map_or(stack.root, |it| it.node);
        if caller.is_some() {
            for _ in 0..inner {
                stack.open.pop();
            }
        }
        let key = (key_of(address), false);
        self.enter_below(stack, parent, key, || from, described(address));
        if let Some(top) = stack.open.top_mut() {
            top.place = place;
        }
    }

    /// A call begins of the function that an address is in, and it is not known whose, nor when it ends.
    pub fn enter_alone(&mut self, stack: &mut Stack, address: u64) {
        let key = (key_of(address), false);
        self.enter_below(stack, stack.root, key, || 0, described(address));
        stack.open.pop();
    }

    /// It ends.
    #[inline]
    pub fn leave_native(&mut self, stack: &mut Stack, (address, place): (u64, u32), now: u64) {
        let key = key_of(address);
        if stack.open.top().is_some_and(|top| top.key != key) {
            self.drop_up_to(stack, (key, place), now);
        }
        self.leave(stack, key, now);
    }

    /// What lies below this place has ended without a word.
    #[cold]
    pub fn drop_past(&self, stack: &mut Stack, place: u32, now: u64) {
        while let Some(&top) = stack.open.top()
            && is_below(&top, place)
        {
            self.took(top.node, now.wrapping_sub(top.began));
            stack.open.pop();
        }
    }

    /// Of calls of one function that ends at this place, all but the outermost below it are over.
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

    /// The same of what was called by the one that ends now, if there is such a one.
    #[cold]
    fn drop_up_to(&self, stack: &mut Stack, (key, place): (u64, u32), now: u64) {
        let over = stack.open.all().iter().rev();
        let over = over.take_while(|it| it.key != key && is_below(it, place));
        let count = over.count();
        let next = stack.open.len().checked_sub(count + 1);
        let next = next.and_then(|at| stack.open.all().get(at));
        if next.is_none_or(|it| it.key != key) {
            return;
        }
        for _ in 0..count {
            if let Some(top) = stack.open.top() {
                self.took(top.node, now.wrapping_sub(top.began));
            }
            stack.open.pop();
        }
    }

    /// In the child of a fork: calls that began in the parent go on. None of them counts as begun. `now`: where time is measured.
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

    /// How many calls there were of the function at an address, and how long they took.
    pub fn total_of_native(&self, address: u64) -> (u64, u64) {
        self.total_of(key_of(address))
    }
}

/// What keys stand for begins at multiples of eight; functions begin anywhere.
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
    move |tell| {
        tell(Described {
            kind: crate::shared::function_kind::NATIVE,
            address,
            ..Described::default()
        });
    }
}
