//! Options of `track-allocation`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use profundo_console::options::OwnCode;

/// The lines whose allocations are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// None: the program runs without a recording.
    None,
    /// Lines of the user's own files.
    User,
    /// Lines of all files, libraries too.
    All,
    /// Lines of files below a folder.
    Below(PathBuf),
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "user" => Ok(Self::User),
            "all" => Ok(Self::All),
            "@" => Ok(Self::Below(PathBuf::from("."))),
            path => match path.strip_prefix('@') {
                Some(path) => Ok(Self::Below(path.into())),
                None => {
                    Err("the scope is none, user, all, or @FOLDER (@ alone is this one)".into())
                }
            },
        }
    }
}

const ABOUT: &str = "\
Runs the program, counts every allocation, and at the end writes each source file that ran once more, beside it or
below --output, as FILE.PID.mem: with the bytes before each line that it has allocated, 0 where it has allocated
nothing, and - where there is no code. `profundo track-allocation=all -- CMD` is the same as --scope all.";

#[derive(Debug, Args)]
#[command(after_help = ABOUT)]
pub struct TrackAllocation {
    /// Whose allocations: none, user, all, or @FOLDER
    #[arg(
        long,
        value_name = "SCOPE",
        default_value = "user",
        conflicts_with = "analyze"
    )]
    pub scope: Scope,
    /// Write the files below this folder instead of beside the sources
    #[arg(short, long, value_name = "DIR", conflicts_with = "analyze")]
    pub output: Option<PathBuf>,
    /// Replace files that are no .mem files, too
    #[arg(long)]
    pub force: bool,
    /// List what .mem files say, the largest number last: of these files, or of all below these
    /// folders
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub analyze: Vec<PathBuf>,
    #[command(flatten)]
    pub own_code: OwnCode,
    /// The program and its arguments; a `.py` file is run by python3
    #[arg(
        value_name = "CMD",
        required_unless_present = "analyze",
        trailing_var_arg = true,
        num_args = 1..
    )]
    pub words: Vec<OsString>,
}

/// The typed words, with the scope of `track-allocation=SCOPE` as an option.
pub fn spelled_out(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    let scope = words.get(1).and_then(|word| {
        let scope = word.to_str()?.strip_prefix("track-allocation=")?;
        Some(scope.to_owned())
    });
    if let Some(scope) = scope {
        words[1] = "track-allocation".into();
        words.insert(2, format!("--scope={scope}").into());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_julias() {
        assert_eq!("none".parse(), Ok(Scope::None));
        assert_eq!("user".parse(), Ok(Scope::User));
        assert_eq!("all".parse(), Ok(Scope::All));
        assert_eq!("@".parse(), Ok(Scope::Below(".".into())));
        assert_eq!("@src/x".parse(), Ok(Scope::Below("src/x".into())));
        let why = "mine".parse::<Scope>().unwrap_err();
        assert!(why.starts_with("the scope is none, user, all"), "{why}");
    }

    #[test]
    fn the_scope_may_follow_the_verb() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let typed = words(&["profundo", "track-allocation=@src", "--", "app.py"]);
        let spelled = words(&[
            "profundo",
            "track-allocation",
            "--scope=@src",
            "--",
            "app.py",
        ]);
        assert_eq!(spelled_out(typed), spelled);
        let other = words(&["profundo", "run", "track-allocation=x"]);
        assert_eq!(spelled_out(other.clone()), other);
    }
}
