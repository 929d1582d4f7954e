//! The reader of a recording that another profundo makes of the program, such as `profundo run`. It
//! is a process beside the program: neither a child of it nor in the recording.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use profundo_session::{Remains, find_session};

use super::program::{Program, Said};

/// The time that the recorder has to write what it has. It may have many samples to take in before.
const PATIENCE: Duration = Duration::from_secs(5);

/// Names the file of the recording, and runs commands until the program hangs up.
pub fn read(pid: u32) -> Result<ExitCode> {
    let mut program = Program::take()?;
    let session = find_session(pid);
    let remains = session.as_ref().map(|session| session.path().to_owned());
    let (Some(session), Some(remains)) = (session, remains.and_then(Remains::read)) else {
        program.refuse("the recording of this process cannot be read before its end");
        return Ok(ExitCode::SUCCESS);
    };
    let session = Arc::new(session);
    program.listen(|| {})?;
    program.tell("recording", &remains.recording)?;
    while let Some(said) = program.wait() {
        match said {
            Said::Run(reader) => program.run(reader, Some(&session)),
            // The program may have ended meanwhile.
            Said::Write if session.write(PATIENCE) => _ = program.say("written"),
            Said::Write => program.refuse("the recorder does not answer"),
            _ => break,
        }
    }
    Ok(ExitCode::SUCCESS)
}
