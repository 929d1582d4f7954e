//! The output of profilers on a run, as weighted stacks of functions.

/// A stack, from the outermost function to the innermost, and its weight in the profiler's own
/// unit.
#[derive(Debug, Clone, PartialEq)]
pub struct WeightedStack {
    /// The frames.
    pub frames: Vec<Frame>,
    /// The weight.
    pub weight: f64,
}

/// A frame. Without a file it is native code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The function's name, without its qualification.
    pub name: String,
    /// Its file.
    pub file: String,
}

/// A profiler's notation of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `function (file)` or `function (file:line)`: ours, and py-spy's.
    Brackets,
    /// `file:function:line`, below a process and a thread: austin's.
    Colons,
}

/// Reads stacks that are written one per line, with `;` between the frames.
pub fn read(text: &str, style: Style) -> Vec<WeightedStack> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (stack, weight) = line.rsplit_once(' ')?;
            let frames = stack.split(';').filter_map(|frame| match style {
                Style::Brackets => Some(in_brackets(frame)),
                Style::Colons => between_colons(frame),
            });
            Some(WeightedStack {
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

/// The last part of a name: not every profiler or version of Python has qualified names.
fn last_part(name: &str) -> String {
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

/// The share of each of these functions in their total, below a function.
pub fn shares(stacks: &[WeightedStack], names: &[&str], below: &str) -> Vec<f64> {
    let weight_of = |name: &str| -> f64 {
        let with = stacks.iter().filter(|stack| {
            let below = stack.frames.iter().position(|frame| frame.name == below);
            below.is_some_and(|at| stack.frames[at..].iter().any(|frame| frame.name == name))
        });
        with.map(|stack| stack.weight).sum()
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
        let stacks = read(ours, Style::Brackets);
        let frames = vec![
            frame("<module>", "/a b/x.py"),
            frame("work", "/a b/x.py"),
            frame("zlib_compress", ""),
        ];
        assert_eq!(stacks.len(), 1);
        assert_eq!((&stacks[0].frames, stacks[0].weight), (&frames, 12.0));
        let theirs = read("<module> (x.py:130);f (x.py:2) 3\n", Style::Brackets);
        assert_eq!(
            theirs[0].frames,
            [frame("<module>", "x.py"), frame("f", "x.py")]
        );
        let colons = "# mode: wall\n\nP1;T0:1;<frozen importlib._bootstrap>:A.f:4;/x.py:g:5 408\n";
        let stacks = read(colons, Style::Colons);
        let frames = [
            frame("f", "<frozen importlib._bootstrap>"),
            frame("g", "/x.py"),
        ];
        assert_eq!(stacks[0].frames, frames);
    }

    #[test]
    fn shares_are_among_those_asked_for() {
        let text = "m (x);work (x);a (x) 3\nm (x);work (x);b (x) 1\nm (x);a (x) 9\nm (x) 5\n";
        let stacks = read(text, Style::Brackets);
        assert_eq!(shares(&stacks, &["a", "b"], "work"), [0.75, 0.25]);
    }
}
