//! The table of exceptions, on a profile that was made by hand.

use profundo_model::{ExceptionEnd, Exceptions as Row, FrameId, LocationId, Profile, Tracing};
use profundo_report::{Exceptions, Filter, Look, View};

/// Exceptions with each end, in two files.
pub fn exceptions() -> Profile {
    let mut profile = Profile::default();
    profile.hand_made_process(4711, "python3 app.py");
    profile.traced.tracing = Tracing::Exceptions;
    let of_type = profile.strings.intern("KeyError");
    let place = |profile: &mut Profile, file: &str, name: &str, line: u32| -> FrameId {
        let location: LocationId = profile.hand_made_python(file, name, line, false);
        profile.locations.get(location).frames[0]
    };
    let find = place(&mut profile, "/home/me/app.py", "find", 7);
    let caller = place(&mut profile, "/home/me/app.py", "main", 20);
    let other = place(&mut profile, "/home/me/rows.py", "__getattr__", 3);
    for (raised, end, count) in [
        (find, ExceptionEnd::Caught(caller), 12_000),
        (find, ExceptionEnd::Left, 1),
        (other, ExceptionEnd::Unseen, 30),
        (find, ExceptionEnd::Caught(caller), 5),
    ] {
        profile.traced.exceptions.push(Row {
            of_type,
            raised,
            end,
            count,
            ..Row::default()
        });
    }
    profile
}

fn lines(view: Exceptions, profile: &Profile) -> Vec<String> {
    let look = Look::new().width(Some(120));
    let page = view.look(look).render(profile).unwrap();
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    page.lines().map(words).collect()
}

#[test]
fn rows_of_one_end_are_added_up_and_all_rows_are_what_was_raised() {
    let lines = lines(Exceptions::new(), &exceptions());
    assert_eq!(
        lines[0],
        "12036 exceptions were raised: 12005 caught, 1 left the program or a thread, 30 without an end that was seen."
    );
    assert_eq!(lines[2], "Count Exception Raised by Caught by");
    assert_eq!(lines[3], "12005 KeyError app.py:7 find app.py:20 main");
    assert!(lines[4].starts_with("30 KeyError rows.py:3 __getattr__ [not seen"));
    assert!(lines[5].starts_with("1 KeyError app.py:7 find [nothing"));
}

#[test]
fn rows_are_limited_and_chosen_by_the_line_that_raised() {
    let limited = lines(Exceptions::new().limit(1), &exceptions());
    assert_eq!(limited[4], "31 in 2 more rows");
    let choices = profundo_report::Choices::command().filter(Filter::default().file("rows.py"));
    let chosen = lines(Exceptions::new().choices(choices), &exceptions());
    assert!(chosen[0].starts_with("30 exceptions were raised: 30 without"));
}

#[test]
fn a_page_without_exceptions_says_why() {
    let none = |profile: &Profile| lines(Exceptions::new(), profile).join(" ");
    assert!(none(&Profile::default()).contains("`profundo trace --exceptions` counts them"));
    let mut counted = exceptions();
    counted.traced.exceptions.clear();
    assert!(none(&counted).contains("No exceptions were counted."));
}
