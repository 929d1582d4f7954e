//! Shows the command's reports on profiles made by hand: `views REPORT [python|crowd|rust]`.

#[path = "../tests/it/mixed.rs"]
#[allow(dead_code, reason = "the tests use all of it")]
mod mixed;

use profundo_report::{
    Callers, Choices, Functions, Lines, Look, NextStep, Statprof, Summary, View,
};

fn main() -> Result<(), profundo_report::Error> {
    let mut arguments = std::env::args().skip(1);
    let report = arguments.next().unwrap_or_default();
    let profile = match arguments.next().as_deref() {
        Some("crowd") => mixed::crowd(),
        Some("rust") => mixed::rust(),
        _ => mixed::python(),
    };
    let look = Look::stdout();
    let out = std::io::stdout().lock();
    match report.as_str() {
        "lines" => Lines::new().look(look).write(&profile, out),
        "functions" => Functions::new().look(look).write(&profile, out),
        "mine" => (Functions::new().look(look))
            .choices(Choices::command().only_mine(true))
            .write(&profile, out),
        "statprof" => Statprof::new().look(look).write(&profile, out),
        "callers" => Callers::both("randint").look(look).write(&profile, out),
        "json" => Lines::new().write_json(&profile, out),
        _ => (Summary::new().look(look))
            .next([
                NextStep::new(
                    "profundo report lines",
                    "the source, with a share on each line",
                ),
                NextStep::new("profundo flame", "a picture for the browser"),
            ])
            .write(&profile, out),
    }
}
