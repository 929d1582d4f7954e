//! The sums of small heaps, to the byte.

use profundo_model::{
    Amount, Copied, Domain, Measure, Moment, Nanos, Part, ProcessId, Sampling, Site,
};

use super::{Program, SECOND, line_of};
use crate::{
    Filter, HeapOptions, LinesOptions, Selection, Shown, allocations, by_shown_stack, held_at,
    keep_only, measured, measured_at,
};

/// Line 1: 1000 B for all the time, and 500 B from second 2 to 6. Line 2: 4000 B from second 4
/// to 8. Line 3: 300 times 10 B that are freed at once.
fn program() -> Program {
    let mut program = Program::new(Sampling::All, 0);
    program.block(1, 1000, 0.0, None);
    program.block(1, 500, 2.0, Some(6.0));
    program.block(2, 4000, 4.0, Some(8.0));
    for step in 0..300 {
        let time = step as f64 / 100.0;
        program.block(3, 10, time, Some(time));
    }
    program.profile.heap.blocks.sort_by_key(|block| block.time);
    program
}

/// The same program as sums.
fn sums() -> Program {
    let mut program = Program::new(Sampling::All, 0);
    let amount = |count, bytes| Amount { count, bytes };
    let site = |line, allocated, freed, at_peak| Site {
        process: ProcessId(0),
        stack: program.stack(line),
        domain: Domain::Python,
        allocated,
        freed,
        at_peak,
        ..Site::default()
    };
    let sites = vec![
        Site {
            lifetimes: Nanos(14 * SECOND),
            ..site(1, amount(2, 1500), amount(1, 500), amount(2, 1500))
        },
        Site {
            lifetimes: Nanos(4 * SECOND),
            ..site(2, amount(1, 4000), amount(1, 4000), amount(1, 4000))
        },
        Site {
            temporary: amount(300, 3000),
            ..site(3, amount(300, 3000), amount(300, 3000), amount(0, 0))
        },
    ];
    let moment = |site, second, live| Moment {
        site,
        time: Nanos(second * SECOND),
        allocated: Amount::default(),
        live: amount(1, live),
    };
    program.profile.heap.sites = sites;
    program.profile.heap.moments = vec![
        moment(0, 0, 1000),
        moment(0, 2, 1500),
        moment(1, 4, 4000),
        moment(0, 6, 1000),
        moment(1, 8, 0),
    ];
    program
}

#[test]
fn lines_have_what_they_allocated_and_what_became_of_it() {
    for program in [program(), sums()] {
        let options = HeapOptions {
            points: 10,
            ..HeapOptions::default()
        };
        let found = allocations(&program.profile, &Filter::default(), &options);
        let of = |line| {
            let is = |row: &&crate::HeapLine| line_of(&program.profile, row.of) == line;
            found.lines.iter().find(is).expect("the line is there")
        };
        let numbers = |line| {
            let held = of(line).held;
            [held.allocated, held.live, held.at_peak, held.temporary].map(|sum| {
                assert!(sum.bytes().is_exact() && sum.count().is_exact());
                (sum.count().value, sum.bytes().value)
            })
        };
        assert_eq!(numbers(1), [(2, 1500), (1, 1000), (2, 1500), (0, 0)]);
        assert_eq!(numbers(2), [(1, 4000), (0, 0), (1, 4000), (0, 0)]);
        assert_eq!(numbers(3), [(300, 3000), (0, 0), (0, 0), (300, 3000)]);
        // The first lived for ten seconds, the second for four.
        assert_eq!(of(1).held.lifetime(), Some(7 * SECOND));
        assert_eq!(of(3).held.temporary_share(), 1.0);
        assert_eq!(
            of(1).trend,
            [1000, 1000, 1500, 1500, 1500, 1500, 1000, 1000, 1000, 1000]
        );
        assert_eq!(of(2).trend, [0, 0, 0, 0, 4000, 4000, 4000, 4000, 0, 0]);
        assert!(of(2).growth < 0.0 && of(3).growth == 0.0);
        let [peak] = found.peaks[..] else {
            panic!("one process has one peak")
        };
        assert_eq!(peak.time.0, 4 * SECOND);
        assert_eq!(peak.held.bytes().value, 5500);
        assert_eq!(found.total.allocated.bytes().value, 8500);
        // The largest first; all are one function's.
        let order: Vec<u32> = (found.lines.iter())
            .map(|row| line_of(&program.profile, row.of))
            .collect();
        assert_eq!(order, [2, 3, 1]);
        assert_eq!((found.functions.len(), found.stacks.len()), (1, 3));
        assert_eq!(found.processes.len(), 1);
    }
}

#[test]
fn a_moment_has_the_lines_that_held_memory_then() {
    for program in [program(), sums()] {
        let profile = &program.profile;
        let held = |second: f64| {
            let time = Nanos((second * SECOND as f64) as u64);
            let found = held_at(profile, &Filter::default(), &LinesOptions::default(), time);
            let rows = found.lines.iter().map(|row| {
                assert!(row.held.bytes().is_exact());
                (line_of(profile, row.of), row.held.bytes().value)
            });
            let rows: Vec<_> = rows.collect();
            let total: u64 = rows.iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(found.total.bytes().value, total);
            assert_eq!(found.functions.len(), usize::from(total > 0));
            // The picture of that moment has the same bytes.
            let picture = measured_at(profile.clone(), false, time);
            let all = Selection::new(&picture, &Filter::default());
            assert_eq!(all.weight(&picture), total);
            rows
        };
        assert_eq!(held(1.5), [(1, 1000)]);
        assert_eq!(held(5.0), [(2, 4000), (1, 1500)]);
        assert_eq!(held(7.0), [(2, 4000), (1, 1000)]);
        assert_eq!(held(9.0), [(1, 1000)]);
        assert_eq!(held(11.0), [], "no line holds memory after the end");
    }
}

#[test]
fn a_filter_and_the_end_of_a_process_hold_at_a_moment() {
    let mut program = program();
    let filter: Filter = "from=3".parse().unwrap();
    let at = Nanos(5 * SECOND);
    let options = LinesOptions::default();
    let later = held_at(&program.profile, &filter, &options, at);
    assert_eq!(
        later.total.bytes().value,
        4000,
        "those allocated since then"
    );
    program.profile.processes[0].ended = Some(Nanos(4 * SECOND));
    let none = held_at(&program.profile, &Filter::default(), &options, at);
    assert_eq!((none.total.seen(), none.lines.len()), (0, 0));
}

#[test]
fn blocks_of_one_type_have_their_lines() {
    let mut program = program();
    let at = program
        .profile
        .hand_made_python("/home/me/app.py", "work", 2, true);
    let list = program
        .profile
        .hand_made_python("", "list_resize", 0, false);
    program.profile.heap.blocks[3].stack = program.profile.hand_made_stack(&[at, list]);
    let of = |wanted: Option<&str>| {
        let options = HeapOptions {
            of_type: wanted.map(str::to_owned),
            ..HeapOptions::default()
        };
        allocations(&program.profile, &Filter::default(), &options)
    };
    let all = of(None);
    let known = all.types.iter().find(|row| row.of.type_name == "list");
    let known = known.expect("the list is known by its function");
    let found = of(Some("list"));
    assert_eq!(found.total.allocated, known.held.allocated);
    assert_eq!(found.lines.len(), 1);
    assert_eq!(of(Some("tuple")).total.allocated.seen(), 0);
}

#[test]
fn weights_that_are_no_whole_numbers_add_up() {
    let mut program = Program::new(Sampling::Bytes(1000), 3);
    for step in 0..1000 {
        program.block(1, 1900, step as f64 / 100.0, None);
    }
    let counts = Measure {
        part: Part::Allocated,
        counts: true,
    };
    let records = program.profile.heap.blocks.len() as f64;
    let profile = measured(program.profile, counts);
    let all = Selection::new(&profile, &Filter::default());
    // Each stands for 1.18.
    let expected = records / (1.0 - (-1.9_f64).exp());
    assert!((all.weight(&profile) as f64 - expected).abs() < 1.0);
}

#[test]
fn lines_have_what_they_copy() {
    let mut program = program();
    program.profile.heap.copying = Sampling::All;
    for (line, size) in [(1, 5000), (2, 9000), (1, 6000)] {
        let stack = program.stack(line);
        program.profile.heap.copies.push(Copied {
            time: Nanos(SECOND),
            size,
            stack,
            ..Copied::default()
        });
    }
    let copies = |filter: &Filter| {
        let found = allocations(&program.profile, filter, &HeapOptions::default());
        let rows = found.copies.iter();
        rows.map(|row| (line_of(&program.profile, row.of), row.copied.bytes().value))
            .collect::<Vec<_>>()
    };
    assert_eq!(copies(&Filter::default()), [(1, 11_000), (2, 9000)]);
    assert_eq!(copies(&Filter::default().from_seconds(2.0)), []);
    let measure = Measure {
        part: Part::Copied,
        counts: true,
    };
    let profile = measured(program.profile.clone(), measure);
    let all = Selection::new(&profile, &Filter::default());
    assert_eq!((all.weight(&profile), all.len()), (3, 3));
    let mut kept = program.profile.clone();
    keep_only(&mut kept, &Filter::default().from_seconds(2.0));
    // Two blocks began later, and a hundred of those of line 3.
    assert_eq!((kept.heap.copies.len(), kept.heap.blocks.len()), (0, 102));
}

#[test]
fn filters_hold_for_what_was_allocated() {
    let bytes = |program: &Program, filter: &Filter| {
        let found = allocations(&program.profile, filter, &HeapOptions::default());
        found.total.allocated.bytes().value
    };
    let (blocks, sums) = (program(), sums());
    let late = Filter::default().from_seconds(2.0);
    assert_eq!(bytes(&blocks, &late), 500 + 4000 + 1000);
    // Their time is unknown.
    assert_eq!(bytes(&sums, &late), 0);
    for program in [&blocks, &sums] {
        assert_eq!(bytes(program, &Filter::default().function("work")), 8500);
        assert_eq!(bytes(program, &Filter::default().function("idle")), 0);
        assert_eq!(bytes(program, &Filter::default().process("7")), 8500);
        assert_eq!(bytes(program, &Filter::default().process("8")), 0);
    }
}

#[test]
fn memory_can_be_asked_about_as_if_it_were_time() {
    for program in [program(), sums()] {
        let weight = |part, counts| {
            let profile = measured(program.profile.clone(), Measure { part, counts });
            let all = Selection::new(&profile, &Filter::default());
            assert_eq!(all.weight(&profile), all.total(&profile));
            // All were sampled: shares are exact.
            let share = crate::shares(&profile, &all, crate::Shown::ALL)[0].own;
            assert!(all.weight(&profile) < 1000 || share.margin() < 0.05);
            all.weight(&profile)
        };
        assert_eq!(weight(Part::Allocated, false), 8500);
        assert_eq!(weight(Part::Allocated, true), 303);
        assert_eq!(weight(Part::Live, false), 1000);
        assert_eq!(weight(Part::Peak, false), 5500);
        assert_eq!(weight(Part::Temporary, true), 300);
    }
}

#[test]
fn stacks_that_look_the_same_are_one_row() {
    let mut program = program();
    // The same line of the same caller, entered from native code.
    let profile = &mut program.profile;
    let main = profile.hand_made_python("/home/me/app.py", "main", 100, true);
    let at = profile.hand_made_python("/home/me/app.py", "work", 2, true);
    let stack = profile.hand_made_stack(&[main, at]);
    let mut block = profile.heap.blocks[0];
    (block.stack, block.size) = (stack, 70);
    profile.heap.blocks.push(block);
    let profile = &program.profile;
    let found = allocations(profile, &Filter::default(), &HeapOptions::default());
    assert_eq!(found.stacks.len(), 4);
    let rows = by_shown_stack(profile, &found.stacks, Shown::COMMAND);
    let shown: Vec<(u32, usize, u64)> = rows
        .iter()
        .map(|row| {
            let bytes = row.held.allocated.bytes().value;
            (
                line_of(profile, row.of.first().copied()),
                row.of.len(),
                bytes,
            )
        })
        .collect();
    assert_eq!(shown, [(2, 2, 4070), (3, 2, 3000), (1, 2, 1500)]);
    let all: u64 = shown.iter().map(|(_, _, bytes)| bytes).sum();
    assert_eq!(all, found.total.allocated.bytes().value);
}
