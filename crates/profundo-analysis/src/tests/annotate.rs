//! The time of instructions, on profiles whose truth is known.

use profundo_model::{
    Avma, CodeAddress, FrameKey, LocationId, LocationKind, Module, ModuleId, Nanos, Profile,
    Sample, State,
};

use crate::{Annotation, Filter, FunctionCode, Selection, annotate, sampled_code};

/// A file that two processes have mapped at different addresses.
struct Twice {
    profile: Profile,
    modules: [ModuleId; 2],
}

const BIASES: [u64; 2] = [0x10_0000, 0x70_0000];

impl Twice {
    fn new() -> Self {
        let mut profile = Profile::default();
        profile.meta.period = Nanos(1_000_000);
        profile.hand_made_thread(1, "main");
        profile.hand_made_task(1);
        let path = profile.strings.intern("/bin/app");
        let modules = BIASES.map(|bias| {
            profile.modules.push(Module {
                path,
                bias,
                build_id: vec![1, 2, 3],
                ..Module::default()
            })
        });
        Self { profile, modules }
    }

    /// A place in the file as it is mapped in one of the processes: an instruction, or a return
    /// address.
    fn at(&mut self, copy: usize, address: u64, runs: bool, names: &[&str]) -> LocationId {
        let in_memory = Avma(address + BIASES[copy]);
        let kind = LocationKind::Code(match runs {
            true => CodeAddress::Instruction(in_memory),
            false => CodeAddress::Return(in_memory),
        });
        let frames: Vec<FrameKey<'_>> = (names.iter().enumerate())
            .map(|(level, name)| FrameKey {
                function: name,
                inlined: level + 1 < names.len(),
                ..FrameKey::default()
            })
            .collect();
        let module = Some(self.modules[copy]);
        self.profile.hand_made_location(kind, module, &frames)
    }

    fn samples(&mut self, root_first: &[LocationId], count: usize) {
        let stack = self.profile.hand_made_stack(root_first);
        for _ in 0..count {
            let time = Nanos(self.profile.samples.len() as u64 * 1_000_000);
            self.profile.samples.push(Sample {
                time,
                weight: Nanos(1_000_000),
                stack,
                state: State::Running,
                ..Sample::default()
            });
        }
    }

    fn annotate(&self, functions: &[FunctionCode]) -> Vec<Annotation> {
        let all = Selection::new(&self.profile, &Filter::default());
        annotate(&self.profile, &all, functions)
    }

    /// `work` has instructions at 0x100, 0x104 (a call), and 0x109; it ends at 0x10a.
    fn work(&self) -> FunctionCode {
        FunctionCode {
            module: self.modules[0],
            starts: vec![0x100, 0x104, 0x109],
            end: 0x10a,
        }
    }
}

/// By instruction, the numbers of own and of all samples.
fn samples(annotation: &Annotation) -> Vec<(usize, u64, u64)> {
    (annotation.instructions.iter())
        .map(|row| (row.index, row.own_amount.samples, row.total_amount.samples))
        .collect()
}

#[test]
fn copies_of_a_file_count_together_and_calls_have_their_callees_time() {
    let mut twice = Twice::new();
    for (copy, count) in [(0, 30), (1, 10)] {
        let runs = twice.at(copy, 0x100, true, &["work"]);
        twice.samples(&[runs], count);
        let call = twice.at(copy, 0x109, false, &["work"]);
        let leaf = twice.at(copy, 0x200, true, &["leaf"]);
        twice.samples(&[call, leaf], count / 2);
    }
    let found = twice.annotate(&[twice.work()]);
    assert_eq!(samples(&found[0]), [(0, 40, 40), (1, 0, 20)]);
    assert_eq!(
        (found[0].own_amount.samples, found[0].total_amount.samples),
        (40, 60)
    );
    assert_eq!(found[0].misplaced, 0);
    let share = found[0].instructions[0].own.share;
    assert!((share - 40.0 / 60.0).abs() < 1e-9, "{share}");
}

#[test]
fn a_recursion_counts_once_and_its_innermost_level_has_the_own_time() {
    let mut twice = Twice::new();
    let call = twice.at(0, 0x109, false, &["work"]);
    let runs = twice.at(0, 0x109, true, &["work"]);
    twice.samples(&[call, call, call, runs], 40);
    let found = twice.annotate(&[twice.work()]);
    assert_eq!(samples(&found[0]), [(1, 0, 40), (2, 40, 40)]);
    assert_eq!(found[0].total_amount.samples, 40);
}

#[test]
fn a_filter_leaves_samples_out() {
    let mut twice = Twice::new();
    let runs = twice.at(0, 0x100, true, &["work"]);
    twice.samples(&[runs], 40);
    let first = Filter {
        to: Some(Nanos(10_000_000)),
        ..Filter::default()
    };
    let some = Selection::new(&twice.profile, &first);
    let found = annotate(&twice.profile, &some, &[twice.work()]);
    let samples = found[0].total_amount.samples;
    assert!((9..=11).contains(&samples), "{samples}");
}

#[test]
fn an_address_within_an_instruction_is_counted_and_reported() {
    let mut twice = Twice::new();
    let odd = twice.at(0, 0x102, true, &["work"]);
    twice.samples(&[odd], 10);
    // The function of this file ends before it.
    let outside = twice.at(0, 0x10a, true, &["work"]);
    twice.samples(&[outside], 10);
    let found = twice.annotate(&[twice.work()]);
    assert_eq!(samples(&found[0]), [(0, 10, 10)]);
    assert_eq!(found[0].misplaced, 1);
}

#[test]
fn a_name_means_the_function_that_holds_the_code() {
    let mut twice = Twice::new();
    let inlined = twice.at(0, 0x100, true, &["small", "work"]);
    twice.samples(&[inlined], 10);
    let other = twice.at(0, 0x300, true, &["small", "main"]);
    twice.samples(&[other], 20);
    let python = twice.profile.hand_made_python("/app.py", "script", 3, true);
    twice.samples(&[python], 5);
    let all = Selection::new(&twice.profile, &Filter::default());
    let found = |name: &str| sampled_code(&twice.profile, &all, &name.into());
    let work = found("work");
    let places: Vec<u64> = work.addresses.iter().map(|row| row.address).collect();
    assert_eq!(places, [0x100]);
    // Where it is only inlined, the holders are named, the hottest first.
    let small = found("small");
    assert!(small.addresses.is_empty());
    let holders: Vec<&str> = (small.inlined_into.iter())
        .map(|&frame| twice.profile.function_name(frame))
        .collect();
    assert_eq!(holders, ["main", "work"]);
    assert!(found("script").without_file.is_some());
    assert_eq!(found("nothing"), Default::default());
}
