//! Compares the results of all candidates: speed is worth nothing if the results differ.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Seek};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use profundo_launch::{Ended, Interrupt};

use super::command::Output;
use super::plan::{Commands, Work};
use super::python::Interpreter;

/// The result of a candidate.
#[derive(Debug)]
struct Answer {
    /// The value of a statement's last expression.
    value: Option<String>,
    /// The end of a command.
    ended: Option<Ended>,
    /// The printed output.
    output: File,
}

/// The result of the comparison.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// The candidates give the same.
    Same,
    /// There is nothing to compare, or little: a sentence on it.
    Nothing(&'static str),
    /// The first difference.
    Differs(String),
}

/// Runs each candidate once and compares the results.
pub fn check(
    work: &Work,
    names: &[String],
    interrupt: &Interrupt,
    prepare: impl Fn(&Commands, usize) -> Result<()>,
) -> Result<Found> {
    let mut answers = Vec::new();
    match work {
        Work::Python(statements) => {
            for statement in statements {
                let output = unnamed_file()?;
                let to = Stdio::from(output.try_clone().context("cannot keep the output")?);
                answers.push(Answer {
                    value: Some(Interpreter::check(statement, to, interrupt)?),
                    ended: None,
                    output,
                });
            }
        }
        Work::Commands(commands) => {
            for (index, line) in commands.lines.iter().enumerate() {
                prepare(commands, index)?;
                let output = unnamed_file()?;
                let took = line.run(Output::To(&output), interrupt)?;
                answers.push(Answer {
                    value: None,
                    ended: Some(took.ended),
                    output,
                });
            }
        }
    }
    compare(&mut answers, names)
}

fn compare(answers: &mut [Answer], names: &[String]) -> Result<Found> {
    const NOTHING: &str = "`--check` had nothing to compare: no value and no output.";
    const CODES: &str = "`--check` could compare nothing but how they end, which is the same: they print nothing to the standard output.";
    let Some((first, others)) = answers.split_first_mut() else {
        return Ok(Found::Nothing(NOTHING));
    };
    for (other, name) in others.iter_mut().zip(names.iter().skip(1)) {
        if let Some(difference) = difference((first, &names[0]), (other, name))? {
            return Ok(Found::Differs(difference));
        }
    }
    const OPAQUE: &str =
        "`--check` cannot compare what they give: it shows nothing of what is in it.";
    let is_silent = first.output.metadata().is_ok_and(|file| file.len() == 0);
    Ok(match first.value.as_deref() {
        Some("None") if is_silent => Found::Nothing(NOTHING),
        None if is_silent => Found::Nothing(CODES),
        Some(value) if value.starts_with(OPAQUE_MARK) => Found::Nothing(OPAQUE),
        _ => Found::Same,
    })
}

/// The prefix of a value's text if a part of it shows nothing but its address.
const OPAQUE_MARK: char = '\0';

fn difference(
    (one, name): (&mut Answer, &str),
    (other, other_name): (&mut Answer, &str),
) -> Result<Option<String>> {
    if let (Some(value), Some(other)) = (&one.value, &other.value)
        && value != other
    {
        let bare = |text: &str| text.trim_start_matches(OPAQUE_MARK).to_owned();
        let (value, other) = around_the_difference(&bare(value), &bare(other));
        return Ok(Some(format!(
            "`{name}` gives {value}, `{other_name}` gives {other}"
        )));
    }
    if let Some((line, text, other)) = first_line(&mut one.output, &mut other.output)? {
        let (text, other) = around_the_difference(&text, &other);
        return Ok(Some(format!(
            "`{name}` prints {text} in line {line}, `{other_name}` prints {other}"
        )));
    }
    if one.ended != other.ended {
        let text = |ended| match ended {
            Some(Ended::Exited(code)) => format!("exit code {code}"),
            Some(Ended::Killed(signal)) => format!("signal {signal}"),
            None => "no end".into(),
        };
        return Ok(Some(format!(
            "`{name}` ends with {}, `{other_name}` with {}",
            text(one.ended),
            text(other.ended)
        )));
    }
    Ok(None)
}

/// The first line in which two outputs differ: its number, and both lines.
fn first_line(one: &mut File, other: &mut File) -> Result<Option<(u64, String, String)>> {
    one.rewind()?;
    other.rewind()?;
    let (mut one, mut other) = (BufReader::new(one), BufReader::new(other));
    let quoted = |line: &[u8]| match line {
        [] => "nothing".to_owned(),
        line => format!("{:?}", String::from_utf8_lossy(line).trim_end_matches('\n')),
    };
    for number in 1.. {
        let (mut line, mut other_line) = (Vec::new(), Vec::new());
        one.read_until(b'\n', &mut line)?;
        other.read_until(b'\n', &mut other_line)?;
        if line != other_line {
            return Ok(Some((number, quoted(&line), quoted(&other_line))));
        }
        if line.is_empty() {
            break;
        }
    }
    Ok(None)
}

/// The shown length of a long text.
const SHOWN: usize = 60;

/// Two texts, or the part of each around the first difference.
fn around_the_difference(one: &str, other: &str) -> (String, String) {
    let alike = one
        .chars()
        .zip(other.chars())
        .take_while(|(one, other)| one == other)
        .count();
    let from = alike.saturating_sub(SHOWN / 3);
    let from = if one.chars().count().max(other.chars().count()) <= SHOWN {
        0
    } else {
        from
    };
    let part = |text: &str| {
        let before = if from > 0 { "…" } else { "" };
        let mut rest = text.chars().skip(from);
        let shown: String = rest.by_ref().take(SHOWN).collect();
        let after = if rest.next().is_some() { "…" } else { "" };
        format!("{before}{shown}{after}")
    };
    (part(one), part(other))
}

/// A file without a name, which ends with this process.
fn unnamed_file() -> Result<File> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("profundo-check-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .open(&path)
        .with_context(|| format!("cannot make the file {}", path.display()))?;
    let _ = fs::remove_file(&path);
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn answer(value: Option<&str>, code: u8, output: &str) -> Answer {
        let mut file = unnamed_file().unwrap();
        file.write_all(output.as_bytes()).unwrap();
        Answer {
            value: value.map(str::to_owned),
            ended: value.is_none().then_some(Ended::Exited(code)),
            output: file,
        }
    }

    fn found(answers: &mut [Answer]) -> Found {
        let names = ["a", "b", "c"].map(str::to_owned);
        compare(answers, &names).unwrap()
    }

    #[test]
    fn the_first_difference_is_named() {
        let differs = |one, other| match found(&mut [one, other]) {
            Found::Differs(what) => what,
            other => panic!("{other:?}"),
        };
        assert_eq!(
            differs(answer(Some("12"), 0, ""), answer(Some("13"), 0, "")),
            "`a` gives 12, `b` gives 13"
        );
        assert_eq!(
            differs(answer(None, 0, "x\ny\n"), answer(None, 0, "x\nz\n")),
            "`a` prints \"y\" in line 2, `b` prints \"z\""
        );
        assert_eq!(
            differs(answer(None, 0, "x\n"), answer(None, 0, "x\ny")),
            "`a` prints nothing in line 2, `b` prints \"y\""
        );
        assert_eq!(
            differs(answer(None, 0, "x"), answer(None, 3, "x")),
            "`a` ends with exit code 0, `b` with exit code 3"
        );
        let long = |end: &str| format!("{}{end}", "9".repeat(500));
        let what = differs(
            answer(Some(&long("1")), 0, ""),
            answer(Some(&long("2")), 0, ""),
        );
        assert!(
            what.contains("…999") && what.contains("92") && what.len() < 200,
            "{what}"
        );
    }

    #[test]
    fn what_is_the_same_is_the_same() {
        let same = |value| answer(value, 0, "printed\n");
        assert_eq!(found(&mut [same(Some("1")), same(Some("1"))]), Found::Same);
        assert_eq!(found(&mut [same(None), same(None)]), Found::Same);
        let silent = || answer(Some("None"), 0, "");
        let check = |answers: &mut [Answer], part: &str| match found(answers) {
            Found::Nothing(what) => assert!(what.contains(part), "{what}"),
            other => panic!("{other:?}"),
        };
        check(&mut [silent(), silent()], "no value and no output");
        let ended = || answer(None, 3, "");
        check(&mut [ended(), ended()], "but how they end");
    }
}
