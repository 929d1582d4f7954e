//! A process's share of shared memory, and its memory that belongs to no allocator. The kernel
//! walks all pages to report it, which takes 9 ms for 2 GB. So a separate thread reads it, one
//! process at a time, and rests 500 times as long as each took.

mod mappings;

use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use crate::sys;

/// Reading may take one part in so many of a CPU.
const PART: u64 = 500;

pub use mappings::Pages;

/// A program whose pages are to be counted.
#[derive(Debug, Clone, Copy)]
pub struct Question {
    /// The program's key.
    pub key: u32,
    /// Its process.
    pub pid: u32,
    /// Whether each mapping is read (`smaps`), or only their sum (`smaps_rollup`).
    pub each_mapping: bool,
}

/// The answer to a question.
#[derive(Debug)]
pub struct Answer {
    pub key: u32,
    /// `None` if it is gone.
    pub pages: io::Result<Option<Pages>>,
    took: u64,
}

/// Reads one process after the other.
#[derive(Debug, Default)]
pub struct Asking {
    thread: Option<(Sender<Question>, Receiver<Answer>)>,
    is_asking: bool,
    /// The earliest time of the next question, in monotonic nanoseconds.
    not_before: u64,
}

impl Asking {
    /// The answer that has come since, if any.
    pub fn answer(&mut self, now: u64) -> Option<Answer> {
        let (_, answers) = self.thread.as_ref()?;
        let answer = match answers.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => {
                self.is_asking = false;
                self.thread = None;
                return None;
            }
        };
        self.is_asking = false;
        self.not_before = now + answer.took * PART;
        Some(answer)
    }

    /// Whether a question may be asked now.
    pub fn is_free(&self, now: u64) -> bool {
        !self.is_asking && now >= self.not_before
    }

    /// Asks for a program's pages.
    pub fn ask(&mut self, question: Question) {
        if self.thread.is_none() {
            self.thread = start().ok();
        }
        let Some((questions, _)) = &self.thread else {
            return;
        };
        self.is_asking = questions.send(question).is_ok();
    }
}

fn start() -> io::Result<(Sender<Question>, Receiver<Answer>)> {
    let (questions, asked) = channel();
    let (answers, answered) = channel();
    // The thread ends when the sender is dropped.
    std::thread::Builder::new()
        .name("profundo".into())
        .spawn(move || {
            for Question {
                key,
                pid,
                each_mapping,
            } in asked
            {
                let before = sys::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
                let pages = match each_mapping {
                    true => read(pid, "smaps", mappings::add_up),
                    false => all(pid),
                };
                let after = sys::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
                let took = after.saturating_sub(before);
                if answers.send(Answer { key, pages, took }).is_err() {
                    return;
                }
            }
        })?;
    Ok((questions, answered))
}

/// Resident bytes of a process less its proportional share; `None` if it has ended.
pub fn shared_bytes(pid: u32) -> io::Result<Option<u64>> {
    all(pid).map(|pages| pages.map(|pages| pages.shared))
}

/// The sum of all mappings.
fn all(pid: u32) -> io::Result<Option<Pages>> {
    read(pid, "smaps_rollup", |text| {
        let shared = parse(&String::from_utf8_lossy(text))?;
        Some(Pages {
            shared,
            elsewhere: None,
        })
    })
}

fn read(pid: u32, name: &str, parse: impl Fn(&[u8]) -> Option<Pages>) -> io::Result<Option<Pages>> {
    let mut text = Vec::new();
    let read = File::open(format!("/proc/{pid}/{name}"));
    let read = read.and_then(|mut file| file.read_to_end(&mut text));
    match read {
        Ok(_) => Ok(parse(&text)),
        // The process ended meanwhile.
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse(text: &str) -> Option<u64> {
    let kilobytes = |name: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    };
    let others = kilobytes("Rss:")?.saturating_sub(kilobytes("Pss:")?);
    others.checked_mul(1 << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_all_mappings_is_read() {
        let text = "5581-7ffe ---p 00000000 00:00 0 [rollup]\nRss:  2560 kB\nPss:   640 kB\nPss_Dirty: 8 kB\n";
        assert_eq!(parse(text), Some((2560 - 640) << 10));
        assert_eq!(parse(""), None);
    }

    #[test]
    fn a_question_is_answered_and_a_rest_follows() {
        let mut asking = Asking::default();
        let pid = std::process::id();
        assert!(asking.is_free(0));
        asking.ask(Question {
            key: 7,
            pid,
            each_mapping: true,
        });
        assert!(!asking.is_free(u64::MAX), "one at a time");
        let answer = loop {
            match asking.answer(1000) {
                Some(answer) => break answer,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!(answer.key, 7);
        let took = answer.took;
        assert!(took > 0);
        // Where the kernel refuses, there is an error.
        assert!(answer.pages.is_err() || answer.pages.is_ok_and(|pages| pages.is_some()));
        assert!(!asking.is_free(1000));
        assert!(asking.is_free(1000 + took * PART));
    }
}
