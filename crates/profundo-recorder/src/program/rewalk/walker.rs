//! Repeats walks that handlers could not finish because a library was not listed yet. They are
//! repeated when it is, before the samples are emitted.

use std::borrow::Cow;
use std::collections::HashSet;

use profundo_probe::MAX_DEPTH;
use profundo_probe::rewalk::walk_again;
use profundo_process::copied_stack::Copied;
use profundo_unwind::{Module, Modules};
use profundo_wire::{End, Reader, Record, Rewalk, SAMPLE_HEAD_WORDS, SampleHead};

/// The bits of an address within a page.
const PAGE_BITS: u32 = 12;

/// The parts of the process that a walk needs.
pub(crate) struct Walker<'a> {
    pub(crate) pid: u32,
    /// The modules at a time. Sorted.
    pub(crate) modules: &'a dyn Fn(u64) -> Cow<'a, [Module<'a>]>,
    /// Whether the table of the module at an address is being compiled.
    pub(crate) is_pending: &'a dyn Fn(u64) -> bool,
    /// The ranges of the evaluation loop.
    pub(crate) evaluation: &'a [(u64, u64)],
}

/// The outcome of the walks.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Pages of code in no module that walks led to.
    pub(crate) unknown: HashSet<u64>,
    /// The number of improved stacks.
    pub(crate) better: usize,
    /// Samples that wait for a table, with the words to walk them.
    pub(crate) pending: Vec<u64>,
}

/// A sample as the handler wrote it, or an improved one.
struct Stack {
    head: SampleHead,
    frames: Vec<u64>,
    python: Vec<u64>,
}

impl Stack {
    fn put(&self, out: &mut Vec<u64>) {
        let head = SampleHead {
            frames: self.frames.len() as u16,
            python: self.python.len() as u16,
            ..self.head
        };
        out.extend(head.to_words());
        out.extend(&self.frames);
        out.extend(&self.python);
    }
}

impl Walker<'_> {
    /// Copies words, and improves the stacks of samples that could not be walked to their ends, as
    /// far as that is possible by now. With `is_last`, no sample waits.
    pub(crate) fn rewrite(
        &self,
        words: &[u64],
        is_last: bool,
        out: &mut Vec<u64>,
        outcome: &mut Outcome,
    ) {
        let mut reader = Reader::new(words);
        let mut copied = 0;
        let mut sample: Option<(SampleHead, &[u64], &[u64], usize)> = None;
        while let Some(Ok(record)) = reader.next() {
            let end = reader.position();
            let unfinished = match record {
                Record::Sample {
                    head,
                    frames,
                    python,
                } => {
                    sample = Some((head, frames, python, end));
                    continue;
                }
                Record::Rewalk(unfinished) => unfinished,
                _ => continue,
            };
            let start = end - unfinished.head.words();
            let of = sample.take().filter(|(.., behind)| *behind == start);
            let before = match &of {
                Some((_, frames, python, _)) => {
                    start - SAMPLE_HEAD_WORDS - frames.len() - python.len()
                }
                None => start,
            };
            out.extend(words.get(copied..before).unwrap_or_default());
            copied = end;
            let Some((head, frames, python, _)) = of else {
                continue;
            };
            let modules = (self.modules)(head.clock);
            let modules = Modules::new(&modules);
            let walked = self.walk(&unfinished, &modules, head, python);
            outcome.unknown.extend(unknown(&modules, &walked.frames));
            if !is_last && walked.frames.iter().any(|&frame| (self.is_pending)(frame)) {
                let all = words.get(before..end).unwrap_or_default();
                outcome.pending.extend(all);
                continue;
            }
            if is_better(&walked, head.end, frames.len()) {
                outcome.better += usize::from(walked.head != head || walked.frames != frames);
                walked.put(out);
            } else {
                out.extend(words.get(before..start).unwrap_or_default());
            }
        }
        out.extend(words.get(copied..).unwrap_or_default());
    }

    fn walk(
        &self,
        unfinished: &Rewalk<'_>,
        modules: &Modules<'_>,
        head: SampleHead,
        python: &[u64],
    ) -> Stack {
        let stack: Vec<u8> = unfinished
            .stack
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let [_, sp, ..] = unfinished.head.registers;
        let mut memory = Copied {
            pid: self.pid,
            start: sp,
            stack: &stack,
            modules,
        };
        let mut python = python.to_vec();
        let mut frames = vec![0; MAX_DEPTH];
        let (depth, end) = walk_again(
            unfinished,
            modules,
            &mut memory,
            self.evaluation,
            &mut python,
            head.python_end,
            &mut frames,
        );
        frames.truncate(depth);
        Stack {
            head: SampleHead {
                end: memory.end(end),
                ..head
            },
            frames,
            python,
        }
    }
}

/// The pages of frames in no module.
fn unknown(modules: &Modules<'_>, frames: &[u64]) -> Vec<u64> {
    let frames = frames.iter().enumerate();
    // All but the first are return addresses.
    let code = frames.map(|(at, &frame)| frame.wrapping_sub(u64::from(at > 0)));
    code.filter(|&address| modules.find(address).is_none())
        .map(|address| address >> PAGE_BITS)
        .collect()
}

/// Whether a stack is better than the handler's.
fn is_better(walked: &Stack, end: End, frames: usize) -> bool {
    let is_whole = |end: End| end == End::Root;
    match (is_whole(walked.head.end), is_whole(end)) {
        (true, _) => true,
        (false, true) => false,
        (false, false) => walked.frames.len() > frames,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_unwind::{Row, Rule, TableRef};
    use profundo_wire::{Gil, RewalkHead, State};

    const NEW: u64 = 0x10_0000;
    const OLD: u64 = 0x20_0000;
    const STACK: u64 = 0x7000_0000;

    fn sample(frames: &[u64], end: End) -> Vec<u64> {
        let head = SampleHead {
            state: State::Running,
            end,
            frames: frames.len() as u16,
            python: 0,
            python_end: profundo_wire::PythonEnd::Whole,
            gil: Gil::None,
            clock: 5,
            weight: 1,
            task: 0,
            thread: 1,
            tid: 1,
            span: 0,
        };
        [&head.to_words()[..], frames].concat()
    }

    /// A function of the new library, called by one of the old, which has no caller.
    fn beginning(stack: &[u64]) -> Vec<u64> {
        let head = RewalkHead {
            stack: stack.len() as u32,
            registers: [NEW + 5, STACK, 0, 0],
            ..RewalkHead::default()
        };
        [&head.to_words()[..], stack].concat()
    }

    const WORDS: [u64; 3] = [7, OLD + 9, 0];

    /// The rewritten words, given the known modules; the table of the new one may be being
    /// compiled.
    fn rewritten(
        words: &[u64],
        known: usize,
        is_compiling: bool,
        last: bool,
    ) -> (Vec<u64>, Outcome) {
        let rows = [
            [Row::new(0, Rule::ROOT), Row::new(0x40, Rule::NONE)],
            [Row::new(0, Rule::sp(16)), Row::new(0x40, Rule::NONE)],
        ];
        let module = |start, rows| Module {
            start,
            end: start + 0x1000,
            table: TableRef {
                base: start,
                rows,
                index: &[0, 2],
            },
        };
        let mut all = [module(OLD, &rows[0]), module(NEW, &rows[1])];
        if is_compiling {
            all[1].table = TableRef::default();
        }
        let mut modules = all[..known].to_vec();
        modules.sort_by_key(|module| module.start);
        let walker = Walker {
            // No readable process.
            pid: u32::MAX,
            modules: &|clock| {
                assert_eq!(clock, 5);
                Cow::Borrowed(&modules)
            },
            is_pending: &|address| is_compiling && (NEW..NEW + 0x1000).contains(&address),
            evaluation: &[],
        };
        let (mut out, mut outcome) = (Vec::new(), Outcome::default());
        walker.rewrite(words, last, &mut out, &mut outcome);
        (out, outcome)
    }

    #[test]
    fn a_walk_is_finished_where_the_library_is_known() {
        let (before, after) = (sample(&[1], End::Root), sample(&[2], End::Broken));
        let broken = sample(&[NEW + 5], End::Broken);
        let words = [&before[..], &broken, &beginning(&WORDS), &after].concat();
        let (out, outcome) = rewritten(&words, 2, false, false);
        let whole = sample(&[NEW + 5, OLD + 9], End::Root);
        assert_eq!(out, [&before[..], &whole, &after].concat());
        assert_eq!((outcome.better, outcome.unknown.len()), (1, 0));
        assert!(outcome.pending.is_empty());
    }

    #[test]
    fn the_handlers_stack_stays_unless_a_better_one_is_found() {
        let broken = sample(&[NEW + 5], End::Broken);
        let words = [&broken[..], &beginning(&WORDS)].concat();
        let (out, outcome) = rewritten(&words, 1, false, false);
        assert_eq!(out, broken);
        assert_eq!(outcome.better, 0);
        assert_eq!(outcome.unknown, HashSet::from([NEW >> PAGE_BITS]));
        // A stack that the handler found by frame pointers is not replaced by a shorter one.
        let guessed = sample(&[NEW + 5, OLD + 9], End::Root);
        let words = [&guessed[..], &beginning(&WORDS[..1])].concat();
        assert_eq!(rewritten(&words, 2, false, false).0, guessed);
    }

    #[test]
    fn what_lies_beyond_the_copy_is_said_to_be_cut() {
        let broken = sample(&[], End::Broken);
        let words = [&broken[..], &beginning(&WORDS[..1])].concat();
        let (out, outcome) = rewritten(&words, 2, false, false);
        assert_eq!(out, sample(&[NEW + 5], End::Truncated));
        assert_eq!(outcome.better, 1);
    }

    #[test]
    fn a_sample_waits_for_a_table_but_not_for_ever() {
        let (broken, after) = (sample(&[NEW + 5], End::Broken), sample(&[2], End::Root));
        let both = [&broken[..], &beginning(&WORDS)].concat();
        let words = [&both[..], &after].concat();
        let (out, outcome) = rewritten(&words, 2, true, false);
        assert_eq!(out, after);
        assert_eq!(outcome.pending, both);
        let (out, outcome) = rewritten(&words, 2, true, true);
        assert_eq!(out, [&broken[..], &after].concat());
        assert!(outcome.pending.is_empty());
    }

    #[test]
    fn a_beginning_without_a_sample_is_dropped() {
        let after = sample(&[2], End::Root);
        let words = [&beginning(&WORDS)[..], &after].concat();
        assert_eq!(rewritten(&words, 2, false, false).0, after);
        // A record of an unknown kind stays in its place.
        let (broken, strange) = (sample(&[NEW + 5], End::Broken), vec![0xAB << 56 | 2, 1]);
        let words = [&broken[..], &strange, &beginning(&WORDS), &after].concat();
        let (out, outcome) = rewritten(&words, 2, false, false);
        assert_eq!(out, [&broken[..], &strange, &after].concat());
        assert_eq!(outcome.better, 0);
    }
}
