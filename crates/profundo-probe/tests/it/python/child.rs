//! The process that is sampled: an interpreter in our own, and the handler on its threads.

use std::ffi::{CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use profundo_probe::caches::{CACHES, Caches};
use profundo_probe::python::{CodeTable, Found, Interpreter, Range};
use profundo_probe::shared::{Control, Ring};
use profundo_probe::stacks::{STACKS, Stacks};
use profundo_probe::{Buffer, CodeMap, Counters, Probe, Recorder, Threads};

use super::clock;
use super::modules::Modules;
use super::verify::{Tally, Verify};
use crate::zeroed;

/// Ten thousand samples in a second of CPU time.
const PERIOD: u64 = 100_000;
const CHUNKS: usize = 4096;
const CHUNK_BYTES: usize = 65536;

/// Prints a line, for the parent.
#[expect(clippy::print_stdout, reason = "a program that only this test runs")]
pub fn print(line: &str) {
    println!("{line}");
}

/// A value in zeroed memory of its own.
fn zeroed_one<T>() -> &'static T {
    let layout = std::alloc::Layout::new::<T>();
    // SAFETY: what is made this way is valid when zero, and never freed.
    unsafe { &*std::alloc::alloc_zeroed(layout).cast::<T>() }
}

/// An interpreter's library in this process.
struct Library(*mut c_void);

impl Library {
    fn open(path: &Path) -> Self {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: loading an interpreter runs no code that objects.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        assert!(!handle.is_null(), "{path:?}");
        Self(handle)
    }

    fn symbol(&self, name: &str) -> *mut c_void {
        let name = CString::new(name).unwrap();
        // SAFETY: the handle is open.
        let found = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!found.is_null(), "{name:?}");
        found
    }

    fn run(&self, program: &str) {
        // SAFETY: the function takes a C string.
        let run: unsafe extern "C" fn(*const c_char) -> c_int =
            unsafe { std::mem::transmute(self.symbol("PyRun_SimpleString")) };
        let program = CString::new(program).unwrap();
        // SAFETY: the interpreter is initialised, and this thread holds its lock.
        assert_eq!(unsafe { run(program.as_ptr()) }, 0);
    }
}

/// Runs the stress in this process for `seconds`, and prints the result.
pub fn main(library: &Path, minor: u8, seconds: f64) {
    let thread = std::thread::Builder::new()
        .stack_size(1 << 30)
        .spawn({
            let library = library.to_owned();
            move || stress(&library, minor, seconds)
        })
        .unwrap();
    thread.join().unwrap();
}

struct Sampler {
    probe: &'static Probe,
    ring: &'static Ring,
    buffer: &'static Buffer,
    interpreter: &'static Interpreter,
    modules: Modules,
}

impl Sampler {
    fn new(library: &Library, name: &str, minor: u8) -> Self {
        let ring: &'static Ring = zeroed_one();
        let control: &'static Control = zeroed_one();
        // SAFETY: a new mapping.
        let words = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                CHUNKS * CHUNK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        // SAFETY: the mapping is as long as the chunks, and has no other user.
        let buffer = unsafe { Buffer::new(words.cast(), zeroed(CHUNKS), 1 << 40, false, 1) };
        let buffer: &'static Buffer = Box::leak(Box::new(buffer));
        let mut modules = Modules::default();
        modules.publish(ring);
        let loops = modules.symbols(name, "_PyEval_EvalFrameDefault");
        for (pair, (start, end)) in ring.header.evaluation.chunks(2).zip(&loops) {
            pair[1].store(*end, Ordering::SeqCst);
            pair[0].store(*start, Ordering::SeqCst);
        }
        // As `dladdr1` does in an agent: the symbol at the address, for its size.
        let mut symbol = |wanted: &str| {
            let address = library.symbol(wanted) as u64;
            let found = modules.symbols(name, wanted);
            let (start, end) = found.into_iter().find(|range| range.0 == address).unwrap();
            Range { start, end }
        };
        let found = Found {
            minor,
            // SAFETY: that is what this function is.
            thread_state: unsafe {
                std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *mut c_void>(
                    library.symbol("PyGILState_GetThisThreadState"),
                )
            },
            code_type: library.symbol("PyCode_Type") as u64,
            runtime: symbol("_PyRuntime"),
            function: symbol("_PyEval_EvalFrameDefault"),
            is_early: true,
        };
        // SAFETY: found as it says.
        let interpreter = unsafe {
            Interpreter::new(
                found,
                &ring.header.evaluation,
                CodeTable::new(zeroed(4096)),
                zeroed(CACHES),
            )
        };
        let interpreter: &'static Interpreter = Box::leak(Box::new(interpreter.unwrap()));
        let recorder = Recorder::new(control, ring);
        if std::env::var_os("NOPY").is_none() {
            recorder.python.publish(interpreter);
        }
        let probe = Box::leak(Box::new(Probe {
            threads: Threads::new(zeroed(4096), zeroed(4096)),
            caches: Caches::new(zeroed(CACHES)),
            stacks: Stacks::new(zeroed(STACKS)),
            code: CodeMap::new(),
            counters: zeroed_one::<Counters>(),
            recorder: Some(recorder),
            enabled: AtomicBool::new(false),
            buffer: AtomicPtr::new(std::ptr::from_ref(buffer).cast_mut()),
            pid: AtomicU32::new(std::process::id()),
            main_stack_end: 0,
        }));
        Self {
            probe,
            ring,
            buffer,
            interpreter,
            modules,
        }
    }

    fn enable(&self, enabled: bool) {
        let enabled = u32::from(enabled);
        self.ring.header.enabled.store(enabled, Ordering::SeqCst);
    }

    /// Passes on all chunks, and empties them.
    fn drain(&self, verify: &mut Verify) {
        // The last handlers are done soon.
        std::thread::sleep(std::time::Duration::from_millis(5));
        let chunks = 0..self.buffer.claims().touched();
        // A thread may use a code object that another one has recorded, in a later chunk.
        for index in chunks.clone() {
            self.buffer.read_chunk(index, |words| verify.codes(words));
        }
        for index in chunks {
            self.buffer.read_chunk(index, |words| verify.samples(words));
        }
        assert!(self.buffer.clear());
    }
}

fn stress(path: &Path, minor: u8, seconds: f64) {
    let library = Library::open(path);
    // SAFETY: the function takes a number.
    let initialise: unsafe extern "C" fn(c_int) =
        unsafe { std::mem::transmute(library.symbol("Py_InitializeEx")) };
    // SAFETY: it is called once.
    unsafe { initialise(0) };
    library.run("import sys; sys.setrecursionlimit(100000)");
    let source = include_str!("stress.py");
    library.run(&format!(
        "source = {source:?}\nexec(compile(source, 'stress', 'exec'))"
    ));
    let edges = std::env::temp_dir().join(format!("profundo-edges-{}", std::process::id()));
    library.run("everything(0.2)");
    library.run(&format!("observe({:?})", edges.to_str().unwrap()));

    let name = path.file_name().unwrap().to_str().unwrap();
    let mut sampler = Sampler::new(&library, name, minor);
    let mut verify = Verify::new(
        &std::fs::read_to_string(&edges).unwrap(),
        &sampler.ring.header,
    );
    std::fs::remove_file(&edges).unwrap();
    if !clock::start(sampler.probe, PERIOD) {
        print("skipped: perf_event_open is not permitted");
        return;
    }
    let mut left = seconds;
    while left > 0.0 {
        let round = left.min(2.0);
        sampler.modules.publish(sampler.ring);
        sampler.enable(true);
        library.run(&format!("everything({round})"));
        sampler.enable(false);
        sampler.drain(&mut verify);
        left -= round;
    }
    let counters = sampler.probe.counters;
    let (cycles, handled) = (
        counters.cycles.load(Ordering::SeqCst),
        counters.handled.load(Ordering::SeqCst),
    );
    verify.report();
    let Tally { samples, .. } = verify.tally;
    print(&format!(
        "{samples} samples, {} cycles each (median {}), {} full, {} reentrant, {} code objects",
        cycles / handled.max(1),
        clock::median(),
        counters.buffer_full.load(Ordering::SeqCst),
        counters.reentrant.load(Ordering::SeqCst),
        sampler.interpreter.codes.given(),
    ));

    // Deep recursion: bounded time, and a stack marked as cut.
    let stress = std::mem::take(&mut verify.tally);
    sampler.enable(true);
    let before = (
        counters.cycles.load(Ordering::SeqCst),
        counters.handled.load(Ordering::SeqCst),
    );
    library.run("deep(50000)");
    sampler.enable(false);
    sampler.drain(&mut verify);
    let after = (
        counters.cycles.load(Ordering::SeqCst),
        counters.handled.load(Ordering::SeqCst),
    );
    let each = (after.0 - before.0) / (after.1 - before.1).max(1);
    print(&format!(
        "deep: {} samples, {} cut, {each} cycles each",
        verify.tally.samples, verify.tally.python_truncated
    ));
    // Threads run on while the interpreter ends.
    library.run("threading.Thread(target=mix, args=(time.monotonic() + 9,), daemon=True).start()");
    sampler.enable(true);
    // SAFETY: the functions take nothing, and this thread holds the lock.
    unsafe {
        let finalise = library.symbol("Py_FinalizeEx");
        let finalise: unsafe extern "C" fn() -> c_int = std::mem::transmute(finalise);
        assert_eq!(finalise(), 0);
    }
    (0..3_000_000_u64).for_each(|number| {
        std::hint::black_box(number);
    });
    sampler.enable(false);
    let recursion = std::mem::take(&mut verify.tally);
    sampler.drain(&mut verify);
    print(&format!("end: {} samples", verify.tally.samples));
    let is_known = |name: &String| name.starts_with("Thread-");
    assert!(verify.names.iter().all(is_known), "{:?}", verify.names);
    assert!(!verify.names.is_empty());
    print(&format!(
        "result {} {} {} {} {} {} {} {} {}",
        stress.samples,
        stress.impossible,
        stress.python_broken,
        stress.native_broken,
        stress.homeless,
        stress.misplaced,
        stress.missing,
        recursion.samples,
        recursion.python_truncated,
    ));
}
