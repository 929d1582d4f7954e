//! A function by instruction.

use expect_test::expect;
use profundo_analysis::FunctionCode;
use profundo_model::{
    Avma, CodeAddress, FrameKey, LocationId, LocationKind, Module, ModuleId, Nanos, Profile,
    Sample, State,
};
use profundo_report::{Annotate, ListedInstruction, Listing, Look, View, When};

/// Address, line of source, text and jump of each instruction of `work`.
const CODE: [(u64, u32, &str, Option<u64>); 6] = [
    (0x1000, 3, "xor    %eax,%eax", None),
    (0x1002, 5, "divsd  %xmm2,%xmm1", None),
    (0x1006, 5, "call   leaf", None),
    (0x100b, 4, "jne    1002", Some(0x1002)),
    (0x100d, 4, "je     9999", Some(0x9999)),
    (0x100f, 7, "ret", None),
];

fn location(profile: &mut Profile, address: CodeAddress, function: &str, line: u32) -> LocationId {
    let key = FrameKey {
        function,
        file: "/home/me/hot.c",
        line,
        ..FrameKey::default()
    };
    let module = Some(ModuleId(0));
    profile.hand_made_location(LocationKind::Code(address), module, &[key])
}

/// 60 samples at an instruction of `work`, 30 in a function that it calls, 10 elsewhere.
pub fn profile() -> Profile {
    let mut profile = Profile::default();
    profile.meta.period = Nanos(1_000_000);
    profile.hand_made_thread(1, "main");
    profile.hand_made_task(1);
    let path = profile.strings.intern("/home/me/hot");
    profile.modules.push(Module {
        path,
        build_id: vec![0xab, 0xcd],
        ..Module::default()
    });
    let runs = CodeAddress::Instruction(Avma(0x1002));
    let runs = location(&mut profile, runs, "work", 5);
    let call = CodeAddress::Return(Avma(0x100b));
    let call = location(&mut profile, call, "work", 5);
    let leaf = CodeAddress::Instruction(Avma(0x2000));
    let leaf = location(&mut profile, leaf, "leaf", 20);
    let file = profile.file("/home/me/hot.c", "", "");
    let text = profile.strings.intern("        sum += leaf(value) / by;");
    profile.sources.insert(file, 5, text);
    for (stack, count) in [(vec![runs], 60), (vec![call, leaf], 30), (vec![leaf], 10)] {
        let stack = profile.hand_made_stack(&stack);
        for _ in 0..count {
            let time = Nanos(profile.samples.len() as u64 * 1_000_000);
            profile.samples.push(Sample {
                time,
                weight: Nanos(1_000_000),
                stack,
                state: State::Running,
                ..Sample::default()
            });
        }
    }
    for (address, line, ..) in CODE {
        let at = CodeAddress::Instruction(Avma(address));
        location(&mut profile, at, "work", line);
    }
    profile
}

/// The report on `work`, which another profile does not have.
pub fn view(profile: &Profile) -> Annotate {
    let at = |address: u64| {
        let kind = LocationKind::Code(CodeAddress::Instruction(Avma(address)));
        let mut rows = profile.locations.iter();
        rows.find(|(_, row)| row.kind == kind).map(|row| row.0)
    };
    let Some(frame) = at(0x1000).map(|first| profile.locations.get(first).frames[0]) else {
        return Annotate::new("work", Vec::new());
    };
    let instructions = (CODE.iter())
        .map(|&(address, _, text, jump)| ListedInstruction {
            location: at(address).unwrap(),
            bytes: vec![0x90],
            text: text.to_owned(),
            jump,
        })
        .collect();
    let work = Listing {
        frame,
        code: FunctionCode {
            module: ModuleId(0),
            starts: CODE.iter().map(|row| row.0).collect(),
            end: 0x1010,
        },
        file: "/home/me/hot".to_owned(),
        build_id: vec![0xab, 0xcd],
        instructions,
    };
    let other = Listing {
        frame: profile.locations.get(at(0x2000).unwrap()).frames[0],
        code: FunctionCode {
            module: ModuleId(0),
            starts: vec![0x2000],
            end: 0x2010,
        },
        file: String::new(),
        build_id: Vec::new(),
        instructions: Vec::new(),
    };
    Annotate::new("*", vec![other, work]).from_disk(false)
}

fn text(view: Annotate, look: Look) -> String {
    view.look(look).quality(false).render(&profile()).unwrap()
}

#[test]
fn instructions_stand_below_their_source_with_their_shares() {
    let screen = text(view(&profile()), Look::new().width(80));
    expect![[r#"
        work  hot.c:3
        90.0 % of the time ±0.9, 60.0 % by itself ±0.9, 90 samples.
        6 instructions at 0x1000 to 0x1010 in /home/me/hot. Shares below are of this function's time.

        Self %      Total %      Address  Instruction
                                          hot.c:3
                                 1000       xor    %eax,%eax
                                          hot.c:5  sum += leaf(value) / by;
          66.7 ±1.0   66.7 ±1.0  1002  />   divsd  %xmm2,%xmm1
                      33.3 ±1.0  1006  |    call   leaf
                                       |  hot.c:4
                                 100b  \-   jne    1002
                                 100d       je     9999
                                          hot.c:7
                                 100f       ret

        “*” also means: leaf (hot.c:20) 40.0 %; `--limit 2` shows the next one too.
    "#]].assert_eq(&screen);
}

#[test]
fn a_terminal_has_lines_for_arrows() {
    let look = Look::new()
        .width(80)
        .colors(When::Always)
        .hyperlinks(When::Never);
    let screen = text(view(&profile()), look);
    assert!(screen.contains("┌▶") && screen.contains("└─"), "{screen}");
    assert!(!text(view(&profile()), Look::new()).contains('▶'));
}

#[test]
fn cold_instructions_are_left_out_and_counted() {
    let narrow = view(&profile()).context(0).min_share(0.5);
    let screen = text(narrow, Look::new().width(80));
    assert!(
        screen.contains("… 1 instruction without samples …"),
        "{screen}"
    );
    assert!(screen.contains("… 4 instructions with 0 % …"), "{screen}");
    assert!(!screen.contains("xor"), "{screen}");
    let all = view(&profile()).context(0).min_share(0.5).all(true);
    assert!(text(all, Look::new().width(80)).contains("xor"));
}

#[test]
fn a_name_without_samples_is_a_warning() {
    let screen = text(Annotate::new("wark", Vec::new()), Look::new().width(100));
    assert!(
        screen
            .starts_with("Warning: no function that was sampled is called “wark”; nearest: work."),
        "{screen}"
    );
}
