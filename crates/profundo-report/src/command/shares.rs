//! The columns that many tables share: a share and how sure it is, and what kind of time it was.

use profundo_analysis::{Amount, Estimate, KindShares, Selection, is_exact, joules_per_nanosecond};
use profundo_model::{Kind, Profile};

use crate::naming::weighs::Weighs;
use crate::page::line::{Line, Style};
use crate::page::palette::Color;
use crate::page::units::{joules, percent, plus_minus, range, share_text, whole_percent};
use crate::table::Column;

/// The number of columns from which on there is room for ranges in full.
pub(super) const WIDE: usize = 110;

/// With fewer columns there is no room for the kinds of time.
pub(super) const NARROW: usize = 72;

/// The colour of a share: the larger, the hotter.
pub(super) fn heat(share: f64) -> Style {
    match share {
        hot if hot >= 0.2 => Style {
            bold: true,
            ..Style::color(Color::Red)
        },
        warm if warm >= 0.05 => BOLD,
        some if some >= 0.01 => Style::PLAIN,
        _ => GRAY,
    }
}

pub(super) const GRAY: Style = Style {
    bold: false,
    color: Some(Color::Gray),
    link: false,
};

pub(super) const BOLD: Style = Style {
    bold: true,
    color: None,
    link: false,
};

/// The columns of the kinds of time.
#[derive(Debug, Clone, Copy)]
pub(super) struct KindColumns {
    /// True if there is any Python.
    pub(super) python: bool,
    /// True if anything waits.
    pub(super) waits: bool,
    /// True if Python frames could not be read anywhere.
    pub(super) unreadable: bool,
    /// True if there is room for tenths.
    pub(super) wide: bool,
    /// True if there is no room for any of these columns.
    pub(super) narrow: bool,
    /// The cost in joules of the selected CPU time, where that was recorded.
    pub(super) energy: Option<f64>,
    /// The weight of all that is selected, where that is no time: its kind is unknown then.
    pub(super) heap: Option<u64>,
    /// The number of samples, where they are too few for shares: then there is none of these
    /// columns.
    pub(super) few: Option<u64>,
    pub(super) weighs: Weighs,
}

/// The width of the column of energy, and that of sizes.
pub(super) const ENERGY: usize = 9;

impl KindColumns {
    pub(super) fn new(profile: &Profile, selection: &Selection, columns: usize) -> Self {
        let weighs = Weighs::of(profile);
        Self {
            python: selection.split(profile).has_python()
                || (profile.frames.iter())
                    .any(|frame| frame.language == profundo_model::Language::Python),
            waits: selection.split(profile).waiting > 0,
            unreadable: selection.split(profile).unreadable > 0,
            wide: columns >= WIDE,
            narrow: columns < NARROW,
            energy: joules_per_nanosecond(profile)
                .filter(|_| !selection.is_few(profile))
                .map(|each| each * selection.weight(profile) as f64),
            heap: weighs.heap().map(|_| selection.weight(profile)),
            few: selection.is_few(profile).then(|| selection.taken(profile)),
            weighs,
        }
    }

    /// The width of all of them.
    pub(super) fn all(self) -> usize {
        if self.heap.is_some() {
            return ENERGY;
        }
        if self.few.is_some() || self.narrow {
            return 0;
        }
        let energy = self.energy.map_or(0, |_| ENERGY);
        let system = usize::from(self.has(2));
        let rare = usize::from(self.waits) + usize::from(self.unreadable);
        self.width() * (1 + usize::from(self.python) + system + rare) + energy
    }

    fn width(self) -> usize {
        match (self.wide, self.waits) {
            (true, _) => 6,
            // The title is longer.
            (false, true) => 5,
            (false, false) => 4,
        }
    }

    /// True if there is a column of that number.
    fn has(self, at: usize) -> bool {
        !self.narrow && self.is_known(at)
    }

    /// True if the amount of the kind of that number is known, and may be more than 0.
    pub(super) fn is_known(self, at: usize) -> bool {
        match at {
            _ if self.heap.is_some() || self.few.is_some() => false,
            0 => self.python,
            // A call is measured as a whole, whatever it does.
            2 => self.weighs != Weighs::Traced,
            3 => self.waits,
            4 => self.unreadable,
            _ => true,
        }
    }

    /// The columns, which are blank for rows without an amount. `all` is the weight of the whole.
    pub(super) fn columns<'a, R: 'a>(
        self,
        all: u64,
        amount: fn(&R) -> Option<&Amount>,
    ) -> Vec<Column<'a, R>> {
        let titles = match self.wide {
            true => ["Py %", "Nat %", "Sys %", "Wait%", "Unr %"],
            false => ["Py", "Nat", "Sys", "Wait", "Unr"],
        };
        let mut columns = Vec::new();
        for (at, (title, kind)) in titles.into_iter().zip(Kind::ALL).enumerate() {
            let cell = move |shares: KindShares| {
                let share = shares.of(kind);
                let text = match self.wide {
                    true => percent(share),
                    false => whole_percent(share),
                };
                (text, Style::hue(kind.into()))
            };
            let column = Column::right(title, self.width());
            columns.push(column.when(self.has(at)).text(cell_of(all, amount, cell)));
        }
        let size = Column::right(self.weighs.title(), ENERGY).when(self.heap.is_some());
        let cell = move |shares: KindShares| {
            let busy = shares.python + shares.native + shares.system;
            let share = busy + shares.waiting + shares.unreadable;
            let whole = self.heap.unwrap_or_default();
            let text = match (whole as f64 * share).round() as u64 {
                0 => String::new(),
                some => self.weighs.text(some),
            };
            (text, Style::PLAIN)
        };
        columns.push(size.text(cell_of(all, amount, cell)));
        let energy = Column::right("Energy", ENERGY);
        let energy = energy.when(self.energy.is_some() && !self.narrow);
        let cell = move |shares: KindShares| {
            let busy = shares.python + shares.native + shares.system + shares.unreadable;
            let text = joules(self.energy.unwrap_or_default() * busy);
            (text, Style::PLAIN)
        };
        columns.push(energy.text(cell_of(all, amount, cell)));
        columns
    }
}

/// A cell that follows from the kinds of a row's amount.
fn cell_of<R>(
    all: u64,
    amount: fn(&R) -> Option<&Amount>,
    cell: impl Fn(KindShares) -> (String, Style),
) -> impl Fn(&R) -> (String, Style) {
    move |row| match amount(row) {
        Some(amount) => cell(amount.split.shares(all)),
        None => (String::new(), Style::PLAIN),
    }
}

/// The width of a share with its range; an exact share has none.
pub(super) fn share_width(profile: &Profile, columns: usize) -> usize {
    match columns {
        _ if is_exact(profile) => EXACT,
        _ if columns >= WIDE => RANGE,
        _ => MARGIN,
    }
}

pub(super) const EXACT: usize = 7;
pub(super) const MARGIN: usize = 12;
pub(super) const RANGE: usize = 18;

/// The width of `29 of 29`, with the space before the next column.
pub(super) const FEW: usize = 9;

/// Adds a share and how sure it is, in `width` columns, which are those of [`share_width`].
pub(super) fn push_share(line: &mut Line, estimate: &Estimate, width: usize) {
    if estimate.share <= 0.0 {
        return line.push_spaces(width);
    }
    let style = heat(estimate.share);
    let text = share_text(estimate);
    if estimate.few.is_some() {
        let width = width.max(FEW);
        return line.push_fmt(format_args!("{text:<width$}"), style);
    }
    line.push_fmt(format_args!("{text:>6}"), style);
    match width {
        EXACT => line.push_spaces(1),
        RANGE => line.push_fmt(format_args!(" {:<11}", range(estimate)), GRAY),
        _ => line.push_fmt(format_args!(" {:<5}", plus_minus(estimate)), GRAY),
    }
}
