//! One palette: a kind of time has the same colour in text, in `top`, in a picture and on a page.
//!
//! The colours are distinguishable with each of the three colour blindnesses, on a dark ground and
//! on a light one; a test computes that. Text in black (light) and white (dark) can be read on
//! them. A terminal has its own sixteen colours, which suit its ground; there a sign distinguishes
//! the kinds as well.

use profundo_model::Kind;

/// The meanings of colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Hue {
    /// Python code.
    Python,
    /// Native code.
    Native,
    /// System calls and the kernel.
    System,
    /// Waiting, off the CPU.
    Waiting,
    /// The collection of garbage, which is a part of Python's or native time.
    Garbage,
    /// Unreadable stacks.
    Unreadable,
}

/// One of the sixteen colours of every terminal. Its user has chosen their look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ansi {
    /// 31.
    Red,
    /// 32.
    Green,
    /// 33.
    Yellow,
    /// 35.
    Magenta,
    /// 36.
    Cyan,
    /// 90, bright black.
    Gray,
}

/// The look of a hue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tint {
    /// In a terminal.
    pub ansi: Ansi,
    /// The fill of its bars in a terminal.
    pub sign: char,
    /// On a light ground, as `#rrggbb`.
    pub light: &'static str,
    /// On a dark ground, as `#rrggbb`.
    pub dark: &'static str,
}

impl Hue {
    /// All of them, in the order of legends.
    pub const ALL: [Hue; 6] = [
        Hue::Python,
        Hue::Native,
        Hue::System,
        Hue::Waiting,
        Hue::Garbage,
        Hue::Unreadable,
    ];

    /// The word in legends.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Native => "native",
            Self::System => "system",
            Self::Waiting => "waiting",
            Self::Garbage => "garbage collection",
            Self::Unreadable => "not readable",
        }
    }

    /// Its look.
    pub const fn tint(self) -> Tint {
        match self {
            Self::Python => tint(Ansi::Cyan, '█', "#568df0", "#0a42ac"),
            Self::Native => tint(Ansi::Yellow, '▓', "#ffa917", "#8e6f00"),
            Self::System => tint(Ansi::Magenta, '░', "#977fa0", "#bb4997"),
            Self::Waiting => tint(Ansi::Gray, '·', "#dfecf8", "#3a3540"),
            Self::Garbage => tint(Ansi::Green, '▒', "#66e4a2", "#008655"),
            Self::Unreadable => tint(Ansi::Red, '?', "#df5f43", "#6c2500"),
        }
    }
}

const fn tint(ansi: Ansi, sign: char, light: &'static str, dark: &'static str) -> Tint {
    Tint {
        ansi,
        sign,
        light,
        dark,
    }
}

impl From<Kind> for Hue {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Python => Self::Python,
            Kind::Native => Self::Native,
            Kind::System => Self::System,
            Kind::Waiting => Self::Waiting,
            Kind::Unreadable => Self::Unreadable,
        }
    }
}

impl Ansi {
    /// The number in an SGR escape sequence.
    pub fn code(self) -> u8 {
        match self {
            Self::Red => 31,
            Self::Green => 32,
            Self::Yellow => 33,
            Self::Magenta => 35,
            Self::Cyan => 36,
            Self::Gray => 90,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Light = [f64; 3];

    /// Colours seen without one kind of cone, in linear light (Machado, Oliveira and Fernandes,
    /// 2009).
    const EYES: [(&str, [Light; 3]); 4] = [
        (
            "all cones",
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        ),
        (
            "protanopia",
            [
                [0.152286, 1.052583, -0.204868],
                [0.114503, 0.786281, 0.099216],
                [-0.003882, -0.048116, 1.051998],
            ],
        ),
        (
            "deuteranopia",
            [
                [0.367322, 0.860646, -0.227968],
                [0.280085, 0.672501, 0.047413],
                [-0.011820, 0.042940, 0.968881],
            ],
        ),
        (
            "tritanopia",
            [
                [1.255528, -0.076749, -0.178779],
                [-0.078411, 0.930809, 0.147602],
                [0.004733, 0.691367, 0.303900],
            ],
        ),
    ];

    fn linear(color: &str) -> Light {
        [1, 3, 5].map(|at| {
            let part = u8::from_str_radix(&color[at..at + 2], 16).unwrap();
            match f64::from(part) / 255.0 {
                dark if dark <= 0.04045 => dark / 12.92,
                part => ((part + 0.055) / 1.055).powf(2.4),
            }
        })
    }

    fn luminance([red, green, blue]: Light) -> f64 {
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(linear(one)), luminance(linear(other)));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    fn seen(color: &str, eye: &[Light; 3]) -> Light {
        let light = linear(color);
        eye.map(|row| {
            let sum: f64 = row.iter().zip(light).map(|(a, b)| a * b).sum();
            sum.clamp(0.0, 1.0)
        })
    }

    /// In the space CIELAB, where a distance of 2 is just visible.
    fn lab([red, green, blue]: Light) -> Light {
        let x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047;
        let y = luminance([red, green, blue]);
        let z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883;
        let [x, y, z] = [x, y, z].map(|part| match part {
            dark if dark <= 0.008856 => 7.787 * dark + 16.0 / 116.0,
            part => part.cbrt(),
        });
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn distance(one: Light, other: Light) -> f64 {
        let (one, other) = (lab(one), lab(other));
        let squares = one.iter().zip(other).map(|(a, b)| (a - b).powi(2));
        squares.sum::<f64>().sqrt()
    }

    fn check(ground: &str, ink: &str, of: fn(Tint) -> &'static str) {
        for hue in Hue::ALL {
            let contrast = contrast(of(hue.tint()), ink);
            assert!(contrast >= 4.5, "text on {hue:?}, {ground}: {contrast:.1}");
        }
        for (name, eye) in EYES {
            for (at, one) in Hue::ALL.into_iter().enumerate() {
                for other in &Hue::ALL[at + 1..] {
                    let colors = [of(one.tint()), of(other.tint())].map(|color| seen(color, &eye));
                    let far = distance(colors[0], colors[1]);
                    assert!(
                        far >= 25.0,
                        "{one:?} and {other:?}, {ground}, {name}: {far:.0}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_colours_differ_for_every_kind_of_eye() {
        check("light", "#1b1f24", |tint| tint.light);
        check("dark", "#ffffff", |tint| tint.dark);
    }

    #[test]
    fn signs_and_colours_of_terminals_differ() {
        for (at, one) in Hue::ALL.into_iter().enumerate() {
            for other in &Hue::ALL[at + 1..] {
                assert_ne!(one.tint().sign, other.tint().sign);
                assert_ne!(one.tint().ansi, other.tint().ansi);
            }
        }
    }
}
