//! Pythons of all versions, with the agent and without.

use std::process::Command;

use profundo_testing::skip;

use crate::programs::pythons;
use crate::recorder::{NO_SAMPLES, Options, Run, SAMPLING, compare};

fn each(options: Options, code: &str, check: impl Fn(u8, &Run)) {
    for (minor, python) in pythons() {
        let mut command = Command::new(&python);
        command.args(["-c", code]);
        command.env_remove("PYTHONHOME");
        let run = compare(options, &mut command);
        check(minor, &run);
    }
}

#[test]
fn the_environment_and_the_descriptors_are_the_programs() {
    let code = "
import os, subprocess
print(sorted(os.environ.items()))
print(sorted(os.listdir('/proc/self/fd')), len(os.listdir('/proc/self/task')))
print(subprocess.run(['env'], capture_output=True, text=True).stdout)
print(subprocess.run(['env'], capture_output=True, text=True, env={}).stdout)
print(os.popen('env').read(), os.system('exit 3'))
";
    for options in [NO_SAMPLES, SAMPLING] {
        each(options, code, |minor, run| {
            assert_eq!(run.first().python >> 8, u32::from(minor) | 3 << 8);
            assert!(run.kinds().0 >= 6, "{:?}", run.seen);
        });
    }
}

#[test]
fn children_of_all_kinds_are_followed() {
    for method in ["fork", "spawn", "forkserver"] {
        let code = format!(
            "
import multiprocessing as m, os, sys, tempfile
text = '''
import multiprocessing as m
def f(x):
    return sum(i * i for i in range(x))
if __name__ == '__main__':
    m.set_start_method('{method}')
    with m.Pool(3) as p:
        print(p.map(f, [1000, 20000, 300000] * 3))
'''
path = os.path.join(tempfile.mkdtemp(), 'pool.py')
open(path, 'w').write(text)
sys.stdout.flush()
os.execv(sys.executable, [sys.executable, path])
"
        );
        each(SAMPLING, &code, |minor, run| {
            let (execs, forks) = run.kinds();
            match method {
                "fork" => assert!(forks >= 3, "3.{minor} {method}: {execs} {forks}"),
                "spawn" => assert!(execs >= 5, "3.{minor} {method}: {execs} {forks}"),
                _ => assert!(
                    execs >= 3 && forks >= 3,
                    "3.{minor} {method}: {execs} {forks}"
                ),
            }
        });
    }
}

#[test]
fn python_samples_arrive() {
    if !crate::clock::is_permitted() {
        return;
    }
    let code = "
import time
def busy(until):
    x = 0
    while time.process_time() < until:
        for i in range(10000): x += i
    return x > 0
print(busy(0.4))
";
    each(SAMPLING, code, |minor, run| {
        let first = run.first();
        if minor > 14 {
            return skip(&format!("3.{minor} is not known"));
        }
        assert_eq!(first.python_refused, 0, "3.{minor}");
        let ms = first.weight.values().sum::<u64>() / 1_000_000;
        assert!((300..600).contains(&ms), "3.{minor}: {ms} ms");
        let share = first.python_samples as f64 / first.samples as f64;
        assert!(share > 0.4, "3.{minor}: {share}");
        assert!(first.codes > 0);
        assert_eq!(first.unreadable, 0);
    });
}

#[test]
fn waiting_for_the_lock_is_counted() {
    let code = "
import threading, time
def spin():
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        pass
threads = [threading.Thread(target=spin) for _ in range(2)]
for t in threads: t.start()
for t in threads: t.join()
";
    each(SAMPLING, code, |minor, run| {
        let waited = run.first().lock_wait as f64 / 1e9;
        // Two threads that would both run for half a second have the lock by turns.
        // On a busy machine they wait for a processor as well.
        assert!((0.15..1.1).contains(&waited), "3.{minor}: {waited} s");
        assert!(run.first().threads.len() == 3);
    });
}

#[test]
fn threads_signals_and_handlers() {
    let code = "
import faulthandler, os, signal, sys, threading, time
faulthandler.enable()
got = []
signal.signal(signal.SIGURG, lambda s, f: got.append(s))
signal.signal(signal.SIGALRM, lambda s, f: got.append(s))
signal.setitimer(signal.ITIMER_REAL, 0.05)
def work():
    x = 0
    for i in range(300000): x += i
threads = [threading.Thread(target=work) for _ in range(20)]
for t in threads: t.start()
for t in threads: t.join()
time.sleep(0.1)
os.kill(os.getpid(), signal.SIGURG)
time.sleep(0.01)
print(got.count(signal.SIGURG), got.count(signal.SIGALRM), signal.getsignal(signal.SIGURG) is not None)
signal.signal(signal.SIGURG, signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, range(1, signal.NSIG))
work()
print(signal.sigtimedwait(range(1, signal.NSIG), 0))
sys.stdout.flush()
os._exit(4)
";
    each(SAMPLING, code, |_, run| {
        assert_eq!(run.first().exit_code, 4);
        assert_eq!(run.first().threads.len(), 21);
    });
}

/// A program that opens the interpreter's library long after its start, as a plugin would.
#[test]
fn an_interpreter_that_is_opened_late_is_found() {
    if !crate::clock::is_permitted() {
        return;
    }
    let source = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        #include <stdlib.h>
        int main(int argc, char **argv) {
            volatile long x = 0;
            for (long i = 0; i < 20000000; i++) x += i;
            void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
            if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
            void (*begin)(int) = dlsym(library, "Py_InitializeEx");
            int (*run)(const char *, void *) = dlsym(library, "PyRun_SimpleStringFlags");
            void (*end)(void) = dlsym(library, "Py_Finalize");
            begin(0);
            int result = run(argv[2], 0);
            end();
            return result;
        }"#;
    let Some(program) = crate::programs::compile("embeds", source, &["-ldl"]) else {
        return;
    };
    let code = "
import time, threading
def busy():
    x = 0
    while time.process_time() < 0.5:
        for i in range(10000): x += i
t = threading.Thread(target=busy); t.start(); t.join()
print('done')
";
    for (minor, python) in pythons() {
        let prefix = python.parent().unwrap().parent().unwrap();
        let library = prefix.join(format!("lib/libpython3.{minor}.so.1.0"));
        if !library.exists() {
            continue;
        }
        let mut command = Command::new(&program);
        command.arg(&library).arg(code).env("PYTHONHOME", prefix);
        let run = compare(SAMPLING, &mut command);
        let first = run.first();
        assert_eq!(first.python >> 8, u32::from(minor) | 3 << 8);
        assert_eq!(first.python_refused, 0, "3.{minor}");
        assert!(first.python_samples > 15, "3.{minor}: {first:?}");
    }
}
