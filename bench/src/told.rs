//! What profilers say of a run, as stacks of functions with what they weigh.

/// A stack, from the outermost function to the innermost, and its weight in whatever its profiler
/// counts.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    /// The frames.
    pub frames: Vec<Frame>,
    /// The weight.
    pub weight: f64,
}

/// A frame. What has no file is native code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The function, without what it is defined in.
    pub name: String,
    /// Its file.
    pub file: String,
}

/// How a profiler writes a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `function (file)` or `function (file:line)`: ours, and py-spy's.
    Brackets,
    /// `file:function:line`, below a process and a thread: austin's.
    Colons,
}

/// Reads stacks that are written one on a line, with `;` between the frames.
pub fn read(text: &str, style: Style) -> Vec<Told> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (stack, weight) = line.rsplit_once(' ')?;
            let frames = stack.split(';').filter_map(|frame| match style {
                Style::Brackets => Some(in_brackets(frame)),
                Style::Colons => between_colons(frame),
            });
            Some(Told {
                frames: frames.collect(),
                weight: weight.parse().ok()?,
            })
        })
        .collect()
}

fn in_brackets(frame: &str) -> Frame {
    let (name, file) = match frame.split_once(" (") {
        Some((name, file)) => (name, file.trim_end_matches(')')),
        None => (frame, ""),
    };
    let is_line = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let file = match file.rsplit_once(':') {
        Some((path, line)) if is_line(line) => path,
        _ => file,
    };
    Frame {
        name: last_part(name),
        file: file.to_owned(),
    }
}

fn between_colons(frame: &str) -> Option<Frame> {
    let (rest, _) = frame.rsplit_once(':')?;
    let (file, name) = rest.rsplit_once(':')?;
    Some(Frame {
        name: last_part(name),
        file: file.to_owned(),
    })
}

/// Not every profiler has qualified names, nor every version of Python.
fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

/// What share each of these functions has, among them all, below a function.
pub fn shares(told: &[Told], names: &[&str], below: &str) -> Vec<f64> {
    let weight_of = |name: &str| -> f64 {
        let with = told.iter().filter(|told| {
            let below = told.frames.iter().position(|frame| frame.name == below);
            below.is_some_and(|at| told.frames[at..].iter().any(|frame| frame.name == name))
        });
        with.map(|told| told.weight).sum()
    };
    let weights: Vec<f64> = names.iter().map(|name| weight_of(name)).collect();
    let whole: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(name: &str, file: &str) -> Frame {
        Frame {
            name: name.to_owned(),
            file: file.to_owned(),
        }
    }

    #[test]
    fn each_style_is_read() {
        let ours = "<module> (/a b/x.py);run.<locals>.work (/a b/x.py);zlib_compress 12";
        let told = read(ours, Style::Brackets);
        let frames = vec![
            frame("<module>", "/a b/x.py"),
            frame("work", "/a b/x.py"),
            frame("zlib_compress", ""),
        ];
        assert_eq!(told.len(), 1);
        assert_eq!((&told[0].frames, told[0].weight), (&frames, 12.0));
        let theirs = read("<module> (x.py:130);f (x.py:2) 3\n", Style::Brackets);
        assert_eq!(
            theirs[0].frames,
            [frame("<module>", "x.py"), frame("f", "x.py")]
        );
        let colons = "# mode: wall\n\nP1;T0:1;<frozen importlib._bootstrap>:A.f:4;/x.py:g:5 408\n";
        let told = read(colons, Style::Colons);
        let frames = [
            frame("f", "<frozen importlib._bootstrap>"),
            frame("g", "/x.py"),
        ];
        assert_eq!(told[0].frames, frames);
    }

    #[test]
    fn shares_are_among_those_asked_for() {
        let text = "m (x);work (x);a (x) 3\nm (x);work (x);b (x) 1\nm (x);a (x) 9\nm (x) 5\n";
        let told = read(text, Style::Brackets);
        assert_eq!(shares(&told, &["a", "b"], "work"), [0.75, 0.25]);
    }
}
