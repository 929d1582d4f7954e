//! The picture: its numbers as text, and its script in a browser.

use std::collections::BTreeMap;

use profundo_formats::export::{Colours, Format, Merge, Options, Order};
use profundo_model::Profile;
use profundo_testing::skip;
use serde_json::{Value, json};

use crate::{made, tables, text, tools};

/// The page's actions on the picture before it reports its findings.
const SCRIPT: &str = include_str!("flame.js");

/// A box: its words, and its place in per cent.
struct Block<'a> {
    title: Vec<&'a str>,
    x: f64,
    width: f64,
    y: f64,
}

fn attribute<'a>(text: &'a str, name: &str) -> &'a str {
    let start = text.split(&format!(" {name}=\"")).nth(1).unwrap();
    start.split('"').next().unwrap()
}

fn blocks(svg: &str) -> Vec<Block<'_>> {
    let number = |text: &str| text.trim_end_matches('%').parse().unwrap();
    svg.split("<g class=\"b ")
        .skip(1)
        .map(|block| {
            let title = block.split("<title>").nth(1).unwrap();
            let title = title.split("</title>").next().unwrap();
            let rect = block.split("<rect").nth(1).unwrap();
            Block {
                title: title.split('\n').collect(),
                x: number(attribute(rect, "x")),
                width: number(attribute(rect, "width")),
                y: number(attribute(rect, "y")),
            }
        })
        .collect()
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

fn everything() -> Options {
    Options {
        min_share: Some(0.0),
        ..Options::default()
    }
}

#[test]
fn boxes_are_as_wide_as_their_time() {
    for profile in [made::odd(), made::odd_wall()] {
        let svg = text(&profile, Format::FLAME, &everything());
        let blocks = blocks(&svg);
        let total: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
        // A box's own width is the part without boxes above it.
        let is_on = |above: &Block<'_>, block: &Block<'_>| {
            above.y == block.y - 17.0
                && above.x >= block.x - 1e-5
                && above.x + above.width <= block.x + block.width + 1e-5
                && above.title[0] != "[system]"
        };
        let mut own: BTreeMap<String, f64> = BTreeMap::new();
        for block in &blocks {
            let above = blocks.iter().filter(|above| is_on(above, block));
            let above: f64 = above.map(|above| above.width).sum();
            if block.title[0] != "[system]" && block.title[0] != "all" {
                *own.entry(block.title[0].into()).or_default() += block.width - above;
            }
        }
        let mut ours: BTreeMap<String, f64> = BTreeMap::new();
        for ((name, _), numbers) in tables::functions(&profile, false) {
            let share = numbers.own_time as f64 / total as f64 * 100.0;
            *ours.entry(escaped(&name)).or_default() += share;
        }
        assert_eq!(own.len(), ours.len());
        for (name, share) in &ours {
            let drawn = own.get(name);
            let drawn = drawn.unwrap_or_else(|| panic!("{name} is not drawn"));
            assert!((drawn - share).abs() < 1e-4, "{name}: {drawn} {share}");
        }
    }
}

#[test]
fn a_title_says_where_how_much_and_how_sure() {
    let is_work =
        |block: &&Block<'_>| block.title[0] == "Worker.work.&lt;locals&gt;.&lt;lambda&gt;";
    let svg = text(&made::odd(), Format::FLAME, &Options::default());
    let all = blocks(&svg);
    let title = &all.iter().find(is_work).unwrap().title;
    assert_eq!(title[1], "/srv/app.py:12–14");
    assert!(title[2].starts_with("69.7 % (95 %: "), "{title:?}");
    assert!(
        title[2].ends_with(", 570.9 ms, 569 samples; of its own 37.8 %"),
        "{title:?}"
    );
    // By line there are two of them.
    let options = Options {
        merge: Some(Merge::Line),
        ..Options::default()
    };
    let svg = text(&made::odd(), Format::FLAME, &options);
    let all = blocks(&svg);
    let work = all.iter().filter(is_work);
    let mut places: Vec<&str> = work.map(|block| block.title[1]).collect();
    places.sort_unstable();
    assert_eq!(places, ["/srv/app.py:12", "/srv/app.py:14"]);
}

#[test]
fn what_is_asked_for_is_drawn() {
    let options = Options {
        processes: true,
        threads: true,
        icicle: true,
        title: Some("a < b & \u{1} \"c\"".into()),
        ..everything()
    };
    let svg = text(&made::odd(), Format::FLAME, &options);
    assert!(svg.contains("<title>a &lt; b &amp; \u{fffd} &quot;c&quot;</title>"));
    let blocks = blocks(&svg);
    let top: f64 = attribute(&svg, "data-top").parse().unwrap();
    let at = |level: f64| {
        let there = blocks.iter().filter(|block| block.y == top + 17.0 * level);
        there.map(|block| block.title[0]).collect::<Vec<&str>>()
    };
    assert_eq!(at(0.0), ["all"]);
    let python = "python3 app.py --name &quot;a;b&quot; &lt;x&gt; &amp; ]]&gt; (4001)";
    assert_eq!(at(1.0), [python, "/srv/my app/bin/server (4100)"]);
    assert_eq!(at(2.0)[0], "thread 1 MainThread (tid 4001)");
    let summary = "818.7 ms of CPU time in 816 samples: \
                   Python 14.0 %, native 68.9 %, system 17.1 %<";
    assert!(svg.contains(summary));
    let quality = ">recorded 2026-09-21 14:13 UTC · perf-signal every 1.000 ms · 3 samples lost · \
                   shares are ± ";
    assert!(
        svg.contains(quality),
        "{}",
        &svg[..svg.find("<script").unwrap()]
    );
    assert!(svg.contains(">processes and threads<"));
    // The picture needs nothing from elsewhere.
    let outside = svg.replace("http://www.w3.org/", "");
    assert!(!outside.contains("http") && !outside.contains("url("));
}

#[test]
fn a_large_one_is_bounded_and_says_what_is_missing() {
    let svg = text(&made::large(100_000), Format::FLAME, &everything());
    assert!(svg.len() < 3_000_000, "{}", svg.len());
    assert!(svg.len() > 1_000_000, "{}", svg.len());
    let options = Options {
        min_share: Some(0.001),
        ..Options::default()
    };
    let wide = text(&made::large(10_000), Format::FLAME, &options);
    assert!(wide.contains(" boxes too narrow to draw ("));
    // Without the script, a viewer has to draw this many boxes and no more.
    assert!(blocks(&svg).len() <= 1_500);
    // Nothing hangs in the air: each box has one below it.
    let blocks = blocks(&svg);
    let mut path: Vec<&Block<'_>> = Vec::new();
    for block in &blocks {
        path.retain(|below| below.y > block.y);
        if let Some(below) = path.last() {
            assert_eq!(below.y, block.y + 17.0);
            assert!(block.x >= below.x - 1e-5);
            assert!(block.x + block.width <= below.x + below.width + 1e-5);
        } else {
            assert_eq!(block.y, blocks[0].y);
        }
        path.push(block);
    }
}

#[test]
fn a_browser_zooms_and_searches() {
    let svg = text(&made::odd(), Format::FLAME, &Options::default());
    tools::put("odd.svg", svg.as_bytes());
    let page = format!(
        "<!doctype html><body><iframe style=\"width:1300px;height:600px\" src=\"odd.svg\"></iframe><script>{SCRIPT}</script>"
    );
    let page = tools::put("odd.html", page.as_bytes());
    let dom = match tools::dom(&format!("file://{}", page.display()), 5000) {
        Ok(dom) => dom,
        Err(why) => return skip(&why),
    };
    let json = dom
        .split("SEEN:")
        .nth(1)
        .and_then(|rest| rest.split(":SEEN").next());
    let json = json.unwrap_or_else(|| panic!("{dom}"));
    let json = json
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    let seen: Value = serde_json::from_str(&json).unwrap_or_else(|_| panic!("{json}"));
    let near = |name: &str, expected: f64| {
        let number = seen[name].as_f64().unwrap();
        assert!((number - expected).abs() < 0.01, "{name}: {number}");
    };
    near("before", 20.97);
    assert_eq!(seen["found"], "matched 27.3 % in 4 boxes");
    assert_eq!(seen["capital"], "no match");
    assert_eq!(seen["literal"], "matched 5.6 % in 2 boxes");
    assert_eq!(seen["file"], "matched 21.0 % in 1 box");
    assert_eq!(seen["hits"], 1);
    // Zoomed: the caller, its callee, and those below as wide as the picture.
    assert_eq!((&seen["all"], &seen["zoomed"]), (&json!(25), &json!(5)));
    assert_eq!(
        seen["same"], true,
        "the script draws what the file shows: {seen:#}"
    );
    near("worker", 100.0);
    near("caller", 100.0);
    near("after", 30.07);
    assert_eq!(seen["of_zoomed"], "matched 30.1 % of the zoomed in 1 box");
    let details = seen["details"].as_str().unwrap();
    assert!(details.starts_with("deflate_fast · /build/zlib/deflate.c:1823\n21.0 % (95 %: "));
    assert!(details.ends_with(" · 30.1 % of the zoomed"), "{details}");
    // Escape first ends the search, then the zoom.
    assert_eq!(seen["escaped"], json!(["", 0, 5]));
    assert_eq!(seen["back"], json!([25, seen["before"]]));
    // By the keys alone: from the root to its widest callee, and into it.
    assert_eq!(seen["walked"], "Worker.work.<locals>.<lambda>");
    assert_eq!(seen["entered"], 5);
    assert_eq!(seen["themes"], json!(["dark", "light"]));
    assert_eq!(
        seen["coloured"],
        json!(["Colours: package", "Colours: kind"])
    );
    for name in ["taken", "focused", "slash", "helped"] {
        assert_eq!(seen[name], true, "{name}");
    }
    assert!(seen["low"].as_f64() > seen["high"].as_f64());
    assert_eq!(seen["short"], "operato…");
    assert!(
        seen["long"].as_str().unwrap().ends_with("漢字 ]]> 12"),
        "{seen:#}"
    );
}

#[test]
fn bottom_up_what_ran_is_at_the_root() {
    let profile = Profile::from_folded("main;a;work 6\nmain;b;work 2\nmain;b 1").unwrap();
    let options = Options {
        bottom_up: true,
        ..everything()
    };
    let svg = text(&profile, Format::FLAME, &options);
    let mut rows: BTreeMap<i64, Vec<(String, i64)>> = BTreeMap::new();
    for block in blocks(&svg) {
        let row = rows.entry(block.y as i64).or_default();
        row.push((block.title[0].to_owned(), block.width.round() as i64));
    }
    let rows: Vec<Vec<(String, i64)>> = rows.into_values().rev().collect();
    let row = |names: &[(&str, i64)]| -> Vec<(String, i64)> {
        names
            .iter()
            .map(|(name, width)| ((*name).to_owned(), *width))
            .collect()
    };
    assert_eq!(rows[0], row(&[("all", 100)]));
    assert_eq!(rows[1], row(&[("work", 89), ("b", 11)]));
    assert_eq!(rows[2], row(&[("a", 67), ("b", 22), ("main", 11)]));
    assert_eq!(rows[3], row(&[("main", 67), ("main", 22)]));
}

#[test]
fn in_the_order_of_time_no_box_leaves_its_caller() {
    let options = Options {
        order: Order::Time,
        icicle: true,
        ..everything()
    };
    let svg = text(&made::odd(), Format::FLAME, &options);
    let blocks = blocks(&svg);
    let mut path: Vec<&Block<'_>> = Vec::new();
    let mut lanes = 0;
    for block in &blocks {
        path.retain(|caller| caller.y < block.y);
        if block.title[0].contains("(tid ") {
            // A lane's root is as wide as all of the time.
            assert!((block.width - 100.0).abs() < 1e-5);
            path.clear();
            lanes += 1;
        } else {
            let caller = path.last().unwrap();
            assert_eq!(caller.y, block.y - 17.0);
            assert!(block.x >= caller.x - 1e-5);
            assert!(block.x + block.width <= caller.x + caller.width + 1e-5);
            assert!(block.title[2].starts_with("from "), "{:?}", block.title);
        }
        path.push(block);
    }
    assert_eq!(lanes, 3);
    // Neighbours of one caller do not overlap.
    let mut rows: BTreeMap<i64, f64> = BTreeMap::new();
    for block in &blocks {
        let end = rows.entry(block.y as i64).or_default();
        assert!(block.x >= *end - 1e-5, "{:?}", block.title);
        *end = block.x + block.width;
    }
}

#[test]
fn by_name_boxes_are_in_the_order_of_names() {
    let profile = Profile::from_folded("main;b 6\nmain;a 2\nmain;c 1").unwrap();
    let options = Options {
        order: Order::Name,
        ..everything()
    };
    let svg = text(&profile, Format::FLAME, &options);
    let blocks = blocks(&svg);
    let names: Vec<&str> = blocks.iter().map(|block| block.title[0]).collect();
    assert_eq!(names, ["all", "main", "a", "b", "c"]);
}

#[test]
fn a_long_run_of_calls_is_one_strip() {
    let path: String = (0..40).map(|level| format!("f{level};")).collect();
    let profile = Profile::from_folded(&format!("{path}a 6\n{path}b 2")).unwrap();
    let svg = text(&profile, Format::FLAME, &everything());
    let blocks = blocks(&svg);
    let names: Vec<&str> = blocks.iter().map(|block| block.title[0]).collect();
    // The whole is the first of the run, and the one that calls two is its last.
    let strip = "▸ 39 calls with the same share: f0 … f38";
    assert_eq!(names, ["all", strip, "f39", "a", "b"]);
    // The other calls are in the data.
    assert!(svg.contains("\"f20\""));
}

#[test]
fn colours_have_a_legend_of_what_they_mean() {
    for (colours, words) in [
        (Colours::Package, ">srv<"),
        (Colours::File, ">deflate.c<"),
        (Colours::Heat, ">nothing of its own<"),
    ] {
        let options = Options {
            colours,
            ..Options::default()
        };
        let svg = text(&made::odd(), Format::FLAME, &options);
        assert!(svg.contains(words), "{words}");
    }
}
