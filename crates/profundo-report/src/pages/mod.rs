//! The report as pages of HTML: an index of functions and files, and a page for each file with a
//! share for each line. A line links to the lines that call what it runs, and to those that it
//! calls, so that a reader goes up and down the stacks by links. There is no script, and the folder
//! can be packed and sent.

mod file;
mod index;
mod text;

use profundo_analysis::{
    FileLines, Libraries, LineCall, LinesOptions, Selection, Shown, SourceLine, line_calls, lines,
};
use profundo_model::{FileId, Profile};
use rustc_hash::FxHashMap;

use crate::Choices;
use crate::naming::Names;
use crate::naming::weighs::Weighs;

/// A page: the name of its file, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlPage {
    /// The name within the folder: `index.html`.
    pub name: String,
    /// The text.
    pub html: String,
}

/// All pages of a profile, the index first.
pub fn html_pages(profile: &Profile, choices: &Choices) -> Vec<HtmlPage> {
    let selection = Selection::new(profile, &choices.filter);
    let pages = Pages::new(profile, &selection, choices.shown);
    let mut all = vec![HtmlPage {
        name: "index.html".to_owned(),
        html: index::html(&pages, choices),
    }];
    all.extend(pages.files.iter().map(|file| HtmlPage {
        name: pages.links[&file.file].clone(),
        html: file::html(&pages, file),
    }));
    all
}

/// What all pages need.
struct Pages<'a> {
    profile: &'a Profile,
    selection: &'a Selection,
    weighs: Weighs,
    /// The weight of all samples that pass.
    whole: u64,
    names: Names<'a>,
    files: Vec<FileLines>,
    /// The page of each file.
    links: FxHashMap<FileId, String>,
    /// By line, the calls of what it runs, and the calls that it makes.
    callers: FxHashMap<SourceLine, Vec<LineCall>>,
    callees: FxHashMap<SourceLine, Vec<LineCall>>,
}

impl<'a> Pages<'a> {
    fn new(profile: &'a Profile, selection: &'a Selection, shown: Shown) -> Self {
        // Each line has the time of the samples that end in it, whosever it is.
        let shown = match shown.libraries {
            Libraries::Hidden => shown,
            _ => Shown {
                libraries: Libraries::Shown,
                ..shown
            },
        };
        let options = LinesOptions {
            shown,
            files: Vec::new(),
        };
        let files = lines(profile, selection, &options).files;
        let names = Names::new(profile, files.iter().map(|file| file.file));
        let links = (1..).zip(&files);
        let links = links
            .map(|(number, file)| (file.file, text::file_name(number, &names.file(file.file))));
        let mut callers: FxHashMap<_, Vec<LineCall>> = FxHashMap::default();
        let mut callees: FxHashMap<_, Vec<LineCall>> = FxHashMap::default();
        for call in line_calls(profile, selection, shown) {
            callers.entry(call.callee).or_default().push(call);
            callees.entry(call.caller).or_default().push(call);
        }
        Self {
            links: links.collect(),
            profile,
            selection,
            weighs: Weighs::of(profile),
            whole: selection.weight(profile),
            names,
            files,
            callers,
            callees,
        }
    }

    /// A share in percent; empty for nothing.
    fn share(&self, weight: u64) -> String {
        match weight {
            0 => String::new(),
            weight => text::percent(weight as f64 / self.whole.max(1) as f64),
        }
    }

    /// The link to a line, from a page of the same folder.
    fn link(&self, (file, line): SourceLine) -> String {
        let place = format!("{}:{line}", self.names.file(file));
        let shown = text::escaped(&place);
        match self.links.get(&file) {
            Some(page) => format!("<a href=\"{page}#L{line}\">{shown}</a>"),
            None => shown,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use profundo_model::{FrameKey, LocationKind, Nanos, Sample};

    use super::*;

    /// Two files, one with a name that is markup.
    fn profile() -> Profile {
        let mut profile = Profile::default();
        let thread = profile.hand_made_thread(1, "main");
        let task = profile.hand_made_task(1);
        let mut add = |lines: &[(&str, u32)], weight| {
            let mut stack = None;
            for &(file, line) in lines {
                let frame = profile.frame(FrameKey {
                    function: "<b>run</b>",
                    file,
                    line,
                    ..FrameKey::default()
                });
                let kind = LocationKind::Invented(u64::from(frame.0));
                let location = profile.locations.intern(kind, None);
                profile.locations.set_frames(location, &[frame]);
                stack = Some(profile.stacks.intern(stack, location));
            }
            profile.samples.push(Sample {
                weight: Nanos(weight),
                thread,
                task,
                stack: stack.unwrap(),
                ..Sample::default()
            });
        };
        add(&[("/x/app.c", 1), ("/x/<script>.c", 7)], 1_000_000);
        add(&[("/x/app.c", 2), ("/x/<script>.c", 7)], 2_000_000);
        add(&[("/x/app.c", 2)], 1_000_000);
        profile
    }

    #[test]
    fn every_link_leads_somewhere() {
        let pages = html_pages(&profile(), &Choices::command());
        let names: Vec<&str> = pages.iter().map(|page| &page.name[..]).collect();
        assert_eq!(
            names,
            ["index.html", "0001-_script_.c.html", "0002-app.c.html"]
        );
        let mut targets: BTreeSet<String> = names.iter().map(|&name| name.to_owned()).collect();
        for page in &pages {
            assert!(!page.html.contains("<script"), "{}", page.html);
            for part in page.html.split(" id=\"").skip(1) {
                let id = part.split('"').next().unwrap();
                targets.insert(format!("{}#{id}", page.name));
            }
        }
        let mut links = 0;
        for page in &pages {
            for part in page.html.split(" href=\"").skip(1) {
                let link = part.split('"').next().unwrap();
                let link = match link.strip_prefix('#') {
                    Some(id) => format!("{}#{id}", page.name),
                    None => link.to_owned(),
                };
                assert!(targets.contains(&link), "{} has {link}", page.name);
                links += 1;
            }
        }
        assert!(links > 10, "{links}");
    }

    #[test]
    fn a_line_has_its_shares_and_its_callers() {
        let pages = html_pages(&profile(), &Choices::command());
        let row = |page: &HtmlPage, line: u32| {
            let mut rows = page.html.lines();
            let start = format!("<tr id=\"L{line}\"");
            rows.find(|row| row.starts_with(&start)).unwrap().to_owned()
        };
        let called = row(&pages[1], 7);
        assert_eq!(called.matches("75.0&nbsp;%").count(), 2, "{called}");
        assert!(
            called.contains("<li>50.0&nbsp;% <a href=\"0002-app.c.html#L2\">"),
            "{called}"
        );
        assert!(
            called.contains("<li>25.0&nbsp;% <a href=\"0002-app.c.html#L1\">"),
            "{called}"
        );
        let caller = row(&pages[2], 2);
        assert!(
            caller.contains("25.0&nbsp;%") && caller.contains("75.0&nbsp;%"),
            "{caller}"
        );
    }
}
