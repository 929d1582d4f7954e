//! Reports on bytes read and written, as people see them.

use expect_test::expect;
use profundo_report::{Choices, Filter, Io, Look, Summary, View};

use crate::mixed::{python, reading};

fn look(columns: usize) -> Look {
    Look::new().width(columns)
}

#[test]
fn files_and_lines_have_a_table_each() {
    let text = |columns| Io::new().look(look(columns)).render(&reading()).unwrap();
    for columns in [80, 120] {
        assert!(
            text(columns)
                .lines()
                .all(|line| line.starts_with("Quality:") || line.chars().count() <= columns)
        );
    }
    expect![[r#"
             Read  Written   Waited      CPU  Samples  Files that are read and written
                   1.03 GB            100 ms       10  /tmp/out
                    206 MB           20.0 ms        2  [file not known]
          67.1 MB                     300 ms       30  …v/data/2026/measurements.parquet
          40.0 kB            400 ms               400  pipe, descriptor 5
          4.10 kB    812 B                             [without a sample]

             Read  Written   Waited      CPU  Samples  Lines that read and write
                   1.23 GB            120 ms       12  confidence.py:33  store
          67.1 MB                     300 ms       30  confidence.py:21  load
          40.0 kB            400 ms               400  confidence.py:27  receive
          4.10 kB    812 B                             [without a sample]

          67.2 MB  1.23 GB   400 ms   420 ms      442  in all
        Storage: 33.6 MB fetched from it, 1.23 GB to be written to it.

        Quality: 492 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms, in the kernel every few ms; shares are ± 7.6 points (95 %).
    "#]].assert_eq(&text(80));
    let short = Io::new()
        .limit(1)
        .look(look(120))
        .render(&reading())
        .unwrap();
    expect![[r#"
             Read  Written   Waited      CPU  Samples  Files that are read and written
                   1.03 GB            100 ms       10  /tmp/out
          4.10 kB    812 B                             [without a sample]
          67.1 MB   206 MB   400 ms   320 ms      432  3 more

             Read  Written   Waited      CPU  Samples  Lines that read and write
                   1.23 GB            120 ms       12  confidence.py:33  store
          4.10 kB    812 B                             [without a sample]
          67.1 MB            400 ms   300 ms      430  2 more

          67.2 MB  1.23 GB   400 ms   420 ms      442  in all
        Storage: 33.6 MB fetched from it, 1.23 GB to be written to it.

        Quality: 492 samples, 0 lost, 0 truncated, 0 broken; perf-signal every 1.000 ms, in the kernel every few ms; shares are ± 7.6 points (95 %).
    "#]].assert_eq(&short);
}

#[test]
fn the_summary_has_it_among_others() {
    let text = Summary::new().look(look(80)).render(&reading()).unwrap();
    assert!(text.contains("Files that are read and written"), "{text}");
    let none = Summary::new().look(look(80)).render(&python()).unwrap();
    assert!(!none.contains("read and written"), "{none}");
}

#[test]
fn filters_and_missing_counts_have_sentences() {
    let text = Io::new().look(look(80)).render(&python()).unwrap();
    assert!(
        text.starts_with("Warning: what is read and written was not recorded"),
        "{text}"
    );
    let late = Choices::command().filter(Filter::default().from_seconds(0.42));
    let text = Io::new()
        .choices(late)
        .look(look(80))
        .render(&reading())
        .unwrap();
    assert!(
        !text.contains("parquet") && text.contains("/tmp/out"),
        "{text}"
    );
    let nobody = Choices::command().filter(Filter::default().thread("nobody"));
    let text = Io::new()
        .choices(nobody)
        .look(look(80))
        .render(&reading())
        .unwrap();
    assert!(
        text.starts_with("Warning: no samples pass the filter"),
        "{text}"
    );
}
