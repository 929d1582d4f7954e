//! Words back into records, one after another, borrowing the addresses.

use crate::block::{Block, Freed, KIND_BLOCK, KIND_FREED, KIND_SITE, Site};
use crate::call::{Call, KIND_CALL, KIND_OPENED, Opened};
use crate::code::{CODE_HEAD_WORDS, Code, CodeHead, KIND_CODE};
use crate::name::{
    KIND_TASK_NAME, KIND_THREAD_NAME, TASK_NAME_HEAD_WORDS, THREAD_NAME_HEAD_WORDS, TaskName,
    TaskNameHead, ThreadName, ThreadNameHead,
};
use crate::rewalk::{KIND_REWALK, REWALK_HEAD_WORDS, Rewalk, RewalkHead};
use crate::sample::{KIND_SAMPLE, SAMPLE_HEAD_WORDS, SampleHead};
use crate::span::{
    KIND_MARK, KIND_SPAN, KIND_SPAN_LOSS, KIND_SPAN_PATH, KIND_SPAN_SUM, Mark, Span, SpanLoss,
    SpanPath, SpanSum,
};
use crate::syscalls::{KIND_SYSCALLS, Syscalls};
use crate::traffic::{KIND_TRAFFIC, Traffic};
use crate::wait::{KIND_WAIT, Wait};

/// Words that are not a record. The records before them have been read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The first words of a record are invalid.
    UnknownRecord {
        /// Index of the record's first word.
        at: usize,
    },
    /// The record claims more words than there are.
    CutShort {
        /// Index of the record's first word.
        at: usize,
    },
}

impl core::fmt::Display for Error {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::UnknownRecord { at } => write!(f, "word {at} begins no known record"),
            Self::CutShort { at } => write!(f, "the record at word {at} is cut short"),
        }
    }
}

impl core::error::Error for Error {}

/// A record, borrowing its variable part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record<'a> {
    /// A sample.
    Sample {
        /// Its numbers.
        head: SampleHead,
        /// Its code addresses, leaf first.
        frames: &'a [u64],
        /// The words of the interpreter's stack, leaf first.
        python: &'a [u64],
    },
    /// A code object of the interpreter's.
    Code(Code<'a>),
    /// The name of a thread in the interpreter.
    ThreadName(ThreadName<'a>),
    /// The name of a task in the interpreter.
    TaskName(TaskName<'a>),
    /// The data to walk the preceding sample's stack again.
    Rewalk(Rewalk<'a>),
    /// The wait of the following sample's thread.
    Wait(Wait<'a>),
    /// The bytes that a thread has read and written.
    Traffic(Traffic),
    /// How often a thread has made a system call.
    Syscalls(Syscalls<'a>),
    /// The descriptor of the preceding sample's system call.
    Call(Call),
    /// The file or other object behind a descriptor.
    Opened(Opened<'a>),
    /// The block that the preceding sample allocated.
    Block(Block),
    /// A freed block.
    Freed(Freed),
    /// The number of the preceding sample's stack.
    Site(Site),
    /// The path of spans.
    SpanPath(SpanPath<'a>),
    /// A span.
    Span(Span),
    /// Spans of one path on one thread.
    SpanSum(SpanSum<'a>),
    /// A named instant.
    Mark(Mark<'a>),
    /// What was not kept of spans and marks.
    SpanLoss(SpanLoss),
}

/// Iterates over the records in a slice of words and skips unknown kinds. It ends after the first
/// error.
#[derive(Debug, Clone)]
pub struct Reader<'a> {
    words: &'a [u64],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader from the first word on.
    pub fn new(words: &'a [u64]) -> Self {
        Self { words, at: 0 }
    }

    /// The words of the records read so far.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The record that begins here, or `None` for an unknown kind, and its length.
    fn record(&self) -> Result<(Option<Record<'a>>, usize), Error> {
        let at = self.at;
        let rest = self.words.get(at..).unwrap_or(&[]);
        let first = rest.first().ok_or(Error::CutShort { at })?;
        if first >> 56 != KIND_SAMPLE {
            let length = *first as u32 as usize;
            if first >> 56 == 0 || length == 0 {
                return Err(Error::UnknownRecord { at });
            }
            let words = rest.get(..length).ok_or(Error::CutShort { at })?;
            let record = other(words).map_err(|()| Error::UnknownRecord { at })?;
            return Ok((record, length));
        }
        let (head, rest) = rest
            .split_first_chunk::<SAMPLE_HEAD_WORDS>()
            .ok_or(Error::CutShort { at })?;
        let head = SampleHead::from_words(*head).ok_or(Error::UnknownRecord { at })?;
        let (frames, rest) = rest
            .split_at_checked(usize::from(head.frames))
            .ok_or(Error::CutShort { at })?;
        let python = rest
            .get(..usize::from(head.python))
            .ok_or(Error::CutShort { at })?;
        let words = SAMPLE_HEAD_WORDS + frames.len() + python.len();
        let record = Record::Sample {
            head,
            frames,
            python,
        };
        Ok((Some(record), words))
    }
}

/// The record in these words, which is not a sample; `None` for an unknown kind.
fn other(words: &[u64]) -> Result<Option<Record<'_>>, ()> {
    match words.first().map(|first| first >> 56) {
        Some(KIND_CODE) => {
            let (head, body) = words.split_first_chunk::<CODE_HEAD_WORDS>().ok_or(())?;
            let head = CodeHead::from_words(*head).ok_or(())?;
            Ok(Some(Record::Code(Code::new(head, body).ok_or(())?)))
        }
        Some(KIND_THREAD_NAME) => {
            let (head, body) = words
                .split_first_chunk::<THREAD_NAME_HEAD_WORDS>()
                .ok_or(())?;
            let head = ThreadNameHead::from_words(*head).ok_or(())?;
            let name = ThreadName::new(head, body).ok_or(())?;
            Ok(Some(Record::ThreadName(name)))
        }
        Some(KIND_TASK_NAME) => {
            let (head, body) = words
                .split_first_chunk::<TASK_NAME_HEAD_WORDS>()
                .ok_or(())?;
            let head = TaskNameHead::from_words(*head).ok_or(())?;
            let name = TaskName::new(head, body).ok_or(())?;
            Ok(Some(Record::TaskName(name)))
        }
        Some(KIND_REWALK) => {
            let (head, body) = words.split_first_chunk::<REWALK_HEAD_WORDS>().ok_or(())?;
            let head = RewalkHead::from_words(*head).ok_or(())?;
            Ok(Some(Record::Rewalk(Rewalk::new(head, body).ok_or(())?)))
        }
        Some(KIND_WAIT) => Ok(Some(Record::Wait(Wait::from_words(words).ok_or(())?))),
        Some(KIND_TRAFFIC) => Ok(Some(Record::Traffic(Traffic::from_words(words).ok_or(())?))),
        Some(KIND_SYSCALLS) => {
            let syscalls = Syscalls::from_words(words).ok_or(())?;
            Ok(Some(Record::Syscalls(syscalls)))
        }
        Some(KIND_CALL) => Ok(Some(Record::Call(Call::from_words(words).ok_or(())?))),
        Some(KIND_OPENED) => Ok(Some(Record::Opened(Opened::from_words(words).ok_or(())?))),
        Some(KIND_BLOCK) => Ok(Some(Record::Block(Block::from_words(words).ok_or(())?))),
        Some(KIND_FREED) => Ok(Some(Record::Freed(Freed::from_words(words).ok_or(())?))),
        Some(KIND_SITE) => Ok(Some(Record::Site(Site::from_words(words).ok_or(())?))),
        Some(KIND_SPAN_PATH) => {
            let path = SpanPath::from_words(words).ok_or(())?;
            Ok(Some(Record::SpanPath(path)))
        }
        Some(KIND_SPAN) => Ok(Some(Record::Span(Span::from_words(words).ok_or(())?))),
        Some(KIND_SPAN_SUM) => Ok(Some(Record::SpanSum(SpanSum::from_words(words).ok_or(())?))),
        Some(KIND_MARK) => Ok(Some(Record::Mark(Mark::from_words(words).ok_or(())?))),
        Some(KIND_SPAN_LOSS) => {
            let loss = SpanLoss::from_words(words).ok_or(())?;
            Ok(Some(Record::SpanLoss(loss)))
        }
        _ => Ok(None),
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Record<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.words.len() {
            match self.record() {
                Ok((record, words)) => {
                    self.at += words;
                    if let Some(record) = record {
                        return Some(Ok(record));
                    }
                }
                Err(error) => {
                    self.at = self.words.len();
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
