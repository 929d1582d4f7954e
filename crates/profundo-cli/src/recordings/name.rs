//! The name of a recording: its program, and when it began.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use profundo_launch::LocalTime;
use profundo_linux::machine;

use super::folder::{ENDING, Folder};

/// The largest number of recordings of one program within one minute.
const MOST: u32 = 100_000;

/// The variables in which launchers of parallel programs give each process its number.
const RANKS: [&str; 7] = [
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "MV2_COMM_WORLD_RANK",
    "PALS_RANKID",
    "SLURM_PROCID",
    "RANK",
];
/// Variables of a job that may record the same on several machines, in a shared folder.
const JOBS: [&str; 5] = [
    "SLURM_JOB_ID",
    "PBS_JOBID",
    "LSB_JOBID",
    "JOB_ID",
    "KUBERNETES_SERVICE_HOST",
];

/// A name that no other recording takes: an empty file, which is removed if nothing is written to
/// it.
#[derive(Debug)]
pub struct Reserved {
    path: PathBuf,
}

impl Reserved {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == 0) {
            // An empty file that stays is ignored.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes an empty file for a recording of this program that begins now, in the folder of
/// recordings.
pub fn reserve(program: &str) -> Result<Reserved> {
    let folder = Folder::here();
    folder.make()?;
    let one_of_many = one_of_many(|name| std::env::var(name).ok(), machine::host);
    let stem = stem(program, LocalTime::now(), one_of_many.as_deref());
    for number in 1..MOST {
        let path = folder.path().join(match number {
            1 => format!("{stem}.{ENDING}"),
            again => format!("{stem}-{again}.{ENDING}"),
        });
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(_) => return Ok(Reserved { path }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                let shown = path.display();
                let how = || format!("cannot write {shown}; name another place with -o FILE");
                return Err(error).with_context(how);
            }
        }
    }
    anyhow::bail!("{} is full of recordings", folder.path().display())
}

/// The name without its number and its extension.
fn stem(program: &str, time: LocalTime, one_of_many: Option<&str>) -> String {
    let mut stem = format!("{}-{}", clean(program), time.in_name());
    if let Some(one_of_many) = one_of_many {
        stem.push('-');
        stem.push_str(&clean(one_of_many));
    }
    stem
}

/// A name for this process among those of a parallel program.
fn one_of_many(
    variable: impl Fn(&str) -> Option<String>,
    host: impl FnOnce() -> String,
) -> Option<String> {
    let rank = RANKS.iter().find_map(|name| variable(name));
    let rank = rank.filter(|rank| rank.parse::<u32>().is_ok());
    if let Some(rank) = rank {
        return Some(format!("rank{rank}"));
    }
    let is_job = JOBS.iter().any(|name| variable(name).is_some());
    let host = is_job.then(host)?;
    (!host.is_empty()).then_some(host)
}

/// A name as a part of a file's name: it needs no quotes in a shell, and does not begin like an
/// option.
fn clean(name: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "._+-".contains(character);
    let plain = name
        .chars()
        .map(|character| if is_plain(character) { character } else { '_' });
    let plain: String = plain.take(60).collect();
    let plain = plain.trim_start_matches(['.', '-']);
    match plain.is_empty() {
        true => "program".to_owned(),
        false => plain.to_owned(),
    }
}

/// True for a file's name, without its extension, that [`reserve`] gives.
pub fn is_given(stem: &str) -> bool {
    let is_digits = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let parts: Vec<&str> = stem.split('-').collect();
    let mut pairs = parts.windows(2).skip(1);
    pairs.any(|pair| is_digits(pair[0], 8) && is_digits(pair[1], 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIME: LocalTime = LocalTime {
        year: 2026,
        month: 3,
        day: 4,
        hour: 5,
        minute: 6,
    };

    #[test]
    fn names_tell_the_program_and_the_time() {
        assert_eq!(stem("app", TIME, None), "app-20260304-0506");
        assert_eq!(
            stem("a b$", TIME, Some("rank3")),
            "a_b_-20260304-0506-rank3"
        );
        assert_eq!(stem("-rf", TIME, None), "rf-20260304-0506");
        assert_eq!(stem("..", TIME, None), "program-20260304-0506");
    }

    #[test]
    fn names_of_ours_are_known_again() {
        for ours in [
            "app-20260304-0506",
            "app-20260304-0506-2",
            "a-b-20260304-0506-rank3-12",
        ] {
            assert!(is_given(ours), "{ours}");
        }
        for other in [
            "app",
            "before",
            "app-2026-03",
            "20260304-0506",
            "app-20260304",
        ] {
            assert!(!is_given(other), "{other}");
        }
    }

    #[test]
    fn processes_of_one_job_have_different_names() {
        let of = |pairs: &[(&str, &str)]| {
            one_of_many(
                |name| {
                    let pair = pairs.iter().find(|pair| pair.0 == name);
                    pair.map(|pair| pair.1.to_owned())
                },
                || "node7".to_owned(),
            )
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("OMPI_COMM_WORLD_RANK", "12")]), Some("rank12".into()));
        assert_eq!(of(&[("SLURM_PROCID", "0")]), Some("rank0".into()));
        assert_eq!(of(&[("RANK", "first")]), None);
        assert_eq!(of(&[("PBS_JOBID", "9")]), Some("node7".into()));
    }
}
