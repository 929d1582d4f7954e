//! The interpreters on this machine, and their memory.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};

use profundo_cpython::{
    DEBUG_WORDS, End, Frame, Layout, Memory, Start, Step, TextShape, layout_from_debug_offsets,
    walk,
};
use profundo_testing::{pyenv_folders, skip, wait_until};

/// The interpreters of a minor version, shared libraries and static ones: those that are installed,
/// and the one that the environment names in, say, `PROFUNDO_PYTHON_314`.
pub fn find(minor: u8) -> Vec<PathBuf> {
    let name = format!("python3.{minor}");
    let mut found: Vec<PathBuf> = pyenv_folders()
        .into_iter()
        .map(|(_, folder)| folder.join("bin").join(&name))
        .chain([
            PathBuf::from("/usr/bin").join(&name),
            PathBuf::from("/opt")
                .join(format!("py3{minor}/usr/bin"))
                .join(&name),
        ])
        .chain(std::env::var_os(format!("PROFUNDO_PYTHON_3{minor}")).map(PathBuf::from))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.dedup();
    found
}

/// The characters of a text.
pub fn text(memory: &mut Remote, text: TextShape) -> String {
    let mut bytes = vec![0; text.bytes as usize];
    assert!(memory.bytes(text.address, &mut bytes));
    let characters = bytes.chunks(usize::from(text.width)).map(|character| {
        let code = character
            .iter()
            .rev()
            .fold(0, |code, &byte| code << 8 | u32::from(byte));
        char::from_u32(code).unwrap()
    });
    characters.collect()
}

/// Runs a check with each interpreter of a minor version, or skips.
pub fn each(minor: u8, check: impl Fn(&mut Target)) {
    let found = find(minor);
    if found.is_empty() {
        skip(&format!("no python3.{minor} is installed"));
    }
    for path in found {
        let mut target = Target {
            minor,
            name: path.display().to_string(),
            path,
        };
        check(&mut target);
    }
}

/// An interpreter that can be run.
#[derive(Debug)]
pub struct Target {
    pub minor: u8,
    pub name: String,
    path: PathBuf,
}

impl Target {
    /// Runs a program that first says where the interpreter has its things. Returns it with what
    /// follows from that, ready to be read while the program blocks.
    pub fn interpret(&self, program: &str) -> (Running, Interpreter) {
        let program = format!("{}{program}", include_str!("beginning.py"));
        let mut running = self.run(&program, &[]);
        let line = running.line().unwrap();
        let mut numbers = line.split('\t').skip(1).map(|word| word.parse().unwrap());
        let (code_type, runtime): (u64, u64) = (numbers.next().unwrap(), numbers.next().unwrap());
        let mut memory = running.memory();
        let words: Vec<u64> = (0..DEBUG_WORDS as u64)
            .map(|index| memory.word(runtime + index * 8).unwrap())
            .collect();
        let interpreter = Interpreter {
            layout: layout_from_debug_offsets(self.minor, &words).unwrap(),
            code_type,
            runtime,
            memory,
        };
        (running, interpreter)
    }

    /// For each time that the program says that it is about to block (the kind of thing that does,
    /// its thread's state and its name), has `find` look for that name among the frames of the
    /// stack, innermost first. After the word `none` no names are to be found. Returns how many
    /// times it blocked.
    pub fn names_of_what_blocks(
        &self,
        program: &str,
        kind: &str,
        find: impl Fn(&mut Interpreter, &[Frame]) -> Option<String>,
    ) -> usize {
        let (mut running, mut interpreter) = self.interpret(program);
        let (mut has_names, mut count) = (true, 0);
        while let Some(line) = running.line() {
            let fields: Vec<&str> = line.split('\t').collect();
            let (state, name) = match fields[..] {
                [what, state, name] if what == kind => (state.parse().unwrap(), name),
                ["none"] => {
                    has_names = false;
                    continue;
                }
                ["done"] => break,
                _ => panic!("{line:?}"),
            };
            running.wait_until_blocked();
            let (frames, _, end) = interpreter.walk(state);
            assert_eq!(end, End::Whole, "{}: {name}", self.name);
            let found = find(&mut interpreter, &frames);
            let expected = has_names.then(|| name.to_owned());
            assert_eq!(found, expected, "{}: line {count}", self.name);
            count += 1;
            running.go_on();
        }
        running.finish();
        count
    }

    /// Runs a program, which talks over its standard streams.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Running {
        let mut child = Command::new(&self.path)
            .args(["-E", "-s", "-c", program])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Running { child, output }
    }
}

/// The places of loops on the C stack, with how many frames came before each.
pub type Loops = Vec<(usize, Option<u64>)>;

/// The parts of a running interpreter that are read.
#[derive(Debug)]
pub struct Interpreter {
    pub layout: Layout,
    pub code_type: u64,
    pub runtime: u64,
    pub memory: Remote,
}

impl Interpreter {
    /// The frames of the thread with this state, innermost first, and the loops that they run in.
    pub fn walk(&mut self, state: u64) -> (Vec<Frame>, Loops, End) {
        let start = Start {
            state,
            code_type: self.code_type,
            ..Start::default()
        };
        let (mut frames, mut entries) = (Vec::new(), Vec::new());
        let end = walk(&self.layout, &mut self.memory, start, |_, step| {
            match step {
                Step::Frame(frame) => frames.push(frame),
                Step::Entry { stack } => entries.push((frames.len(), stack)),
            }
            ControlFlow::Continue(())
        });
        (frames, entries, end)
    }
}

/// A running interpreter.
#[derive(Debug)]
pub struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// The next line that it prints.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.output.read_line(&mut line).unwrap();
        (read > 0).then(|| line.trim_end_matches('\n').to_owned())
    }

    /// Waits until one of its threads reads from its standard input. It prints its stack before
    /// that.
    pub fn wait_until_blocked(&self) {
        let tasks = format!("/proc/{}/task", self.child.id());
        let call = format!("{} 0x0 ", libc::SYS_read);
        wait_until("a thread that reads", || {
            let mut threads = fs::read_dir(&tasks).unwrap().flatten();
            threads.any(|thread| {
                let current = fs::read_to_string(thread.path().join("syscall"));
                current.is_ok_and(|current| current.starts_with(&call))
            })
        });
    }

    /// Has its blocking read return.
    pub fn go_on(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
    }

    /// Waits for its end.
    pub fn finish(mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }

    pub fn memory(&self) -> Remote {
        Remote {
            process: self.child.id() as i32,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The memory of a child.
#[derive(Debug)]
pub struct Remote {
    process: i32,
}

impl Memory for Remote {
    fn word(&mut self, address: u64) -> Option<u64> {
        assert!(address.is_multiple_of(8), "{address:#x}");
        let mut bytes = [0; 8];
        self.bytes(address, &mut bytes)
            .then(|| u64::from_ne_bytes(bytes))
    }

    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        let local = libc::iovec {
            iov_base: out.as_mut_ptr().cast(),
            iov_len: out.len(),
        };
        let remote = libc::iovec {
            iov_base: address as *mut _,
            iov_len: out.len(),
        };
        // SAFETY: `local` describes `out`; the kernel checks the other one.
        let copied = unsafe { libc::process_vm_readv(self.process, &local, 1, &remote, 1, 0) };
        copied == out.len() as isize
    }
}
