//! The printed text of measurements, word by word.

use expect_test::{Expect, expect};
use profundo_analysis::bench::{Bench, Candidate, Cpu, Machine, Run, Start, Subject};

use super::{Benchmark, Clocked};
use crate::Look;

fn candidate(name: &str, loops: u64, per_loop: &[f64]) -> Candidate {
    Candidate {
        name: name.into(),
        text: name.into(),
        by: None,
        loops,
        runs: per_loop
            .iter()
            .map(|seconds| Run {
                seconds: seconds * loops as f64,
                cpu: None,
            })
            .collect(),
    }
}

fn bench(subject: Subject, candidates: Vec<Candidate>) -> Bench {
    Bench {
        subject,
        cpu_clock: false,
        started: 0,
        machine: Machine {
            cpu: Some("an old one".into()),
            cpus: 2,
            kernel: None,
            governor: None,
        },
        start: None,
        candidates,
    }
}

/// This many runs around a time, a thousandth up and down.
fn around(seconds: f64, runs: usize) -> Vec<f64> {
    let step = |index: usize| 1.0 + (index % 3) as f64 * 0.001;
    (0..runs).map(|index| seconds * step(index)).collect()
}

#[track_caller]
fn prints(report: &Benchmark<'_>, expected: &Expect) {
    let mut out = Vec::new();
    let report = report.clone().look(Look::new().width(100));
    report.write(&mut out).unwrap();
    expected.assert_eq(&String::from_utf8(out).unwrap());
}

#[test]
fn a_statement_is_timeits_and_ipythons() {
    let times = [1.03e-7, 1.04e-7, 1.06e-7, 1.03e-7, 1.05e-7];
    let one = bench(Subject::Python, vec![candidate("x", 2_000_000, &times)]);
    prints(
        &Benchmark::new(&one),
        &expect![[r#"
            2000000 loops, best of 5: 103 nsec per loop
            104 nsec ± 1.3 nsec per loop (mean ± std. dev. of 5 runs, 2000000 loops each)
        "#]],
    );
    let verbose = Benchmark::new(&one)
        .raw(true)
        .digits(4)
        .unit(Some(Clocked::Usec));
    prints(
        &verbose,
        &expect![[r#"
            raw times: 2.06e+05 usec, 2.08e+05 usec, 2.12e+05 usec, 2.06e+05 usec, 2.1e+05 usec

            2000000 loops, best of 5: 0.103 usec per loop
            0.1042 usec ± 0.001304 usec per loop (mean ± std. dev. of 5 runs, 2000000 loops each)
        "#]],
    );
    let single = bench(Subject::Python, vec![candidate("x", 1, &[2.5])]);
    prints(
        &Benchmark::new(&single),
        &expect![[r#"
            1 loop, best of 1: 2.5 sec per loop
        "#]],
    );
}

#[test]
fn a_command_is_hyperfines() {
    let mut command = candidate("sleep 0.1", 1, &around(0.1, 12));
    for run in &mut command.runs {
        run.cpu = Some(Cpu {
            user: 0.0008,
            system: 0.0012,
        });
    }
    let one = bench(Subject::Command, vec![command]);
    prints(
        &Benchmark::new(&one).remarks(vec!["The shell is taken off.".into()]),
        &expect![[r#"
            sleep 0.1
              mean ± σ   100 ms ± 85.3 µs   user 800 µs, system 1.20 ms
              min … max  100 ms … 100 ms    12 runs, median 100 ms
            The shell is taken off.
        "#]],
    );
}

#[test]
fn of_several_there_is_a_verdict_only_where_it_is_one() {
    let three = bench(
        Subject::Python,
        vec![
            candidate(
                "'-'.join(map(str, range(100)))",
                10_000,
                &around(1.31e-5, 20),
            ),
            candidate("closed", 100_000, &around(1e-6, 20)),
            candidate("as the first\nof two lines", 10_000, &around(1.31e-5, 20)),
        ],
    );
    prints(
        &Benchmark::new(&three).agreed(Some(true)),
        &expect![[r#"
                                            best of 20       mean ± std. dev.   time, first = 1 (95 % sure)
            '-'.join(map(str, range(100)))   13.1 usec  13.1 usec ± 10.8 nsec                             1
            closed                              1 usec    1 usec ± 0.826 nsec  0.07634 (0.07634 to 0.07634)
            as the first …                   13.1 usec  13.1 usec ± 10.8 nsec        1.000 (1.000 to 1.000)

            `closed` is 13.10 (13.10 to 13.10) times faster than `'-'.join(map(str, range(100)))`.
            No difference that can be told: `as the first …` takes 1.000 (1.000 to 1.000) times as long as `'-'.join(map(str, range(100)))`.
            `closed` is the fastest: 13.10 (13.10 to 13.10) times faster than `'-'.join(map(str, range(100)))`, which comes next.
            All of them give the same.
        "#]],
    );
    let few = bench(
        Subject::Rust,
        vec![
            candidate("a", 1, &around(1.0, 3)),
            candidate("b", 1, &around(2.0, 3)),
        ],
    );
    prints(
        &Benchmark::new(&few),
        &expect![[r#"
               best of 3  mean ± std. dev.  time, first = 1 (95 % sure)
            a      1 sec    1 sec ± 1 msec                            1
            b      2 sec    2 sec ± 2 msec                            ?

            3 runs cannot tell which is faster: it takes 6 at least.
        "#]],
    );
    let near = bench(
        Subject::Rust,
        vec![
            candidate("a", 1, &around(1.0, 20)),
            candidate("b", 1, &around(1.004, 20)),
        ],
    );
    prints(
        &Benchmark::new(&near),
        &expect![[r#"
               best of 20  mean ± std. dev.  time, first = 1 (95 % sure)
            a       1 sec  1 sec ± 826 usec                            1
            b       1 sec  1 sec ± 829 usec       1.004 (1.004 to 1.004)

            `a` is 1.004 (1.004 to 1.004) times faster than `b`. So little may come from where code and data lie in memory.
        "#]],
    );
}

#[test]
fn doubts_become_warnings() {
    let mut times = around(0.1, 20);
    times[0] = 0.5;
    let first = bench(Subject::Command, vec![candidate("make", 1, &times)]);
    prints(
        &Benchmark::new(&first).notes(vec!["other programs ran.".into()]),
        &expect![[r#"
            make
              mean ± σ   120 ms ± 89.4 ms   user 0 s, system 0 s
              min … max  100 ms … 500 ms    20 runs, median 100 ms
            Warning: The test results are likely unreliable. The worst time (500 ms) was more than four times slower than the best time (100 ms).
            Warning: 1 of 20 runs is an outlier (severe), slower than the others. It was the first one: caches were cold. `--warmup 3` leaves that out, and `--prepare CMD` makes it so each time.
            Warning: other programs ran.
        "#]],
    );
    times[7] = 0.1015;
    let two = bench(
        Subject::Python,
        vec![
            candidate("a", 1, &times),
            candidate("b", 1, &around(0.1, 20)),
        ],
    );
    prints(
        &Benchmark::new(&two),
        &expect![[r#"
               best of 20      mean ± std. dev.  time, first = 1 (95 % sure)
            a    100 msec  120 msec ± 89.4 msec                            1
            b    100 msec  100 msec ± 82.6 usec       1.000 (1.000 to 1.000)

            No difference that can be told: `b` takes 1.000 (1.000 to 1.000) times as long as `a`.
            Warning: a: The test results are likely unreliable. The worst time (500 msec) was more than four times slower than the best time (100 msec).
            Warning: a: 2 of 20 runs are outliers (severe), slower than the others. Something else ran, or the machine's speed changed.
        "#]],
    );
    let short = bench(
        Subject::Command,
        vec![candidate("true", 1, &around(0.001, 20))],
    );
    prints(
        &Benchmark::new(&short),
        &expect![[r#"
            true
              mean ± σ   1.00 ms ± 826 ns    user 0 s, system 0 s
              min … max  1.00 ms … 1.00 ms   20 runs, median 1.00 ms
            Warning: it takes less than 5 ms, most of which is the start of a process: what it does itself is hardly in these figures.
        "#]],
    );
}

#[test]
fn an_earlier_day_is_compared_with_care() {
    let then = bench(
        Subject::Command,
        vec![candidate("make", 1, &around(1.0, 12))],
    );
    let with = |seconds| {
        bench(
            Subject::Command,
            vec![candidate("make", 1, &around(seconds, 12))],
        )
    };
    let slower = with(1.2);
    let report = Benchmark::new(&slower).against("old.json", &then, 0.1);
    assert!(report.is_too_slow());
    prints(
        &report,
        &expect![[r#"
            make
              mean ± σ   1.20 s ± 1.02 ms   user 0 s, system 0 s
              min … max  1.20 s … 1.20 s    12 runs, median 1.20 s
            `make` takes 1.200 (1.199 to 1.201) times as long as in old.json: too slow.
            The two were not measured in turn: the interval is wider than that of candidates of one measurement, and what has changed on the machine since then is in it. Too slow is what is certain to be slower by more than 10 %.
        "#]],
    );
    for (seconds, says) in [
        (1.05, "slower, but within the limit"),
        (1.0, "no difference that can be told"),
        (0.8, "`make` is 1.25"),
    ] {
        let now = with(seconds);
        let report = Benchmark::new(&now).against("old.json", &then, 0.1);
        assert!(!report.is_too_slow());
        let sentences = report.against_sentences();
        assert!(sentences[0].contains(says), "{sentences:?}");
    }
    // Another machine, another interpreter.
    let mut elsewhere = with(1.0);
    elsewhere.machine.cpu = Some("a new one".into());
    elsewhere.machine.cpus = 8;
    elsewhere.candidates[0].by = Some("CPython 3.13.0".into());
    let mut before = then.clone();
    before.candidates[0].by = Some("CPython 3.12.1".into());
    let report = Benchmark::new(&elsewhere).against("old.json", &before, 0.1);
    assert_eq!(
        report.warnings(),
        [
            "The processor was an old one then, and is a new one now.",
            "The number of processors was 2 then, and is 8 now.",
            "`make` was run by CPython 3.12.1 then, and by CPython 3.13.0 now.",
        ]
    );
}

#[test]
fn json_has_all_of_it() {
    let two = bench(
        Subject::Python,
        vec![
            candidate("a", 10, &around(1e-7, 20)),
            candidate("b", 10, &around(2e-7, 20)),
        ],
    );
    let mut out = Vec::new();
    let report = Benchmark::new(&two).against("old.json", &two, 0.1);
    report.write_json(&mut out).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(json["profundo"]["report"], "bench");
    assert_eq!(
        (&json["subject"], &json["clock"]),
        (&"python".into(), &"wall".into())
    );
    let a = &json["candidates"][0];
    assert_eq!(
        (a["name"].as_str(), a["loops"].as_u64()),
        (Some("a"), Some(10))
    );
    assert_eq!(a["best_seconds"].as_f64(), Some(1e-7));
    assert_eq!(a["runs"].as_array().map(Vec::len), Some(20));
    assert!(a["by"].is_null() && a["user_seconds"].is_null());
    let pair = &json["comparisons"][0];
    assert_eq!((&pair["one"], &pair["other"]), (&"b".into(), &"a".into()));
    assert_eq!(pair["differs"], true);
    assert!((pair["ratio"].as_f64().unwrap() - 2.0).abs() < 0.01);
    assert_eq!(json["fastest"], "a");
    let against = &json["against"];
    assert_eq!(against["comparisons"][0]["too_slow"], false);
    assert!(json["give_the_same"].is_null() && json["machine"]["kernel"].is_null());
}

#[test]
fn what_may_be_the_shells_start_alone_has_no_ratio() {
    let candidates = vec![
        candidate("sleep 1", 1, &around(1.0, 12)),
        candidate(
            ":",
            1,
            &[
                0.0, 1e-5, 0.0, 3e-5, 0.0, 0.0, 2e-5, 0.0, 0.0, 1e-5, 0.0, 0.0,
            ],
        ),
    ];
    let mut two = bench(Subject::Command, candidates);
    two.start = Some(Start {
        seconds: 0.001,
        doubt: 2e-5,
    });
    let text = |report: &Benchmark<'_>| {
        let mut out = Vec::new();
        report.write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let said = text(&Benchmark::new(&two));
    assert!(
        said.contains("`:` takes hardly more than the shell's own start"),
        "{said}"
    );
    assert!(!said.contains("times faster"), "{said}");
    // Nor is a time of nothing four times as long as another.
    assert!(!said.contains("four times"), "{said}");
    let against = Benchmark::new(&two).against("then.json", &two, 0.1);
    let said = text(&against);
    assert!(
        said.contains("`:` cannot be compared with then.json"),
        "{said}"
    );
    assert!(!against.is_too_slow());
    two.start = None;
    let said = text(&Benchmark::new(&two));
    assert!(
        said.contains("`:` takes less than the clock can tell"),
        "{said}"
    );
}

#[test]
fn what_a_start_may_account_for_is_not_too_slow() {
    let short = |seconds: f64, doubt: f64| {
        let mut one = bench(
            Subject::Command,
            vec![candidate("true", 1, &around(seconds, 12))],
        );
        one.start = Some(Start {
            seconds: 0.001,
            doubt,
        });
        one
    };
    let is_too_slow = |doubt| {
        let (then, now) = (short(0.0005, doubt), short(0.0006, doubt));
        Benchmark::new(&now)
            .against("then.json", &then, 0.1)
            .is_too_slow()
    };
    assert!(is_too_slow(0.0));
    assert!(!is_too_slow(3e-5));
}
