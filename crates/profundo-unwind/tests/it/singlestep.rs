//! Every instruction of a program is a place where a sample may fall. A child is stepped from its
//! entry point to its last instruction, and a shadow stack notes its calls and returns as they
//! happen: the walk must give the same, in every prologue and epilogue.

use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use profundo_testing::compile;
use profundo_unwind::{End, General, Memory, Modules, Regs, WalkCache};

use crate::process::{Process, Remote};

/// A walk without the frame pointer every so many steps: it is slower, and meant for blocked
/// threads, which are fewer.
const BLIND: usize = 7;
const SYSCALL: u64 = 0x050f;

/// A word of the child's stack that holds a return address.
struct Entry {
    slot: u64,
    address: u64,
}

/// The stack of a child read at once, and the rest of its memory word by word.
struct Snapshot {
    start: u64,
    words: Vec<u64>,
    remote: Remote,
}

impl Memory for Snapshot {
    fn read(&mut self, address: u64) -> Option<u64> {
        let offset = address.wrapping_sub(self.start);
        match self.words.get(offset as usize / 8) {
            Some(word) if offset.is_multiple_of(8) => Some(*word),
            _ => self.remote.read(address),
        }
    }
}

struct Child {
    pid: i32,
}

impl Child {
    fn spawn(program: &Path) -> Self {
        let mut command = Command::new(program);
        // SAFETY: the child only asks to be traced between fork and exec.
        unsafe {
            command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        let pid = command.spawn().unwrap().id() as i32;
        let child = Self { pid };
        assert_eq!(child.wait(), Some(libc::SIGTRAP));
        let kill = libc::PTRACE_O_EXITKILL;
        // SAFETY: the child is stopped, and traced by this thread.
        let set = unsafe { libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, kill) };
        assert_eq!(set, 0);
        child
    }

    /// The signal that the child stopped by; `None` when it is gone.
    fn wait(&self) -> Option<i32> {
        let mut status = 0;
        // SAFETY: the status is ours.
        let waited = unsafe { libc::waitpid(self.pid, &mut status, 0) };
        assert_eq!(waited, self.pid);
        libc::WIFSTOPPED(status).then(|| libc::WSTOPSIG(status))
    }

    /// Runs to the address of an instruction that runs again later.
    fn run_to(&self, address: u64) {
        let word = Remote(self.pid).read(address).unwrap();
        let poke = |word: u64| {
            // SAFETY: the child is stopped, and traced by this thread.
            let poked = unsafe { libc::ptrace(libc::PTRACE_POKETEXT, self.pid, address, word) };
            assert_eq!(poked, 0);
        };
        poke(word & !0xff | 0xcc);
        // SAFETY: as above.
        let continued = unsafe { libc::ptrace(libc::PTRACE_CONT, self.pid, 0, 0) };
        assert_eq!(continued, 0);
        assert_eq!(self.wait(), Some(libc::SIGTRAP));
        poke(word);
        let mut registers = self.registers();
        assert_eq!(registers.rip, address + 1);
        registers.rip = address;
        // SAFETY: as above; the registers are the child's own but for one.
        let set = unsafe { libc::ptrace(libc::PTRACE_SETREGS, self.pid, 0, &raw mut registers) };
        assert_eq!(set, 0);
    }

    fn step(&self, signal: i32) -> Option<i32> {
        // SAFETY: the child is stopped, and traced by this thread.
        let stepped = unsafe { libc::ptrace(libc::PTRACE_SINGLESTEP, self.pid, 0, signal) };
        assert_eq!(stepped, 0);
        self.wait()
    }

    fn registers(&self) -> libc::user_regs_struct {
        // SAFETY: the structure is plain data, of which the kernel fills all.
        unsafe {
            let mut registers = std::mem::zeroed();
            let got = libc::ptrace(libc::PTRACE_GETREGS, self.pid, 0, &raw mut registers);
            assert_eq!(got, 0);
            registers
        }
    }

    fn snapshot(&self, sp: u64) -> Snapshot {
        let mut words = vec![0_u64; 256];
        let local = libc::iovec {
            iov_base: words.as_mut_ptr().cast(),
            iov_len: words.len() * 8,
        };
        let remote = libc::iovec {
            iov_base: sp as *mut _,
            iov_len: words.len() * 8,
        };
        // SAFETY: the kernel checks the remote range, and the local one is ours.
        let read = unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) };
        words.truncate(usize::try_from(read).unwrap_or(0) / 8);
        Snapshot {
            start: sp,
            words,
            remote: Remote(self.pid),
        }
    }
}

fn general(of: &libc::user_regs_struct) -> General {
    General([
        of.rax, of.rdx, of.rcx, of.rbx, of.rsi, of.rdi, of.rbp, of.rsp, of.r8, of.r9, of.r10,
        of.r11, of.r12, of.r13, of.r14, of.r15,
    ])
}

#[derive(Debug, Default)]
struct Outcome {
    steps: usize,
    exact: usize,
    /// Walks without the frame pointer: equal to the shadow, reported as unknown, wrong.
    blind: [usize; 3],
    /// The same three counts, where threads block.
    blocked: [usize; 3],
    /// Examples of wrong walks, by reason and address.
    wrong: BTreeMap<String, usize>,
}

/// Steps through a program and compares each stack with its shadow.
fn step_through(program: &Path) -> Outcome {
    let child = Child::spawn(program);
    let mut process = Process::of(child.pid);
    // The loader's work before is skipped: it is long and uniform.
    let entry = process.entry(program);
    child.run_to(entry);
    let mut generation = 1;
    let mut shadow: Vec<Entry> = Vec::new();
    let mut outcome = Outcome::default();
    let mut cache = WalkCache::new();
    let mut signal = 0;
    // Code does not change once it was run.
    let mut code: HashMap<u64, u64> = HashMap::new();
    let mut registers = child.registers();
    let mut memory = child.snapshot(registers.rsp);
    let mut out = vec![0; 4096];
    loop {
        let (ip, sp) = (registers.rip, registers.rsp);
        if !process
            .images
            .iter()
            .any(|image| (image.start..image.end).contains(&ip))
        {
            process = Process::of(child.pid);
            generation += 1;
        }
        let modules = process.modules();
        let modules = Modules::new(&modules);
        let regs = Regs {
            ip,
            sp,
            fp: registers.rbp,
        };
        cache.enter(generation);
        let (depth, end) = profundo_unwind::walk_cached(
            regs,
            Some(&general(&registers)),
            &modules,
            &mut cache,
            &mut memory,
            &mut out,
        );
        let callers = shadow.iter().rev().map(|entry| entry.address);
        let expected: Vec<u64> = std::iter::once(ip).chain(callers).collect();
        outcome.steps += 1;
        if end == End::Root && out[..depth] == expected {
            outcome.exact += 1;
        } else {
            let end = format!("{end:?}");
            let end = end.split(' ').next().unwrap_or_default();
            let at = format!("{end} at {}", process.name(ip));
            *outcome.wrong.entry(at).or_default() += 1;
        }
        // A blocked thread is behind the instruction that entered the kernel.
        let mut code = |address| {
            let read = || memory.remote.read(address).unwrap_or(0);
            *code.entry(address).or_insert_with(read)
        };
        let (before, here) = (code(ip.wrapping_sub(2)), code(ip));
        let blocked = before & 0xffff == SYSCALL;
        if blocked || outcome.steps.is_multiple_of(BLIND) {
            let (depth, end) = profundo_unwind::walk_without_frame_pointer(
                Regs { fp: 0, ..regs },
                &modules,
                &mut memory,
                &mut out,
                &mut (),
            );
            let found = &out[..depth];
            let kind = match end {
                End::Root if found == expected => 0,
                _ if end != End::Root && expected.starts_with(found) => 1,
                _ => 2,
            };
            let counts = if blocked {
                &mut outcome.blocked
            } else {
                &mut outcome.blind
            };
            counts[kind] += 1;
        }
        let Some(stop) = child.step(signal) else {
            return outcome;
        };
        let delivered = signal != 0;
        signal = if stop == libc::SIGTRAP { 0 } else { stop };
        registers = child.registers();
        let (new_ip, new_sp) = (registers.rip, registers.rsp);
        memory = child.snapshot(new_sp);
        let top = memory.read(new_sp).unwrap_or(0);
        shadow.retain(|entry| entry.slot >= new_sp);
        if delivered {
            // The handler returns to the restorer, and that to what was interrupted.
            let context = new_sp + 8;
            shadow.push(Entry {
                slot: context,
                address: ip + 1,
            });
            shadow.push(Entry {
                slot: new_sp,
                address: top,
            });
        } else if new_sp == sp.wrapping_sub(8)
            && (ip + 2..=ip + 9).contains(&top)
            && (new_ip != top || here as u8 == 0xe8)
        {
            shadow.push(Entry {
                slot: new_sp,
                address: top,
            });
        }
    }
}

fn compiled(compiler: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/programs/stacks.c");
    let name = format!("stacks-{compiler}{}-{}", flags.concat(), std::process::id());
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let flags = [&["-g"], flags].concat();
    compile(compiler, source.as_ref(), &program, &flags)
}

fn check(compiler: &str, flags: &[&str]) {
    let Some(program) = compiled(compiler, flags) else {
        return;
    };
    let outcome = step_through(&program);
    std::fs::remove_file(&program).unwrap();
    let wrong = outcome.steps - outcome.exact;
    eprintln!(
        "{compiler} {flags:?}: {} of {} stacks exact, {wrong} not",
        outcome.exact, outcome.steps
    );
    for (place, [right, short, wrong]) in [("", outcome.blind), (" in calls", outcome.blocked)] {
        eprintln!("  without frame pointer{place}: {right} exact, {short} short, {wrong} wrong");
    }
    for (reason, count) in outcome.wrong.iter().take(40) {
        eprintln!("  {count} {reason}");
    }
    assert!(outcome.steps > 20_000);
    assert!(
        wrong * 1000 <= outcome.steps,
        "{wrong} of {}",
        outcome.steps
    );
}

#[test]
fn each_instruction_of_optimised_code() {
    check("cc", &["-O2", "-fomit-frame-pointer"]);
}

#[test]
fn each_instruction_of_plain_code() {
    check("cc", &["-O0", "-static"]);
}

#[test]
fn each_instruction_of_code_with_frame_pointers() {
    check("cc", &["-O3", "-fno-omit-frame-pointer", "-static"]);
}
