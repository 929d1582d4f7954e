//! The line correction: a program that reloads code reports its present lines.

use std::sync::Arc;

use profundo_symbols::NamedFrame;

use crate::names::SYMBOLIZER;

/// Sets or removes a callback that may rewrite the frames of each address after lookup. It may be
/// called from several threads at once; if it panics, the frames stay.
///
/// ```
/// profundo::set_line_correction(Some(|frames: &mut [profundo::NamedFrame]| {
/// for frame in frames.iter_mut().filter(|frame| frame.file.ends_with("edited.rs")) {
/// frame.line += 2;
/// }
/// }));
/// profundo::set_line_correction(None::<fn(&mut [profundo::NamedFrame])>);
/// ```
pub fn set_line_correction<F>(correction: Option<F>)
where
    F: Fn(&mut [NamedFrame]) + Send + Sync + 'static,
{
    SYMBOLIZER.set_correction(correction.map(|f| Arc::new(f) as _));
}
