//! The trial of an installation: a Python that has the package runs, records, reads and profiles,
//! and says which command it has found.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use super::output;
use crate::test::tally::Tally;

/// Runs a program and records it, reads the recording, and profiles a part of itself.
const TRIAL: &str = "\
import io, os, subprocess, sys
import profundo
os.environ['PROFUNDO_DIR'] = os.path.abspath('recordings')
os.environ['PROFUNDO_NO_CONFIG'] = '1'
command = [sys.executable, '-m', 'profundo']
pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
done = subprocess.run(command + ['run', 'trial.py'], **pipes)
assert done.returncode == 0 and done.stdout.startswith('7999999'), done
assert 'line 1 of trial.py' in done.stdout + done.stderr, done
done = subprocess.run(command + ['record', '-o', 'trial.profundo', 'trial.py'], **pipes)
assert done.returncode == 0, done
profile = profundo.load('trial.profundo')
assert profile.lines[0].line == 1, profile.lines
profile.save('trial.svg')
with profundo.profile(memory=True) as region:
    kept = [str(number) for number in range(1000000)]
    sum(number * number for number in range(4000000))
assert region.functions, region
sys.stdout = io.StringIO()
region.print()
printed, sys.stdout = sys.stdout.getvalue(), sys.__stdout__
assert 'CPU' in printed and 'allocat' in printed, printed
from profundo._binary import find
print(profundo.__version__, find())
";

/// It takes some tenths of a second, and prints 7999999.
const PROGRAM: &str = "print(sum(number * number % 7 for number in range(4000000)))\n";

/// Writes the program into a folder.
pub fn write(folder: &Path) -> io::Result<()> {
    fs::write(folder.join("trial.py"), PROGRAM)
}

/// A trial in a folder that has the program.
pub struct Trial<'a> {
    pub folder: &'a Path,
}

impl Trial<'_> {
    /// Runs the trial. The package has to find the command at the expected place or below it, if
    /// there is one.
    pub fn try_out(
        &self,
        tally: &mut Tally,
        name: &str,
        mut python: Command,
        expected: Option<&Path>,
    ) {
        let python = python.args(["-c", TRIAL]).current_dir(self.folder);
        let said = output(python.env_remove("PROFUNDO_BINARY"));
        println!("{name}: {said:?}");
        let found = said.is_ok_and(|said| {
            let path = said.trim().rsplit(' ').next().unwrap_or_default();
            expected.is_none_or(|expected| Path::new(path).starts_with(expected))
        });
        tally.check(name, found);
    }
}
