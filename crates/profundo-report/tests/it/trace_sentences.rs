//! The sentences around a report of `trace`: what is missing, what ran at all, and the source of
//! times.

use expect_test::expect;
use profundo_model::{Profile, Tracing};
use profundo_report::{CountedLines, Look, Trace, View, When};

use crate::traced::{counted_lines, lines_once, traced};

#[test]
fn missing_processes_have_a_note_above_the_table() {
    let mut profile = traced();
    let note = "3 processes began while the recorder was busy: their calls were not counted";
    profile.meta.notes.push(note.into());
    let text = Trace::new().render(&profile).unwrap();
    let first = text.lines().next().unwrap();
    assert_eq!(first, format!("Warning: {note}."));
}

#[test]
fn the_sentence_on_an_empty_trace_follows_from_the_request() {
    let mut profile = Profile::default();
    profile
        .meta
        .notes
        .push("the calls of x were not counted: it is old".into());
    let said = |profile: &Profile| Trace::new().render(profile).unwrap();
    assert!(said(&profile).contains("`profundo trace` counts them"));
    profile.traced.tracing = Tracing::Calls;
    let text = said(&profile);
    assert!(
        !text.contains("`profundo trace`") && text.contains("it is old"),
        "{text}"
    );
    profile.traced.tracing = Tracing::Lines;
    assert!(said(&profile).contains("instead of calls"));
    let lines = CountedLines::new().render(&profile).unwrap();
    assert!(
        lines.contains("no lines were counted.") && lines.contains("it is old"),
        "{lines}"
    );
}

#[test]
fn lines_that_were_run_are_marked() {
    let profile = lines_once();
    let view = || CountedLines::new().from_disk(false);
    expect![[r#"
        File: /home/me/app.py: 2 of 3 lines ran

        Function: fib at line 3: 2 of 3 lines ran
             3   @cache
             4   def fib(n):
             5       # The slow way.
             6 >     if n < 2:
             7 >         return n
             8 !     return fib(n - 1) + fib(n - 2)

        File: /home/me/lib/rows.py: 0 of 2 lines ran
        (source not found)

        Function: read at line 10: never ran
            12 ! 
            14 ! 

        `>` was run, `!` has code and was not; how often, and for how long, was not counted.
    "#]]
    .assert_eq(&view().render(&profile).unwrap());
    let json = view().json(&profile).unwrap();
    assert!(json.contains(r#""lines_run": 2"#), "{json}");
    assert!(json.contains(r#""engine": "none""#), "{json}");
}

#[test]
fn the_source_of_times_has_a_sentence() {
    let mut profile = counted_lines();
    profile.traced.tracing = Tracing::SampledLines;
    profile.meta.period = profundo_model::Nanos(1_000_000);
    let said = |profile: &Profile| {
        let text = CountedLines::new()
            .from_disk(false)
            .render(profile)
            .unwrap();
        text.lines().last().unwrap().to_owned()
    };
    let text = said(&profile);
    assert!(
        text.contains("samples of CPU time, one about every 1.00 ms"),
        "{text}"
    );
    profile.traced.tracing = Tracing::Lines;
    assert!(said(&profile).contains("nothing is taken off"));
}

#[test]
fn notes_are_broken_at_the_terminals_width() {
    let words = ["word"; 40].join(" ");
    let mut profile = counted_lines();
    profile.meta.notes.push(words.clone());
    let width = 60;
    let look = || Look::new().width(width).colors(When::Never);
    let lines = CountedLines::new().from_disk(false);
    let text = lines.clone().look(look().terminal(true)).render(&profile);
    let text = text.unwrap();
    let note: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.starts_with("Note:"))
        .collect();
    assert_eq!(note.len(), 4, "{text}");
    assert!(note.iter().all(|line| line.len() <= width), "{text}");
    assert_eq!(note.join(" ").matches("word").count(), 40);
    let text = lines.look(look()).render(&profile).unwrap();
    assert!(text.contains(&format!("Note: {words}\n")), "{text}");
}
