//! The commands of a page: blocks of `sh` are lines to be typed, and blocks of `text` that begin
//! with `$` are commands with their screens.

use std::fs;
use std::path::{Path, PathBuf};

/// The line that stands for lines that the page leaves out.
pub const LEFT_OUT: &str = "…";

#[derive(Debug)]
pub struct Page {
    /// The path from the repository's root.
    pub name: String,
    pub path: PathBuf,
    pub steps: Vec<Step>,
    /// Blocks of text that show no command: the line of the first one's beginning, and its first
    /// line.
    pub bare: Vec<(usize, String)>,
    /// Commands of `profundo` in sentences and tables, with the line of each.
    pub mentioned: Vec<(usize, String)>,
}

/// A command of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The line of the page, from 1.
    pub line: usize,
    pub command: String,
    /// The output that the page shows; `None` in a block of `sh`.
    pub screen: Option<Screen>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// Its lines in the page, counted from 0; `to` is the line after it.
    pub from: usize,
    pub to: usize,
    pub lines: Vec<String>,
}

/// The README and all pages in `docs/`.
pub fn all(root: &Path) -> Vec<Page> {
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let mut names: Vec<String> = docs
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/{name}"))
        .collect();
    names.push("README.md".to_owned());
    names.sort();
    names
        .into_iter()
        .map(|name| {
            let path = root.join(&name);
            let text = fs::read_to_string(&path).unwrap();
            let (steps, bare) = parse(&text);
            Page {
                name,
                path,
                steps,
                bare,
                mentioned: mentioned(&text),
            }
        })
        .collect()
}

fn parse(text: &str) -> (Vec<Step>, Vec<(usize, String)>) {
    let lines: Vec<&str> = text.lines().collect();
    let (mut steps, mut bare) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < lines.len() {
        let Some(kind) = lines[at].trim().strip_prefix("```") else {
            at += 1;
            continue;
        };
        let begin = at + 1;
        let length = lines[begin..]
            .iter()
            .position(|line| line.trim() == "```")
            .unwrap_or(lines.len() - begin);
        let end = begin + length;
        match kind {
            "sh" => typed(&lines, begin, end, &mut steps),
            "text" if lines[begin].starts_with("$ ") => shown(&lines, begin, end, &mut steps),
            "text" => bare.push((begin, lines[begin].to_owned())),
            _ => {}
        }
        at = end + 1;
    }
    (steps, bare)
}

/// Commands of `profundo` in `code` spans, outside of blocks.
fn mentioned(text: &str) -> Vec<(usize, String)> {
    let mut in_block = false;
    let mut all = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let code = line.split('`').skip(1).step_by(2);
            let ours = code.filter(|code| code.starts_with("profundo "));
            all.extend(ours.map(|code| (index + 1, code.to_owned())));
        }
    }
    all
}

/// The commands of a block of `sh`.
fn typed(lines: &[&str], begin: usize, end: usize, steps: &mut Vec<Step>) {
    let mut at = begin;
    while at < end {
        let (command, next) = joined(lines, at, end, lines[at]);
        let command = without_comment(&command).trim().to_owned();
        if !command.is_empty() {
            steps.push(Step {
                line: at + 1,
                command,
                screen: None,
            });
        }
        at = next;
    }
}

/// The commands of a block of `text`, each with the lines up to the next.
fn shown(lines: &[&str], begin: usize, end: usize, steps: &mut Vec<Step>) {
    let mut at = begin;
    while at < end {
        let (command, from) = joined(lines, at, end, lines[at].trim_start_matches("$ "));
        let length = lines[from..end]
            .iter()
            .position(|line| line.starts_with("$ "))
            .unwrap_or(end - from);
        let mut to = from + length;
        let next = to;
        while to > from && lines[to - 1].trim().is_empty() {
            to -= 1;
        }
        steps.push(Step {
            line: at + 1,
            command,
            screen: Some(Screen {
                from,
                to,
                lines: lines[from..to]
                    .iter()
                    .map(|&line| line.to_owned())
                    .collect(),
            }),
        });
        at = next;
    }
}

/// A command with the lines on which it goes on, and the line after it.
fn joined(lines: &[&str], at: usize, end: usize, first: &str) -> (String, usize) {
    let mut command = first.to_owned();
    let mut next = at + 1;
    while command.ends_with('\\') && next < end {
        command.pop();
        command.push_str(lines[next].trim_start());
        next += 1;
    }
    (command, next)
}

fn without_comment(command: &str) -> &str {
    let mut quote = None;
    let mut after_space = true;
    for (at, letter) in command.char_indices() {
        match quote {
            Some(open) if open == letter => quote = None,
            Some(_) => {}
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None if letter == '#' && after_space => return &command[..at],
            None => {}
        }
        after_space = letter.is_whitespace();
    }
    command
}

#[test]
fn a_page_has_its_commands() {
    let page = "# Page\n\n```sh\na one   # why\nb '# two' \\\n  three\n# nothing\n```\n\n\
                ```text\n$ c\nsaid\n\n$ d\n```\n\n```text\nno command\n```\n\n```rust\nlet x;\n```\n";
    let (steps, bare) = parse(page);
    let commands: Vec<(usize, &str)> = steps
        .iter()
        .map(|step| (step.line, &*step.command))
        .collect();
    assert_eq!(
        commands,
        [(4, "a one"), (5, "b '# two' three"), (11, "c"), (14, "d")]
    );
    assert_eq!(steps[0].screen, None);
    assert_eq!(steps[2].screen.as_ref().unwrap().lines, ["said"]);
    assert_eq!(steps[3].screen.as_ref().unwrap().lines, [""; 0]);
    assert_eq!(
        mentioned("a `profundo x` b\n```\n`profundo y`\n```\n"),
        [(1, "profundo x".to_owned())]
    );
    assert_eq!(bare, [(17, "no command".to_owned())]);
}
