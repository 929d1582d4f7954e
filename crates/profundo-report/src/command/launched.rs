//! The sentence on code that only starts a library's: why lines of libraries are shown.

use std::io;

use profundo_analysis::{Amount, Launched, Mass};
use profundo_model::Profile;

use crate::json::{Json, share_members};
use crate::naming::weighs::Weighs;
use crate::page::Page;
use crate::page::palette::Color;
use crate::page::units::share_of_whole;

/// The number of files that are named.
const NAMED: usize = 3;
/// A smaller share has no sentence.
const LEAST: f64 = 0.05;

/// Writes the sentence, if the share is large enough.
pub(super) fn write(page: &mut Page<'_>, launched: &Launched, whole: Mass) -> io::Result<()> {
    let share = launched.amount.share(whole);
    if share.share < LEAST {
        return Ok(());
    }
    let profile = page.profile;
    let mut files: Vec<String> = Vec::new();
    for (at, &(frame, amount)) in launched.by.iter().enumerate() {
        if at > 0 && amount.share(whole).share < LEAST {
            break;
        }
        let path = profile.file_path(frame);
        let name = match path.rsplit('/').next().unwrap_or(path) {
            "<frozen runpy>" | "runpy.py" => "python -m".to_owned(),
            name => name.to_owned(),
        };
        if !files.contains(&name) {
            files.push(name);
        }
    }
    let others = if files.len() > NAMED { ", …" } else { "" };
    let verb = if files.len() == 1 { "starts" } else { "start" };
    files.truncate(NAMED);
    let of = Weighs::of(profile).whole();
    // What mypyc or Cython has compiled.
    let is_native = launched.amount.split.native > launched.amount.weight / 2;
    let native = match is_native {
        true => " Most of it is compiled code, which has no lines: see the functions.",
        false => "",
    };
    let text = format!(
        " {}{others} only {verb} library code, so {} is shown at lines of libraries.{native}",
        files.join(", "),
        share_of_whole(&share, of),
    );
    page.marked("Note:", Color::Cyan, &text)
}

/// Writes what was started, and by which lines.
pub(super) fn members(json: &mut Json<'_>, profile: &Profile, launched: &Launched, whole: Mass) {
    let all = whole.weight as u64;
    let share = |json: &mut Json<'_>, amount: &Amount| {
        share_members(json, "", &amount.share(whole), amount, all);
    };
    json.object("launched", |json| {
        share(json, &launched.amount);
        json.array("by", |json| {
            for (frame, amount) in &launched.by {
                json.row("", |json| {
                    json.text("file", profile.file_path(*frame));
                    json.number("line", u64::from(profile.frames.get(*frame).line));
                    share(json, amount);
                });
            }
        });
    });
}
