//! The picture of samples whose times are known.

use profundo_model::{Nanos, Profile, SampleKind};

use super::*;

fn profile() -> Profile {
    let text = "main;work 1\n".repeat(40) + "main;\"<odd>]]>\" 1\n";
    let mut profile = Profile::from_folded(&text).unwrap();
    for (index, sample) in (0..).zip(&mut profile.samples) {
        // 10 ms at the start of each tenth of a second.
        sample.time = Nanos(100_000_000 * index + 10_000_000);
        sample.weight = Nanos(10_000_000);
    }
    profile
}

fn svg(options: &Options) -> String {
    let mut out = Vec::new();
    write(&profile(), options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_picture_says_what_its_cells_are() {
    let svg = svg(&Options::default());
    for words in [
        "410.0 ms on a CPU in 41 samples · a column is 1.00 s, a row 20.0 ms",
        "40 pauses without time on a CPU: 3.20 s",
        "10.0 ms (0.50 threads)",
        "data-heatmap=\"1\"",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    // Each column has ten dark cells, all of one shade, and the last column has one.
    let path = svg.split("class=\"s9\" d=\"").nth(1).unwrap();
    let path = path.split('"').next().unwrap();
    assert_eq!(path.matches('M').count(), 41);
    // A name cannot end the data.
    assert_eq!(svg.matches("]]>").count(), 3);
    let outside = svg.replace("http://www.w3.org/", "");
    assert!(!outside.contains("http") && !outside.contains("url("));
}

#[test]
fn no_cell_is_outside_of_the_picture() {
    let svg = svg(&Options {
        column: Some(300_000_000),
        row: Some(70_000_000),
        ..Options::default()
    });
    assert!(svg.contains("a column is 300.0 ms, a row 70.0 ms"));
    let mut cells = 0;
    for path in svg
        .split(" d=\"M")
        .skip(1)
        .filter(|path| path.contains("z\""))
    {
        for cell in path.split('"').next().unwrap().split('M') {
            let numbers: Vec<f64> = cell
                .trim_end_matches('z')
                .split([' ', 'h', 'v'])
                .filter_map(|number| number.parse().ok())
                .collect();
            let [x, y, across, up, _] = numbers[..] else {
                panic!("{cell}");
            };
            assert!(x >= LEFT && x + across <= WIDTH - RIGHT + 0.2, "{cell}");
            assert!(y + up <= 1000.0 && y > 64.0, "{cell}");
            cells += 1;
        }
    }
    assert!(cells > 30, "{cells}");
}

#[test]
fn what_has_no_times_has_no_heatmap() {
    let mut profile = profile();
    profile.meta.kind = SampleKind::Traced;
    let drawn = write(&profile, &Options::default(), &mut Vec::new());
    assert!(matches!(drawn, Err(Error::NoOrder)));
}
