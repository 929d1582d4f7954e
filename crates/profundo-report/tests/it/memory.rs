//! Reports on processes' use of the machine's memory, as people see them.

use expect_test::expect;
use profundo_model::{Gauge, Nanos, ProcessId, Profile, Sampling};
use profundo_report::{Choices, Filter, Look, Memory, Summary, View};

use crate::mixed::{growing, python};

fn look(columns: usize) -> Look {
    Look::new().width(columns)
}

fn text(profile: &Profile, columns: usize, filter: Filter) -> String {
    let choices = Choices::command().filter(filter);
    let memory = Memory::new().choices(choices).look(look(columns));
    memory.quality(false).render(profile).unwrap()
}

#[test]
fn the_largest_has_a_picture_and_each_has_a_row() {
    let growing = growing();
    for columns in [60, 80, 120] {
        let text = text(&growing, columns, Filter::default());
        let picture = text.lines().filter(|line| !line.starts_with("Growth:"));
        assert!(
            picture.clone().all(|line| line.chars().count() <= columns),
            "{text}"
        );
    }
    expect![[r#"
        In memory  4711 python3 confidence.py 600000
          87.8 MB ┤                             ▁▁▁▁▁▂▂▂▂▂▂▃▃▃▃▃▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇███
                  │          ▂▅▅▆▆▆▆▆▆▇▇▇▇▇█████████████████████████████████████████████
                  │       ▂▅████████████████████████████████████████████████████████████
                  │    ▁▅███████████████████████████████████████████████████████████████
                  │ ▁▅▆█████████████████████████████████████████████████████████████████
              0 B ┤▆████████████████████████████████████████████████████████████████████
                   0 s                                                            11.9 s

             Peak       at      End  Over 11.9 s           Of what
          87.8 MB   11.9 s  87.8 MB  ▂▄▅▆▆▆▇▇▇▇▇▇▇▇▇█████  in memory (RSS)
          84.8 MB   11.9 s  84.8 MB  ▂▃▅▆▆▆▆▆▇▇▇▇▇▇▇▇▇███  its part of that (PSS)
          7.39k/s   1.19 s    19.5k  ▇██▄▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  page faults

             Peak       at      End      PSS  Faults  RSS over 11.9 s       Process
          87.8 MB   11.9 s  87.8 MB  84.8 MB   19.5k  ▂▄▅▆▆▆▇▇▇▇▇▇▇▇▇█████  4711 python…
          29.0 MB   5.90 s  10.0 MB  7.00 MB       0        ▁▂▂▃▃▂▂▁        4720 gzip -…
        Growth: process 4711 grew by 2.00 MB/s (2.00 MB/s to 2.00 MB/s with 95 % certainty) in its last 5.95 s.

    "#]].assert_eq(&text(&growing, 80, Filter::default()));
}

#[test]
fn what_it_is_used_for_has_a_row_for_each_thing() {
    let mut profile = growing();
    profile.heap.sampling = Sampling::All;
    for look in &mut profile.heap.gauges {
        look.in_use = Some(look.resident / 2);
        look.mapped = Some(1_000_000);
        look.elsewhere = Some(500_000);
        look.arenas = 2_000_000;
    }
    let filter = Filter::default().process("4711");
    expect![[r#"
        In memory  4711 python3 confidence.py 600000
          87.8 MB ┤                                      ▁▁▁▁▁▁▂▂▂▂▂▂▂▃▃▃▃▃▃▃▄▄▄▄▄▄▄▅▅▅▅▅▅▅▆▆▆▆▆▆▆▇▇▇▇▇▇▇███
                  │             ▂▅▅▅▆▆▆▆▆▆▆▇▇▇▇▇▇▇██████████████████████████████████████████████████████████
                  │         ▂▃▇█████████████████████████████████████████████████████████████████████████████
                  │     ▁▃▅█████████████████████████████████████████████████████████████████████████████████
                  │  ▃▅▆████████████████████████████████████████████████████████████████████████████████████
              0 B ┤▆████████████████████████████████████████████████████████████████████████████████████████
                   0 s                                                                                11.9 s

             Peak       at      End  Over 11.9 s           Of what
          87.8 MB   11.9 s  87.8 MB  ▂▄▅▆▆▆▇▇▇▇▇▇▇▇▇█████  in memory (RSS)
          84.8 MB   11.9 s  84.8 MB  ▂▃▅▆▆▆▆▆▇▇▇▇▇▇▇▇▇███  its part of that (PSS)
          43.9 MB   11.9 s  43.9 MB  ▁▂▃▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▄▄  heap in use
          38.4 MB   11.9 s  38.4 MB  ▁▁▂▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃  slack: kept, in no block
          1.00 MB      0 s  1.00 MB  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  mapped by itself
          2.00 MB      0 s  2.00 MB  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  Python’s arenas
          7.39k/s   1.19 s    19.5k  ▇██▄▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁  page faults
        Growth: process 4711 grew by 2.00 MB/s (2.00 MB/s to 2.00 MB/s with 95 % certainty) in its last 5.95 s.

        Only: process=4711: 4320 of 4720 samples (91.5 %).
    "#]].assert_eq(&text(&profile, 100, filter.clone()));
    // Much of what is in blocks was never touched.
    for look in &mut profile.heap.gauges {
        look.in_use = Some(look.resident * 2);
    }
    let untouched = text(&profile, 100, filter);
    let said = "Slack: what allocators keep without using it is not known: there is less in memory";
    assert!(untouched.contains(said), "{untouched}");
}

#[test]
fn filters_choose_processes_and_time() {
    let growing = growing();
    expect![[r#"
        In memory  4711 python3 confidence.py 600000
          75.8 MB ┤▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇███████████
                  │██████████████████████████████████████████████████████████████████
                  │██████████████████████████████████████████████████████████████████
                  │██████████████████████████████████████████████████████████████████
                  │██████████████████████████████████████████████████████████████████
              0 B ┤██████████████████████████████████████████████████████████████████
                   4.00 s                                                         6.00 s

             Peak       at      End  Over 2.00 s           Of what
          75.8 MB   5.90 s  75.8 MB  ████████████████████  in memory (RSS)
          72.8 MB   5.90 s  72.8 MB            ▇█████████  its part of that (PSS)
            490/s   4.20 s      927  ▁███████████████████  page faults

             Peak       at      End      PSS  Faults  RSS over 2.00 s       Process
          75.8 MB   5.90 s  75.8 MB  72.8 MB     927  ████████████████████  4711 python…
          29.0 MB   5.90 s  29.0 MB  26.0 MB   4.64k  ▁▁▁▁▁▂▂▂▂▂▂▂▂▂▃▃▃▃▃▃  4720 gzip -…

        Only: from=4 to=6: 720 of 4720 samples (15.3 %).
    "#]]
    .assert_eq(&text(
        &growing,
        80,
        Filter::default().from_seconds(4.0).to_seconds(6.0),
    ));
    let nobody = text(&growing, 80, Filter::default().process("nobody"));
    assert!(
        nobody.starts_with("Warning: no look at memory passes the filter: process=nobody."),
        "{nobody}"
    );
}

#[test]
fn an_earlier_peak_and_swapped_memory_are_shown() {
    let mut profile = python();
    profile.heap.gauges = vec![Gauge {
        process: ProcessId(0),
        time: Nanos(5),
        resident: 30_000_000,
        peak_resident: 812_000_000,
        swapped: 5_000_000,
        ..Gauge::default()
    }];
    let text = text(&profile, 120, Filter::default());
    expect![[r#"
        In memory  4711 python3 confidence.py 600000
          30.0 MB ┤█
                  │█
                  │█
                  │█
                  │█
              0 B ┤█
                   0 s                                                                                           5.10 s

             Peak       at      End  Over 5.10 s                               Of what
           812 MB   before  30.0 MB  ▁                                         in memory (RSS)
              0/s      0 s        0  ▁                                         page faults

             Peak       at      End      PSS  Swapped  Faults  RSS over 5.10 s                           Process
           812 MB   before  30.0 MB           5.00 MB       0  ▁                                         4711 python3 confidenc…

    "#]].assert_eq(&text);
}

#[test]
fn the_summary_has_it_among_others() {
    let summary = |profile: &Profile| Summary::new().look(look(80)).render(profile).unwrap();
    let with = summary(&growing());
    assert!(
        with.contains("  RSS over 11.9 s") && with.contains("Growth: process"),
        "{with}"
    );
    assert!(!summary(&python()).contains("RSS over"));
    // Without a sample too.
    let mut asleep = growing();
    asleep.samples.clear();
    let text = summary(&asleep);
    assert!(
        text.contains("no samples were taken") && text.contains("RSS over"),
        "{text}"
    );
}

#[test]
fn processes_without_readings_have_a_hint() {
    let text = text(&python(), 80, Filter::default());
    assert!(
        text.starts_with("Warning: memory was not looked at: that wants `--memory`"),
        "{text}"
    );
}
