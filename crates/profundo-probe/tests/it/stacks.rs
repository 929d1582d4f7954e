//! Samples go on in a stack of ours where the signal's own is too small, and only there.

use std::mem::MaybeUninit;

use profundo_probe::stacks::{STACKS, Stack, Stacks};

use crate::zeroed;

/// A context with a signal stack that begins this many bytes below this frame.
fn context(below: Option<usize>) -> libc::ucontext_t {
    // SAFETY: the structure is plain data, valid when zero.
    let mut context: libc::ucontext_t = unsafe { MaybeUninit::zeroed().assume_init() };
    if let Some(below) = below {
        let here = (&raw const context) as usize;
        context.uc_stack.ss_sp = (here - below) as *mut _;
        context.uc_stack.ss_size = 1 << 20;
    }
    context
}

/// Whether the work ran, and the address of its variables.
fn run(stacks: &Stacks, context: &libc::ucontext_t) -> (bool, u64) {
    let mut place = 0;
    // SAFETY: only the stack that the context describes is read.
    let has_run = unsafe {
        stacks.run(context, || {
            let mut here = 0_u64;
            place = std::hint::black_box(&raw mut here) as u64;
        })
    };
    (has_run, place)
}

#[test]
fn work_goes_where_there_is_room() {
    let memory: &'static [Stack] = zeroed(STACKS);
    let range = memory.as_ptr_range();
    let ours = range.start as u64..range.end as u64;
    let stacks = Stacks::new(memory);
    // A signal stack with plenty of room, and none: a thread's own may be just large enough for
    // itself and for optimised code.
    for (plenty, is_enough) in [(Some(1 << 19), true), (None, !cfg!(debug_assertions))] {
        let (has_run, place) = run(&stacks, &context(plenty));
        assert!(has_run && place != 0 && ours.contains(&place) != is_enough);
    }
    // The frames of this test lie below the context, by less than this in all.
    for _ in 0..2 * STACKS {
        let (has_run, place) = run(&stacks, &context(Some(3 << 10)));
        assert!(has_run && ours.contains(&place));
    }
}

#[test]
fn each_that_is_inside_has_a_stack_of_its_own() {
    let stacks = Stacks::new(zeroed(2));
    let scarce = context(Some(3 << 10));
    let mut inner = [None; 2];
    // SAFETY: as above.
    let outer = unsafe {
        stacks.run(&scarce, || {
            // A stack of ours is not the one of the context, so this has room.
            inner[0] = Some(run(&stacks, &context(Some(1 << 19))).0);
            inner[1] = Some(run(&stacks, &context(Some(3 << 10))).0);
        })
    };
    assert_eq!((outer, inner), (true, [Some(true), Some(true)]));
    let none = Stacks::new(&[]);
    assert_eq!(run(&none, &scarce), (false, 0), "nothing is left to lend");
}
