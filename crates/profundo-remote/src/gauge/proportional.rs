//! What a process has of memory that it shares, and what of its memory is no allocator's: the kernel walks all
//! its pages to tell, which takes 9 ms for 2 GB. So a thread of its own asks, one process at a time, and rests
//! 500 times as long as it took.

mod mappings;

use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use crate::sys;

/// What is asked for may take one part in so many of a CPU.
const PART: u64 = 500;

pub(super) use mappings::Pages;

/// A program by its key, its process, and whether its mappings are looked at one by one.
pub(super) type Whom = (u32, u32, bool);

/// What was answered of a program.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) key: u32,
    /// `None` if it is gone.
    pub(super) pages: io::Result<Option<Pages>>,
    took: u64,
}

/// Asks for one process after the other.
#[derive(Debug, Default)]
pub(super) struct Asking {
    thread: Option<(Sender<Whom>, Receiver<Answer>)>,
    is_asking: bool,
    /// No question is put before, in monotonic nanoseconds.
    not_before: u64,
}

impl Asking {
    /// What was answered since.
    pub(super) fn answer(&mut self, now: u64) -> Option<Answer> {
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

    /// Whether a question may be put now.
    pub(super) fn is_free(&self, now: u64) -> bool {
        !self.is_asking && now >= self.not_before
    }

    /// Asks for a program.
    pub(super) fn ask(&mut self, whom: Whom) {
        if self.thread.is_none() {
            self.thread = start().ok();
        }
        let Some((questions, _)) = &self.thread else {
            return;
        };
        self.is_asking = questions.send(whom).is_ok();
    }
}

fn start() -> io::Result<(Sender<Whom>, Receiver<Answer>)> {
    let (questions, asked) = channel();
    let (answers, answered) = channel();
    // It ends when nobody can ask it any more.
    std::thread::Builder::new()
        .name("profundo".into())
        .spawn(move || {
            for (key, pid, each) in asked {
                let before = sys::nanoseconds(libc::CLOCK_THREAD_CPUTIME_ID);
                let pages = match each {
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

/// What a process has in memory less its part of each page that it shares; `None` if it has ended.
pub(crate) fn shared_bytes(pid: u32) -> io::Result<Option<u64>> {
    all(pid).map(|pages| pages.map(|pages| pages.shared))
}

/// Of all mappings together.
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
        // It has ended while it was asked for.
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
    fn who_was_asked_for_is_answered_and_then_there_is_rest() {
        let mut asking = Asking::default();
        let own = std::process::id();
        assert!(asking.is_free(0));
        asking.ask((7, own, true));
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
        // Where the kernel does not tell there is the reason.
        assert!(answer.pages.is_err() || answer.pages.is_ok_and(|pages| pages.is_some()));
        assert!(!asking.is_free(1000));
        assert!(asking.is_free(1000 + took * PART));
    }
}
