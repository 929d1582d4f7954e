//! C++'s operators `new` and `delete`.
//!
//! Usually they call `malloc` and `free`, which we see, so ours go straight on to the real ones.
//! They are counted here only where the library with the allocator has operators of its own, which
//! do not call its `malloc`.

use core::arch::naked_asm;
use core::ffi::{c_char, c_void};
use core::mem::zeroed;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use profundo_wire::Source;

use crate::machine::{go_straight_on, jump, pass_caller};
use crate::memory::counting::count;
use crate::memory::entry::caller;
use crate::memory::local::{Local, local};
use crate::memory::{ends, next_symbols};

type Block = *mut c_void;
type Tag = *const c_char;

/// The most operators.
const OPERATORS: usize = 20;

/// The real operator that each goes straight on to; 0: to the function below.
static TARGETS: [AtomicUsize; OPERATORS] = [const { AtomicUsize::new(0) }; OPERATORS];

/// The operators that allocate.
macro_rules! new {
    ($($index:literal $name:ident($($argument:ident: $type:ty),*) $inner:ident, $arguments:tt;)*) => {$(
        /// # Safety
        /// As for the operator.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                go_straight_on!(),
                pass_caller!($arguments),
                jump!("{inner}"),
                ".cfi_endproc",
                targets = sym TARGETS,
                index = const $index,
                choose = sym choose::<$index, { next_symbols::Name::$name as usize }>,
                inner = sym $inner,
            )
        }

        unsafe extern "C-unwind" fn $inner(
            size: usize,
            $($argument: $type,)*
            stack: *const u64,
            frame: u64,
            base: u64,
        ) -> Block {
            let Some(real) = next_symbols::$name() else {
                return ptr::null_mut();
            };
            let local = local();
            let taken = Taken { local, left: local.take() };
            // SAFETY: the program's own arguments.
            let block = unsafe { real(size, $($argument),*) };
            let left = taken.left;
            drop(taken);
            // SAFETY: this is called by the operator.
            let caller = || unsafe { caller(stack, frame, base) };
            // The report itself is not counted, and does not allocate.
            count(local, left, block, size, Source::Native, caller);
            block
        }
    )*};
}

/// The operators that free.
macro_rules! delete {
    ($($index:literal $name:ident($($argument:ident: $type:ty),*) $inner:ident;)*) => {$(
        /// # Safety
        /// As for the operator.
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                go_straight_on!(),
                jump!("{inner}"),
                ".cfi_endproc",
                targets = sym TARGETS,
                index = const $index,
                choose = sym choose::<$index, { next_symbols::Name::$name as usize }>,
                inner = sym $inner,
            )
        }

        unsafe extern "C-unwind" fn $inner(block: Block, $($argument: $type),*) {
            let Some(real) = next_symbols::$name() else {
                return;
            };
            ends::freed(block as u64);
            // SAFETY: the program's own arguments.
            unsafe { real(block, $($argument),*) };
        }
    )*};
}

new! {
    0 _Znwm() new_one, 1;
    1 _Znam() new_many, 1;
    2 _ZnwmRKSt9nothrow_t(tag: Tag) new_one_or_none, 2;
    3 _ZnamRKSt9nothrow_t(tag: Tag) new_many_or_none, 2;
    4 _ZnwmSt11align_val_t(alignment: usize) new_one_aligned, 2;
    5 _ZnamSt11align_val_t(alignment: usize) new_many_aligned, 2;
    6 _ZnwmSt11align_val_tRKSt9nothrow_t(alignment: usize, tag: Tag) new_one_aligned_or_none, 3;
    7 _ZnamSt11align_val_tRKSt9nothrow_t(alignment: usize, tag: Tag) new_many_aligned_or_none, 3;
}

delete! {
    8 _ZdlPv() delete_one;
    9 _ZdaPv() delete_many;
    10 _ZdlPvm(size: usize) delete_one_sized;
    11 _ZdaPvm(size: usize) delete_many_sized;
    12 _ZdlPvRKSt9nothrow_t(tag: Tag) delete_one_or_none;
    13 _ZdaPvRKSt9nothrow_t(tag: Tag) delete_many_or_none;
    14 _ZdlPvSt11align_val_t(alignment: usize) delete_one_aligned;
    15 _ZdaPvSt11align_val_t(alignment: usize) delete_many_aligned;
    16 _ZdlPvmSt11align_val_t(size: usize, alignment: usize) delete_one_sized_aligned;
    17 _ZdaPvmSt11align_val_t(size: usize, alignment: usize) delete_many_sized_aligned;
    18 _ZdlPvSt11align_val_tRKSt9nothrow_t(alignment: usize, tag: Tag) delete_one_aligned_or_none;
    19 _ZdaPvSt11align_val_tRKSt9nothrow_t(alignment: usize, tag: Tag) delete_many_aligned_or_none;
}

/// The target that an operator goes straight on to; 0: it is counted, or there is none. From now on
/// it does so at once.
extern "C" fn choose<const INDEX: usize, const NAME: usize>() -> usize {
    if is_counted() {
        return 0;
    }
    let real = next_symbols::ADDRESSES.get(NAME);
    let real = real.map_or(0, |real| real.load(Ordering::Relaxed));
    if let Some(target) = TARGETS.get(INDEX) {
        target.store(real, Ordering::Relaxed);
    }
    real
}

/// The answers to the question whether the operators are to be counted.
mod answer {
    pub const UNKNOWN: u32 = 0;
    pub const NO: u32 = 1;
    pub const YES: u32 = 2;
}

static ANSWER: AtomicU32 = AtomicU32::new(answer::UNKNOWN);

/// True if the operators are to be counted, because the library with `malloc` has its own.
fn is_counted() -> bool {
    match ANSWER.load(Ordering::Acquire) {
        answer::UNKNOWN => {
            // A symbol that was missing when the rest was looked up may be there by now.
            next_symbols::resolve();
            decide()
        }
        answer => answer == answer::YES,
    }
}

fn decide() -> bool {
    let operator = next_symbols::_Znwm().map(|function| base_of(function as usize));
    let malloc = next_symbols::malloc().map(|function| base_of(function as usize));
    let is_counted = operator.is_some() && operator == malloc;
    let answer = if is_counted { answer::YES } else { answer::NO };
    ANSWER.store(answer, Ordering::Release);
    is_counted
}

/// Looks the operators up anew: files were loaded, or unloaded.
pub fn look_again() {
    decide();
    for target in &TARGETS {
        target.store(0, Ordering::Relaxed);
    }
}

/// The base address of the file that contains an address.
fn base_of(address: usize) -> usize {
    // SAFETY: zeroed is a valid one.
    let mut info: libc::Dl_info = unsafe { zeroed() };
    // SAFETY: the place is ours; the call allocates nothing.
    match unsafe { libc::dladdr(address as *const c_void, &mut info) } {
        0 => 0,
        _ => info.dli_fbase as usize,
    }
}

/// Gives the thread its budget back when an operator throws.
struct Taken {
    local: &'static Local,
    left: u64,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.local.set(self.left);
    }
}
