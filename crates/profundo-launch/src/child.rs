//! The fork. The child waits until the recorder watches it, puts everything back as the command
//! had it, and becomes the program. Between fork and exec it calls nothing but the kernel.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use profundo_recorder::ChildLimit;

use super::inherited;
use super::pipe::pipe;
use super::program::{PYTHON, Program};
use super::signals::Signals;

/// The environment of the target, as `NAME=value`.
#[derive(Debug, Clone)]
pub struct Environment(Vec<CString>);

impl Environment {
    /// Our environment in its order, with these variables set. What was said to this command alone
    /// is not in it.
    pub fn with(changes: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut lines = current_environment();
        lines.retain(|line| !is_set_by(line.as_bytes(), PYTHON));
        for (name, value) in changes {
            let mut line = name.into_vec();
            line.push(b'=');
            let prefix = line.len();
            line.extend(value.into_vec());
            let Ok(line) = CString::new(line) else {
                continue;
            };
            let start = line.as_bytes()[..prefix].to_vec();
            match lines
                .iter_mut()
                .find(|old| old.as_bytes().starts_with(&start))
            {
                Some(old) => *old = line,
                None => lines.push(line),
            }
        }
        Self(lines)
    }
}

/// True if the line `NAME=value` has this name.
fn is_set_by(line: &[u8], name: &str) -> bool {
    line.strip_prefix(name.as_bytes())
        .is_some_and(|rest| rest.starts_with(b"="))
}

/// Our environment as it is: `std` would leave out what is no `NAME=value`.
fn current_environment() -> Vec<CString> {
    unsafe extern "C" {
        static environ: *const *const libc::c_char;
    }
    let mut lines = Vec::new();
    // SAFETY: the list ends with a null pointer, and nothing in this program changes it.
    unsafe {
        let mut at = environ;
        while !at.is_null() && !(*at).is_null() {
            lines.push(std::ffi::CStr::from_ptr(*at).to_owned());
            at = at.add(1);
        }
    }
    lines
}

/// The streams that the program gets in place of our own.
#[derive(Debug)]
pub struct Streams {
    /// The read end for standard input.
    pub input: OwnedFd,
    /// The write end for standard output and standard error.
    pub output: OwnedFd,
}

/// Resource usage of the child when it executed the program: the recorder's own share.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct BeforeExec {
    /// The time of exec, on the monotonic clock.
    pub time: libc::timespec,
    /// The resource usage up to then.
    pub taken: libc::rusage,
}

impl BeforeExec {
    /// Bytes that the child has read and written to wait for the gate and to report this.
    pub const BYTES: (u64, u64) = (1, size_of::<Self>() as u64);

    /// The present usage. May be called between fork and exec.
    fn now() -> Self {
        // SAFETY: numbers alone, so zeroed is a valid one, and both calls write to places of ours.
        unsafe {
            let mut before: Self = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut before.taken);
            libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut before.time);
            before
        }
    }
}

/// A child that has not become the program yet.
#[derive(Debug)]
pub struct Child {
    pid: i32,
    /// `None` once the child has been released.
    gate: Option<OwnedFd>,
    refusal: OwnedFd,
    /// True if the child reports its usage at exec.
    reports_usage: bool,
}

/// A child that is no longer wanted must not keep waiting.
impl Drop for Child {
    fn drop(&mut self) {
        if let Some(gate) = self.gate.take() {
            drop(gate);
            super::end::reap(self.pid);
        }
    }
}

impl Child {
    /// Forks. The child waits for [`release`](Self::release); if that never comes, it ends. It gets
    /// `limits` back: resources and their soft limits as they were. Where `streams` are given, it
    /// gets these instead of ours. If it `reports_usage`, [`release`](Self::release) returns its
    /// usage at exec, which costs it a few microseconds and counts as bytes that it has written.
    pub fn fork(
        program: &Program,
        environment: &Environment,
        limits: &[ChildLimit],
        signals: &Signals,
        streams: Option<&Streams>,
        reports_usage: bool,
    ) -> io::Result<Self> {
        let path = c_string(program.path.as_os_str())?;
        let arguments = program
            .arguments
            .iter()
            .map(|word| c_string(word))
            .collect::<io::Result<Vec<_>>>()?;
        // As execvp does: the shell runs a file without `#!`.
        let shell = c"/bin/sh".to_owned();
        let mut shell_arguments = vec![c"/bin/sh".to_owned(), path.clone()];
        shell_arguments.extend(arguments.iter().skip(1).cloned());
        let (argv, shell_argv, envp) = (
            pointers(&arguments),
            pointers(&shell_arguments),
            pointers(&environment.0),
        );
        let (wait, gate) = pipe()?;
        let (refusal, complaint) = pipe()?;
        let before = inherited::state();
        let mask = signals.before();
        // SAFETY: the child calls only the kernel until it executes the program or ends.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: everything pointed to was made before the fork and lives on in this copy.
                unsafe {
                    // Else our own end would keep the gate from closing when the parent dies.
                    libc::close(gate.as_raw_fd());
                    let mut byte = 0_u8;
                    loop {
                        let read = libc::read(wait.as_raw_fd(), (&raw mut byte).cast(), 1);
                        if read == 1 {
                            break;
                        }
                        if read == 0 || *libc::__errno_location() != libc::EINTR {
                            libc::_exit(1);
                        }
                    }
                    restore(before, &mask, limits);
                    if let Some(Streams { input, output }) = streams {
                        // The copies stay open when the program is executed.
                        libc::dup2(input.as_raw_fd(), 0);
                        libc::dup2(output.as_raw_fd(), 1);
                        libc::dup2(output.as_raw_fd(), 2);
                    }
                    if reports_usage {
                        let before = BeforeExec::now();
                        let size = size_of::<BeforeExec>();
                        let _ =
                            libc::write(complaint.as_raw_fd(), (&raw const before).cast(), size);
                    }
                    libc::execve(path.as_ptr(), argv.as_ptr(), envp.as_ptr());
                    if *libc::__errno_location() == libc::ENOEXEC {
                        libc::execve(shell.as_ptr(), shell_argv.as_ptr(), envp.as_ptr());
                    }
                    let error: i32 = *libc::__errno_location();
                    let _ = libc::write(complaint.as_raw_fd(), (&raw const error).cast(), 4);
                    libc::_exit(127);
                }
            }
            pid => Ok(Self {
                pid,
                gate: Some(gate),
                refusal,
                reports_usage,
            }),
        }
    }

    /// The process id, which the program keeps.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Lets the child become the program, and returns its usage at exec, or why exec failed.
    pub fn release(mut self) -> io::Result<Option<BeforeExec>> {
        let Some(gate) = self.gate.take() else {
            return Ok(None);
        };
        match let_go(&gate) {
            Ok(()) => {}
            // It was killed while it waited: its end says so.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(None),
            Err(error) => return Err(error),
        }
        drop(gate);
        // Ends at once: the other end closes when the program is executed.
        let received = read_all(&self.refusal);
        let usage_bytes = if self.reports_usage {
            size_of::<BeforeExec>()
        } else {
            0
        };
        let (before, complaint) = received
            .split_at_checked(usage_bytes)
            .unwrap_or((&received, &[]));
        if let Ok(error) = complaint.try_into() {
            super::end::reap(self.pid);
            return Err(io::Error::from_raw_os_error(i32::from_ne_bytes(error)));
        }
        let is_whole = before.len() == size_of::<BeforeExec>();
        // SAFETY: as many bytes as it has, which the child has copied from one.
        Ok(is_whole.then(|| unsafe { before.as_ptr().cast::<BeforeExec>().read_unaligned() }))
    }
}

/// Writes the byte that a waiting child reads.
fn let_go(gate: &OwnedFd) -> io::Result<()> {
    loop {
        // SAFETY: writes a byte of ours to a descriptor of ours.
        if unsafe { libc::write(gate.as_raw_fd(), [1_u8].as_ptr().cast(), 1) } == 1 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// The bytes up to the end of a pipe. After an error they are fewer: the program runs by then, and
/// must not be taken for one that does not.
fn read_all(pipe: &OwnedFd) -> Vec<u8> {
    let mut received = Vec::new();
    let mut part = [0_u8; 512];
    loop {
        // SAFETY: at most as many bytes are written as the place has.
        let read = unsafe { libc::read(pipe.as_raw_fd(), part.as_mut_ptr().cast(), part.len()) };
        match usize::try_from(read) {
            Ok(0) => return received,
            Ok(read) => received.extend_from_slice(part.get(..read).unwrap_or_default()),
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return received,
        }
    }
}

/// Undoes what Rust's runtime and the command have changed. Runs between fork and exec.
///
/// # Safety
/// Only in a child that will execute a program.
unsafe fn restore(before: inherited::Inherited, mask: &libc::sigset_t, limits: &[ChildLimit]) {
    // SAFETY: system calls with arguments of this function's own.
    unsafe {
        inherited::dispose(libc::SIGPIPE, before.ignored_pipe);
        inherited::dispose(libc::SIGCHLD, before.ignored_child);
        inherited::dispose(libc::SIGXFSZ, before.ignored_file_size);
        for &ChildLimit { resource, soft } in limits {
            let mut limit = std::mem::zeroed();
            if libc::getrlimit(resource, &mut limit) == 0 {
                limit.rlim_cur = soft;
                libc::setrlimit(resource, &limit);
            }
        }
        for (stream, closed) in (0..).zip(before.closed) {
            if closed {
                libc::close(stream);
            }
        }
        libc::sigprocmask(libc::SIG_SETMASK, mask, std::ptr::null_mut());
    }
}

fn c_string(word: &OsStr) -> io::Result<CString> {
    CString::new(word.as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Pointers to the texts, and a null pointer after them.
fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
    pointers.push(std::ptr::null());
    pointers
}
