//! A file has the size that was asked for, and says what it leaves out.

use std::ops::Range;
use std::path::Path;

use profundo_analysis::Filter;
use profundo_model::{Nanos, Profile};
use profundo_report::Listing;

use super::*;
use crate::Source;
use crate::answers::Has;

/// A program of many functions, each of which calls some others.
struct Program(usize);

impl Source for Program {
    fn path(&self) -> &Path {
        Path::new("/tmp/program.profundo")
    }

    fn read(&self, _: Range<Nanos>) -> Result<Profile, String> {
        let line = |at: usize| {
            let (one, other) = (at * 7919 % 401, at * 104_729 % 997);
            format!(
                "main;function_{one};function_{other};leaf_{at} {}\n",
                1 + at % 5
            )
        };
        let text: String = (0..self.0).map(line).collect();
        Profile::from_folded(&text).map_err(|error| error.to_string())
    }

    fn listings(&self, _: &mut Profile, _: &Filter, _: &str) -> Result<Vec<Listing>, String> {
        Err("there are no programs here".to_owned())
    }
}

fn written(sizes: &[usize], most: usize) -> Result<(String, Written), Error> {
    let sources = sizes
        .iter()
        .map(|&size| -> Box<dyn Source> { Box::new(Program(size)) });
    let library = Library::new(sources.collect());
    let options = Options {
        most,
        is_embedded: false,
        confidential: Confidential::with(&[]),
    };
    let mut out = Vec::new();
    let written = write(&library, &options, &mut out)?;
    Ok((String::from_utf8(out).unwrap(), written))
}

#[test]
fn a_small_recording_is_whole() {
    let (text, written) = written(&[50], 5_000_000).unwrap();
    assert_eq!(text.len(), written.bytes);
    assert_eq!(written.left_out, [""; 0]);
    assert!(text.starts_with("<!doctype html>"));
    assert!(!text.contains(">@answers@<") && !text.contains("@nonce@"));
}

#[test]
fn a_large_one_is_cut_until_it_fits() {
    let (whole, _) = written(&[1500], 50_000_000).unwrap();
    let page = crate::page::page("", "", "").len();
    let most = page + (whole.len() - page) / 2;
    let (text, written) = written(&[1500], most).unwrap();
    assert!(text.len() <= most, "{} of {most}", text.len());
    assert!(!written.left_out.is_empty());
    let too_small = super::tests::written(&[1500], page).map(|_| ());
    assert!(too_small.unwrap_err().to_string().contains("are permitted"));
}

#[test]
fn two_recordings_are_compared() {
    let all = questions::all(&[Has::default(), Has::default()], 0);
    let texts: Vec<String> = all.iter().map(|one| one.question.text()).collect();
    assert!(texts.contains(&"diff?all=1&limit=2000".to_owned()));
    assert!(texts.contains(&"diff_flame".to_owned()));
    let head = "report?parts=head&recording=1&what=summary";
    assert!(texts.contains(&head.to_owned()));
    written(&[50, 60], 5_000_000).unwrap();
}
