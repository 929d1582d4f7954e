//! Processes that the program has started, and that live on when it has ended.

use profundo_recorder::Recorder;

/// Prints a note on processes of the program that live on.
pub fn note(recorder: &Recorder) -> Option<String> {
    let living = recorder.living();
    let (live, them) = match living.len() {
        0 => return None,
        1 => ("1 process lives", "it"),
        _ => ("processes live", "them"),
    };
    let count = match living.len() {
        1 => String::new(),
        some => format!("{some} "),
    };
    Some(format!(
        "{count}{live} on that the program has started: {}; `profundo attach PID` looks at {them}, and `--wait-all` records until the \
         last one has ended",
        named(&living)
    ))
}

/// Some processes by number and name.
pub fn named(living: &[(u32, String)]) -> String {
    const MOST: usize = 5;
    let names = living.iter().take(MOST);
    let mut names: Vec<String> = names.map(|(pid, name)| format!("{pid} ({name})")).collect();
    if living.len() > MOST {
        names.push(format!("{} more", living.len() - MOST));
    }
    names.join(", ")
}
