//! Endings of file names that promise another kind of file: `app.png` is no picture in SVG, and a
//! viewer that goes by the name shows nothing.

use std::path::Path;

use profundo_formats::export::Format;

use super::Kind;

/// Endings of pictures and pages that are not SVG.
const OTHER_PICTURES: [&str; 9] = [
    "png", "jpg", "jpeg", "gif", "webp", "bmp", "pdf", "html", "htm",
];

/// The ending that a file of this kind has, where its name promises something else.
pub(super) fn expected(path: &Path, kind: Kind) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    let is_other_picture = OTHER_PICTURES.contains(&&*ending);
    match kind {
        Kind::Export(format) if format.is_picture() => {
            (is_other_picture || ending == RECORDING).then_some("svg")
        }
        Kind::Recording => {
            let is_picture = Format::of_path(path).is_some_and(Format::is_picture);
            (is_other_picture || is_picture).then_some(RECORDING)
        }
        Kind::Page => {
            let is_picture = Format::of_path(path).is_some_and(Format::is_picture);
            let is_page = ["html", "htm"].contains(&&*ending);
            (!is_page && (is_other_picture || is_picture || ending == RECORDING)).then_some("html")
        }
        _ => None,
    }
}

const RECORDING: &str = "profundo";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_ends_in_svg() {
        let flame = |name: &str| expected(Path::new(name), Kind::Export(Format::FLAME));
        assert_eq!(flame("a.PNG"), Some("svg"));
        assert_eq!(flame("a.profundo"), Some("svg"));
        for name in ["a.svg", "a.flame", "picture", "a.1", "-"] {
            assert_eq!(flame(name), None, "{name}");
        }
        let pprof = expected(Path::new("a.html"), Kind::Export(Format::PPROF));
        assert_eq!(pprof, None);
    }

    #[test]
    fn a_page_ends_in_html() {
        let page = |name: &str| expected(Path::new(name), Kind::Page);
        assert_eq!(page("a.profundo"), Some("html"));
        assert_eq!(page("a.svg"), Some("html"));
        assert_eq!(page("a.png"), Some("html"));
        for name in ["a.html", "A.HTM", "page", "-"] {
            assert_eq!(page(name), None, "{name}");
        }
    }

    #[test]
    fn a_recording_is_no_picture() {
        let recording = |name: &str| expected(Path::new(name), Kind::Recording);
        assert_eq!(recording("a.svg"), Some("profundo"));
        assert_eq!(recording("a.heatmap.svg"), Some("profundo"));
        assert_eq!(recording("a.pdf"), Some("profundo"));
        assert_eq!(recording("a.data"), None);
    }
}
