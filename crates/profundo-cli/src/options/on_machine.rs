//! Options that record all processes of the machine, or some of them.

use std::ffi::OsString;

use clap::Args;
use profundo_linux::users;
use profundo_recorder::Chosen;

// The program and its arguments, which may be left out where the whole machine is recorded.
#[derive(Debug, Args)]
pub struct CommandIfAny {
    /// The program and its arguments; a `.py` file is run by python3
    #[arg(
        value_name = "CMD",
        required_unless_present = "all_processes",
        trailing_var_arg = true,
        num_args = 1..
    )]
    pub words: Vec<OsString>,
}

// The processes of the machine that are recorded.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The whole machine")]
pub struct OnMachine {
    /// Record all processes of the machine, for as long as CMD runs; without it, for --duration or
    /// until Ctrl-C
    #[arg(short, long)]
    pub all_processes: bool,
    /// Of these only this process and its descendants; may be repeated
    #[arg(long, value_name = "PID", requires = "all_processes")]
    pub pid: Vec<u32>,
    /// Only those with the rights of this user: a name or a number; may be repeated
    #[arg(long, value_name = "USER", requires = "all_processes", value_parser = user)]
    pub user: Vec<u32>,
    /// Only those of this program, as `nginx` or `python*`; may be repeated
    #[arg(long, value_name = "NAME", requires = "all_processes")]
    pub comm: Vec<String>,
    /// Only those in this control group or below: a path, a unit of systemd, or a container's
    /// number; may be repeated
    #[arg(long, value_name = "GROUP", requires = "all_processes")]
    pub cgroup: Vec<String>,
    /// Read Python's frames while their threads go on, in place of holding each for some
    /// microseconds: fewer stacks have them
    #[arg(long, requires = "all_processes")]
    pub no_hold: bool,
}

impl OnMachine {
    /// The choice, if the machine is recorded.
    pub fn chosen(&self) -> Option<Chosen> {
        self.all_processes.then(|| Chosen {
            pids: self.pid.clone(),
            users: self.user.clone(),
            programs: self.comm.clone(),
            cgroups: self.cgroup.clone(),
        })
    }
}

/// The number of a user.
fn user(text: &str) -> Result<u32, String> {
    users::number(text).ok_or_else(|| format!("this machine has no user `{text}`"))
}
