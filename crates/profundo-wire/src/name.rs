//! The name of a thread or a task in the interpreter, copied at one of its first samples. The
//! record of a thread's name:
//!
//! ```text
//!          63      56 55   36 35  32 31                                                     0
//!         ┌──────────┬───────┬──────┬───────────────────────────────────────────────────────┐
//! word 0  │ kind = 3 │   0   │ kind │ words of the whole record                             │
//!         ├──────────┴───────┴──────┴──────────────┬────────────────────────────────────────┤
//! word 1  │ thread number                          │ kernel thread id                       │
//! word 2  │                   0                    │ bytes of the name                      │
//!         ├────────────────────────────────────────┴────────────────────────────────────────┤
//! word 3… │ the name, padded to whole words                                                 │
//!         └─────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The lower `kind` is the bytes a character: see [`TextKind`]. A thread may be named more than
//! once; the last name counts.

use crate::code::{Text, TextKind, words_of};

/// Words before the name.
pub const THREAD_NAME_HEAD_WORDS: usize = 3;

/// The record kind in the top byte of word 0.
pub(crate) const KIND_THREAD_NAME: u64 = 3;

/// The numbers of a thread's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadNameHead {
    /// The thread's number, from 1.
    pub thread: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Encoding and bytes of the name.
    pub name: (TextKind, u32),
}

impl ThreadNameHead {
    /// Length of the record in words.
    pub fn words(&self) -> usize {
        THREAD_NAME_HEAD_WORDS + words_of(self.name.1)
    }

    /// The words that stand before the name.
    pub fn to_words(&self) -> [u64; THREAD_NAME_HEAD_WORDS] {
        [
            KIND_THREAD_NAME << 56 | (self.name.0 as u64) << 32 | self.words() as u64,
            u64::from(self.thread) << 32 | u64::from(self.tid),
            u64::from(self.name.1),
        ]
    }

    /// Reads the words back; `None` if they are not those of a thread's name.
    pub fn from_words(words: [u64; THREAD_NAME_HEAD_WORDS]) -> Option<Self> {
        let [first, ids, bytes] = words;
        let head = Self {
            thread: (ids >> 32) as u32,
            tid: ids as u32,
            name: (
                TextKind::from_code(first >> 32 & 15)?,
                u32::try_from(bytes).ok()?,
            ),
        };
        let is_one = first >> 56 == KIND_THREAD_NAME && first as u32 as usize == head.words();
        is_one.then_some(head)
    }
}

/// The name of a thread in the interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadName<'a> {
    /// The numbers of its record.
    pub head: ThreadNameHead,
    /// The name.
    pub name: Text<'a>,
}

impl<'a> ThreadName<'a> {
    /// A name from its head and the words behind it; `None` if their number differs from the
    /// head's.
    pub(crate) fn new(head: ThreadNameHead, words: &'a [u64]) -> Option<Self> {
        let (kind, bytes) = head.name;
        (words.len() == words_of(bytes)).then_some(Self {
            head,
            name: Text::new(kind, words, bytes),
        })
    }
}

/// Words before a task's name.
pub const TASK_NAME_HEAD_WORDS: usize = 3;

/// The record kind in the top byte of word 0.
pub(crate) const KIND_TASK_NAME: u64 = 4;

/// The numbers of a task's name. The record is that of a thread's name, with the task's number as
/// word 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TaskNameHead {
    /// The task's number, as in samples.
    pub task: u64,
    /// Encoding and bytes of the name.
    pub name: (TextKind, u32),
}

impl TaskNameHead {
    /// Length of the record in words.
    pub fn words(&self) -> usize {
        TASK_NAME_HEAD_WORDS + words_of(self.name.1)
    }

    /// The words that stand before the name.
    pub fn to_words(&self) -> [u64; TASK_NAME_HEAD_WORDS] {
        [
            KIND_TASK_NAME << 56 | (self.name.0 as u64) << 32 | self.words() as u64,
            self.task,
            u64::from(self.name.1),
        ]
    }

    /// Reads the words back; `None` if they are not those of a task's name.
    pub fn from_words(words: [u64; TASK_NAME_HEAD_WORDS]) -> Option<Self> {
        let [first, task, bytes] = words;
        let head = Self {
            task,
            name: (
                TextKind::from_code(first >> 32 & 15)?,
                u32::try_from(bytes).ok()?,
            ),
        };
        let is_one = first >> 56 == KIND_TASK_NAME && first as u32 as usize == head.words();
        is_one.then_some(head)
    }
}

/// The name of a task in the interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskName<'a> {
    /// The numbers of its record.
    pub head: TaskNameHead,
    /// The name.
    pub name: Text<'a>,
}

impl<'a> TaskName<'a> {
    /// A name from its head and the words behind it; `None` if their number differs from the
    /// head's.
    pub(crate) fn new(head: TaskNameHead, words: &'a [u64]) -> Option<Self> {
        let (kind, bytes) = head.name;
        (words.len() == words_of(bytes)).then_some(Self {
            head,
            name: Text::new(kind, words, bytes),
        })
    }
}
