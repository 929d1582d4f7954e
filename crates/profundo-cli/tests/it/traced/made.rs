//! A recording with much recursion, names that are odd, large counts and two threads, the same each
//! time.

use std::collections::BTreeMap;

use profundo_model::{
    Call, Callers, FrameKey, Language, Line, LocationId, LocationKind, Nanos, ProcessId, Profile,
    Sample, SampleKind, StackId, ThreadId,
};

/// Functions of three files and what is built in: file, first line, name. Names come twice, and so
/// do lines.
const FUNCTIONS: [(&str, u32, &str); 14] = [
    ("/srv/app.py", 1, "<module>"),
    ("/srv/app.py", 4, "fib"),
    ("/srv/app.py", 9, "<lambda>"),
    ("/srv/app.py", 12, "<lambda>"),
    ("/srv/app.py", 12, "größe"),
    ("/srv/lib/rows.py", 4, "fib"),
    ("/srv/lib/rows.py", 30, "read"),
    ("<string>", 1, "<module>"),
    ("/srv/it's.py", 7, "__init__"),
    ("", 0, "built-in method builtins.len"),
    ("", 0, "built-in method time.sleep"),
    ("", 0, "method 'append' of 'list' objects"),
    ("/srv/lib/rows.py", 200_000, "generated"),
    ("/srv/漢字.py", 2, "漢字"),
];

/// The source of the program. Its functions begin at lines 1, 6 and 14.
pub const SOURCE: &str = "\
def add(a, b):
    total = a + b

    return total

@staticmethod
def long(rows):
    for row in rows:
        # A comment.
        add(row, 'größe')
    if not rows:
        return None

class It:
    def method(self):
        return [
            add(1, 2),
        ]
";

/// A generator that needs no crate and gives the same numbers everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The recording; its lines are those of [`SOURCE`], which lies at `source`.
pub fn traced(source: &str) -> Profile {
    let mut profile = Profile::default();
    profile.meta.kind = SampleKind::Traced;
    profile.hand_made_process(4711, "python3 app.py --größe=3");
    let task = profile.hand_made_task(1);
    let functions: Vec<LocationId> = (FUNCTIONS.iter().enumerate())
        .map(|(number, &(file, line, name))| {
            if !file.is_empty() {
                return profile.hand_made_python(file, name, line, false);
            }
            let key = FrameKey {
                function: name,
                language: Language::Native,
                ..FrameKey::default()
            };
            let kind = LocationKind::Invented(number as u64);
            profile.hand_made_location(kind, None, &[key])
        })
        .collect();
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for (number, name) in [(1, "MainThread"), (2, "worker")] {
        let thread = profile.hand_made_thread(number, name);
        thread_of(&mut profile, thread, &functions, &mut random);
    }
    // More than 32 bits hold.
    profile.traced.calls[7].calls += 5_000_000_000;
    profile.samples = (profile.traced.calls.iter())
        .map(|call| Sample {
            weight: call.own,
            thread: call.thread,
            task,
            stack: call.stack,
            ..Sample::default()
        })
        .collect();
    lines(&mut profile, source);
    profile
}

/// Calls at random: of each place of the tree how often it was called and what it took.
fn thread_of(
    profile: &mut Profile,
    thread: ThreadId,
    functions: &[LocationId],
    random: &mut Random,
) {
    /// A call that has not ended: where it is, when it began, and what it called took.
    struct Open(StackId, u64, u64);
    let mut places: BTreeMap<StackId, Call> = BTreeMap::new();
    let mut open: Vec<Open> = Vec::new();
    let mut now = 0_u64;
    for step in 0..3000 {
        // Some calls take long, most are short.
        now += match random.below(50) {
            0 => random.below(40_000_000),
            _ => random.below(20_000),
        };
        if open.is_empty() || (random.below(100) < 52 && open.len() < 40 && step < 2900) {
            let function = functions[match open.len() {
                0 => 0,
                _ => random.below(functions.len() as u64) as usize,
            }];
            let stack = profile
                .stacks
                .intern(open.last().map(|caller| caller.0), function);
            let call = places.entry(stack).or_insert_with(|| Call {
                thread,
                stack,
                callers: Callers::All,
                ..Call::default()
            });
            match random.below(10) {
                0 => call.resumes += 1,
                _ => call.calls += 1,
            }
            open.push(Open(stack, now, 0));
        } else if let Some(Open(stack, since, below)) = open.pop() {
            let took = now - since;
            let call = places.get_mut(&stack).unwrap();
            call.total.0 += took;
            call.own.0 += took - below;
            if let Some(caller) = open.last_mut() {
                caller.2 += took;
            }
        }
    }
    assert!(open.is_empty(), "all of them have come back");
    profile.traced.calls.extend(places.into_values());
}

fn lines(profile: &mut Profile, source: &str) {
    let rows: [(&str, u32, u32, u64, u64); 9] = [
        ("add", 1, 2, 1_000, 412_345),
        ("add", 1, 4, 1_000, 98_765),
        ("long", 6, 8, 1_001, 3_000_000),
        ("long", 6, 10, 1_000, 1_234_567_890),
        ("long", 6, 11, 1, 1_499),
        ("method", 15, 16, 3, 50),
        ("method", 15, 17, 12_345_678_901, 49),
        ("gone", 3, 5, 2, 77),
        ("gone", 3, 7, 0, 0),
    ];
    for (function, first, line, hits, time) in rows {
        let file = if function == "gone" {
            "/nowhere/gone.py"
        } else {
            source
        };
        let frame = profile.frame(FrameKey {
            function,
            file,
            line,
            language: Language::Python,
            ..FrameKey::default()
        });
        profile.traced.lines.push(Line {
            process: ProcessId(0),
            frame,
            first,
            hits,
            time: Nanos(time),
        });
    }
}
