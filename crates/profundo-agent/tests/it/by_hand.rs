//! Any command, by hand: `PROFUNDO_AGENT_COMMAND='python3 -m test test_os' cargo test -p
//! profundo-agent --test it -- --ignored --nocapture any_command`.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::recorder::{SAMPLING, run};

#[test]
#[ignore = "it is for trying things out"]
fn any_command() {
    let Some(line) = std::env::var_os("PROFUNDO_AGENT_COMMAND") else {
        return;
    };
    let mut command = Command::new("bash");
    command.arg("-c").arg(line).stdin(Stdio::null());
    let run = run(SAMPLING, &mut command);
    let samples: u64 = run.seen.iter().map(|seen| seen.samples).sum();
    let mut out = std::io::stderr();
    out.write_all(&run.output.stdout).unwrap();
    out.write_all(&run.output.stderr).unwrap();
    let (execs, forks) = run.kinds();
    writeln!(
        out,
        "{}: {execs} programs, {forks} forks, {} without a ring, {samples} samples",
        run.output.status, run.starved
    )
    .unwrap();
}
