//! Random programs, counted by the tree and by a plain list of their actions.

mod exceptions;

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::boxed::Box;
use std::collections::HashMap;
use std::ptr::NonNull;
use std::vec::Vec;

use core::cell::Cell;
use core::sync::atomic::Ordering;

use super::{Described, EndlessCall, LineTracing, Memory, Pile, Stack, Tree};
use crate::heap::Gaps;
use crate::shared::{CallsFile, NODES, node_flag};

/// Memory of the test's own; the file gets a limited part.
#[derive(Debug)]
struct Own {
    /// The number of further pieces for the file.
    left: Cell<usize>,
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, 4096).unwrap()
}

impl Memory for Own {
    fn map(&self, bytes: usize) -> Option<NonNull<u8>> {
        // SAFETY: nothing of size 0 is asked for.
        NonNull::new(unsafe { alloc_zeroed(layout(bytes)) })
    }

    fn unmap(&self, at: NonNull<u8>, bytes: usize) {
        // SAFETY: it came from above.
        unsafe { dealloc(at.as_ptr(), layout(bytes)) };
    }

    fn fill(&self, _: usize, _: usize) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

fn tree(pieces: usize) -> Tree<Own> {
    // SAFETY: all zero is a valid one.
    let file = unsafe { Box::<CallsFile>::new_zeroed().assume_init() };
    let memory = Own {
        left: Cell::new(pieces),
    };
    // SAFETY: it stays, and has no other user.
    unsafe { Tree::new(NonNull::from(Box::leak(file)), memory) }.unwrap()
}

fn described(key: u64, describe: &mut dyn FnMut(Described<'_>)) {
    describe(Described {
        line: key as u32,
        name: b"f",
        ..Described::default()
    });
}

/// The path of keys from a thread's node to a node.
fn path(tree: &Tree<Own>, mut node: u32) -> Vec<u64> {
    let file = tree.file();
    let mut path = Vec::new();
    loop {
        let row = &file.nodes[node as usize];
        if row.flags.load(Ordering::Relaxed) & node_flag::THREAD != 0 {
            path.reverse();
            return path;
        }
        let function = row.function.load(Ordering::Relaxed) as usize;
        path.push(u64::from(
            file.functions[function].line.load(Ordering::Relaxed),
        ));
        node = row.parent.load(Ordering::Relaxed);
    }
}

#[test]
fn each_place_has_its_calls_and_their_time() {
    let mut tree = tree(usize::MAX);
    let mut stack = Stack::default();
    tree.begin_thread(&mut stack, 7);
    let mut draws = Gaps::new(5);
    let mut now = 0_u64;
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut truth: HashMap<Vec<u64>, (u64, u64, u64)> = HashMap::new();
    for _ in 0..50_000 {
        now += draws.draw() % 10;
        let keys = |open: &[(u64, u64)]| open.iter().map(|call| call.0 / 8).collect::<Vec<_>>();
        if open.len() < 8 && draws.draw().is_multiple_of(2) {
            let (key, goes_on) = ((draws.draw() % 4 + 1) * 8, draws.draw().is_multiple_of(5));
            tree.enter(
                &mut stack,
                key,
                goes_on,
                || now,
                |describe| described(key / 8, describe),
            );
            open.push((key, now));
            let row = truth.entry(keys(&open)).or_default();
            if goes_on {
                row.1 += 1;
            } else {
                row.0 += 1;
            }
        } else if let Some(&(key, began)) = open.last() {
            tree.leave(&mut stack, key, now);
            truth.get_mut(&keys(&open)).unwrap().2 += now - began;
            open.pop();
        }
    }
    now += 5;
    tree.settle(&mut stack, now);
    while let Some(&(_, began)) = open.last() {
        let keys = open.iter().map(|call| call.0 / 8).collect::<Vec<_>>();
        truth.get_mut(&keys).unwrap().2 += now - began;
        open.pop();
    }
    let file = tree.file();
    let count = file.header.nodes.load(Ordering::Relaxed);
    let mut found = HashMap::new();
    // The first has no owner, the second is the thread's.
    for node in 2..count {
        let row = &file.nodes[node as usize];
        let read = |it: &core::sync::atomic::AtomicU64| it.load(Ordering::Relaxed);
        let counted = (read(&row.calls), read(&row.resumes), read(&row.total));
        assert!(found.insert(path(&tree, node), counted).is_none());
    }
    assert_eq!(found, truth);
    assert_eq!(file.header.unmatched.load(Ordering::Relaxed), 0);
}

#[test]
fn where_there_is_no_room_the_last_caller_is_known_and_every_call_counts() {
    // Some hundred nodes have room.
    let mut tree = tree(3);
    let mut stack = Stack::default();
    tree.begin_thread(&mut stack, 7);
    let mut draws = Gaps::new(9);
    let (mut calls, mut open) = (0_u64, Vec::new());
    for _ in 0..200_000 {
        if open.len() < 30 && draws.draw().is_multiple_of(2) {
            let key = (draws.draw() % 6 + 1) * 8;
            tree.enter(
                &mut stack,
                key,
                false,
                || 0,
                |describe| described(key / 8, describe),
            );
            open.push(key);
            calls += 1;
        } else if let Some(key) = open.pop() {
            tree.leave(&mut stack, key, 1);
        }
    }
    let file = tree.file();
    let count = file.header.nodes.load(Ordering::Relaxed) as usize;
    assert!(count < NODES);
    let rows = file.nodes[1..count].iter();
    let counted: u64 = rows.map(|row| row.calls.load(Ordering::Relaxed)).sum();
    let uncounted = file.header.uncounted.load(Ordering::Relaxed);
    assert_eq!(counted + uncounted, calls);
    assert_eq!(file.header.unmatched.load(Ordering::Relaxed), 0);
}

#[test]
fn what_ends_without_a_beginning_does_no_harm() {
    let mut tree = tree(usize::MAX);
    let mut stack = Stack::default();
    tree.begin_thread(&mut stack, 7);
    tree.leave(&mut stack, 8, 1);
    for key in [8, 16, 24] {
        tree.enter(
            &mut stack,
            key,
            false,
            || 10,
            |describe| described(key / 8, describe),
        );
    }
    // The two above were not reported.
    tree.leave(&mut stack, 8, 15);
    assert!(stack.open.is_empty());
    assert_eq!(tree.file().header.unmatched.load(Ordering::Relaxed), 3);
    for key in [8, 16, 24] {
        assert_eq!(tree.total_of(key), (1, 5));
    }
}

#[test]
fn a_line_lasts_until_the_next_one_of_its_call() {
    let mut tree = tree(usize::MAX);
    let mut runs = Pile::new();
    assert_eq!(tree.line_tracing(8), LineTracing::Unknown);
    tree.set_traced_lines(8, Some((10, 13)), |describe| described(1, describe));
    tree.set_traced_lines(16, None, |describe| described(2, describe));
    assert_eq!(
        (tree.line_tracing(8), tree.line_tracing(16)),
        (LineTracing::Yes, LineTracing::No)
    );
    tree.begin_lines(&mut runs, 8);
    tree.line(&mut runs, 8, 11, || 100);
    // It calls itself, and the inner call has lines of its own.
    tree.begin_lines(&mut runs, 8);
    tree.line(&mut runs, 8, 12, || 110);
    tree.line(&mut runs, 8, 99, || 115);
    tree.end_lines(&mut runs, 8, 120);
    tree.line(&mut runs, 8, 13, || 150);
    tree.end_lines(&mut runs, 8, 151);
    assert!(runs.is_empty());
    let lines = &tree.file().lines[..4];
    let read = |it: &core::sync::atomic::AtomicU64| it.load(Ordering::Relaxed);
    let found: Vec<_> = lines
        .iter()
        .map(|line| (read(&line.hits), read(&line.time)))
        .collect();
    assert_eq!(found, [(0, 0), (1, 50), (1, 5), (1, 1)]);
}

#[test]
fn a_line_that_runs_within_itself_lasts_as_long_as_the_outermost() {
    let mut tree = tree(usize::MAX);
    let (mut runs, mut others) = (Pile::new(), Pile::new());
    tree.set_traced_lines(8, Some((10, 13)), |describe| described(1, describe));
    let depth = 1000;
    for at in 0..depth {
        tree.begin_lines(&mut runs, 8);
        tree.line(&mut runs, 8, 11, || at);
        tree.line(&mut runs, 8, 12, || at);
    }
    // Another thread has a time of its own.
    tree.begin_lines(&mut others, 8);
    tree.line(&mut others, 8, 12, || 2000);
    tree.end_lines(&mut others, 8, 2100);
    for at in 0..depth {
        tree.end_lines(&mut runs, 8, 5000 + at);
    }
    // Lines left open by a thread that has gone are free.
    tree.begin_lines(&mut others, 8);
    tree.line(&mut others, 8, 13, || 0);
    tree.drop_lines(&mut others);
    tree.begin_lines(&mut runs, 8);
    tree.line(&mut runs, 8, 13, || 10);
    tree.settle_lines(&mut runs, 15);
    tree.end_lines(&mut runs, 8, 17);
    assert!(runs.is_empty() && others.is_empty());
    let lines = &tree.file().lines[..4];
    let read = |it: &core::sync::atomic::AtomicU64| it.load(Ordering::Relaxed);
    let times: Vec<_> = lines.iter().map(|line| read(&line.time)).collect();
    assert_eq!(times, [0, 0, 5999 + 100, 7]);
    assert!(lines.iter().all(|line| read(&line.held) as u32 == 0));
}

/// The number of calls of the function at an address, and their time.
fn native(tree: &Tree<Own>, address: u64) -> (u64, u64) {
    tree.total_of_native(address)
}

#[test]
fn native_calls_that_are_jumped_out_of_are_over_when_the_next_one_begins_above() {
    const MAIN: u64 = 0x1001;
    const DEEP: u64 = 0x1002;
    const NEXT: u64 = 0x1003;
    let mut tree = tree(64);
    let mut stack = Stack::default();
    tree.begin_thread(&mut stack, 1);
    tree.enter_native(&mut stack, MAIN, 100, || 0);
    for (depth, time) in [(90, 10), (80, 20), (70, 30)] {
        assert!(!stack.is_past(depth));
        tree.enter_native(&mut stack, DEEP, depth, || time);
    }
    // A jump to `main`, which calls another one.
    assert!(stack.is_past(95));
    tree.drop_past(&mut stack, 95, 40);
    assert_eq!(stack.open.len(), 1);
    tree.enter_native(&mut stack, NEXT, 95, || 40);
    tree.leave_native(&mut stack, NEXT, 96, 50);
    // Another one, out of a call of it, to `main`, which ends.
    tree.enter_native(&mut stack, DEEP, 90, || 60);
    tree.leave_native(&mut stack, MAIN, 101, 100);
    assert!(stack.open.is_empty());
    assert_eq!(native(&tree, MAIN), (1, 100));
    assert_eq!(native(&tree, DEEP), (4, 30 + 20 + 10 + 40));
    assert_eq!(native(&tree, NEXT), (1, 10));
    assert_eq!(tree.file().header.unmatched.load(Ordering::Relaxed), 0);
    // An end without a beginning is counted.
    tree.leave_native(&mut stack, NEXT, 96, 110);
    assert_eq!(tree.file().header.unmatched.load(Ordering::Relaxed), 1);
}

#[test]
fn native_calls_that_an_exception_left_end_with_their_caller() {
    const MAIN: u64 = 0x1001;
    const F: u64 = 0x1002;
    let mut tree = tree(64);
    let mut stack = Stack::default();
    tree.begin_thread(&mut stack, 1);
    tree.enter_native(&mut stack, MAIN, 100, || 0);
    for (place, time) in [(90, 10), (80, 20), (70, 30)] {
        tree.enter_native(&mut stack, F, place, || time);
    }
    // A tail call has its caller's place, and is not taken for it.
    assert!(!stack.is_past_again(F, 80));
    tree.leave_native(&mut stack, F, 80, 40);
    assert_eq!(stack.open.len(), 3);
    // The remaining call has thrown into the outermost one.
    assert!(stack.is_past_again(F, 91));
    assert!(!stack.is_past_again(MAIN, 91));
    tree.drop_past_again(&mut stack, 91, 50);
    assert_eq!(stack.open.len(), 2);
    tree.leave_native(&mut stack, F, 91, 60);
    tree.leave_native(&mut stack, MAIN, 101, 100);
    assert!(stack.open.is_empty());
    assert_eq!(native(&tree, F), (3, (40 - 30) + (50 - 20) + (60 - 10)));
    assert_eq!(native(&tree, MAIN), (1, 100));
    assert_eq!(tree.file().header.unmatched.load(Ordering::Relaxed), 0);
}

#[test]
fn calls_of_a_parent_go_on_in_its_child_and_do_not_count_there() {
    let (mut parent, mut child) = (tree(64), tree(64));
    let (mut there, mut here) = (Stack::default(), Stack::default());
    parent.begin_thread(&mut there, 1);
    for (address, place) in [(0x10, 100), (0x20, 90), (0x10, 80)] {
        parent.enter_native(&mut there, address, place, || 5);
    }
    child.begin_thread(&mut here, 2);
    child.go_on_with(&mut here, there.open.all(), Some(1000));
    child.enter_native(&mut here, 0x30, 70, || 1000);
    for (address, place) in [(0x30, 70), (0x10, 80), (0x20, 90), (0x10, 100)] {
        child.leave_native(&mut here, address, place, 1100);
    }
    assert_eq!(native(&child, 0x30), (1, 100));
    assert_eq!(native(&child, 0x20), (0, 100));
    assert_eq!(native(&child, 0x10), (0, 200));
    assert_eq!(child.file().header.unmatched.load(Ordering::Relaxed), 0);
}

#[test]
fn callers_are_known_by_frames_where_ends_are_not_reported() {
    const MAIN: u64 = 0x1001;
    const FIRST: u64 = 0x1002;
    const SECOND: u64 = 0x1003;
    const OTHER: u64 = 0x1004;
    let mut tree = tree(64);
    let mut stack = Stack::default();
    tree.begin_thread(&mut stack, 1);
    let root = stack.root;
    let mut enter = |(address, from), (place, outer), returns_to| {
        let call = EndlessCall {
            address,
            from,
            place,
            outer,
        };
        tree.enter_from(&mut stack, call, || returns_to);
        let parent = |node: u32| {
            tree.file().nodes[node as usize]
                .parent
                .load(Ordering::Relaxed)
        };
        parent(stack.open.top().unwrap().node)
    };
    assert_eq!(enter((MAIN, 7), (100, 120), 0), root);
    let main = enter((FIRST, 71), (90, 100), 7);
    assert_ne!(main, root);
    let first = enter((SECOND, 81), (80, 90), 71);
    assert_ne!(first, main);
    // Both are over: `main` calls the second one, whose frame is smaller.
    assert_eq!(enter((SECOND, 72), (85, 100), 7), main);
    // It has gone on to a silent function that calls back from its own frame, in the place of an
    // earlier one.
    assert_eq!(enter((FIRST, 99), (70, 85), 6), root);
    assert_eq!(enter((FIRST, 99), (70, 77), 6), root);
    // One that has called.
    assert_ne!(enter((OTHER, 82), (60, 70), 99), root);
    assert_eq!(enter((OTHER, 73), (90, 100), 7), main);
    assert_eq!(native(&tree, OTHER).0, 2);
    assert_eq!(native(&tree, FIRST).0, 3);
}
