//! Amounts in their unit, and differences with a sign.

use profundo_analysis::diff::Unit;

use crate::page::units::{bytes, duration, short_count};

/// An amount.
pub(super) fn amount(unit: Unit, value: f64) -> String {
    let value = value.max(0.0);
    match unit {
        // Per call, an amount may be less than a nanosecond.
        Unit::Time if value > 0.0 && value < 10.0 => format!("{value:.2} ns"),
        Unit::Time => duration(value.round() as u64),
        Unit::Bytes if value > 0.0 && value < 10.0 => format!("{value:.2} B"),
        Unit::Bytes => bytes(value.round() as u64),
        Unit::Count if value.fract() != 0.0 && value < 100.0 => format!("{value:.2}"),
        Unit::Count => short_count(value.round() as u64),
    }
}

/// A change with its sign; `−` is as wide as `+`.
pub(super) fn change(unit: Unit, value: f64) -> String {
    let sign = match value {
        0.0 => return "0".to_owned(),
        grown if grown > 0.0 => '+',
        _ => '−',
    };
    format!("{sign}{}", amount(unit, value.abs()))
}

/// A part in percent, with one digit behind the point where that matters.
pub(super) fn percent(share: f64) -> String {
    match (share * 100.0).abs() {
        small if small < 0.095 => format!("{small:.2}"),
        middle if middle < 9.95 => format!("{middle:.1}"),
        large => format!("{large:.0}"),
    }
}

/// The ratio of two amounts.
pub(super) fn ratio(before: f64, after: f64) -> String {
    match (before > 0.0, after > 0.0) {
        (true, true) => {
            let ratio = after / before;
            match ratio {
                large if large >= 99.5 => format!("×{large:.0}"),
                middle if middle >= 9.95 => format!("×{middle:.1}"),
                small if small >= 0.0995 => format!("×{small:.2}"),
                tiny => format!("×{tiny:.3}"),
            }
        }
        _ => "–".to_owned(),
    }
}
