//! A raw recording: the samples as the threads of a program have written them, in a file that the
//! program has made without a recorder, because no process could be started there.
//!
//! Reading one is what a recorder does while a program runs, and at its end: the words become a
//! profile, and addresses get names. The samples have all that was only in the program's memory:
//! names and line tables of Python's code.
//!
//! ```text
//! 16 bytes     MAGIC, with the version at its end
//! parts        kind, length in bytes (u64, LE), and so many bytes, filled up to whole words
//!   1  texts   lines `KEY`, tab, `VALUE`, with `%09`, `%0a` and `%25` for what a line cannot have
//!   2  facts   words: `Facts` has their order
//!   3  thread  words: `thread` has their order
//!   4  file    five words, its path, its build id: `module`
//!   5  samples words of one chunk of the buffer, as `profundo-wire` reads them
//!   6  end
//! ```
//!
//! Parts of other kinds are skipped, and more words of a part than are known. The agent writes
//! parts 2 to 6 (`late/alone.rs` there), the Python package the texts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use profundo_analysis::{Filter, SpanChoice, cut, settle};
use profundo_ingest::Ingest;
use profundo_linux::clock::Scale;
use profundo_model::{Nanos, Profile};
use profundo_wire::recording::{
    Allocations, Engine, Event, Finish, HowEnded, Instant, LossCounts, ModuleInfo, ProcessEnd,
    ProcessInfo, Start, ThreadInfo,
};
use profundo_wire::{Reader, Record, State, command};
use rustc_hash::FxHashMap;

use crate::{naming, qualified_names, sources, stack_weights};

/// The first bytes of a file, and the version behind them.
const MAGIC: [u8; 14] = *b"\x89PROFUNDO-R\r\n\x1a";
const VERSION: u16 = 1;
const HEAD: usize = 16;

/// The only process of a raw recording.
const PROCESS: u32 = 1;

/// The bytes of a chunk of samples.
const CHUNK_BYTES: u64 = 64 << 10;

mod part {
    pub const TEXTS: u64 = 1;
    pub const FACTS: u64 = 2;
    pub const THREAD: u64 = 3;
    pub const FILE: u64 = 4;
    pub const SAMPLES: u64 = 5;
    pub const END: u64 = 6;
}

/// Whether a file is a raw recording, as far as its first bytes say.
pub fn is_raw(path: &Path) -> bool {
    let mut first = [0; MAGIC.len()];
    let read = fs::File::open(path).and_then(|mut file| {
        use std::io::Read;
        file.read_exact(&mut first)
    });
    read.is_ok() && first == MAGIC
}

/// Reads a raw recording, with names for its addresses from this machine's files.
pub fn read_file(path: &Path) -> Result<Profile> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let shown = || format!("cannot read {}", path.display());
    let raw = Raw::parse(&bytes).with_context(shown)?;
    let mut profile = raw.profile();
    let samples = profile.samples.len();
    naming::complete(&mut profile, samples);
    let mut weights = Vec::new();
    stack_weights::add_samples(&mut weights, &profile);
    sources::keep(&mut profile, &weights, &mut sources::InMemory::default());
    if let Some(filter) = raw.filter() {
        settle(&mut profile);
        cut(&mut profile, &filter);
        let part = "this is a part of what the program has recorded: one of its regions";
        profile.meta.notes.push(part.to_owned());
    }
    // As it would be read from a file that the command has written.
    let mut saved = Vec::new();
    profundo_formats::write(&profile, &mut saved).with_context(shown)?;
    Ok(profundo_formats::read(&saved).with_context(shown)?.0)
}

/// The parts of a file.
#[derive(Debug, Default)]
struct Raw {
    texts: Vec<(String, Vec<u8>)>,
    facts: Facts,
    threads: Vec<Vec<u64>>,
    modules: Vec<ModuleInfo>,
    chunks: Vec<Vec<u64>>,
    is_whole: bool,
}

/// The figures of the whole. Those that a file does not have are 0.
#[derive(Debug, Default)]
struct Facts {
    pid: u64,
    /// When the agent came, on the cycle counter.
    started: u64,
    /// Nanoseconds between two samples, and between two ticks of the kernel.
    period: u64,
    tick: u64,
    /// The interpreter's version, and why its stacks are not read.
    python: u64,
    python_refused: u64,
    /// The chunks of the buffer.
    chunks: u64,
    loss: LossCounts,
    began: Instant,
    ended: Instant,
    /// Nanoseconds in which a region was open, and the user and system time of the process then.
    ran: u64,
    user: u64,
    system: u64,
}

impl Facts {
    fn new(words: &[u64]) -> Self {
        let at = |index: usize| words.get(index).copied().unwrap_or_default();
        let instant = |index: usize| Instant {
            cycles: at(index),
            monotonic: at(index + 1),
            unix: at(index + 2),
        };
        Self {
            pid: at(0),
            started: at(2),
            period: at(3),
            tick: at(4),
            python: at(5),
            python_refused: at(6),
            chunks: at(7),
            loss: LossCounts {
                buffer_full: at(8),
                overwritten: 0,
                reentrant: at(9),
                thread_table_full: at(10),
            },
            began: instant(11),
            ended: instant(14),
            ran: at(17),
            user: at(18),
            system: at(19),
        }
    }

    /// A number of cycles in nanoseconds.
    fn nanoseconds(&self, cycles: u64) -> u64 {
        Scale::between(self.began, self.ended).nanoseconds(cycles)
    }

    /// Whether a region was open all the time, or nearly.
    fn was_always_open(&self) -> bool {
        let length = (self.ended.monotonic).saturating_sub(self.began.monotonic);
        self.ran >= length / 100 * 99
    }
}

impl Raw {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let Some((head, mut rest)) = bytes.split_at_checked(HEAD) else {
            bail!("it is cut in its first bytes");
        };
        let Some(&[low, high]) = head.strip_prefix(&MAGIC) else {
            bail!("it is no raw recording");
        };
        let version = u16::from_le_bytes([low, high]);
        if version != VERSION {
            bail!("it is a raw recording of version {version}; a newer profundo reads it");
        }
        let mut raw = Self::default();
        while let Some((kind, content, behind)) = next_part(rest) {
            rest = behind;
            match kind {
                part::TEXTS => raw.texts.extend(texts(content)),
                part::FACTS => raw.facts = Facts::new(&words(content)),
                part::THREAD => raw.threads.push(words(content)),
                part::FILE => raw.modules.extend(module(content)),
                part::SAMPLES => raw.chunks.push(words(content)),
                part::END => raw.is_whole = true,
                _ => {}
            }
        }
        raw.chunks.sort_by_key(|words| first_clock(words));
        Ok(raw)
    }

    /// The last text of that name.
    fn text(&self, key: &str) -> Option<String> {
        self.bytes(key)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    fn bytes(&self, key: &str) -> Option<&[u8]> {
        let mut texts = self.texts.iter().rev();
        texts
            .find(|(name, _)| name == key)
            .map(|(_, value)| &value[..])
    }

    /// The part that the program has chosen, if it has.
    fn filter(&self) -> Option<Filter> {
        let seconds = |key| {
            let text = self.text(key)?;
            let seconds: f64 = text.parse().ok()?;
            Some(Nanos((seconds.max(0.0) * 1e9) as u64))
        };
        let filter = Filter {
            from: seconds("from"),
            to: seconds("to"),
            spans: self
                .text("span")
                .iter()
                .map(|it| SpanChoice::new(it))
                .collect(),
            ..Filter::default()
        };
        (!filter.is_nothing()).then_some(filter)
    }

    /// The profile, without names of native code.
    fn profile(&self) -> Profile {
        let facts = &self.facts;
        let nothing = (0, Allocations::None);
        let start = Start {
            engine: Engine::CpuTimer,
            period: facts.period,
            is_wall: false,
            allocations: Allocations::None,
            copies: nothing,
            started: facts.began,
        };
        let mut ingest = Ingest::new(start).qualified_names(qualified_names::by_source());
        ingest.event(Event::Clock(facts.began));
        self.introduce(&mut ingest);
        for words in &self.chunks {
            let process = PROCESS;
            ingest.event(Event::Words { process, words });
        }
        let (process, loss) = (PROCESS, facts.loss);
        ingest.event(Event::Loss { process, loss });
        // Twice, since samples wait until the time is known on both sides of them.
        for _ in 0..2 {
            ingest.event(Event::Clock(facts.ended));
        }
        ingest.event(Event::Ended(ProcessEnd {
            process,
            ended: facts.ended.cycles,
            user: Some(facts.user),
            system: Some(facts.system),
            how: HowEnded::Unknown,
        }));
        for note in self.notes() {
            ingest.event(Event::Note(note));
        }
        ingest.finish(Finish {
            ended: facts.ended,
            duration: facts.ran,
            cpu: facts.user.saturating_add(facts.system),
            own_cost: None,
            recorder_cpu: None,
            by_ticks: self.sampled().values().sum(),
        })
    }

    /// The process, its files, its interpreter and its threads.
    fn introduce(&self, ingest: &mut Ingest) {
        let (facts, process) = (&self.facts, PROCESS);
        let variables = self.texts.iter().filter(|(key, _)| key == "variable");
        ingest.event(Event::Process(ProcessInfo {
            key: process,
            pid: facts.pid as u32,
            parent: 0,
            command: self.bytes("command").map(command::line).unwrap_or_default(),
            directory: self.text("directory").unwrap_or_default(),
            environment: variables
                .map(|(_, name)| String::from_utf8_lossy(name).into_owned())
                .collect(),
            labels: Vec::new(),
            started: facts.started,
        }));
        let modules = self.named_modules();
        if let Some(module) = interpreter(&modules).filter(|_| facts.python != 0) {
            let [_, major, minor, micro] = (facts.python as u32).to_be_bytes();
            ingest.event(Event::Runtime {
                process,
                runtime: format!("CPython {major}.{minor}.{micro}"),
                module: module.path.clone(),
            });
        }
        ingest.event(Event::Modules { process, modules });
        let sampled = self.sampled();
        for words in &self.threads {
            let Some((thread, gil_wait)) = self.thread(words, &sampled) else {
                continue;
            };
            ingest.event(Event::Thread {
                process,
                thread,
                gil_wait,
            });
        }
    }

    /// The modules with whole paths: the loader has no name for the program itself.
    fn named_modules(&self) -> Vec<ModuleInfo> {
        let program = self.text("program").unwrap_or_default();
        let directory = PathBuf::from(self.text("directory").unwrap_or_default());
        let mut modules = self.modules.clone();
        for module in &mut modules {
            if module.path.is_empty() {
                module.path.clone_from(&program);
            } else if module.path.contains('/') {
                let path = directory.join(&module.path);
                module.path = path.to_string_lossy().into_owned();
            }
        }
        modules.retain(|module| !module.path.is_empty());
        modules
    }

    /// A thread, and its wait for the interpreter's lock in nanoseconds.
    fn thread(&self, words: &[u64], sampled: &FxHashMap<u32, u64>) -> Option<(ThreadInfo, u64)> {
        let &[
            number,
            tid,
            first,
            second,
            seen,
            last_seen,
            cpu,
            gil_cycles,
            gil_awake,
            ..,
        ] = words
        else {
            return None;
        };
        let name = [first, second].map(u64::to_le_bytes).concat();
        let length = name.iter().position(|&byte| byte == 0);
        let name = name.get(..length.unwrap_or(name.len()))?;
        let number = number as u32;
        // The kernel counts the time between regions, too.
        let cpu = match self.facts.was_always_open() {
            true => cpu,
            false => sampled.get(&number).copied().unwrap_or_default(),
        };
        let thread = ThreadInfo {
            number,
            tid: tid as u32,
            name: String::from_utf8_lossy(name).into_owned(),
            alive: self.facts.nanoseconds(last_seen.saturating_sub(seen)),
            cpu,
        };
        let gil_wait = self.facts.nanoseconds(gil_cycles);
        Some((thread, gil_wait.saturating_sub(gil_awake)))
    }

    /// The time that the samples of each thread stand for, by its number.
    fn sampled(&self) -> FxHashMap<u32, u64> {
        let mut sampled = FxHashMap::default();
        for words in &self.chunks {
            for record in Reader::new(words) {
                if let Ok(Record::Sample { head, .. }) = record
                    && head.state != State::Returning
                {
                    let sum: &mut u64 = sampled.entry(head.thread).or_default();
                    *sum = sum.saturating_add(head.weight);
                }
            }
        }
        sampled
    }

    /// Sentences for the reader.
    fn notes(&self) -> Vec<String> {
        let facts = &self.facts;
        let mut notes = vec![format!(
            "the program has recorded itself, because no process could be started beside it: the engine is \
             cpu-timer, which gives at most one stack each tick of the kernel{}",
            match facts.tick {
                0 => String::new(),
                tick => format!(" ({} ms)", tick as f64 / 1e6),
            }
        )];
        if facts.loss.buffer_full > 0 {
            notes.push(format!(
                "samples have {} MiB of the program's memory, which was full: {} that came later are lost",
                facts.chunks.saturating_mul(CHUNK_BYTES) >> 20,
                facts.loss.buffer_full
            ));
        }
        if facts.python_refused != 0 {
            notes.push("the stacks of this interpreter could not be read".to_owned());
        }
        if !self.is_whole {
            notes.push("the file has no end: its writer was stopped, or it was cut".to_owned());
        }
        notes
    }
}

/// The kind of the next part, its content, and what follows it.
fn next_part(bytes: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (kind, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let kind = u64::from_le_bytes(*kind);
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (content, rest) = match rest.split_at_checked(length) {
        Some(parted) => parted,
        // Whole words of a part that was cut are good.
        None if kind == part::SAMPLES => (rest, &[][..]),
        None => return None,
    };
    let filled = length.checked_next_multiple_of(8)? - length;
    Some((kind, content, rest.get(filled..).unwrap_or_default()))
}

fn words(bytes: &[u8]) -> Vec<u64> {
    let (words, _) = bytes.as_chunks();
    words.iter().map(|&word| u64::from_le_bytes(word)).collect()
}

/// The lines of a part of texts.
fn texts(bytes: &[u8]) -> impl Iterator<Item = (String, Vec<u8>)> {
    bytes.split(|&byte| byte == b'\n').filter_map(|line| {
        let at = line.iter().position(|&byte| byte == b'\t')?;
        let (key, value) = line.split_at_checked(at)?;
        let key = String::from_utf8_lossy(key).into_owned();
        Some((key, unescaped(value.get(1..)?)))
    })
}

fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, behind @ ..] = rest {
        rest = behind;
        let code = match (first, behind) {
            (b'%', [high, low, ..]) => {
                let text = [*high, *low];
                let text = std::str::from_utf8(&text).ok();
                text.and_then(|text| u8::from_str_radix(text, 16).ok())
            }
            _ => None,
        };
        if code.is_some() {
            rest = rest.get(2..).unwrap_or_default();
        }
        out.push(code.unwrap_or(*first));
    }
    out
}

/// A loaded file: its first address, its end, its bias, and the lengths of its path and build id.
fn module(bytes: &[u8]) -> Option<ModuleInfo> {
    const WORDS: usize = 5;
    let (head, texts) = bytes.split_at_checked(WORDS * 8)?;
    let &[start, end, bias, path, id] = &words(head)[..] else {
        return None;
    };
    let (path, rest) = texts.split_at_checked(usize::try_from(path).ok()?)?;
    let build_id = rest.get(..usize::try_from(id).ok()?)?.to_vec();
    (start < end).then(|| ModuleInfo {
        path: String::from_utf8_lossy(path).into_owned(),
        start,
        end,
        bias,
        build_id,
        loaded: 0,
        unloaded: u64::MAX,
    })
}

/// The module with the interpreter: its library, or else the program.
fn interpreter(modules: &[ModuleInfo]) -> Option<&ModuleInfo> {
    let is_library = |module: &&ModuleInfo| {
        let name = Path::new(&module.path).file_name();
        name.is_some_and(|name| name.to_string_lossy().starts_with("libpython3"))
    };
    (modules.iter().find(is_library)).or(modules.first())
}

/// The time of the first sample, on the cycle counter.
fn first_clock(words: &[u64]) -> u64 {
    let mut records = Reader::new(words);
    let clock = records.find_map(|record| match record {
        Ok(Record::Sample { head, .. }) => Some(head.clock),
        _ => None,
    });
    clock.unwrap_or_default()
}

#[cfg(test)]
mod tests;
