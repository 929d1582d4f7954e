//! The short form of a Julia source's path: the package and the path in it.

/// The package, and the path from its folder on. The own files of Julia are relative: `./boot.jl`.
pub(crate) fn short_path(path: &str) -> Option<(&str, &str)> {
    let path = path.trim_end();
    if let Some(file) = path.strip_prefix("./")
        && file.ends_with(".jl")
    {
        return Some(("Base", file));
    }
    if let Some((_, below)) = path.rsplit_once("/share/julia/base/") {
        return Some(("Base", below));
    }
    if let Some((_, below)) = path.rsplit_once("/share/julia/stdlib/") {
        // The version, the package.
        let (_, below) = below.split_once('/')?;
        return below.split_once('/');
    }
    if let Some((_, below)) = path.rsplit_once("/.julia/packages/") {
        // The package, the mark of its version.
        let (package, below) = below.split_once('/')?;
        let (_, rest) = below.split_once('/')?;
        return Some((package, rest));
    }
    let (_, below) = path.rsplit_once("/.julia/dev/")?;
    below.split_once('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_their_places() {
        let rows = [
            ("./boot.jl", Some(("Base", "boot.jl"))),
            (
                "/opt/julia/share/julia/stdlib/v1.11/REPL/src/REPL.jl",
                Some(("REPL", "src/REPL.jl")),
            ),
            (
                "/home/u/.julia/packages/DataFrames/kcA9R/src/a/b.jl",
                Some(("DataFrames", "src/a/b.jl")),
            ),
            (
                "/home/u/.julia/dev/Revise/src/Revise.jl",
                Some(("Revise", "src/Revise.jl")),
            ),
            ("/home/u/app.jl", None),
            ("REPL[3]", None),
            ("/x/share/julia/stdlib/v1.11", None),
        ];
        for (path, short) in rows {
            assert_eq!(short_path(path), short, "{path}");
        }
    }
}
