//! The table of calls, against cProfile's own way of counting.

use std::collections::BTreeMap;

use profundo_model::{
    Call, Callers, FrameKey, Language, Line, LocationId, Nanos, ProcessId, Profile, Sample,
    SampleKind, StackId, ThreadId,
};
use proptest::prelude::*;

use crate::*;

/// The next action of a thread, after some nanoseconds.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// It calls the function of this number, or goes on with it.
    Enter { function: usize, resumes: bool },
    /// It comes back.
    Leave,
}

type Steps = Vec<(u64, Step)>;

fn any_steps() -> impl Strategy<Value = Steps> {
    let enter = (0..5_usize, any::<bool>())
        .prop_map(|(function, resumes)| Step::Enter { function, resumes });
    let step = prop_oneof![4 => enter, 3 => Just(Step::Leave)];
    prop::collection::vec((0..9_u64, step), 0..60)
}

/// The sums of `_lsprof.c`: of an entry, and of a subentry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Entry {
    tt: u64,
    it: u64,
    callcount: u64,
    recursivecallcount: u64,
    recursion_level: u64,
}

impl Entry {
    fn stop(&mut self, tt: u64, it: u64) {
        self.recursion_level -= 1;
        match self.recursion_level {
            0 => self.tt += tt,
            _ => self.recursivecallcount += 1,
        }
        self.it += it;
        self.callcount += 1;
    }
}

/// cProfile's counts of all threads: by function, and by caller and function.
#[derive(Debug, Default)]
struct Oracle {
    entries: BTreeMap<usize, Entry>,
    subentries: BTreeMap<(usize, usize), Entry>,
}

impl Oracle {
    fn thread(&mut self, steps: &Steps) {
        /// A call that has not ended.
        struct Context {
            function: usize,
            t0: u64,
            subt: u64,
        }
        fn stop(oracle: &mut Oracle, contexts: &mut Vec<Context>, now: u64) {
            let Some(context) = contexts.pop() else {
                return;
            };
            let tt = now - context.t0;
            let it = tt - context.subt;
            let entry = oracle.entries.get_mut(&context.function);
            entry.expect("it was begun").stop(tt, it);
            if let Some(previous) = contexts.last_mut() {
                previous.subt += tt;
                let pair = (previous.function, context.function);
                let subentry = oracle.subentries.get_mut(&pair);
                subentry.expect("it was begun").stop(tt, it);
            }
        }
        let mut contexts: Vec<Context> = Vec::new();
        let mut now = 0;
        for &(after, step) in steps {
            now += after;
            let Step::Enter { function, .. } = step else {
                stop(self, &mut contexts, now);
                continue;
            };
            self.entries.entry(function).or_default().recursion_level += 1;
            if let Some(previous) = contexts.last() {
                let pair = (previous.function, function);
                self.subentries.entry(pair).or_default().recursion_level += 1;
            }
            contexts.push(Context {
                function,
                t0: now,
                subt: 0,
            });
        }
        while !contexts.is_empty() {
            stop(self, &mut contexts, now);
        }
    }
}

/// The same steps as a tree of calls, made like a tracer does. From `most` places of a thread on,
/// only the last caller of each is known.
fn recorded(threads: &[Steps], most: usize) -> Profile {
    let mut profile = Profile::from_folded("").unwrap();
    profile.meta.kind = SampleKind::Traced;
    let functions: Vec<LocationId> = (0..5)
        .map(|number| match number {
            4 => {
                let key = FrameKey {
                    function: "built-in method builtins.len",
                    language: Language::Native,
                    ..FrameKey::default()
                };
                let kind = profundo_model::LocationKind::Invented(4);
                profile.hand_made_location(kind, None, &[key])
            }
            // Two of one name, two of one line.
            _ => profile.hand_made_python(
                "/app.py",
                ["f", "f", "g", "h"][number],
                [1, 5, 5, 9][number],
                false,
            ),
        })
        .collect();
    for (number, steps) in threads.iter().enumerate() {
        let thread = profile.hand_made_thread(10 + number as u64, "worker");
        trace(&mut profile, thread, &functions, steps, most);
    }
    let task = profile.tasks.find_number(1).unwrap();
    profile.samples = (profile.traced.calls.iter())
        .map(|call| Sample {
            weight: call.own,
            thread: call.thread,
            task,
            stack: call.stack,
            ..Sample::default()
        })
        .collect();
    profile
}

/// A call that has not ended: its function, where it is counted, its start, and the time of its
/// callees.
struct Open {
    function: usize,
    place: (StackId, (bool, bool, bool)),
    since: u64,
    below: u64,
}

fn trace(
    profile: &mut Profile,
    thread: ThreadId,
    functions: &[LocationId],
    steps: &Steps,
    most: usize,
) {
    let mut places: BTreeMap<(StackId, (bool, bool, bool)), Call> = BTreeMap::new();
    let mut open: Vec<Open> = Vec::new();
    let mut now = 0;
    let leave = |places: &mut BTreeMap<_, Call>, open: &mut Vec<Open>, now: u64| {
        let Some(ended) = open.pop() else {
            return;
        };
        let took = now - ended.since;
        let call = places.get_mut(&ended.place).expect("it was begun");
        call.total.0 += took;
        call.own.0 += took - ended.below;
        if let Some(caller) = open.last_mut() {
            caller.below += took;
        }
    };
    for &(after, step) in steps {
        now += after;
        let Step::Enter { function, resumes } = step else {
            leave(&mut places, &mut open, now);
            continue;
        };
        let path: Vec<LocationId> = (open.iter().map(|call| call.function))
            .chain([function])
            .map(|number| functions[number])
            .collect();
        let whole = profile.hand_made_stack(&path);
        let all = (whole, (false, false, false));
        let above_is_last = open.last().is_some_and(|caller| caller.place.1.0);
        let has_room = !above_is_last && (places.contains_key(&all) || places.len() < most);
        let place = match open.last() {
            Some(caller) if !has_room => {
                let last = [functions[caller.function], functions[function]];
                let is_recursive = open.iter().any(|call| call.function == function);
                let pairs = open.iter().zip(open.iter().skip(1));
                let is_repeated = pairs.into_iter().any(|(above, below)| {
                    (above.function, below.function) == (caller.function, function)
                });
                (
                    profile.hand_made_stack(&last),
                    (true, is_recursive, is_repeated),
                )
            }
            _ => all,
        };
        let (_, (is_last, is_recursive, is_repeated)) = place;
        let call = places.entry(place).or_insert_with(|| Call {
            thread,
            stack: place.0,
            callers: match is_last {
                true => Callers::Last {
                    is_recursive,
                    is_repeated,
                },
                false => Callers::All,
            },
            ..Call::default()
        });
        match resumes {
            true => call.resumes += 1,
            false => call.calls += 1,
        }
        open.push(Open {
            function,
            place,
            since: now,
            below: 0,
        });
    }
    while !open.is_empty() {
        leave(&mut places, &mut open, now);
    }
    profile.traced.calls.extend(places.into_values());
}

fn label(profile: &Profile, function: &CountedFunction) -> usize {
    let name = CallLabel::of(profile, function.place).standard_name();
    match &*name {
        "/app.py:1(f)" => 0,
        "/app.py:5(f)" => 1,
        "/app.py:5(g)" => 2,
        "/app.py:9(h)" => 3,
        "{built-in method builtins.len}" => 4,
        other => panic!("{other}"),
    }
}

fn entry(counted: &Counted) -> Entry {
    Entry {
        tt: counted.total,
        it: counted.own,
        callcount: counted.begun.all(),
        recursivecallcount: counted.begun.all() - counted.outermost.all(),
        recursion_level: 0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn functions_and_their_callers_are_counted_as_cprofile_does(
        threads in prop::collection::vec(any_steps(), 1..4),
        most in prop_oneof![Just(usize::MAX), 0..12_usize],
    ) {
        let mut oracle = Oracle::default();
        threads.iter().for_each(|steps| oracle.thread(steps));
        let profile = recorded(&threads, most);
        let table = traced(&profile, &Selection::new(&profile, &Filter::default()));
        let entries: BTreeMap<usize, Entry> = (table.functions.iter())
            .map(|function| (label(&profile, function), entry(&function.counted)))
            .collect();
        prop_assert_eq!(&entries, &oracle.entries);
        let number = |row: usize| label(&profile, &table.functions[row]);
        let subentries: BTreeMap<(usize, usize), Entry> = (table.between.iter())
            .map(|calls| ((number(calls.caller), number(calls.callee)), entry(&calls.counted)))
            .collect();
        prop_assert_eq!(&subentries, &oracle.subentries);

        // The waits of a function's callers for it, and its time as a root, are all of its time.
        for function in &table.functions {
            let waited: u64 = function.callers.iter().map(|&row| table.between[row].of_total).sum();
            prop_assert_eq!(waited + function.as_root.total, function.counted.total);
        }
        let begun: u64 = threads.iter().flatten()
            .filter(|(_, step)| matches!(step, Step::Enter { resumes: false, .. }))
            .count() as u64;
        let sum = table.sum();
        prop_assert_eq!(sum.begun.calls, begun);
        prop_assert_eq!(sum.own, profile.samples.iter().map(|sample| sample.weight.0).sum::<u64>());
    }

    #[test]
    fn the_tables_of_threads_add_up(threads in prop::collection::vec(any_steps(), 1..4)) {
        let profile = recorded(&threads, usize::MAX);
        let all = traced(&profile, &Selection::new(&profile, &Filter::default())).sum();
        let parts = groups(&profile, &Filter::default(), &GroupBy::Thread);
        let parts: Vec<Counted> = parts.iter().map(|part| traced(&profile, &part.selection).sum()).collect();
        prop_assert_eq!(parts.iter().map(|part| part.own).sum::<u64>(), all.own);
        prop_assert_eq!(parts.iter().map(|part| part.begun.all()).sum::<u64>(), all.begun.all());
        prop_assert_eq!(parts.iter().map(|part| part.outermost.all()).sum::<u64>(), all.outermost.all());
    }
}

fn one(function: usize) -> Step {
    Step::Enter {
        function,
        resumes: false,
    }
}

#[test]
fn recursion_counts_its_time_once() {
    let steps = vec![
        (0, one(3)),
        (1, one(0)),
        (1, one(0)),
        (1, Step::Leave),
        (1, Step::Leave),
        (1, Step::Leave),
    ];
    let profile = recorded(&[steps], usize::MAX);
    let table = traced(&profile, &Selection::new(&profile, &Filter::default()));
    let [f, h] = [0, 3].map(|number| {
        let is_it = |function: &&CountedFunction| label(&profile, function) == number;
        table.functions.iter().find(is_it).unwrap().counted
    });
    assert_eq!((f.begun.calls, f.outermost.calls), (2, 1));
    assert_eq!((f.own, f.total), (3, 3));
    assert_eq!((h.own, h.total), (2, 5));
}

#[test]
fn what_does_not_pass_is_in_no_table() {
    let steps = vec![(0, one(3)), (1, one(2)), (1, Step::Leave), (1, Step::Leave)];
    let other = vec![(0, one(1)), (7, Step::Leave)];
    let mut profile = recorded(&[steps, other], usize::MAX);
    let names = |profile: &Profile, filter: &Filter| -> Vec<usize> {
        let table = traced(profile, &Selection::new(profile, filter));
        let functions = table.functions.iter();
        functions.map(|function| label(profile, function)).collect()
    };
    assert_eq!(names(&profile, &Filter::default().thread("11")), [1]);
    // The callers are included as well.
    let filter = Filter::default().function("g");
    assert_eq!(names(&profile, &filter), [2, 3]);
    let table = traced(&profile, &Selection::new(&profile, &filter));
    assert_eq!(table.functions[1].counted, Counted::default());
    assert_eq!(table.between.len(), 1);
    keep_only(&mut profile, &Filter::default().thread("10"));
    assert_eq!(names(&profile, &Filter::default()), [2, 3]);
}

#[test]
fn lines_are_put_together_by_function() {
    let mut profile = Profile::from_folded("").unwrap();
    let frames = [("f", 2), ("g", 7), ("f", 3)].map(|(function, line)| {
        profile.frame(FrameKey {
            function,
            file: "/app.py",
            line,
            language: Language::Python,
            ..FrameKey::default()
        })
    });
    let second = profile.hand_made_process(7, "child");
    let rows = [
        (0, 0, 1, 1, 10),
        (1, 1, 6, 2, 20),
        (0, 2, 1, 3, 30),
        (1, 0, 1, 4, 40),
    ];
    for (process, frame, first, hits, time) in rows {
        profile.traced.lines.push(Line {
            process: match process {
                0 => ProcessId(0),
                _ => second,
            },
            frame: frames[frame],
            first,
            hits,
            time: Nanos(time),
        });
    }
    type Function = (u32, u64, Vec<(u32, u64, u64)>);
    let lines = |filter: Filter| -> Vec<Function> {
        (traced_lines(&profile, &filter).into_iter())
            .map(|function| {
                let lines = function.lines.iter();
                (
                    function.first,
                    function.time(),
                    lines
                        .map(|line| (line.line, line.hits, line.time))
                        .collect(),
                )
            })
            .collect()
    };
    let f = (1, 80, vec![(2, 5, 50), (3, 3, 30)]);
    let g = (6, 20, vec![(7, 2, 20)]);
    assert_eq!(lines(Filter::default()), [f, g.clone()]);
    assert_eq!(lines(Filter::default().function("g")), [g]);
    assert_eq!(lines(Filter::default().file("other.py")), []);
    let child = lines(Filter::default().process("7"));
    assert_eq!(child[0], (1, 40, vec![(2, 4, 40)]));
    // The thread is unknown.
    assert_eq!(lines(Filter::default().thread("1")), []);
}
