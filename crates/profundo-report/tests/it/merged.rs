//! Reports on merged recordings: the head, the groups by label, and the spread over recordings.

use expect_test::expect;
use profundo_analysis::{InputLabels, merge};
use profundo_model::{Alignment, Profile};
use profundo_report::{Choices, Filter, Format, GroupBy, Look, Report, Spread, Summary, View};

/// Four runs, of which the third spends four times as long in `uneven`.
pub fn merged() -> Profile {
    aligned(Alignment::Start)
}

fn aligned(alignment: Alignment) -> Profile {
    let runs = [(300, 100), (310, 100), (295, 400), (305, 100)];
    let inputs = (1..).zip(runs).map(|(number, (even, uneven))| {
        let text = format!("main;even {even}\nmain;uneven {uneven}");
        let mut profile = Profile::from_folded(&text).unwrap();
        let command = profile.strings.intern("./app --fast");
        profile.processes[0].command = command;
        profile.processes[0].pid = 7;
        let labels = InputLabels {
            name: format!("app-{number}"),
            labels: vec![("run".into(), number.to_string())],
        };
        (profile, labels)
    });
    merge(&inputs.collect::<Vec<_>>(), alignment).unwrap()
}

fn look() -> Look {
    Look::new().width(80)
}

#[test]
fn functions_over_recordings() {
    let text = Spread::new().look(look()).render(&merged()).unwrap();
    expect![[r#"
        merged from 4 recordings (run = 1…4), side by side
        The own time of each function, in one recording:
             Least    Median      Most  Most in  Imbal. %  Function
            400 ms    408 ms    695 ms  run=3        45.5  all together
            100 ms    100 ms    400 ms  run=3       128.6  uneven
            295 ms    302 ms    310 ms  run=2        ~2.5  even

        ~ chance alone can make samples differ so much.
        Imbalance: how far the most is above the mean.

    "#]]
    .assert_eq(&text);
    let total = Spread::new().total(true).limit(1).look(look());
    expect![[r#"
        merged from 4 recordings (run = 1…4), side by side
        The time of each function with its callees, in one recording:
             Least    Median      Most  Most in  Imbal. %  Function
            400 ms    408 ms    695 ms  run=3        45.5  all together
            400 ms    408 ms    695 ms  run=3        45.5  main
        … and 2 more

        Imbalance: how far the most is above the mean.

    "#]]
    .assert_eq(&total.render(&merged()).unwrap());
}

#[test]
fn a_spread_needs_two_recordings() {
    let one = Choices::command().filter(Filter::default().label("run", "2"));
    let text = Spread::new()
        .choices(one)
        .look(look())
        .render(&merged())
        .unwrap();
    assert!(
        text.starts_with("Warning: only one recording passes the filter"),
        "{text}"
    );
    let alone = Profile::from_folded("main 40").unwrap();
    let text = Spread::new().look(look()).render(&alone).unwrap();
    assert!(text.contains("`profundo merge A B -o FILE`"), "{text}");
}

#[test]
fn the_summary_says_what_was_merged() {
    let head = |profile: &Profile| {
        let text = Summary::new().look(look()).render(profile).unwrap();
        text.lines().take(3).collect::<Vec<_>>().join("\n")
    };
    expect![[r#"
        ./app --fast
        merged from 4 recordings (run = 1…4), side by side
        694 ms wall · 1.91 s CPU (275 %) · 4 processes · 4 threads"#]]
    .assert_eq(&head(&merged()));
    expect![[r#"
        ./app --fast
        merged from 4 recordings (run = 1…4), one after another
        1.91 s wall · 1.91 s CPU (100 %) · 4 processes · 4 threads"#]]
    .assert_eq(&head(&aligned(Alignment::Sequence)));
}

#[test]
fn a_group_by_one_label_has_its_value() {
    let mut profile = merged();
    let (key, value) = (
        profile.strings.intern("host"),
        profile.strings.intern("node7"),
    );
    for origin in &mut profile.origins[1..3] {
        origin.set_label(key, value);
    }
    let by = GroupBy::LabelOf("host".into());
    let report = Report::new().format(Format::Flat).group_by(by).width(60);
    let text = report.render(&profile).unwrap();
    let heads: Vec<&str> = (text.lines())
        .filter(|line| line.contains("Total snapshots: ") && !line.starts_with("Total"))
        .map(|line| line.split(". ").next().unwrap())
        .collect();
    assert_eq!(
        heads,
        [
            "without host Total snapshots: 805",
            "host=node7 Total snapshots: 1105"
        ],
        "{text}"
    );
    let json = report.json(&profile).unwrap();
    assert!(json.contains(r#""label": "host=node7""#), "{json}");
}

#[test]
fn groups_are_those_of_the_labels() {
    let report = Report::new().format(Format::Flat).width(60);
    let text = report.group_by(GroupBy::Label).render(&merged()).unwrap();
    expect![[r#"
        run=1 Total snapshots: 400. Utilization: 100%
         Count  Overhead File            Line Function
         =====  ======== ====            ==== ========
           300       300 [unknown file]     ? even
           400         0 [unknown file]     ? main
           100       100 [unknown file]     ? uneven

        run=2 Total snapshots: 410. Utilization: 100%
         Count  Overhead File            Line Function
         =====  ======== ====            ==== ========
           310       310 [unknown file]     ? even
           410         0 [unknown file]     ? main
           100       100 [unknown file]     ? uneven

        run=3 Total snapshots: 695. Utilization: 100%
         Count  Overhead File            Line Function
         =====  ======== ====            ==== ========
           295       295 [unknown file]     ? even
           695         0 [unknown file]     ? main
           400       400 [unknown file]     ? uneven

        run=4 Total snapshots: 405. Utilization: 100%
         Count  Overhead File            Line Function
         =====  ======== ====            ==== ========
           305       305 [unknown file]     ? even
           405         0 [unknown file]     ? main
           100       100 [unknown file]     ? uneven

    "#]]
    .assert_eq(&text);
}
