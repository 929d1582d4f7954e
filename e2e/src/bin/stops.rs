//! Stops itself where it was just sampled, so that a debugger's stack can be compared. It prints
//! the sampled stack from `leaf` to the root, a function a line, and `ready`.

use std::hint::black_box;

use profundo::fetch;
use profundo_e2e::{shape::Named, sys, work};

fn main() {
    profundo::init(1_000_000, 0.001).unwrap();
    let mut all = [3_u64, 1, 2];
    // Through code of the standard library, which calls the closure.
    all.sort_by_key(|&number| if number == 2 { by_closure(5) } else { number });
    black_box(all);
}

#[inline(never)]
fn by_closure(depth: u64) -> u64 {
    let call = |depth| black_box(recursion(depth)) + 1;
    black_box(call(depth))
}

#[inline(never)]
fn recursion(depth: u64) -> u64 {
    match depth {
        0 => black_box(leaf::<u32>()),
        _ => black_box(recursion(black_box(depth) - 1)) + 1,
    }
}

#[inline(never)]
fn leaf<T>() -> u64 {
    static ONCE: std::sync::Once = std::sync::Once::new();
    if ONCE.is_completed() {
        return 0;
    }
    profundo::start().unwrap();
    let mut x = work::busy(50);
    profundo::stop();
    let data = fetch().unwrap();
    let named = Named::new(&data);
    let samples = data.profile().samples.iter();
    let stacks = samples.map(|sample| named.functions(sample));
    let stack = stacks
        .filter_map(|stack| {
            let leaf = stack.iter().position(|name| name.contains("leaf"))?;
            Some(stack[leaf..].to_vec())
        })
        .next()
        .expect("one that was taken below us");
    for name in stack {
        sys::print_line(&name);
    }
    sys::print_line("ready");
    // SAFETY: the parent process continues us, or ends us.
    unsafe { libc::raise(libc::SIGSTOP) };
    ONCE.call_once(|| x += size_of::<T>() as u64);
    black_box(x)
}
