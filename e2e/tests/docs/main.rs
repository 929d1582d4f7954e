//! The commands of the pages: every command in the README and in `docs/` is run, page by page and
//! in order. Its output has to be the screen that the page shows, but for figures.
//!
//! `BLESS=1` writes what was printed into the pages. `PROFUNDO_DOCS=time` looks only at pages whose
//! names contain that. PID in a command is a program that runs; `table.rs` names the commands that
//! cannot be run, and what stands in for them.

mod page;
mod run;
mod screen;
mod table;

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

use page::{Page, Screen, Step};
use profundo_e2e::sys::note;
use profundo_testing::{profundo, pythons, skip};
use run::Folder;
use table::{BARE, FORMATS, Instead, NO_COMMANDS, STAND_INS, StandIn};

fn pages() -> Vec<Page> {
    page::all(&Path::new(env!("CARGO_MANIFEST_DIR")).join(".."))
}

fn stand_in(command: &str) -> Option<&'static Instead> {
    let mut all = STAND_INS.iter();
    let found = all.find(|stand_in| stand_in.command == command);
    found.map(|stand_in| &stand_in.instead)
}

#[test]
fn pages_show_what_is_printed() {
    if pythons().is_empty() {
        return skip("there is no CPython from 3.8 to 3.15");
    }
    let only = std::env::var("PROFUNDO_DOCS").unwrap_or_default();
    let mut pages = pages();
    pages.retain(|page| page.name.contains(&only) && !page.steps.is_empty());
    // The longest ones are taken first.
    pages.sort_by_key(|page| page.steps.len());
    let (queue, failed) = (Mutex::new(pages), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(page) = take(&queue) {
                    if !run_page(&page).is_empty() {
                        failed.lock().unwrap().push(page);
                    }
                }
            });
        }
    });
    // A page that fails beside others is run again alone.
    let failed = failed.into_inner().unwrap();
    let wrong: Vec<String> = failed.iter().flat_map(run_page).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

fn take(queue: &Mutex<Vec<Page>>) -> Option<Page> {
    queue.lock().unwrap().pop()
}

/// Runs a page's commands. Returns the differences.
fn run_page(page: &Page) -> Vec<String> {
    let blesses = std::env::var_os("BLESS").is_some();
    let mut folder = Folder::new(&page.name);
    let (mut wrong, mut renewed) = (Vec::new(), Vec::new());
    for step in &page.steps {
        let begun = std::time::Instant::now();
        let mut differs = run_step(step, &mut folder, blesses, &mut renewed);
        if !differs.is_empty() {
            // On a busy machine the output may differ.
            differs = run_step(step, &mut folder, blesses, &mut renewed);
        }
        for what in differs {
            wrong.push(format!(
                "{}:{}: `{}`: {what}",
                page.name, step.line, step.command
            ));
        }
        let took = begun.elapsed().as_secs_f64();
        note(&format!(
            "{took:5.1} s  {}:{}  {}",
            page.name, step.line, step.command
        ));
    }
    if blesses {
        write(page, &renewed);
    }
    wrong
}

fn run_step<'a>(
    step: &'a Step,
    folder: &mut Folder,
    blesses: bool,
    renewed: &mut Vec<(&'a Screen, Vec<String>)>,
) -> Vec<String> {
    let (command, counts) = match stand_in(&step.command) {
        None => (&*step.command, true),
        Some(Instead::Nothing) => return Vec::new(),
        Some(Instead::Other(other)) => (*other, false),
        Some(Instead::Shorter(_)) if blesses => (&*step.command, true),
        Some(Instead::Shorter(instead) | Instead::Same(instead)) => (*instead, true),
    };
    let printed = match folder.run(command) {
        Ok(printed) => printed,
        Err(lacks) => {
            skip(&format!("{}: {lacks}", step.command));
            return Vec::new();
        }
    };
    if printed.code != Some(0) {
        return vec![format!("ended with {:?}:\n{}", printed.code, printed.text)];
    }
    let Some(screen) = step.screen.as_ref().filter(|_| counts) else {
        return Vec::new();
    };
    let wrong = screen::compare(&screen.lines, &printed.text);
    if blesses && (screen.lines.is_empty() || !wrong.is_empty()) {
        return match screen::renewed(&screen.lines, &printed.text) {
            Ok(lines) => {
                renewed.push((screen, lines));
                Vec::new()
            }
            Err(why) => vec![why],
        };
    }
    if wrong.is_empty() {
        return wrong;
    }
    vec![format!(
        "{}\nwhat was printed:\n{}",
        wrong.join("\n  "),
        printed.text
    )]
}

/// Writes screens into their page, the last one first, so that the lines before stay where they
/// are.
fn write(page: &Page, renewed: &[(&Screen, Vec<String>)]) {
    let text = fs::read_to_string(&page.path).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (screen, new) in renewed.iter().rev() {
        lines.splice(screen.from..screen.to, new.iter().cloned());
    }
    let text = lines.join("\n") + "\n";
    fs::write(&page.path, text).unwrap();
}

/// Runs `profundo`. Returns true if it succeeded, and its output.
fn output_of(words: &[&str]) -> (bool, String) {
    let output = Command::new(profundo()).args(words).output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.success(), text)
}

/// Commands in sentences are not run, but their verbs and options exist.
#[test]
fn commands_in_sentences_have_their_options() {
    let mut helps: HashMap<String, (bool, String)> = HashMap::new();
    let mut wrong = Vec::new();
    for page in pages() {
        for (line, code) in &page.mentioned {
            if NO_COMMANDS.contains(&&**code) {
                continue;
            }
            let mut words = code.split_whitespace().skip(1);
            let Some(verb) = words.next().filter(|verb| !is_placeholder(verb)) else {
                continue;
            };
            let help = helps
                .entry(verb.to_owned())
                .or_insert_with(|| output_of(&[verb, "--help-all"]));
            let options = words
                .take_while(|word| *word != "--")
                .filter(|word| word.starts_with("--"));
            let names = options.map(|word| word.split(['=', '|', '[']).next().unwrap());
            let unknown: Vec<&str> = names.filter(|name| !has_option(&help.1, name)).collect();
            if !help.0 || !unknown.is_empty() {
                wrong.push(format!("{}:{line}: `{code}`: {unknown:?}", page.name));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// Words that stand for others: `COMMAND`, `app.py`, `--help`.
fn is_placeholder(verb: &str) -> bool {
    !verb.starts_with(|c: char| c.is_ascii_lowercase()) || verb.contains('.') || verb.contains('|')
}

fn has_option(help: &str, name: &str) -> bool {
    let is_end = |c: char| !(c.is_ascii_alphanumeric() || c == '-');
    name == "--help-all"
        || name == "--help"
        || help
            .split(name)
            .skip(1)
            .any(|after| after.starts_with(is_end))
}

#[test]
fn replaced_commands_are_in_a_page() {
    let pages = pages();
    let all: Vec<&str> = pages
        .iter()
        .flat_map(|page| page.steps.iter().map(|step| &*step.command))
        .collect();
    for stand_in in STAND_INS {
        let StandIn { command, why, .. } = stand_in;
        assert!(all.contains(command), "no page has `{command}`");
        assert!(!why.is_empty());
    }
}

#[test]
fn a_screen_shows_its_command() {
    let is_listed = |page: &str, line: &str| {
        let fits = |(of, first, _): &(&str, &str, &str)| *of == page && line.starts_with(first);
        BARE.iter().any(fits)
    };
    let mut wrong = Vec::new();
    for page in pages()
        .iter()
        .filter(|page| !FORMATS.contains(&&*page.name))
    {
        for (line, first) in &page.bare {
            if !is_listed(&page.name, first) {
                wrong.push(format!(
                    "{}:{line}: no command makes this: {first}",
                    page.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    for (name, first, _) in BARE {
        let is_there = pages().iter().any(|page| {
            page.name == *name && page.bare.iter().any(|(_, line)| line.starts_with(first))
        });
        assert!(is_there, "{name} has no block that begins with {first}");
    }
}
