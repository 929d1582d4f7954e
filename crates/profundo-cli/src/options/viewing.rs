//! The options of `view`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use profundo_console::options::values::Size;

use super::Reading;
use crate::completing;

const EXAMPLES: &str = "\
Examples:
  profundo view                            the newest recording
  profundo view before.profundo after.profundo
                                           what has changed
  profundo view a1 a2 a3 -- b1 b2 b3       the same of two sets of runs
  profundo view 4711                       a process that runs, until its page is closed
  profundo view app.profundo -o app.html   a file for others, without a server

Exit codes: 0; 2 for wrong usage; 1 for another failure.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct View {
    /// The recording or query; `@2` is the one before the newest [default: the newest]. With two, the first
    /// is compared with the second; of two sets, the later one stands behind `--`. A number is a
    /// process that runs. A heap snapshot, or two, may stand beside them or alone
    #[arg(
        add = ArgValueCompleter::new(completing::recordings),
        value_name = "FILE"
    )]
    pub recordings: Vec<PathBuf>,
    /// The runs after, where there are several
    #[arg(
        add = ArgValueCompleter::new(completing::recordings),
        value_name = "AFTER",
        last = true,
        hide = true
    )]
    pub after: Vec<PathBuf>,
    /// Write the page as one file, which needs no server and no network
    #[arg(short, long, value_name = "OUT.html", help_heading = "The file")]
    pub output: Option<PathBuf>,
    /// Cut the file to this size: fewer boxes, rows and lines; it says what is left out
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "5M",
        requires = "output",
        help_heading = "The file"
    )]
    pub max_page_size: Size,
    /// Write a page for a cell of a notebook: at most 900 kB, as markup within markup
    #[arg(
        long,
        requires = "output",
        conflicts_with = "max_page_size",
        help_heading = "The file"
    )]
    pub embed: bool,
    /// Leave the source lines of files with such names out, beside those that look like secrets
    /// (.env, *secret*, *.pem, …); may be repeated
    #[arg(
        long,
        value_name = "GLOB",
        requires = "output",
        help_heading = "The file"
    )]
    pub confidential: Vec<String>,
    /// Replace a file of another kind, too
    #[arg(long, requires = "output", help_heading = "The file")]
    pub force: bool,
    /// Print the address of the page, and open no browser
    #[arg(long, help_heading = "The server")]
    pub no_open: bool,
    /// Serve the page at this address [default: 127.0.0.1, any free port]. With any but loopback,
    /// others can look at it
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, help_heading = "The server")]
    pub listen: Option<SocketAddr>,
    /// The editor that files and lines are opened in [default: $PROFUNDO_EDITOR, $VISUAL, $EDITOR]
    #[arg(long, value_name = "EDITOR", help_heading = "The server")]
    pub editor: Option<String>,
    #[command(flatten)]
    pub reading: Reading,
}

/// An address with a port. A port alone, and `localhost`, are of the loopback address.
fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix("localhost:").unwrap_or(text);
    match port.parse() {
        Ok(port) => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => text
            .parse()
            .map_err(|_| "an address and a port are wanted, such as 127.0.0.1:8500".to_owned()),
    }
}

impl View {
    /// The address to serve the page at.
    pub fn address(&self) -> SocketAddr {
        self.listen
            .unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// The files before and behind `--`. Where all stand behind it, it has no meaning.
    pub fn sides(&self) -> [&[PathBuf]; 2] {
        match self.recordings.is_empty() {
            true => [&self.after, &[]],
            false => [&self.recordings, &self.after],
        }
    }

    /// The process that is meant, if it is one. A file of that name comes first.
    pub fn pid(&self) -> Option<u32> {
        let [[one], []] = self.sides() else {
            return None;
        };
        let number = one.to_str().filter(|_| !one.exists())?;
        let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
        number.parse().ok().filter(|_| is_number)
    }

    /// Why these options do not go together.
    pub fn misfit(&self) -> Option<String> {
        if let (Some(pid), Some(_)) = (self.pid(), &self.output) {
            return Some(format!(
                "`view {pid}` follows a process that runs: `profundo attach {pid}` records it, and `-o` takes the recording"
            ));
        }
        let listen = self
            .listen
            .filter(|address| address.ip().is_unspecified())?;
        Some(format!(
            "--listen {listen} is every address of this machine: name the one that the page will be opened by"
        ))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::{Arguments, Verb};
    use super::View;

    fn parse(words: &[&str]) -> Result<View, String> {
        let words = ["profundo", "view"]
            .into_iter()
            .chain(words.iter().copied());
        match Arguments::try_parse_from(words)
            .map_err(|error| error.to_string())?
            .verb
        {
            Verb::View(view) => Ok(view),
            _ => unreachable!("`view` is typed"),
        }
    }

    #[test]
    fn a_number_is_a_process() {
        assert_eq!(parse(&["4711"]).unwrap().pid(), Some(4711));
        for words in [
            &["a.profundo"][..],
            &["4711", "4712"],
            &[],
            &["@2"],
            &["4711a"],
        ] {
            assert_eq!(parse(words).unwrap().pid(), None, "{words:?}");
        }
        assert!(parse(&["4711", "-o", "a.html"]).unwrap().misfit().is_some());
    }

    #[test]
    fn two_sets_have_a_mark_between_them() {
        let sides = |words: &[&str]| {
            let view = parse(words).unwrap();
            view.sides().map(<[std::path::PathBuf]>::len)
        };
        assert_eq!(sides(&["a", "b"]), [2, 0]);
        assert_eq!(sides(&["a", "b", "--", "c", "d", "e"]), [2, 3]);
        // A name that begins like an option.
        assert_eq!(sides(&["--", "-a"]), [1, 0]);
    }

    #[test]
    fn options_of_the_file_want_a_file() {
        assert!(parse(&["--embed"]).is_err());
        assert!(parse(&["--confidential", "*.py"]).is_err());
        let sized = parse(&["a", "-o", "a.html", "--max-page-size", "1M"]).unwrap();
        assert_eq!(sized.max_page_size.0, 1 << 20);
        let at = |text: &str| parse(&["--listen", text]).map(|view| view.address().to_string());
        assert_eq!(at("8500").unwrap(), "127.0.0.1:8500");
        assert_eq!(at("localhost:8500").unwrap(), "127.0.0.1:8500");
        assert_eq!(at("[::1]:8500").unwrap(), "[::1]:8500");
        assert!(at("127.0.0.1").is_err() && at("70000").is_err() && at("here:1").is_err());
        assert!(
            parse(&["--listen", "0.0.0.0:80"])
                .unwrap()
                .misfit()
                .is_some()
        );
        assert!(
            parse(&["--listen", "192.168.1.5:80"])
                .unwrap()
                .misfit()
                .is_none()
        );
    }
}
