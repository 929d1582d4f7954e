//! The cost of counting a call, measured in the interpreter itself before the program begins.
//!
//! An empty Python function and a C function are called some thousand times, first as ever and then
//! counted. Preemption would spoil that, so it is done in many short runs, of which the best
//! counts. Of the added time, a part falls between the two moments at which a call is measured and
//! is attributed to the callee; the rest is attributed to the caller.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::api::{Calls, Method, Object};
use super::state::{State, state, time};
use crate::inject::{exclusive, table};
use crate::process;

table! {
    /// Functions that only the measurement calls.
    Runs {
        run: c"PyRun_StringFlags" as unsafe extern "C" fn(*const c_char, c_int, Object, Object, *mut c_void) -> Object,
        new_dict: c"PyDict_New" as unsafe extern "C" fn() -> Object,
        in_dict: c"PyDict_GetItemString" as unsafe extern "C" fn(Object, *const c_char) -> Object,
    }
}

const PROGRAM: &CStr = c"\
def f():pass
def run(r,f,g,now):
 now()
 for _ in r:pass
 now()
 for _ in r:f()
 now()
 for _ in r:g(_)
 now()
few=range(100)
r=range(256)
";
/// Calls per run.
const CALLS: u64 = 256;
/// Costs are reported for this many calls.
const REPORTED_CALLS: u64 = 1024;
/// `Py_file_input`.
const FILE: c_int = 257;
static TIMES: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
static NEXT: AtomicUsize = AtomicUsize::new(0);

const NO_ARGUMENTS: c_int = 4;
/// Builtins with this convention are the fastest to call.
const ONE_ARGUMENT: c_int = 8;

static NOW: Method = Method {
    name: c"now".as_ptr(),
    function: now as *const () as *const c_void,
    flags: NO_ARGUMENTS,
    doc: core::ptr::null(),
};

static NOTHING: Method = Method {
    name: c"nothing".as_ptr(),
    function: nothing as *const () as *const c_void,
    flags: ONE_ARGUMENT,
    doc: core::ptr::null(),
};

/// Notes the time.
unsafe extern "C" fn now(own: Object, _: Object) -> Object {
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the interpreter calls with its lock held.
    let uses_cpu = unsafe { state() }.is_some_and(|state| state.uses_cpu());
    if let Some(place) = TIMES.get(next % TIMES.len()) {
        place.store(time(uses_cpu), Ordering::Relaxed);
    }
    // SAFETY: as above.
    unsafe { nothing(own, null_mut()) }
}

unsafe extern "C" fn nothing(_: Object, _: Object) -> Object {
    match super::api::find() {
        // SAFETY: the interpreter calls with its lock held.
        Some(calls) => unsafe {
            (calls.retain)(calls.none);
            calls.none
        },
        None => null_mut(),
    }
}

/// The objects that the measurement calls.
pub struct Measure {
    calls: &'static Calls,
    names: Object,
    functions: [Object; 6],
    plain: [u64; 2],
    /// The time for runs, in nanoseconds.
    enough: u64,
}

/// The costs that were measured last in a running program, and the functions that count calls: the
/// next session need not make the program wait for the same result.
static KNOWN: [AtomicU64; 5] = [const { AtomicU64::new(0) }; 5];

/// Writes costs down that were measured in an earlier session. `false`: there are none.
pub fn repeat(state: &State) -> bool {
    let [which, known @ ..] = &KNOWN;
    let is_known = which.load(Ordering::Relaxed) == key_of(state);
    if is_known {
        let places = state.tree.file().header.cost.iter().flatten();
        for (place, known) in places.zip(known) {
            place.store(known.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }
    is_known
}

/// What the costs depend on.
fn key_of(state: &State) -> u64 {
    1 | u64::from(state.has_builtins) << 1 | u64::from(state.uses_cpu()) << 2
}

impl Measure {
    /// Measures how long uncounted calls take. `None`: it cannot be measured.
    ///
    /// # Safety
    /// The lock is held, and nothing is counted yet.
    pub unsafe fn begin(calls: &'static Calls, is_late: bool) -> Option<Self> {
        /// After this time, no more runs; a program that runs already does not wait for as long.
        const ENOUGH: u64 = 4_000_000;
        const ENOUGH_LATE: u64 = 1_000_000;
        // SAFETY: these are the types of the interpreter's functions of these names; the lock is
        // held.
        unsafe {
            let runs = Runs::find()?;
            let names = (runs.new_dict)();
            if names.is_null() {
                calls.drop_error();
                return None;
            }
            let done = (runs.run)(PROGRAM.as_ptr(), FILE, names, names, null_mut());
            if done.is_null() {
                calls.drop_error();
                (calls.release)(names);
                return None;
            }
            (calls.release)(done);
            let named = |name: &CStr| (runs.in_dict)(names, name.as_ptr());
            let made = |method| (calls.new_function)(method, null_mut(), null_mut());
            let functions = [
                named(c"run"),
                named(c"few"),
                named(c"r"),
                named(c"f"),
                made(&NOTHING),
                made(&NOW),
            ];
            let mut measure = Self {
                calls,
                names,
                functions,
                plain: [0; 2],
                enough: if is_late { ENOUGH_LATE } else { ENOUGH },
            };
            if functions.iter().any(|function| function.is_null()) {
                calls.drop_error();
                return None;
            }
            let [plain, _] = measure.least(|| [0; 2])?;
            measure.plain = plain;
            Some(measure)
        }
    }

    /// The time that all calls of each kind take.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn run(&self, range: Object) -> Option<[u64; 2]> {
        let [run, _, _, f, g, now] = self.functions;
        NEXT.store(0, Ordering::Relaxed);
        // SAFETY: the caller vouches. The list of arguments ends with a null pointer.
        unsafe {
            let answer = (self.calls.call)(run, range, f, g, now, null_mut::<c_void>());
            if answer.is_null() {
                self.calls.drop_error();
                return None;
            }
            (self.calls.release)(answer);
        }
        let [a, b, c, d] = TIMES.each_ref().map(|time| time.load(Ordering::Relaxed));
        let empty = b.wrapping_sub(a);
        let taken = |from: u64, to: u64| to.wrapping_sub(from).saturating_sub(empty);
        Some([taken(b, c), taken(c, d)])
    }

    /// The shortest times of some runs, since other threads may take the CPU. `also` is asked after
    /// each run; its smallest answer is the second half.
    ///
    /// # Safety
    /// The lock is held.
    unsafe fn least(&self, mut also: impl FnMut() -> [u64; 2]) -> Option<[[u64; 2]; 2]> {
        /// The interpreter specializes code during the first runs.
        const WARM: usize = 3;
        const RUNS: usize = 64;
        const SOME: usize = 8;
        let [_, few, many, ..] = self.functions;
        let mut least = [[u64::MAX; 2]; 2];
        for _ in 0..WARM {
            // SAFETY: the caller vouches.
            unsafe { self.run(few) }?;
            also();
        }
        let began = process::time(libc::CLOCK_MONOTONIC);
        for run in 0..RUNS {
            if run >= SOME && process::time(libc::CLOCK_MONOTONIC).wrapping_sub(began) > self.enough
            {
                break;
            }
            // SAFETY: as above.
            let both = [unsafe { self.run(many) }?, also()];
            for (least, now) in least.iter_mut().flatten().zip(both.into_iter().flatten()) {
                *least = now.min(*least);
            }
        }
        Some(least)
    }

    /// Measures how long counted calls take, and writes down the difference.
    ///
    /// # Safety
    /// The lock is held, and calls are counted.
    pub unsafe fn end(self) {
        const CODE: &CStr = c"__code__";
        // SAFETY: the caller vouches.
        unsafe {
            let code = super::api::attribute(self.calls, self.functions[3], CODE);
            let keys = [code as u64, &raw const NOTHING as u64];
            let total = || {
                let _alone = exclusive::COUNTS.enter();
                keys.map(|key| state().map_or(0, |state| state.tree.total_of(key).1))
            };
            let mut before = total();
            let counted = self.least(|| {
                let now = total();
                let taken = [
                    now[0].wrapping_sub(before[0]),
                    now[1].wrapping_sub(before[1]),
                ];
                before = now;
                taken
            });
            if let (Some([counted, within]), Some(state)) = (counted, state()) {
                let header = &state.tree.file().header;
                let [which, known @ ..] = &KNOWN;
                which.store(key_of(state), Ordering::Relaxed);
                let mut known = known.iter();
                let rows = counted.into_iter().zip(within).zip(self.plain);
                for (((counted, within), plain), cost) in rows.zip(&header.cost) {
                    let all = counted.saturating_sub(plain);
                    // Of what the empty function takes, half is its own: it begins and ends about
                    // as long.
                    let inner = within.saturating_sub(plain / 2).min(all);
                    let [inside, outside] = cost;
                    for (place, cost) in [(inside, inner), (outside, all - inner)] {
                        let cost = cost * REPORTED_CALLS / CALLS;
                        place.store(cost, Ordering::Relaxed);
                        if let Some(known) = known.next() {
                            known.store(cost, Ordering::Relaxed);
                        }
                    }
                }
            }
            if !code.is_null() {
                (self.calls.release)(code);
            }
        }
    }
}

impl Drop for Measure {
    fn drop(&mut self) {
        // SAFETY: the lock is held as long as one is there; the first four are the dictionary's.
        unsafe {
            for made in self
                .functions
                .iter()
                .skip(4)
                .filter(|function| !function.is_null())
            {
                (self.calls.release)(*made);
            }
            (self.calls.release)(self.names);
        }
    }
}
