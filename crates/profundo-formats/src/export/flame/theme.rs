//! Colours: what they mean, and how they look on a light and on a dark ground.
//!
//! Rules are written out for each ground instead of with variables, which not every viewer of SVG
//! knows. A viewer's own choice (`light` or `dark` on the root) goes before the system's.

use std::fmt::Write as _;

use profundo_analysis::palette::Hue;

/// A way to colour boxes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Look {
    /// The name in options.
    pub name: &'static str,
    /// The table of fills.
    pub fills: Fills,
    /// By frame, the row of the table; by node in a comparison, where this is empty.
    pub classes: Vec<u8>,
    /// Rows of the table and their meanings.
    pub legend: Vec<(u8, String)>,
}

/// A table of fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fills {
    /// A kind of time, in four shades: `kind * SHADES + shade`.
    Kinds,
    /// The largest packages or files, then the others.
    Groups,
    /// From cold to hot.
    Heat,
    /// The judgements of a comparison.
    Changes,
}

/// The shades of a kind, so that neighbours differ.
pub(super) const SHADES: u8 = 4;

/// The colours of the largest groups on a light and on a dark ground, and that of the others.
/// The first of them differ most. They differ in lightness too, for readers who see fewer hues.
pub(super) const GROUPS: [(&str, &str); 11] = [
    ("#95b7fb", "#5f5cc3"),
    ("#dd7002", "#bc401b"),
    ("#ffdd44", "#6a4407"),
    ("#a98794", "#825084"),
    ("#8f7ef0", "#482971"),
    ("#fab117", "#602903"),
    ("#9fab80", "#626455"),
    ("#50e093", "#21453b"),
    ("#5fa5cb", "#0d4ba4"),
    ("#96fa95", "#0c7615"),
    OTHERS,
];
const OTHERS: (&str, &str) = ("#c2c8cf", "#4a525b");

/// From no time of its own to the most.
pub(super) const HEAT: [(&str, &str); 10] = [
    ("#f6f3dc", "#332d23"),
    ("#f2e8c7", "#3f311e"),
    ("#f1dbb2", "#4b3318"),
    ("#f1ce9e", "#593511"),
    ("#f1c08c", "#67360a"),
    ("#f2b17c", "#763505"),
    ("#f3a16f", "#843405"),
    ("#f29166", "#93310d"),
    ("#f18062", "#a22d1a"),
    ("#ee6e61", "#b02728"),
];

/// The strengths of a change to either side.
pub(super) const STRENGTHS: u8 = 4;

/// Grew, then shrank, each from weak to strong; new, gone, unclear, and the whole.
const CHANGES: [(&str, &str); 12] = [
    ("#fedbd6", "#4f2e29"),
    ("#ffb7ad", "#6d2f29"),
    ("#fc9285", "#8c2e26"),
    ("#f66a5c", "#ac2722"),
    ("#d5e7f8", "#283a4c"),
    ("#afd4f5", "#254769"),
    ("#89c1f1", "#1f5587"),
    ("#60adec", "#1263a6"),
    ("#fa8f19", "#934f00"),
    ("#3bcfcf", "#006666"),
    ("#d5d9de", "#3b424a"),
    OWNER,
];
/// A process, a thread, or the whole.
const OWNER: (&str, &str) = ("#eef1f4", "#262c33");

/// The kinds of boxes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Colour {
    /// Code, or a placeholder where code is unknown.
    Of(Hue),
    /// The interpreter's own code.
    Runtime,
    /// A process, a thread, or the whole.
    Owner,
}

impl Colour {
    /// In the order of the legend.
    pub(super) const ALL: [Colour; 8] = [
        Colour::Of(Hue::Python),
        Colour::Of(Hue::Native),
        Colour::Of(Hue::System),
        Colour::Of(Hue::Waiting),
        Colour::Of(Hue::Garbage),
        Colour::Of(Hue::Unreadable),
        Colour::Runtime,
        Colour::Owner,
    ];

    /// The row in [`Colour::ALL`].
    pub(super) fn row(self) -> u8 {
        let row = Self::ALL.iter().position(|&colour| colour == self);
        row.unwrap_or_default() as u8
    }

    /// The words in the legend.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Of(Hue::Unreadable) => "not readable or not sampled",
            Self::Of(hue) => hue.name(),
            Self::Runtime => "runtime",
            Self::Owner => "processes and threads",
        }
    }

    fn fills(self) -> (&'static str, &'static str) {
        match self {
            Self::Of(hue) => (hue.tint().light, hue.tint().dark),
            Self::Runtime => OTHERS,
            Self::Owner => OWNER,
        }
    }

    /// Whether boxes of this colour have shades.
    fn is_shaded(self) -> bool {
        matches!(
            self,
            Self::Of(Hue::Python | Hue::Native | Hue::System) | Self::Runtime
        )
    }

    /// The row of a box of this name among the fills of kinds.
    pub(super) fn class(self, name: &str) -> u8 {
        let shade = if self.is_shaded() { shade(name) } else { 0 };
        self.row() * SHADES + shade
    }
}

/// One of four shades, always the same for a name.
fn shade(name: &str) -> u8 {
    let hash = (name.bytes()).fold(7_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    ((hash ^ hash >> 16) % u32::from(SHADES)) as u8
}

impl Fills {
    /// The letter of its classes, which end in the row.
    pub(super) fn letter(self) -> char {
        match self {
            Self::Kinds => 'k',
            Self::Groups => 'g',
            Self::Heat => 'h',
            Self::Changes => 'c',
        }
    }

    /// The class of a row.
    pub(super) fn class(self, row: u8) -> String {
        format!("{}{row}", self.letter())
    }

    /// The light and the dark colours by row, each with its opacity in tenths.
    fn colours(self) -> Vec<(&'static str, &'static str, u8)> {
        let whole = |&(light, dark): &(&'static str, &'static str)| (light, dark, 10);
        match self {
            Self::Kinds => (Colour::ALL.iter())
                .flat_map(|colour| {
                    let (light, dark) = colour.fills();
                    (0..SHADES).map(move |shade| (light, dark, 10 - shade))
                })
                .collect(),
            Self::Groups => GROUPS.iter().map(whole).collect(),
            Self::Heat => HEAT.iter().map(whole).collect(),
            Self::Changes => CHANGES.iter().map(whole).collect(),
        }
    }
}

/// The page around a picture that is dark.
pub(in crate::export) const PAGE: &str = "{background:#14181d}";

/// The rules on a dark ground, beside fills: the later one of equals counts.
const DARK: [(&str, &str); 18] = [
    ("text", "fill:#e6edf3"),
    (".ground", "fill:#14181d"),
    (".faint", "fill:#9aa4ae"),
    (".tick line", "stroke:#2a323b"),
    (".line-of-tick", "stroke:#2a323b"),
    (".b rect", "stroke:#14181d"),
    (".rest", "fill:#6b747d"),
    (".thin rect", "stroke:none"),
    (".strip rect", "stroke:#9aa4ae"),
    (".b:hover rect", "stroke:#e6edf3"),
    (".chosen rect", "stroke:#e6edf3"),
    (".hit rect", "stroke:#ff6ac8"),
    (".help rect", "fill:#14181d"),
    (".help rect", "stroke:#9aa4ae"),
    (".tools div", "color:#e6edf3"),
    (".tools input", "background:#1f252c;border-color:#3d444d"),
    (".tools button", "background:#1f252c;border-color:#3d444d"),
    (".tools input.bad", "border-color:#ff7b72"),
];

/// The rules of the looks for each ground.
pub(super) fn rules(looks: &[Look]) -> String {
    let (mut light, mut dark, mut opacity) = (Vec::new(), Vec::new(), String::new());
    let mut tables: Vec<Fills> = Vec::new();
    for look in looks {
        if tables.contains(&look.fills) {
            continue;
        }
        tables.push(look.fills);
        for (row, (on_light, on_dark, tenths)) in (0..).zip(look.fills.colours()) {
            let class = look.fills.class(row);
            light.push((class.clone(), on_light));
            dark.push((class.clone(), on_dark));
            if tenths < 10 {
                let _ = write!(opacity, ".{class}{{fill-opacity:.{tenths}}}");
            }
        }
    }
    let plain = |of: &[(String, &str)], under: &str| -> String {
        let rule = |(class, fill): &(String, &str)| format!("{under}.{class}{{fill:{fill}}}");
        of.iter().map(rule).collect()
    };
    let others = |under: &str| -> String {
        let rule = |(parts, rules): &(&str, &str)| format!("{under}{parts}{{{rules}}}");
        DARK.iter().map(rule).collect()
    };
    let (system, chosen) = ("svg:not(.light) ", "svg.dark ");
    format!(
        "{}\n{opacity}\n@media (prefers-color-scheme:dark){{\n:root:not(.light){PAGE}{}{}\n}}\n:root.dark{PAGE}{}{}\n",
        plain(&light, ""),
        plain(&dark, system),
        others(system),
        plain(&dark, chosen),
        others(chosen),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| {
            let part = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
            match f64::from(part) / 255.0 {
                dark if dark <= 0.04045 => dark / 12.92,
                part => ((part + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(one: &str, other: &str) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn names_can_be_read_on_every_fill() {
        for fills in [Fills::Groups, Fills::Heat, Fills::Changes] {
            for (light, dark, _) in fills.colours() {
                assert!(contrast(light, "#1b1f24") > 4.5, "{light}");
                assert!(contrast(dark, "#e6edf3") > 4.5, "{dark}");
            }
        }
    }

    #[test]
    fn heat_only_rises() {
        for pair in HEAT.windows(2) {
            assert!(luminance(pair[0].0) > luminance(pair[1].0), "{pair:?}");
        }
    }
}
