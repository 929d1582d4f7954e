//! Properties of a report on any profile.

use profundo_model::{FrameKey, Language, LocationId, LocationKind, Profile};
use profundo_report::{
    Callers, Choices, Filter, Format, Functions, GroupBy, Hidden, Libraries, Lines, Look, Recur,
    Report, SortBy, Statprof, Summary, View,
};
use proptest::prelude::*;

use crate::fixture::{empty, location, samples};

fn any_profile() -> impl Strategy<Value = Profile> {
    let sample = (
        prop::collection::vec(0..7_usize, 1..9),
        1..4_usize,
        0..2_usize,
        0..2_usize,
    );
    prop::collection::vec(sample, 1..30).prop_map(|rows| {
        let (mut profile, one, a) = empty();
        let threads = [one, profile.hand_made_thread(2, "")];
        let tasks = [a, profile.hand_made_task(0xb)];
        let mut at: Vec<LocationId> = (0..5)
            .map(|number| {
                let function = ["λ", "some::long::name::of::a::function", "x"][number as usize % 3];
                let language = if number == 4 {
                    Language::Native
                } else {
                    Language::Rust
                };
                let file = "/a/rather/long/path/to/a/file.rs";
                let line = number as u32 * 400;
                let key = FrameKey {
                    function,
                    file,
                    line,
                    language,
                    ..FrameKey::default()
                };
                location(&mut profile, number, &[key])
            })
            .collect();
        at.push(profile.locations.intern(LocationKind::Invented(9), None));
        at.push(location(&mut profile, 10, &[FrameKey::default()]));
        for (path, count, thread, task) in rows {
            let path: Vec<LocationId> = path.into_iter().map(|index| at[index]).collect();
            samples(&mut profile, count, &path, threads[thread], tasks[task]);
        }
        profile
    })
}

/// The numbers left and right of the bar in a row of a tree; the right one is at least 1.
fn counts(row: &str) -> Option<(u64, u64)> {
    let (overhead, rest) = row.split_once('╎')?;
    let count = rest.split([' ', '╎']).find(|word| !word.is_empty())?;
    Some((overhead.trim().parse().unwrap_or(0), count.parse().ok()?))
}

proptest! {
    #[test]
    fn roots_add_up_to_the_snapshots(profile in any_profile()) {
        let text = Report::new().c(true).maxdepth(0).width(200).render(&profile).unwrap();
        let roots: u64 = text.lines().skip(2).filter_map(counts).map(|(_, count)| count).sum();
        prop_assert_eq!(roots, profile.samples.len() as u64);
        let text = Report::new().c(true).width(500).render(&profile).unwrap();
        let own: u64 = text.lines().skip(2).filter_map(counts).map(|(own, _)| own).sum();
        prop_assert_eq!(own, profile.samples.len() as u64);
    }

    #[test]
    fn no_row_is_wider_than_the_screen(
        profile in any_profile(),
        width in 64..120_usize,
        c: bool,
        combine: bool,
        tree: bool,
        sorted_by in 0..4_usize,
        recur in 0..3_usize,
    ) {
        let report = Report::new()
            .format(if tree { Format::Tree } else { Format::Flat })
            .recur(if tree { Recur::CHOICES[recur].1 } else { Recur::Off })
            .sorted_by(SortBy::CHOICES[sorted_by].1)
            .c(c)
            .combine(combine)
            .width(width);
        let text = report.render(&profile).unwrap();
        for line in text.lines().filter(|line| !line.starts_with(['T', 'W'])) {
            prop_assert!(unicode_width::UnicodeWidthStr::width(line) <= width, "{}", line);
        }
        prop_assert_eq!(&text, &report.render(&profile).unwrap());
    }

    #[test]
    fn every_format_has_text_for_every_group(profile in any_profile(), by in 0..5_usize) {
        for (_, format) in Format::CHOICES {
            let report = Report::new().format(format).group_by(GroupBy::CHOICES[by].1.clone()).width(80);
            let text = report.render(&profile).unwrap();
            prop_assert!(text.contains("Total snapshots") || text.contains("Warning: no samples"));
        }
    }

    #[test]
    fn the_commands_reports_answer_whatever_is_asked(
        profile in any_profile(),
        width in 1..200_usize,
        hidden in 0..3_usize,
        libraries in 0..3_usize,
        thread in 0..4_usize,
        within in 0..4_usize,
    ) {
        let filter = match thread {
            0 => Filter::default(),
            number => Filter::default().thread(&number.to_string()),
        };
        let filter = match within {
            0 => filter,
            1 => filter.function("name::of"),
            2 => filter.file("*.rs"),
            _ => filter.from_seconds(0.000_000_003),
        };
        let choices = Choices::new()
            .hidden([Hidden::C, Hidden::Runtime, Hidden::Nothing][hidden])
            .libraries(Libraries::CHOICES[libraries].1)
            .filter(filter);
        let look = Look::new().width(width);
        macro_rules! check {
            ($view:expr) => {
                let view = $view.choices(choices.clone()).look(look.clone());
                let text = view.render(&profile).unwrap();
                prop_assert!(text.ends_with('\n'));
                let json: serde_json::Value = serde_json::from_str(&view.json(&profile).unwrap()).unwrap();
                prop_assert_eq!(&json["profundo"]["schema"], 2);
                let share = |name: &str| json["selection"][name].as_f64().unwrap();
                let sum = share("python_share") + share("native_share") + share("system_share");
                let samples = json["selection"]["samples"].as_u64().unwrap();
                prop_assert!((sum - f64::from(samples > 0)).abs() < 1e-5, "{}", sum);
            };
        }
        check!(Summary::new());
        check!(Lines::new());
        check!(Lines::new().all_lines(true).total(true));
        check!(Functions::new());
        check!(Statprof::new());
        check!(Callers::both("x"));
        check!(Report::new());
        check!(Report::new().format(Format::Flat).group_by(GroupBy::TaskThread));
    }

    #[test]
    fn own_time_adds_up_to_all_time(profile in any_profile(), hidden in 0..3_usize) {
        let hidden = [Hidden::C, Hidden::Runtime, Hidden::Nothing][hidden];
        let choices = Choices::new().hidden(hidden);
        let json = |json: String| -> serde_json::Value { serde_json::from_str(&json).unwrap() };
        let sum = |rows: &serde_json::Value| -> u64 {
            let rows = rows.as_array().unwrap().iter();
            rows.map(|row| row["self_samples"].as_u64().unwrap()).sum()
        };
        let functions = json(Functions::new().choices(choices.clone()).json(&profile).unwrap());
        let all = profile.samples.len() as u64;
        let seen = sum(&functions["functions"]);
        let unseen = functions["unseen_share"].as_f64().unwrap() * all as f64;
        prop_assert_eq!(seen + unseen.round() as u64, all);
        let lines = Lines::new().choices(choices).min_share(0.0).all_lines(true);
        let lines = json(lines.json(&profile).unwrap());
        let without = lines["without_line"]["samples"].as_u64().unwrap();
        let in_files = lines["files"].as_array().unwrap().iter();
        let in_files: u64 = in_files.map(|file| sum(&file["lines"])).sum();
        prop_assert_eq!(in_files + without, all);
    }
}
