//! Checks that each stack is one that the program can have.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use super::child::print;
use profundo_cpython::lines::position;
use profundo_probe::shared::Header;
use profundo_wire::{End, Gil, PythonEnd, PythonWord, Reader, Record};

/// A caller, its line, and the callee.
type Edge = (String, i32, String);

/// The contents of a code record.
struct Code {
    minor: u8,
    who: String,
    first_line: i32,
    lines: Vec<u8>,
}

/// The numbers of samples.
#[derive(Debug, Default)]
pub struct Tally {
    pub samples: u64,
    /// Samples with frames of the interpreter.
    pub python: u64,
    /// Samples with two neighbours of which one does not call the other.
    pub impossible: u64,
    pub python_broken: u64,
    pub python_truncated: u64,
    pub native_broken: u64,
    /// Samples with a run of the loop whose native frame was not found though the native stack is
    /// whole.
    pub homeless: u64,
    /// Samples with an entry that names a native frame outside of the loop.
    pub misplaced: u64,
    /// Samples with fewer runs than the native stack has frames of the loop, the leaf not counted.
    pub unclaimed: u64,
    /// Samples with an unrecorded code object.
    pub missing: u64,
    pub tasks: u64,
    pub held: u64,
}

pub struct Verify {
    edges: HashSet<Edge>,
    codes: HashMap<u32, Code>,
    loops: Vec<(u64, u64)>,
    wrong: HashMap<String, u64>,
    /// The names of threads.
    pub names: HashSet<String>,
    pub tally: Tally,
}

/// Whether a call is one that no observation shows: a call by the garbage collector at any line, of
/// the program itself, or of a thread that is only just starting.
fn is_unobserved(caller: &str, callee: &str) -> bool {
    const ANYWHERE: [&str; 3] = ["_remove", "__del__", "_commit_removals"];
    let is_threading = |who: &str| who.contains("/threading.py\t");
    ANYWHERE.iter().any(|name| callee.ends_with(name))
        || caller == "<string>\t<module>"
        || is_threading(caller) && is_threading(callee)
}

impl Verify {
    pub fn new(edges: &str, header: &Header) -> Self {
        let edge = |line: &str| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [file, name, line, other_file, other_name] = fields[..] else {
                panic!("{line:?}");
            };
            (
                format!("{file}\t{name}"),
                line.parse().unwrap(),
                format!("{other_file}\t{other_name}"),
            )
        };
        let loops = header.evaluation.chunks(2).map(|pair| {
            let [start, end] = [&pair[0], &pair[1]].map(|end| end.load(Ordering::SeqCst));
            (start, end)
        });
        Self {
            edges: edges.lines().map(edge).collect(),
            codes: HashMap::new(),
            loops: loops.collect(),
            wrong: HashMap::new(),
            names: HashSet::new(),
            tally: Tally::default(),
        }
    }

    fn is_loop(&self, native: &[u64], index: usize) -> bool {
        let address = native[index] - u64::from(index > 0);
        self.loops
            .iter()
            .any(|&(start, end)| (start..end).contains(&address))
    }

    /// Takes in the code objects of a chunk, and the names of threads.
    pub fn codes(&mut self, words: &[u64]) {
        for record in Reader::new(words) {
            let text = |text: profundo_wire::Text<'_>| text.characters().collect::<String>();
            let code = match record.unwrap() {
                Record::Code(code) => code,
                Record::ThreadName(thread) => {
                    self.names.insert(text(thread.name));
                    continue;
                }
                _ => continue,
            };
            let kept = Code {
                minor: code.head.minor,
                who: format!("{}\t{}", text(code.file), text(code.name)),
                first_line: code.head.first_line,
                lines: code.lines.bytes().collect(),
            };
            assert!(self.codes.insert(code.head.number, kept).is_none());
        }
    }

    /// Checks the samples of a chunk.
    pub fn samples(&mut self, words: &[u64]) {
        for record in Reader::new(words) {
            if let Record::Sample {
                head,
                frames,
                python,
            } = record.unwrap()
            {
                self.sample(head, frames, python);
            }
        }
    }

    fn sample(&mut self, head: profundo_wire::SampleHead, native: &[u64], python: &[u64]) {
        self.tally.samples += 1;
        self.tally.native_broken += u64::from(head.end != End::Root);
        self.tally.python_broken += u64::from(head.python_end == PythonEnd::Broken);
        self.tally.python_truncated += u64::from(head.python_end == PythonEnd::Truncated);
        self.tally.python += u64::from(!python.is_empty());
        self.tally.tasks += u64::from(head.task != 0);
        self.tally.held += u64::from(head.gil == Gil::Held);
        if head.end == End::Root && head.python_end == PythonEnd::Whole && !python.is_empty() {
            self.entries(native, python);
        }
        let mut frames: Vec<(&str, Option<i32>)> = Vec::new();
        let mut leaf_offset = None;
        for word in python {
            if let PythonWord::Frame { code, offset, .. } = PythonWord::from_word(*word) {
                let Some(code) = self.codes.get(&code) else {
                    self.tally.missing += 1;
                    return;
                };
                leaf_offset.get_or_insert(offset);
                let at = position(code.minor, &code.lines, code.first_line, offset);
                frames.push((&code.who, at.and_then(|at| at.line)));
            }
        }
        // A generator or a coroutine is made by a call that cannot be traced.
        let is_entering = leaf_offset.is_some_and(|offset| offset < 8);
        let mut wrong = None;
        for (index, pair) in frames.windows(2).enumerate() {
            let [(callee, _), (caller, Some(line))] = *pair else {
                continue;
            };
            if is_unobserved(caller, callee) {
                continue;
            }
            let edge = (caller.to_owned(), line, callee.to_owned());
            let is_callee = |edge: &Edge| edge.2 == callee;
            let is_known = self.edges.contains(&edge)
                || index == 0 && is_entering && self.edges.iter().any(is_callee);
            if !is_known {
                wrong = Some(format!("{caller}:{line} -> {callee}").replace('\t', " "));
                break;
            }
        }
        let root = frames.last().map(|(who, _)| *who);
        if let Some(who) = root
            && head.python_end == PythonEnd::Whole
            && !["<module>", "_bootstrap"]
                .iter()
                .any(|name| who.ends_with(name))
        {
            wrong = Some(format!("root {who}").replace('\t', " "));
        }
        if let Some(wrong) = wrong {
            self.tally.impossible += 1;
            *self.wrong.entry(wrong).or_default() += 1;
        }
    }

    /// Checks that each run of the loop has its native frame, and the other way round.
    fn entries(&mut self, native: &[u64], python: &[u64]) {
        let (mut named, mut homeless, mut misplaced) = (0, false, false);
        for word in python {
            if let PythonWord::Entry { native: entry } = PythonWord::from_word(*word) {
                match entry {
                    None => homeless = true,
                    Some(index) if self.is_loop(native, usize::from(index)) => named += 1,
                    Some(_) => misplaced = true,
                }
            }
        }
        let loops = (0..native.len()).filter(|&index| self.is_loop(native, index));
        let loops = loops.filter(|&index| index > 0).count();
        self.tally.homeless += u64::from(homeless);
        self.tally.misplaced += u64::from(misplaced);
        self.tally.unclaimed += u64::from(named < loops);
    }

    /// Prints the findings.
    pub fn report(&self) {
        print(&format!("{:?}", self.tally));
        let mut wrong: Vec<_> = self.wrong.iter().collect();
        wrong.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        for (what, count) in wrong.iter().take(25) {
            print(&format!("  {count} {what}"));
        }
    }
}
