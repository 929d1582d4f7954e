//! Questions on a Python program's recording, and the answers compared with the program's own
//! measurement.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::profiler::Profiler;
use crate::scalene;
use crate::weighted_stacks::{self, Style, WeightedStack};

/// A result with any error.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Runs a program under a profiler, with a prefix before the command.
pub fn run(profiler: &Profiler, front: &[&str], rate: u32, program: &[&str]) -> Result<Run> {
    let file = profiler.file();
    let output = profiler
        .command(front, rate, &file, program)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()?;
    if !output.status.success() {
        return Err(format!("{}: {program:?} ended badly", profiler.name()).into());
    }
    let stdout = String::from_utf8(output.stdout)?;
    // The program's own line; a peer may print something around it.
    let line = stdout.lines().find(|line| line.starts_with('{'));
    let truth = line.map(serde_json::from_str).transpose()?;
    Ok(Run {
        profiler: profiler.clone(),
        file,
        truth,
    })
}

/// A recorded run. Its file is removed with it.
#[derive(Debug)]
pub struct Run {
    profiler: Profiler,
    file: PathBuf,
    /// The program's own measurement.
    pub truth: Option<Value>,
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

impl Run {
    /// Our own report, as JSON.
    pub fn report(&self, which: &str) -> Result<Value> {
        let Profiler::Ours(path) = &self.profiler else {
            return Err("only our own reports are asked for".into());
        };
        let report = Command::new(path)
            .args(["report", "--json"])
            .arg(&self.file)
            .arg(which)
            .output()?;
        if !report.status.success() {
            return Err(String::from_utf8(report.stderr)?.into());
        }
        Ok(serde_json::from_slice(&report.stdout)?)
    }

    /// The stacks.
    pub fn stacks(&self) -> Result<Vec<WeightedStack>> {
        let path = match &self.profiler {
            Profiler::Ours(path) => path,
            Profiler::PySpy(_) => {
                return Ok(weighted_stacks::read(
                    &fs::read_to_string(&self.file)?,
                    Style::Brackets,
                ));
            }
            Profiler::Austin(_) => {
                return Ok(weighted_stacks::read(
                    &fs::read_to_string(&self.file)?,
                    Style::Colons,
                ));
            }
            Profiler::Scalene(_) => return Err("Scalene has no stacks".into()),
        };
        let collapsed = self.file.with_extension("collapsed");
        let export = Command::new(path)
            .arg("export")
            .arg(&self.file)
            .args(["--to", "collapsed", "-o"])
            .arg(&collapsed)
            .output()?;
        if !export.status.success() {
            return Err(String::from_utf8(export.stderr)?.into());
        }
        let text = fs::read_to_string(&collapsed)?;
        let _ = fs::remove_file(&collapsed);
        Ok(weighted_stacks::read(&text, Style::Brackets))
    }
}

/// The worst error of the functions' shares in a run of `shares.py`, in points.
pub fn worst_share(run: &Run) -> Result<f64> {
    let truth = run.truth.as_ref().ok_or("the program said nothing")?;
    let shares = truth["shares"].as_object().ok_or("no shares")?;
    let names: Vec<&str> = shares.keys().map(String::as_str).collect();
    let measured = match run.profiler {
        Profiler::Scalene(_) => {
            let report = serde_json::from_str(&fs::read_to_string(&run.file)?)?;
            scalene::shares(&report, &names)
        }
        _ => weighted_stacks::shares(&run.stacks()?, &names, "work"),
    };
    let off = shares.values().zip(measured).map(|(truth, measured)| {
        let truth = truth.as_f64().unwrap_or(f64::NAN);
        100.0 * (truth - measured).abs()
    });
    off.max_by(f64::total_cmp).ok_or_else(|| "no shares".into())
}

/// For a run of `kinds.py`: the least native share of a line that is native, and the greatest of
/// one that is pure Python, in percent.
pub fn kinds(run: &Run, program: &Path) -> Result<(f64, f64)> {
    let source = fs::read_to_string(program)?;
    let source: Vec<&str> = source.lines().collect();
    if matches!(run.profiler, Profiler::Scalene(_)) {
        let report = serde_json::from_str(&fs::read_to_string(&run.file)?)?;
        return scalene::kinds(&report).ok_or_else(|| "Scalene has no such lines".into());
    }
    let report = run.report("lines")?;
    let (mut native, mut pure) = (100.0_f64, 0.0_f64);
    let mut met = 0;
    for file in report["files"].as_array().into_iter().flatten() {
        if file["file"].as_str() != program.to_str() {
            continue;
        }
        for line in file["lines"].as_array().into_iter().flatten() {
            let number = line["line"].as_u64().unwrap_or(0) as usize;
            let text = source.get(number.wrapping_sub(1)).copied().unwrap_or("");
            let share = |kind: &str| line[kind].as_f64().unwrap_or(0.0);
            let (of_native, of_python) = (share("self_native_share"), share("self_python_share"));
            let percent = 100.0 * of_native / (of_native + of_python);
            // A line with few samples says little.
            if line["self_samples"].as_u64().unwrap_or(0) < 50 {
                continue;
            }
            if text.ends_with("# native") {
                native = native.min(percent);
                met += 1;
            } else if text.ends_with("# pure") {
                pure = pure.max(percent);
                met += 1;
            }
        }
    }
    if met < 6 {
        return Err(format!("only {met} of the marked lines have samples").into());
    }
    Ok((native, pure))
}

/// For a run of `waits.py`: the recorded wait for the lock, in percent of the threads' own
/// measurement; and the part of the latter spent waiting for a processor.
pub fn waits(run: &Run) -> Result<(f64, f64)> {
    let truth = run.truth.as_ref().ok_or("the program said nothing")?;
    let report = run.report("summary")?;
    let (mut recorded, mut waited, mut delayed) = (0.0, 0.0, 0.0);
    for thread in report["threads"].as_array().into_iter().flatten() {
        let own = &truth[thread["name"].as_str().unwrap_or("")];
        let of = |name: &str| own[name].as_f64();
        if let (Some(wall), Some(cpu), Some(delay)) = (of("wall"), of("cpu"), of("delay")) {
            recorded += thread["gil_wait_seconds"].as_f64().unwrap_or(0.0);
            waited += wall - cpu;
            delayed += delay;
        }
    }
    Ok((100.0 * recorded / waited, 100.0 * delayed / waited))
}

/// The functions that each function may call.
pub type Edges = BTreeMap<String, Vec<String>>;

/// The weight of all stacks, and of those with a function that its caller cannot call.
pub fn impossible(stacks: &[WeightedStack], file: &str, callers: &Edges) -> (f64, f64) {
    let (mut all, mut impossible) = (0.0, 0.0);
    for stack in stacks {
        all += stack.weight;
        let python: Vec<_> = (stack.frames.iter())
            .filter(|frame| !frame.file.is_empty())
            .collect();
        let is_wrong = python.iter().enumerate().any(|(at, frame)| {
            let Some(allowed) = callers.get(&frame.name) else {
                return false;
            };
            let caller = at.checked_sub(1).map(|at| &python[at].name);
            frame.file.ends_with(file) && !caller.is_some_and(|caller| allowed.contains(caller))
        });
        if is_wrong {
            impossible += stack.weight;
        }
    }
    (all, impossible)
}

/// The samples taken in percent of those expected, and the percentage of whole stacks.
pub fn quality(run: &Run) -> Result<(f64, f64)> {
    let report = run.report("summary")?;
    let recording = &report["recording"];
    let number = |name: &str| recording[name].as_f64().unwrap_or(f64::NAN);
    let cut = number("stacks_truncated") + number("stacks_broken");
    Ok((
        100.0 * number("cpu_sampled_seconds") / number("cpu_seconds"),
        100.0 * (1.0 - cut / number("samples")),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_call_is_found_out() {
        let edges = Edges::from([("f".to_owned(), vec!["g".to_owned()])]);
        let check = |text: &str, expected: (f64, f64)| {
            let stacks = weighted_stacks::read(text, Style::Brackets);
            assert_eq!(impossible(&stacks, "x.py", &edges), expected, "{text}");
        };
        check("g (x.py);f (x.py) 2", (2.0, 0.0));
        check("g (x.py);sorted;f (x.py) 2", (2.0, 0.0));
        check("h (x.py);f (x.py) 2\ng (x.py);f (x.py) 1", (3.0, 2.0));
        check("f (x.py) 1", (1.0, 1.0));
        check("h (x.py);f (other.py) 1", (1.0, 0.0));
    }
}
