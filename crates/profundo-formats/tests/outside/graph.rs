//! The call graph and the square map: read by Graphviz, and by Python's reader of XML.

use std::process::Command;

use profundo_formats::export::{Format, Options};
use profundo_testing::skip;

use crate::{made, text, tools};

fn everything() -> Options {
    Options {
        min_share: Some(0.0),
        ..Options::default()
    }
}

#[test]
fn graphviz_reads_the_text() {
    for (name, profile) in [("cpu", made::odd()), ("memory", made::odd_memory())] {
        let dot = text(&profile, Format::DOT, &everything());
        let path = tools::folder().join(format!("{name}.dot"));
        std::fs::write(&path, &dot).unwrap();
        let plain = match tools::text(Command::new("dot").arg("-Tplain").arg(&path), 20) {
            Ok(plain) => plain,
            Err(why) if why.starts_with("cannot run") => return skip("there is no Graphviz"),
            Err(why) => panic!("{why}\n{dot}"),
        };
        let count = |start: &str| plain.lines().filter(|line| line.starts_with(start)).count();
        let boxes = dot
            .lines()
            .filter(|line| line.contains("fillcolor"))
            .count();
        assert!(boxes > 0, "{dot}");
        assert_eq!(count("node "), boxes, "{dot}");
        assert_eq!(count("edge "), dot.matches(" -> n").count(), "{dot}");
    }
}

/// Names with all kinds of letters, hidden frames, several threads.
#[test]
fn pictures_are_xml() {
    const READ: &str = "import sys, xml.dom.minidom as m; m.parse(sys.argv[1])";
    for profile in [made::odd(), made::odd_wall(), made::odd_memory()] {
        for format in [Format::GRAPH, Format::SQUARE] {
            let svg = text(&profile, format, &everything());
            let path = tools::folder().join(format!("{format}.svg"));
            std::fs::write(&path, &svg).unwrap();
            let mut python = Command::new("python3");
            match tools::output(python.args(["-c", READ]).arg(&path), 20) {
                Err(why) => return skip(&why),
                Ok(read) => {
                    let why = String::from_utf8_lossy(&read.stderr);
                    assert!(read.status.success(), "{format}: {why}\n{svg}");
                }
            }
        }
    }
}
