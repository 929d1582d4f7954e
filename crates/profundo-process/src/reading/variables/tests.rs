//! The variables of a running interpreter, read from a copy of its memory, whole and damaged.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use profundo_cpython::{
    DEBUG_WORDS, Memory, Start, Step, layout_from_debug_offsets, version, walk,
};
use profundo_linux::sys;

use super::*;
use crate::reading::{Activity, activity};

const PAGE: usize = 4096;

/// Pages of a process. Those that are missing are copied, as long as it is known.
#[derive(Debug, Clone, Default)]
struct Copied {
    pid: Option<u32>,
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Copied {
    fn page(&mut self, start: u64) -> Option<&Vec<u8>> {
        if !self.pages.contains_key(&start) {
            let mut page = vec![0; PAGE];
            (sys::read_memory(self.pid?, start, &mut page) == PAGE).then_some(())?;
            self.pages.insert(start, page);
        }
        self.pages.get(&start)
    }
}

impl Memory for Copied {
    fn word(&mut self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.bytes(address, &mut bytes)
            .then(|| u64::from_le_bytes(bytes))
    }

    fn bytes(&mut self, address: u64, out: &mut [u8]) -> bool {
        assert!(out.len() < PAGE, "{}", out.len());
        out.iter_mut().zip(address..).all(|(byte, address)| {
            let start = address & !(PAGE as u64 - 1);
            let found = self
                .page(start)
                .map(|page| page[(address - start) as usize]);
            found.is_some_and(|found| {
                *byte = found;
                true
            })
        })
    }
}

impl Live for Copied {
    fn has_still(&mut self, words: &[(u64, u64)]) -> bool {
        let mut words = words.iter();
        words.all(|&(place, word)| self.word(place) == Some(word))
    }

    fn forget(&mut self) {}

    fn make_room(&mut self) {}
}

const PROGRAM: &str = "
import collections, ctypes, sys
def address(name):
    return ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, name))
state = ctypes.pythonapi.PyGILState_GetThisThreadState
state.restype = ctypes.c_void_p
class Mine(dict): pass
def function(number, *rest, **named):
    big, texts, nested = 10 ** 100, ['a', b'b', u'\\u4e2d'], [[1, {2: {3}}], (4.5, None)]
    queue, mine, error = collections.deque(range(100)), Mine(a=1), ValueError('bad')
    bound, span, attributes = sys.stdin.read, range(10), vars(collections)
    def inner():
        print(address('PyCode_Type'), address('_PyRuntime'), state(), flush=True)
        sys.stdin.read(number)
        return big
    return inner()
function(7, 8, more=9)
";

/// The pages of a program of an interpreter, with its layout and its frames.
fn copy(path: &std::path::Path, minor: u8) -> (Copied, Layout, Vec<Frame>) {
    let mut child = Command::new(path)
        .args(["-E", "-s", "-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let mut numbers = line.split_whitespace().map(|word| word.parse().unwrap());
    let (code_type, runtime): (u64, u64) = (numbers.next().unwrap(), numbers.next().unwrap());
    let state = numbers.next().unwrap();
    let pid = child.id();
    profundo_testing::wait_until(
        "its read",
        || matches!(activity(pid, pid), Activity::Blocked(blocked) if blocked.call == libc::SYS_read),
    );
    let mut memory = Copied {
        pid: Some(pid),
        ..Copied::default()
    };
    let words: Vec<u64> = match version::has_debug_offsets(minor) {
        true => (0..DEBUG_WORDS as u64)
            .map(|index| memory.word(runtime + index * 8).unwrap())
            .collect(),
        false => Vec::new(),
    };
    let layout = layout_from_debug_offsets(minor, &words).unwrap();
    let start = Start {
        state,
        code_type,
        ..Start::default()
    };
    let mut frames = Vec::new();
    walk(&layout, &mut memory, start, |_, step| {
        if let Step::Frame(frame) = step {
            frames.push(frame);
        }
        ControlFlow::Continue(())
    });
    read_all(&mut memory, &layout, &frames);
    memory.pid = None;
    child.kill().unwrap();
    child.wait().unwrap();
    (memory, layout, frames)
}

fn read_all(memory: &mut Copied, layout: &Layout, frames: &[Frame]) -> Vec<FrameVariables> {
    let deadline = Instant::now() + Duration::from_secs(60);
    let read = |frame| read_frame(layout, memory, frame, deadline);
    frames.iter().map(read).collect()
}

/// The number of objects, which is bounded whatever the memory holds.
fn count(object: &Object) -> usize {
    let all = |objects: &[Object]| objects.iter().map(count).sum::<usize>();
    1 + match &object.value {
        Value::Items(_, _, items) | Value::Exception(_, items) => all(items),
        Value::Pairs(_, pairs) => {
            let pairs = pairs.iter();
            pairs.map(|(key, value)| count(key) + count(value)).sum()
        }
        Value::Range(parts) => all(&**parts),
        _ => 0,
    }
}

#[test]
fn variables_of_damaged_memory_are_read_to_an_end() {
    /// Five items of three each, twice in a dictionary, and a range in each.
    const MOST_OBJECTS: usize = 1 + 10 * (1 + 6 * 4);
    for python in profundo_testing::pythons_for("variables of damaged memory") {
        let (whole, layout, frames) = copy(&python.path, python.version.1 as u8);
        let read = read_all(&mut whole.clone(), &layout, &frames);
        let names = |frame: &FrameVariables| -> Vec<String> {
            let variables = frame.variables.iter();
            variables.map(|variable| variable.name.clone()).collect()
        };
        assert_eq!(
            names(&read[0]),
            ["big", "number"],
            "{}",
            python.path.display()
        );
        let expected = [
            "number",
            "rest",
            "named",
            "texts",
            "nested",
            "queue",
            "mine",
            "error",
            "bound",
            "span",
            "attributes",
            "inner",
            "big",
        ];
        let mut found = names(&read[1]);
        found.sort();
        let mut expected = expected.map(str::to_owned);
        expected.sort();
        assert_eq!(found, expected);
        let (mut lost, mut changed) = (0, 0);
        let starts: Vec<u64> = whole.pages.keys().copied().collect();
        let mut chance = 0x2545_F491_4F6C_DD1D_u64;
        let mut next = |most: usize| {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            (chance >> 11) as usize % most
        };
        for _ in 0..3000 {
            let mut memory = whole.clone();
            for _ in 0..=next(8) {
                let mut word = || (starts[next(starts.len())], next(PAGE / 8) * 8);
                let ((from, there), (to, at)) = (word(), word());
                // A pointer to another object, a large number, or nothing.
                let new = match next(4) {
                    0 => u64::MAX >> next(64),
                    1 => from + there as u64,
                    2 => 0,
                    _ => u64::from_le_bytes(*memory.pages[&from][there..].first_chunk().unwrap()),
                };
                let page = memory.pages.get_mut(&to).unwrap();
                page[at..at + 8].copy_from_slice(&new.to_le_bytes());
            }
            let damaged = read_all(&mut memory, &layout, &frames);
            for (frame, whole) in damaged.iter().zip(&read) {
                assert!(frame.variables.len() <= MOST_OF_A_FRAME);
                for variable in &frame.variables {
                    assert!(count(&variable.object) <= MOST_OBJECTS);
                }
                lost += usize::from(frame.missing.is_some());
                changed += usize::from(frame != whole);
            }
        }
        assert!(changed > 100 && lost < changed, "{lost} {changed}");
    }
}
