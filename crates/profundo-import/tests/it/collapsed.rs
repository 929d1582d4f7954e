//! Collapsed stacks, as several tools write them.

use profundo_model::{SampleKind, State};

use crate::support::{read, read_text, stacks, testdata};

#[test]
fn weights_are_numbers_of_samples() {
    let imported = read_text("main;work 3\nmain;idle 1\nmain;work 2\n");
    assert_eq!(imported.reader.name(), "collapsed");
    let profile = &imported.profile;
    assert_eq!(profile.meta.kind, SampleKind::Events);
    assert!(!profile.has_times());
    assert_eq!(
        stacks(profile),
        [("main;idle".to_owned(), 1), ("main;work".to_owned(), 5)].into()
    );
    assert_eq!(profile.sample_count(), 6);
}

#[test]
fn frames_may_have_spaces_places_and_marks() {
    let text = "main (app.py:3);std::vector<int, a b>::f() (lib.py:9) 1\r\nmain (app.py:3) 2\r\n";
    let profile = read_text(text).profile;
    let names: Vec<_> = profile.frames.iter().map(|frame| frame.line).collect();
    assert_eq!(names, [3, 9]);
    let profile = read_text("main;do_syscall_64_[k] 4\nmain;hot_[j] 2\n").profile;
    let stacks = stacks(&profile);
    assert_eq!(stacks["main;do_syscall_64"], 4);
    assert_eq!(profile.samples[0].state, State::System);
}

#[test]
fn fractions_and_utf16_are_read() {
    let profile = read_text("a;b 2.4e1\na 0.6\n").profile;
    assert_eq!(
        stacks(&profile),
        [("a".to_owned(), 1), ("a;b".to_owned(), 24)].into()
    );
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend("main;käse 7\r\n".encode_utf16().flat_map(u16::to_le_bytes));
    let read = profundo_import::read(&bytes, &profundo_import::Options::default()).unwrap();
    assert_eq!(stacks(&read.profile), [("main;käse".to_owned(), 7)].into());
}

#[test]
fn lines_that_are_no_stack_are_counted() {
    let text = format!("{}no number here\n", "a;b 1\n".repeat(20_000));
    let imported = read_text(&text);
    assert_eq!(imported.warnings.len(), 1);
    assert!(imported.warnings[0].to_string().contains("line 20001"));
}

#[test]
fn samples_without_a_frame_are_counted() {
    // As py-spy's `-f raw` has them without `--threads`, at any place in the file.
    for text in [
        "main (app.py:3) 2\n 14\nmain (app.py:4) 1\n",
        " 14\r\nmain (app.py:3) 2\r\nmain (app.py:4) 1",
    ] {
        let imported = read_text(text);
        assert!(imported.warnings.is_empty(), "{:?}", imported.warnings);
        assert_eq!(
            stacks(&imported.profile),
            [
                ("[Python, not readable]".to_owned(), 14),
                ("main".to_owned(), 3)
            ]
            .into()
        );
    }
    // Numbers alone are no stacks.
    for text in [" 14\n 15\n", "14\n15\n", "main 1\n14\n"] {
        let options = profundo_import::Options::default();
        assert!(profundo_import::read(text.as_bytes(), &options).is_err());
    }
}

#[test]
fn no_process_is_its_own_ancestor() {
    let text = "process 7:\"a\";process 8:\"b\";main 1\nprocess 8:\"b\";process 7:\"a\";main 1\n";
    let imported = read_text(text);
    let parents: Vec<_> = (imported.profile.processes.iter())
        .map(|process| process.parent.is_some())
        .collect();
    assert_eq!(parents, [true, false]);
    let notes = &imported.profile.meta.notes;
    assert!(notes.iter().any(|note| note.contains("own ancestors")));
}

#[test]
fn lines_that_share_beginnings_have_their_own_stacks() {
    // Lines in any order, each beginning like some other one.
    let mut expected = std::collections::BTreeMap::new();
    let mut text = String::new();
    let mut random = 7_u64;
    for _ in 0..3000 {
        let mut frames = vec!["main".to_owned()];
        loop {
            random = random
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let number = random >> 33;
            if number.is_multiple_of(5) {
                break;
            }
            frames.push(format!("function_{}", number % 3));
        }
        let stack = frames.join(";");
        text += &format!("{stack} 2\n");
        *expected.entry(stack).or_default() += 2;
    }
    assert_eq!(stacks(&read_text(&text).profile), expected);
}

/// The sum of the numbers at the ends of lines.
fn sum(name: &str) -> u64 {
    let text = std::fs::read_to_string(testdata(name)).expect("stacks");
    let numbers = text.lines().filter_map(|line| line.rsplit_once(' '));
    numbers
        .map(|(_, number)| number.parse::<u64>().expect("a number"))
        .sum()
}

#[test]
fn roots_of_py_spy_are_processes_and_threads() {
    let imported = read("collapsed/py-spy.raw");
    assert_eq!(imported.reader.name(), "collapsed");
    let profile = &imported.profile;
    assert_eq!(profile.sample_count(), sum("collapsed/py-spy.raw"));
    let [parent, child] = &profile.processes[..] else {
        panic!("{:?}", profile.processes);
    };
    assert_eq!(
        profile.strings.get(parent.command),
        "../v312/bin/python busy.py children"
    );
    assert!(
        profile
            .strings
            .get(child.command)
            .ends_with("busy.py child")
    );
    assert_eq!(child.parent.map(|parent| parent.index()), Some(0));
    assert!(
        stacks(profile)
            .keys()
            .all(|stack| !stack.contains("thread (") && !stack.contains("process "))
    );
    assert_eq!(profile.meta.notes, ["collapsed stacks have no times"]);

    let profile = read("collapsed/py-spy-threads.raw").profile;
    let threads = profile.threads.iter();
    let names: Vec<&str> = threads
        .map(|(_, thread)| profile.strings.get(thread.name))
        .collect();
    // The last one has no name yet.
    assert_eq!(names, ["MainThread", "waiter", ""]);
    assert!(profile.threads.iter().all(|(_, thread)| thread.tid != 1));
}

#[test]
fn native_frames_of_py_spy_have_modules() {
    let profile = read("collapsed/py-spy-native.raw").profile;
    assert_eq!(profile.sample_count(), sum("collapsed/py-spy-native.raw"));
    let modules = profile
        .modules
        .iter()
        .map(|(_, module)| profile.strings.get(module.path));
    let modules: Vec<&str> = modules.collect();
    assert!(modules.contains(&"libpython3.12.so.1.0"), "{modules:?}");
}

#[test]
fn stacks_of_tachyon_have_threads_files_and_lines() {
    let profile = read("collapsed/tachyon.collapsed").profile;
    assert_eq!(profile.sample_count(), sum("collapsed/tachyon.collapsed"));
    assert_eq!(profile.threads.len(), 2);
    let fib = profile
        .frames
        .iter()
        .find(|frame| profile.strings.get(frame.function) == "fib");
    let fib = fib.expect("a function");
    assert_eq!(
        profile.strings.get(profile.files.get(fib.file).path),
        "busy.py"
    );
    assert!(fib.line == 9 || fib.line == 10);
}

#[test]
fn threads_stand_at_the_root_of_async_profiler() {
    let text = "[main tid=7];a;b_[j] 3\n[pool [x] tid=8];a 1\n[main tid=7];a 2\n[no thread];a 1\n";
    let profile = read_text(text).profile;
    let names: Vec<_> = (profile.threads.iter())
        .map(|(_, thread)| (profile.strings.get(thread.name), thread.tid))
        .collect();
    assert_eq!(names, [("main", 7), ("pool [x]", 8), ("", 0)]);
    assert_eq!(stacks(&profile)["a;b"], 3);
    assert_eq!(stacks(&profile)["[no thread];a"], 1);
}
