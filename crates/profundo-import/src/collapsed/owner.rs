//! The roots that stand for a process or a thread: py-spy's `process 7:"python app.py"` and `thread
//! (0x7f12): name`, Tachyon's `tid:7`, async-profiler's `[name tid=7]`.

use profundo_model::{ProcessId, ThreadId};
use rustc_hash::FxHashMap;

use crate::Builder;

/// The owners of the lines so far.
#[derive(Debug, Default)]
pub(super) struct Owners {
    known: FxHashMap<Box<[u8]>, ThreadId>,
}

impl Owners {
    /// The thread of a stack and its frames, where it has such roots.
    pub(super) fn split<'a>(
        &mut self,
        builder: &mut Builder,
        stack: &'a [u8],
    ) -> Option<(ThreadId, &'a [u8])> {
        let mut rest = stack;
        while let Some((_, after)) = root(rest) {
            rest = after;
        }
        let roots = stack.get(..stack.len() - rest.len())?;
        if roots.is_empty() {
            return None;
        }
        if let Some(&thread) = self.known.get(roots) {
            return Some((thread, rest));
        }
        let thread = thread(builder, roots);
        self.known.insert(roots.into(), thread);
        Some((thread, rest))
    }

    /// Whether there are any.
    pub(super) fn is_any(&self) -> bool {
        !self.known.is_empty()
    }
}

/// A root that is no frame.
#[derive(Debug, Clone, Copy)]
enum Root<'a> {
    Process { pid: u32, command: &'a [u8] },
    Thread { number: u64, name: &'a [u8] },
}

/// The first root, and what is behind it and its semicolon.
fn root(stack: &[u8]) -> Option<(Root<'_>, &[u8])> {
    match *stack.first()? {
        b'p' => process(stack),
        b't' => thread_root(stack),
        b'[' => java_thread(stack),
        _ => None,
    }
}

/// `process 7:"command"`. The command may have semicolons and quotes.
fn process(stack: &[u8]) -> Option<(Root<'_>, &[u8])> {
    let rest = stack.strip_prefix(b"process ")?;
    let (number, rest) = number(rest)?;
    let pid = u32::try_from(number).ok()?;
    let rest = rest.strip_prefix(b":\"")?;
    let end = memchr::memmem::find(rest, b"\";")?;
    let root = Root::Process {
        pid,
        command: rest.get(..end)?,
    };
    Some((root, rest.get(end + 2..)?))
}

/// `thread (7)`, `thread (0x7f12): name` or `tid:7`.
fn thread_root(stack: &[u8]) -> Option<(Root<'_>, &[u8])> {
    let (number, rest) = match stack.strip_prefix(b"tid:") {
        Some(rest) => number(rest)?,
        None => {
            let (number, rest) = number(stack.strip_prefix(b"thread (")?)?;
            (number, rest.strip_prefix(b")")?)
        }
    };
    // A thread without a frame ends the stack.
    let end = memchr::memchr(b';', rest).unwrap_or(rest.len());
    let name = rest.get(..end)?;
    let name = match name.strip_prefix(b": ") {
        Some(name) => name,
        None if name.is_empty() => name,
        None => return None,
    };
    Some((
        Root::Thread { number, name },
        rest.get(end + 1..).unwrap_or_default(),
    ))
}

/// `[name tid=7]` of async-profiler.
fn java_thread(stack: &[u8]) -> Option<(Root<'_>, &[u8])> {
    let rest = stack.strip_prefix(b"[")?;
    let end = memchr::memmem::find(rest, b"];")?;
    let (root, above) = (rest.get(..end)?, rest.get(end + 2..)?);
    let at = memchr::memmem::rfind(root, b" tid=")?;
    let (number, after) = number(root.get(at + 5..)?)?;
    let name = root.get(..at)?;
    after
        .is_empty()
        .then_some((Root::Thread { number, name }, above))
}

/// A number in decimal digits, or in hexadecimal ones behind `0x`.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let (digits, radix) = match text {
        [b'0', b'x' | b'X', digits @ ..] => (digits, 16),
        digits => (digits, 10),
    };
    let is_digit = |byte: &&u8| byte.is_ascii_hexdigit() && (radix == 16 || byte.is_ascii_digit());
    let length = digits.iter().take_while(is_digit).count();
    let (digits, rest) = digits.split_at_checked(length)?;
    let number = u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()?;
    Some((number, rest))
}

/// The thread of these roots, in the innermost of their processes.
fn thread(builder: &mut Builder, roots: &[u8]) -> ThreadId {
    let (mut pid, mut process) = (0, None::<ProcessId>);
    let (mut number, mut name) = (0, &b""[..]);
    let mut rest = roots;
    while let Some((root, after)) = root(rest) {
        match root {
            Root::Process { pid: of, command } => {
                let around = process.filter(|_| of != pid);
                let child = builder.process(of, &String::from_utf8_lossy(command));
                if let Some(row) = builder.profile.processes.get_mut(child.index())
                    && around != Some(child)
                {
                    row.parent = row.parent.or(around);
                }
                (pid, process) = (of, Some(child));
            }
            Root::Thread {
                number: of,
                name: its,
            } => (number, name) = (of, its),
        }
        rest = after;
    }
    builder.thread(pid, number, &String::from_utf8_lossy(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_end_behind_their_semicolon() {
        let text = b"process 7:\"python -c 'a; b'\";thread (0x1F): io;main 3";
        let (process, rest) = root(text).unwrap();
        assert!(matches!(
            process,
            Root::Process {
                pid: 7,
                command: b"python -c 'a; b'"
            }
        ));
        let (thread, rest) = root(rest).unwrap();
        assert!(matches!(
            thread,
            Root::Thread {
                number: 31,
                name: b"io"
            }
        ));
        assert!(root(rest).is_none());
        for none in [
            &b"thread (7) x;a"[..],
            b"thread_run;a",
            b"process;a",
            b"tid:x;a",
            b"",
        ] {
            assert!(root(none).is_none());
        }
    }
}
