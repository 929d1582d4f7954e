//! The profiler's stack and a debugger's, of the same moment.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use profundo_testing::skip;

use crate::run::alone;

/// The last part of a path, without the text in brackets: gdb and profundo write generics and
/// closures in different ways.
fn plain(name: &str) -> String {
    let mut depth = 0;
    let mut flat = String::new();
    for c in name.chars() {
        match c {
            '<' | '{' => depth += 1,
            '>' | '}' => depth -= 1,
            _ if depth == 0 => flat.push(c),
            _ => {}
        }
    }
    let parts = flat.split("::").filter(|part| !part.is_empty());
    parts.last().unwrap_or_default().to_owned()
}

/// The functions of a backtrace, `#1  0x… in name (arguments) at file:line` each.
fn functions(backtrace: &str) -> Vec<String> {
    let frames = backtrace.lines().filter(|line| line.starts_with('#'));
    let name = |line: &str| {
        let rest = line.split_once(char::is_whitespace)?.1.trim_start();
        let rest = match rest.split_once(" in ") {
            Some((address, rest)) if address.starts_with("0x") => rest,
            _ => rest,
        };
        Some(rest.split(" (").next()?.to_owned())
    };
    frames.filter_map(name).collect()
}

#[test]
fn a_debugger_sees_the_same_stack() {
    let _alone = alone();
    let mut child = Command::new(env!("CARGO_BIN_EXE_stops"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut ours = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        match line.unwrap() {
            ready if ready == "ready" => break,
            name => ours.push(name),
        }
    }
    let pid = child.id().to_string();
    let output = Command::new("gdb")
        .args(["-nx", "-batch", "-p", &pid, "-ex", "bt -past-main on"])
        .output();
    // The child is stopped, and not needed any more.
    child.kill().unwrap();
    child.wait().unwrap();
    let Ok(output) = output else {
        return skip("there is no gdb");
    };
    let theirs = functions(&String::from_utf8_lossy(&output.stdout));
    if theirs.is_empty() {
        let why = String::from_utf8_lossy(&output.stderr);
        return skip(&format!(
            "gdb sees no stack: {}",
            why.trim_end().replace('\n', "; ")
        ));
    }
    let from_leaf = theirs.iter().position(|name| plain(name) == "leaf");
    let theirs: Vec<String> = theirs[from_leaf.expect("leaf")..]
        .iter()
        .map(|name| plain(name))
        .collect();
    let ours: Vec<String> = ours.iter().map(|name| plain(name)).collect();
    // Up to the program's main; what calls it is named only where libc has debug information.
    let main = |stack: &[String]| stack.iter().position(|name| name == "main");
    let (until, their_until) = (main(&ours).unwrap(), main(&theirs).unwrap());
    assert!(until > 8, "{ours:?}");
    assert_eq!(ours[..=until], theirs[..=their_until]);
}
