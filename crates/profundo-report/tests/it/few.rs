//! Reports on few samples have only certain figures, in all of their columns.

use expect_test::expect;
use profundo_model::{Measure, Part, Profile, Sampling};
use profundo_report::{Callers, Choices, Format, Functions, Lines, Look, Report, Summary, View};

use crate::mixed::python;

fn look() -> Look {
    Look::new().width(80)
}

/// The first samples of the program of the other tests, each 300th.
fn few(count: usize) -> Profile {
    let mut profile = python();
    profile.samples = (profile.samples.iter().step_by(300).take(count))
        .copied()
        .collect();
    profile
}

#[test]
fn counts_stand_in_for_shares() {
    let functions = Functions::new().look(look()).render(&few(12)).unwrap();
    expect![[r#"
        Warning: 99.8 % of the CPU time was not sampled or could not be read: no sample came 99.8 %.
        Self        Total        Samples  Function
        5 of 12     12 of 12          12  resample  confidence.py:16
        5 of 12     7 of 12            7  …om._randbelow_with_getrandbits  random.py:242
        2 of 12     2 of 12            2  _random_Random_getrandbits
                    12 of 12          12  <module>  confidence.py:60
                    12 of 12          12  bootstrap  confidence.py:29
                    12 of 12          12  main  confidence.py:54
                    7 of 12            7  Random.randint  random.py:336
                    7 of 12            7  Random.randrange  random.py:319

        Note: 12 samples are too few for shares: a longer run or a higher rate (--rate) gives more.
        Quality: 0.012 s of 5.021 s CPU time sampled (0.2 %), in the kernel 0.000 ms of 61.000 ms; 12 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms; own cost 0.6 %.
    "#]].assert_eq(&functions);
    let callers = Callers::both("resample");
    let callers = callers.look(look()).render(&few(12)).unwrap();
    expect![[r#"
        Warning: 99.8 % of the CPU time was not sampled or could not be read: no sample came 99.8 %.
        resample  confidence.py:16
        12 of 12 samples, 5 of 12 by itself.

           Of it       All        Callers
           12 of 12    12 of 12   bootstrap  confidence.py:29

           Of it       All        Callees
           7 of 12     7 of 12    Random.randint  random.py:336
           5 of 12     5 of 12    (itself)

        Note: 12 samples are too few for shares: a longer run or a higher rate (--rate) gives more.
        Quality: 0.012 s of 5.021 s CPU time sampled (0.2 %), in the kernel 0.000 ms of 61.000 ms; 12 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms; own cost 0.6 %.
    "#]].assert_eq(&callers);
    let lines = Lines::new().look(look()).render(&few(12)).unwrap();
    expect![[r#"
        Warning: 99.8 % of the CPU time was not sampled or could not be read: no sample came 99.8 %.
        confidence.py  12 of 12 samples
        Time                Line  Source
                              14  """Draws as many values as there are."""
                              15      n = len(values)
        10 of 12              16      indices = [rng.randint(0, n - 1) for _ in range(n…
        2 of 12               17      return [values[i] for i in indices]
                              18

        Note: 12 samples are too few for shares: a longer run or a higher rate (--rate) gives more.
        Quality: 0.012 s of 5.021 s CPU time sampled (0.2 %), in the kernel 0.000 ms of 61.000 ms; 12 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms; own cost 0.6 %.
    "#]].assert_eq(&lines);
    let summary = Summary::new().look(look()).render(&few(12)).unwrap();
    expect![[r#"
        python3 confidence.py 600000
        5.10 s wall · 5.02 s CPU (98 %) · 1 process · 1 thread · CPython 3.12.1
        Warning: 99.8 % of the CPU time was not sampled or could not be read: no sample came 99.8 %.
        Note: 12 samples are too few for shares: a longer run or a higher rate (--rate) gives more.

        Time          Hottest lines
        10 of 12      confidence.py:16  indices = [rng.randint(0, n - 1) for _ in range…
        2 of 12       confidence.py:17  return [values[i] for i in indices]

        Self            Total  Hottest functions
        5 of 12      12 of 12  resample  confidence.py:16
        5 of 12       7 of 12  Random._randbelow_with_getrandbits  random.py:242
        2 of 12       2 of 12  _random_Random_getrandbits

        Calls
        <module> › main › bootstrap › resample  confidence.py:16
        └ Random.randint › …  random.py:336

        Quality: 12 samples cover 0.2 % of 5.02 s CPU time. Own cost 0.6 %.
    "#]]
    .assert_eq(&summary);
}

#[test]
fn the_library_has_the_remark_too() {
    let report = Report::new().choices(Choices::default());
    let text = report.format(Format::Functions).render(&few(5)).unwrap();
    assert!(text.contains("5 of 5"), "{text}");
    assert!(!text.contains("95 %") && !text.contains('±'), "{text}");
    let note = "5 samples are too few for shares: a longer run or a shorter `delay` gives more.";
    assert!(text.contains(note), "{text}");
}

#[test]
fn the_limit_is_thirty() {
    for (count, is_few) in [(29, true), (30, false)] {
        let mut profile = few(0);
        profile.samples = python().samples[..count].to_vec();
        let text = Functions::new().look(look()).render(&profile).unwrap();
        assert_eq!(text.contains("too few"), is_few, "{text}");
        assert_eq!(text.contains('±'), !is_few, "{text}");
        let of_all = format!(" of {count} ");
        assert_eq!(text.contains(&of_all), is_few, "{text}");
    }
}

#[test]
fn json_has_no_interval() {
    for json in [
        Functions::new().json(&few(12)).unwrap(),
        Lines::new().json(&few(12)).unwrap(),
        Summary::new().json(&few(12)).unwrap(),
        Callers::both("resample").json(&few(12)).unwrap(),
    ] {
        let ends = ["share_low\": ", "share_high\": ", "share_margin\": "];
        for end in ends.into_iter().chain(["share_of_function_low\": "]) {
            for value in json.split(end).skip(1) {
                assert!(value.starts_with("null"), "{end}{value}");
            }
        }
        assert!(json.contains("share_low\": null"), "{json}");
    }
}

#[test]
fn what_a_function_has_few_of_is_not_a_report_of_few() {
    // It has six samples of nearly five thousand.
    let text = Callers::both("__read").look(look()).render(&python());
    let text = text.unwrap();
    assert!(
        !text.contains(" of 1") && !text.contains("too few"),
        "{text}"
    );
}

#[test]
fn memory_is_few_only_where_it_is_sampled() {
    let mut profile = crate::allocs::memory();
    profile.heap.blocks.truncate(12);
    let of = |profile: &Profile| {
        let measure = Measure {
            part: Part::Allocated,
            counts: false,
        };
        let measured = profundo_analysis::measured(profile.clone(), measure);
        let callers = Callers::both("bootstrap");
        callers.look(look()).render(&measured).unwrap()
    };
    let sampled = of(&profile);
    assert!(
        sampled.contains("12 records are too few for shares"),
        "{sampled}"
    );
    assert!(
        !sampled.contains('±') && !sampled.contains(" %  "),
        "{sampled}"
    );
    profile.heap.sampling = Sampling::All;
    let exact = of(&profile);
    assert!(
        exact.contains("All %") && exact.contains("100.0"),
        "{exact}"
    );
    assert!(
        !exact.contains("too few") && !exact.contains(" of 12"),
        "{exact}"
    );
}
