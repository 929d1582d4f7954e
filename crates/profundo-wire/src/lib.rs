//! The record bytes between the code that samples and the code that reads.
//!
//! A recording is a sequence of 64-bit words, written by the thread that was sampled. There are
//! several kinds of records. The sample:
//!
//! ```text
//!          63      56 55      48 47      40 39      32 31              16 15               0
//!         ┌──────────┬──────────┬──────────┬──────────┬──────────────────┬──────────────────┐
//! word 0  │ kind = 1 │  state   │   end    │  python  │ python (words)   │  frames (count)  │
//!         ├──────────┴──────────┴──────────┴──────────┴──────────────────┴──────────────────┤
//! word 1  │ cycle counter                                                                   │
//! word 2  │ weight in nanoseconds                                                           │
//! word 3  │ task number                                                                     │
//! word 4  │ thread number                            │ kernel thread id                     │
//! word 5  │ 0                                        │ path of the innermost span           │
//! word 6… │ code addresses, leaf first: the instruction, then return addresses              │
//!       … │ words of the interpreter's stack, leaf first: see [`PythonWord`]                │
//!         └─────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! the interpreter's code object, written when it is met for the first time: see [`Code`]; the name
//! that a thread or a task has in the interpreter: see [`ThreadName`] and [`TaskName`]; what it
//! takes to walk a sample's stack again: see [`Rewalk`]; what a blocked thread waits for: see
//! [`Wait`]; what a thread has read and written: see [`Traffic`]; what a system call was on: see
//! [`Call`] and [`Opened`]; how often system calls were made: see [`Syscalls`]; and what was
//! allocated and freed: see [`Block`], [`Freed`] and [`Site`]; and the spans and marks of the
//! program: see [`SpanPath`], [`Span`], [`SpanSum`] and [`Mark`]. All but the sample have their
//! length in the low half of word 0, and a reader skips those of an unknown kind. The byte `python`
//! of word 0 holds the state of the interpreter's lock in its low two bits and why the walk of its
//! stack ended in the next three; the one above these says that it was collecting garbage.
//!
//! A record is complete once the writer has published a length that includes it, so a reader
//! never meets half of one. What this crate is not for: it knows nothing about where the words
//! lie, who may write them when, or what an address means.
//!
//! [`recording`] joins the words with the lists that their numbers point into.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod block;
mod call;
mod code;
pub mod command;
pub mod graph;
mod name;
pub mod native_calls;
mod python;
mod reader;
pub mod recording;
mod rewalk;
mod sample;
mod span;
mod span_label;
mod syscalls;
pub mod traced;
mod traffic;
mod wait;

pub use block::{BLOCK_WORDS, Block, FREED_WORDS, Freed, SITE_WORDS, Site, Source};
pub use call::{CALL_WORDS, Call, Opened, opened_words};
pub use code::{CODE_HEAD_WORDS, Code, CodeHead, Text, TextKind};
pub use name::{
    TASK_NAME_HEAD_WORDS, THREAD_NAME_HEAD_WORDS, TaskName, TaskNameHead, ThreadName,
    ThreadNameHead,
};
pub use python::{Gil, PythonEnd, PythonWord, python_task, python_task_code};
pub use reader::{Error, Reader, Record};
pub use rewalk::{REWALK_HEAD_WORDS, Rewalk, RewalkHead};
pub use sample::{End, SAMPLE_HEAD_WORDS, SampleHead, State};
pub use span::{
    Mark, SPAN_SEPARATOR, SPAN_WORDS, Span, SpanLoss, SpanOwner, SpanPath, SpanSum, mark_words,
    span_path_words, span_sum_words,
};
pub use span_label::{
    CleanText, LENGTH_BUCKETS, OTHER_PATH, OTHER_SPANS, OTHER_VALUE, length_bucket,
    middle_of_bucket, span_limit,
};
pub use syscalls::{Syscalls, SyscallsHead};
pub use traffic::{TRAFFIC_WORDS, Traffic};
pub use wait::{Wait, WaitKind, wait_words};

#[cfg(test)]
mod tests;
