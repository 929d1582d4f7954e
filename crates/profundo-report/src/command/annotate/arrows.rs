//! Arrows from jumps to their targets, in a gutter left of the instructions.
//!
//! All jumps to one row share a lane, a column of the gutter. A short arrow is nearer to the text
//! than a long one that spans it, so few lines cross. Where the lanes are used up, the longest
//! arrows are left out: the text of a jump has its target anyway.

/// A jump between two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Jump {
    pub from: usize,
    pub to: usize,
}

/// The characters that arrows are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strokes {
    /// Box-drawing characters.
    Box,
    /// Those that every terminal and every file has.
    Ascii,
}

/// The jumps to one row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrow {
    to: usize,
    from: Vec<usize>,
    top: usize,
    bottom: usize,
    lane: usize,
}

impl Arrow {
    fn covers(&self, row: usize) -> bool {
        (self.top..=self.bottom).contains(&row)
    }

    fn ends_at(&self, row: usize) -> bool {
        self.to == row || self.from.contains(&row)
    }

    /// The character of this arrow alone in a row that it covers.
    fn stroke(&self, row: usize) -> char {
        match (self.ends_at(row), row == self.top, row == self.bottom) {
            (true, true, _) => '┌',
            (true, _, true) => '└',
            (true, ..) => '├',
            _ => '│',
        }
    }
}

/// The arrows of a function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arrows {
    arrows: Vec<Arrow>,
    lanes: usize,
    /// The number of jumps without an arrow, for want of lanes.
    pub left_out: usize,
}

impl Arrows {
    /// The arrows of these jumps, in at most so many lanes.
    pub(super) fn new(jumps: &[Jump], most: usize) -> Self {
        let mut all: Vec<Arrow> = Vec::new();
        let mut sorted: Vec<Jump> = jumps.to_vec();
        sorted.retain(|jump| jump.from != jump.to);
        sorted.sort_by_key(|jump| (jump.to, jump.from));
        for Jump { from, to } in sorted {
            match all.last_mut().filter(|arrow| arrow.to == to) {
                Some(arrow) => {
                    arrow.from.push(from);
                    arrow.top = arrow.top.min(from);
                    arrow.bottom = arrow.bottom.max(from);
                }
                None => all.push(Arrow {
                    to,
                    from: vec![from],
                    top: from.min(to),
                    bottom: from.max(to),
                    lane: 0,
                }),
            }
        }
        all.sort_by_key(|arrow| (arrow.bottom - arrow.top, arrow.top));
        let mut placed = Self::default();
        for mut arrow in all {
            let overlaps = |other: &&Arrow| other.top <= arrow.bottom && arrow.top <= other.bottom;
            let taken: Vec<usize> = (placed.arrows.iter().filter(overlaps))
                .map(|other| other.lane)
                .collect();
            // Outside of all that it spans: an arrow in a free lane between them would cross them.
            let lane = taken.iter().max().map_or(0, |last| last + 1);
            match lane < most {
                true => {
                    arrow.lane = lane;
                    placed.lanes = placed.lanes.max(lane + 1);
                    placed.arrows.push(arrow);
                }
                false => placed.left_out += arrow.from.len(),
            }
        }
        placed
    }

    /// The width of the gutter in columns.
    pub(super) fn width(&self) -> usize {
        match self.lanes {
            0 => 0,
            lanes => lanes + 2,
        }
    }

    /// The gutter of a row.
    pub(super) fn draw(&self, row: usize, strokes: Strokes) -> String {
        if self.lanes == 0 {
            return String::new();
        }
        let mut cells = vec![' '; self.lanes];
        let (mut is_source, mut is_target) = (false, false);
        // From the outermost lane inwards, because an end goes on to the text.
        let mut lanes: Vec<&Arrow> = self
            .arrows
            .iter()
            .filter(|arrow| arrow.covers(row))
            .collect();
        lanes.sort_by_key(|arrow| std::cmp::Reverse(arrow.lane));
        for arrow in lanes {
            let at = self.lanes - 1 - arrow.lane;
            cells[at] = joined(cells[at], arrow.stroke(row));
            if arrow.ends_at(row) {
                is_target |= arrow.to == row;
                is_source |= arrow.to != row;
                for cell in &mut cells[at + 1..] {
                    *cell = '─';
                }
            }
        }
        let head = match (is_target, is_source) {
            (true, _) => '▶',
            (_, true) => '─',
            _ => ' ',
        };
        let drawn = cells.into_iter().chain([head, ' ']);
        match strokes {
            Strokes::Box => drawn.collect(),
            Strokes::Ascii => drawn.map(ascii).collect(),
        }
    }
}

/// A stroke on a cell that a line from further out may run through.
fn joined(below: char, stroke: char) -> char {
    match (below, stroke) {
        ('─', '┌') => '┬',
        ('─', '└') => '┴',
        ('─', _) => '┼',
        (_, stroke) => stroke,
    }
}

fn ascii(stroke: char) -> char {
    match stroke {
        '│' => '|',
        '─' => '-',
        '┌' => '/',
        '└' => '\\',
        '▶' => '>',
        ' ' => ' ',
        _ => '+',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(jumps: &[(usize, usize)], rows: usize, most: usize, expected: &[&str]) {
        let jumps: Vec<Jump> = (jumps.iter())
            .map(|&(from, to)| Jump { from, to })
            .collect();
        let arrows = Arrows::new(&jumps, most);
        let drawn: Vec<String> = (0..rows)
            .map(|row| arrows.draw(row, Strokes::Box).trim_end().to_owned())
            .collect();
        assert_eq!(drawn, expected);
        for row in 0..rows {
            let box_ = arrows.draw(row, Strokes::Box);
            let ascii = arrows.draw(row, Strokes::Ascii);
            assert_eq!(box_.chars().count(), arrows.width());
            assert_eq!(ascii.len(), arrows.width());
        }
    }

    #[test]
    fn a_loop_goes_back_and_a_branch_forward() {
        check(&[(2, 0)], 4, 4, &["┌▶", "│", "└─", ""]);
        check(&[(0, 2)], 3, 4, &["┌─", "│", "└▶"]);
        check(&[], 2, 4, &["", ""]);
        // A jump to itself has no arrow.
        check(&[(1, 1)], 2, 4, &["", ""]);
    }

    #[test]
    fn jumps_to_one_target_share_a_lane() {
        check(&[(3, 0), (1, 0)], 4, 4, &["┌▶", "├─", "│", "└─"]);
        check(&[(0, 2), (4, 2)], 5, 4, &["┌─", "│", "├▶", "│", "└─"]);
    }

    #[test]
    fn an_inner_loop_is_nearer_to_the_text() {
        check(&[(2, 1), (3, 0)], 4, 4, &["┌─▶", "│┌▶", "│└─", "└──"]);
    }

    #[test]
    fn lines_that_cross_are_joined() {
        // The second arrow begins inside of the first and ends below it.
        check(&[(0, 2), (1, 4)], 5, 4, &[" ┌─", "┌┼─", "│└▶", "│", "└─▶"]);
        // A row where one arrow ends and another begins.
        check(&[(0, 1), (1, 3)], 4, 4, &[" ┌─", "┌┴▶", "│", "└─▶"]);
    }

    #[test]
    fn the_longest_arrow_is_left_out_where_lanes_are_used_up() {
        let jumps = [(2, 1), (3, 0)].map(|(from, to)| Jump { from, to });
        let arrows = Arrows::new(&jumps, 1);
        assert_eq!((arrows.left_out, arrows.width()), (1, 3));
        assert_eq!(arrows.draw(0, Strokes::Box).trim(), "");
        assert_eq!(arrows.draw(1, Strokes::Ascii), "/> ");
        assert_eq!(arrows.draw(2, Strokes::Ascii), "\\- ");
    }
}
